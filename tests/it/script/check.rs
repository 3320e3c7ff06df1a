//! One script, run at the server and through a proxy, in all its variants.

use std::sync::{PoisonError, RwLock};

use super::Flavour;
use super::accounts::Accounts;
use super::action::Options;
use super::compare::{Compared, compare, shown_whole, unexpected};
use super::parse::Script;
use super::run::{Runner, Transcript};
use super::server::Server;
use super::teach::teach;
use crate::wire::Library;
use crate::wire::library::OWN;
use crate::wire::wrap::Wrap;

/// Scripts run beside each other, unless one is repeated because of its times.
static BESIDE_OTHERS: RwLock<()> = RwLock::new(());

/// What is compared with what.
pub(crate) struct Check<'a> {
    pub(crate) server: &'a Server,
    pub(crate) flavour: Flavour,
    /// Around the connections of both sides.
    pub(crate) wrap: Wrap,
    /// The proxy learns passwords before the script begins, and may ask for them in another way than the server does.
    pub(crate) learns: bool,
    /// The proxy's port; `None` compares the server with itself.
    pub(crate) through: Option<u16>,
    /// As which its sessions log in.
    pub(crate) library: &'static Library,
}

/// The server's own answers to a script, with which those of several proxies are compared.
#[derive(Default)]
pub(crate) struct Recorded(Vec<Recording>);

/// The answers to one variant, and the accounts that were asked with. TLS and compression change no answer:
/// one that they do change is asked for again.
struct Recording {
    variant: String,
    library: &'static Library,
    accounts: Accounts,
    direct: Transcript,
}

impl Recorded {
    fn take(&mut self, variant: &str, library: &Library) -> Option<Recording> {
        let at = self.0.iter().position(|of| of.variant == variant && of.library == library);
        at.map(|at| self.0.swap_remove(at))
    }
}

impl Check<'_> {
    /// Runs the script; what differs, if anything does. A recording is used, or made.
    pub(crate) fn run(
        &self,
        name: &str,
        text: &str,
        recorded: &mut Recorded,
    ) -> Result<(), String> {
        let script = Script::parse(name, text, self.flavour);
        let mut variants = vec![("as it is".to_owned(), Options::default())];
        variants.extend(script.matrix.iter().filter(|(_, more)| self.changes(more)).cloned());
        for (words, variant) in &variants {
            let recording = recorded.take(words, self.library);
            let is_old = recording.is_some();
            let mut result = {
                let _beside = BESIDE_OTHERS.read().unwrap_or_else(PoisonError::into_inner);
                self.variant(&script, (words, variant), recording)
            };
            if is_old && result.is_err() {
                let _beside = BESIDE_OTHERS.read().unwrap_or_else(PoisonError::into_inner);
                result = self.variant(&script, (words, variant), None);
            }
            // A busy machine delays a reply now and then, a wrong wait is there every time, also
            // where no other script runs.
            for _ in 0..3 {
                if matches!(&result, Err(e) if e.contains("pace Some") || e.contains(", came ")) {
                    let _alone = BESIDE_OTHERS.write().unwrap_or_else(PoisonError::into_inner);
                    result = self.variant(&script, (words, variant), None);
                }
            }
            let (library, flavour) = (self.library.name, self.flavour);
            let recording =
                result.map_err(|e| format!("{name} ({words}) as {library} on {flavour:?}: {e}"));
            recorded.0.push(recording?);
        }
        Ok(())
    }

    /// Whether sessions with more options are others: the library may have the capabilities that a line of the matrix is
    /// about, or lack them.
    fn changes(&self, more: &Options) -> bool {
        let own = self.library.capabilities(self.flavour);
        let capabilities = (own | more.add) & !more.remove;
        let rest = Options { add: 0, remove: 0, ..more.clone() };
        capabilities != own || rest != Options::default()
    }

    /// Runs a variant through the proxy, and at the server unless that was recorded.
    fn variant(
        &self,
        script: &Script,
        (words, variant): (&str, &Options),
        recording: Option<Recording>,
    ) -> Result<Recording, String> {
        let recording = match recording {
            Some(recording) => recording,
            None => self.record(script, (words, variant))?,
        };
        let runner = self.runner(script, variant, &recording.accounts);
        let through = self.through.unwrap_or(self.server.port);
        if self.learns && self.through.is_some() {
            teach(through, self.server, &recording.accounts.names);
        }
        let proxied = runner.run(through, &mut self.server.root());
        let how = if self.learns { Compared::WithoutProofs } else { Compared::Whole };
        compare(&recording.direct, &proxied, self.flavour, runner.names, how)?;
        Ok(recording)
    }

    /// Runs a variant at the server.
    fn record(
        &self,
        script: &Script,
        (words, variant): (&str, &Options),
    ) -> Result<Recording, String> {
        let Self { server, flavour, .. } = *self;
        let accounts = Accounts::create(server);
        let runner = self.runner(script, variant, &accounts);
        let direct = runner.run(server.port, &mut server.root());
        if std::env::var("LOCKSTEAD_DIFF_SHOW").is_ok_and(|v| v == "1") {
            println!("{words} on {flavour:?}\n{}", shown_whole(&direct));
        }
        let of_own = *self.library == OWN;
        let wrong = unexpected(&direct, flavour, &accounts.names, of_own);
        if !wrong.is_empty() {
            return Err(format!("{flavour:?} itself is not as expected\n{}", wrong.join("\n")));
        }
        Ok(Recording { variant: words.to_owned(), library: self.library, accounts, direct })
    }

    fn runner<'a>(
        &'a self,
        script: &'a Script,
        variant: &'a Options,
        accounts: &'a Accounts,
    ) -> Runner<'a> {
        let Self { server, wrap, library, flavour, .. } = *self;
        Runner { server, script, variant, names: &accounts.names, wrap, library, flavour }
    }
}
