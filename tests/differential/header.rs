//! What a script says of itself: on which servers it runs, and in which passes.

use crate::pass::Pass;
use crate::script::Flavour;
use crate::wire::Library;

/// The directives that hold for a script as a whole; `tests/it/script.rs` explains them.
#[derive(Debug, Default)]
pub(crate) struct Header {
    only: Option<Flavour>,
    also: Vec<Pass>,
    not: Vec<Pass>,
    /// As which libraries alone it runs.
    clients: Vec<&'static Library>,
    pub(crate) own: Option<Own>,
    pub(crate) ignored: bool,
}

/// A server of the script's own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Own {
    /// What it is started with.
    pub(crate) options: Vec<String>,
    /// What root runs there first.
    pub(crate) first: Vec<String>,
}

impl Header {
    /// Reads the header out of a script's text; a directive that makes no sense panics.
    pub(crate) fn parse(name: &str, text: &str) -> Self {
        let mut header = Self::default();
        for (index, line) in text.lines().enumerate() {
            let here = || format!("{name}:{}: {line}", index + 1);
            if let Some(directive) = line.trim().strip_prefix('@') {
                let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
                header.directive(word, rest.trim(), &here);
            }
        }
        header
    }

    /// Whether a line says what is answered in mode durable in place of the server's answer.
    pub(crate) fn is_of_durable(line: &str) -> bool {
        let line = line.trim();
        let rest =
            line.split_once("] ").filter(|_| line.starts_with('[')).map_or(line, |(_, rest)| rest);
        rest.starts_with('~')
    }

    /// The lines of a script that run in a pass on a server.
    pub(crate) fn lines_for(
        text: &str,
        pass: Pass,
        flavour: Flavour,
    ) -> impl Iterator<Item = &str> {
        text.lines().take_while(move |line| !Self::ends(line, pass, flavour))
    }

    /// Whether a line ends a pass, at least on this server.
    fn ends(line: &str, pass: Pass, flavour: Flavour) -> bool {
        let words = line
            .strip_prefix("@end ")
            .map(|rest| rest.trim().split_once(' ').unwrap_or((rest.trim(), "")));
        words.is_some_and(|(name, on)| {
            let on_this = match on {
                "mysql" => flavour == Flavour::MySql,
                "mariadb" => flavour == Flavour::MariaDb,
                _ => true,
            };
            pass.name() == name && on_this
        })
    }

    fn directive(&mut self, word: &str, rest: &str, here: &dyn Fn() -> String) {
        let passes = || {
            rest.split_whitespace().map(|word| {
                Pass::named(word).unwrap_or_else(|| panic!("there is no pass {word}: {}", here()))
            })
        };
        match word {
            "only" => {
                self.only = Some(match rest {
                    "mysql" => Flavour::MySql,
                    "mariadb" => Flavour::MariaDb,
                    _ => panic!("neither mysql nor mariadb: {}", here()),
                });
            }
            "also" => self.also.extend(passes()),
            "not" => self.not.extend(passes()),
            "client" => self.clients.extend(rest.split_whitespace().map(|name| {
                Library::named(name)
                    .unwrap_or_else(|| panic!("there is no library {name}: {}", here()))
            })),
            "own" => {
                let options = rest.split_whitespace().map(str::to_owned).collect();
                self.own = Some(Own { options, first: Vec::new() });
            }
            "first" => {
                let own = self.own.as_mut();
                let own = own.unwrap_or_else(|| panic!("no @own in front of it: {}", here()));
                own.first.push(rest.to_owned());
            }
            "end" => {
                let (pass, flavour) = rest.split_once(' ').unwrap_or((rest, ""));
                assert!(Pass::named(pass).is_some(), "there is no pass {pass}: {}", here());
                assert!(matches!(flavour, "" | "mysql" | "mariadb"), "what server? {}", here());
            }
            "ignored" => {
                assert!(!rest.is_empty(), "it does not say why: {}", here());
                self.ignored = true;
            }
            "session" | "matrix" | "setup" | "global" => {}
            _ => panic!("there is no directive @{word}: {}", here()),
        }
    }

    /// The servers that it runs on.
    pub(crate) fn flavours(&self) -> Vec<Flavour> {
        let both = [Flavour::MySql, Flavour::MariaDb];
        both.into_iter().filter(|f| self.only.is_none_or(|only| only == *f)).collect()
    }

    /// As which libraries it runs, by its place among the scripts: its own, if it asks for some, or else those of this run.
    pub(crate) fn clients(&self, place: usize) -> Vec<&'static Library> {
        let mut chosen = Library::chosen(place);
        if !self.clients.is_empty() {
            chosen.retain(|library| self.clients.contains(library));
            if chosen.is_empty() {
                chosen.push(self.clients[place % self.clients.len()]);
            }
        }
        chosen
    }

    /// The passes that it is in; all that it can be in, if every script is in `every` pass.
    /// `extra`: passes that are slow, in which it is now.
    pub(crate) fn passes(&self, every: bool, extra: &[Pass]) -> Vec<Pass> {
        let is_in = |pass: &Pass| {
            let always = *pass == Pass::Plain || extra.contains(pass);
            let asked_for = always || every || self.also.contains(pass);
            asked_for && !self.not.contains(pass)
        };
        Pass::ALL.into_iter().filter(is_in).collect()
    }
}
