//! Output of the program on standard output.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write, stdout};

use super::terminal_text::lines;

/// Prints a text. If that fails, the program ends: quietly if the reader has closed, else
/// with a message.
pub(super) fn print(text: impl Display) {
    if let Err(e) = try_print(text) {
        std::process::exit(give_up(&e));
    }
}

/// Prints a text and an end of line. Text from servers in it does nothing to a terminal.
pub(super) fn print_line(text: impl Display) {
    print(lines(&text.to_string()) + "\n");
}

/// Prints a text, for callers with work to finish.
pub(super) fn try_print(text: impl Display) -> io::Result<()> {
    let mut out = stdout().lock();
    write!(out, "{text}")?;
    out.flush()
}

/// Says why nothing more is printed, if that is a failure; the exit status.
pub(super) fn give_up(e: &io::Error) -> i32 {
    if e.kind() == ErrorKind::BrokenPipe {
        return 0;
    }
    eprintln!("lockstead: cannot write the output: {e}");
    1
}
