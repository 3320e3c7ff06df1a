//! The log: its form, its level, and that each event is one line in which nothing is hidden, whatever
//! names and texts of others it has.

use std::io::{self, IsTerminal, Stderr, Write, stderr};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::terminal_text::{is_hidden, plain, safe};
use crate::app::SetFilter;
use crate::config::{Config, ConfigError, LogFormat};

/// Begins to log.
pub(super) fn start(config: &Config) -> Result<SetFilter, ConfigError> {
    let first = filter(&config.log_level)?;
    let logs = tracing_subscriber::fmt().with_env_filter(first);
    Ok(match config.log_format {
        LogFormat::Text => {
            let form = if stderr().is_terminal() { Form::Coloured } else { Form::Text };
            let logs = logs.with_writer(move || LogWriter { form, to: stderr() });
            let logs = logs.with_ansi(form == Form::Coloured).with_filter_reloading();
            let handle = logs.reload_handle();
            logs.init();
            // Only a process without logs makes this fail.
            Box::new(move |level| filter(level).map(|new| drop(handle.reload(new))))
        }
        LogFormat::Json => {
            let logs = logs.with_writer(|| LogWriter { form: Form::Json, to: stderr() });
            let logs = logs.json().with_filter_reloading();
            let handle = logs.reload_handle();
            logs.init();
            Box::new(move |level| filter(level).map(|new| drop(handle.reload(new))))
        }
    })
}

fn filter(level: &str) -> Result<EnvFilter, ConfigError> {
    let wrong = |problem: &dyn std::fmt::Display| ConfigError::Value {
        place: String::new(),
        key: "log_level",
        problem: format!("{problem}; give for example info or info,lockstead=debug"),
    };
    // A level that is mistyped would be the name of a module, and nothing else be logged.
    let alone = level.split(',').map(str::trim).filter(|part| !part.contains(['=', ':', '[']));
    for part in alone {
        part.parse::<LevelFilter>().map_err(|_| {
            wrong(&format!("{part:?} is no level (error, warn, info, debug, trace)"))
        })?;
    }
    EnvFilter::try_new(level).map_err(|e| wrong(&e))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    /// On a terminal.
    Coloured,
    Json,
}

/// Takes one event at a time, whole.
struct LogWriter<W = Stderr> {
    form: Form,
    to: W,
}

impl<W: Write> Write for LogWriter<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        if line.contains(is_hidden) {
            let line = match self.form {
                Form::Text => plain(line),
                Form::Coloured => coloured(line),
                Form::Json => safe(line).replace('\n', "\\n"),
            };
            self.to.write_all(format!("{line}\n").as_bytes())?;
        } else {
            self.to.write_all(event)?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Leaves colours alone, and nothing else.
fn coloured(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut out = plain(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(part.len());
        let colour = part[end..].starts_with('m');
        out.push_str(if colour { "\u{1b}[" } else { "\\u{1b}[" });
        out.push_str(&plain(part));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_in_which_nothing_is_hidden() {
        for (form, event, written) in [
            (Form::Text, "a\nb\u{1b}[31m\u{202e}\n", "a\\nb\\u{1b}[31m\\u{202e}\n"),
            (Form::Text, "plain é\n", "plain é\n"),
            (
                Form::Coloured,
                "\u{1b}[32mok\u{1b}[0m \u{1b}]0;t\u{7} \u{1b}[2J\n",
                "\u{1b}[32mok\u{1b}[0m \\u{1b}]0;t\\u{7} \\u{1b}[2J\n",
            ),
            (Form::Json, "{\"a\":\"\u{61c}\u{9b}\"}\n", "{\"a\":\"\\u061c\\u009b\"}\n"),
        ] {
            let mut lines = LogWriter { form, to: Vec::new() };
            lines.write_all(event.as_bytes()).expect("written");
            assert_eq!(String::from_utf8(lines.to).expect("text"), written);
        }
    }
}
