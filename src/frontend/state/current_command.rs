//! The command that the proxy answers.

use prometheus::IntCounter;

use crate::protocol::command::Command;

/// How often commands are counted that go to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Counting {
    /// Whatever the proxy sends for a command counts once, as that command.
    #[default]
    Once,
    /// The command was counted already.
    Done,
}

/// The command that is being answered.
#[derive(Debug, Default)]
pub(crate) struct CurrentCommand {
    /// As the server would run it; empty if it may not any more.
    packet: Vec<u8>,
    /// The command's statement.
    text: Vec<u8>,
    counting: Counting,
    /// The command is one of several statements of a text.
    is_part: bool,
    /// A call of it has waited.
    waited: bool,
}

impl CurrentCommand {
    /// Makes the command one of several statements of a text.
    pub(crate) fn become_part(&mut self) {
        *self = Self { counting: self.counting, is_part: true, ..Self::default() };
    }

    /// Whether it is one of several statements of a text.
    pub(crate) fn is_part(&self) -> bool {
        self.is_part
    }

    /// A call of it waits.
    pub(crate) fn note_wait(&mut self) {
        self.waited = true;
    }

    /// Whether a call of it has waited for longer than a lock takes to change hands.
    pub(crate) fn has_waited(&self) -> bool {
        self.waited
    }

    /// The server could run it as it is.
    pub(crate) fn keep(&mut self, packet: &[u8], text: &[u8]) {
        self.packet = packet.to_vec();
        self.text = text.to_vec();
    }

    /// Replaces the statement, where the packet's text is not what is run.
    pub(crate) fn set_text(&mut self, text: &[u8]) {
        self.text = text.to_vec();
    }

    /// Takes its statement.
    pub(crate) fn take_text(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }

    /// Takes its packet, if the server could still run it as it is.
    pub(crate) fn take_packet(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.packet)
    }

    /// The server could not run it any more as it is.
    pub(crate) fn drop_packet(&mut self) {
        self.packet = Vec::new();
    }

    /// Counts it, once: what it becomes at the server is no command of the client's.
    pub(crate) fn count(&mut self, counters: &[IntCounter], command: Command) {
        if self.counting == Counting::Once {
            self.counting = Counting::Done;
            counters[usize::from(command.0)].inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_counted_once() {
        let counters: Vec<IntCounter> = (0..=255)
            .map(|_| IntCounter::new("commands", "commands").expect("a counter"))
            .collect();
        let mut command = CurrentCommand::default();
        command.count(&counters, Command::QUERY);
        command.count(&counters, Command::STMT_PREPARE);
        assert_eq!(counters[3].get(), 1);
        assert_eq!(counters[0x16].get(), 0);
    }

    #[test]
    fn its_packet_is_given_once_and_not_after_something_was_carried_out() {
        let mut command = CurrentCommand::default();
        command.keep(b"packet", b"text");
        assert_eq!(command.take_packet(), b"packet");
        assert!(command.take_packet().is_empty());
        command.keep(b"packet", b"text");
        command.drop_packet();
        assert!(command.take_packet().is_empty());
        assert_eq!(command.text, b"text");
    }
}
