//! One script, run at the server and through a proxy, in all its variants.

use std::sync::{PoisonError, RwLock};

use super::Flavour;
use super::accounts::Accounts;
use super::action::Options;
use super::compare::{compare, shown_whole, unexpected};
use super::parse::Script;
use super::run::Runner;
use super::server::Server;
use crate::wire::wrap::Wrap;

/// Scripts run beside each other, unless one is repeated because of its times.
static BESIDE_OTHERS: RwLock<()> = RwLock::new(());

/// What is compared with what.
pub(crate) struct Check<'a> {
    pub(crate) server: &'a Server,
    pub(crate) flavour: Flavour,
    /// Around the connections of both sides.
    pub(crate) wrap: Wrap,
    /// The proxy's port; `None` compares the server with itself.
    pub(crate) through: Option<u16>,
}

impl Check<'_> {
    /// Runs the script; what differs, if anything does.
    pub(crate) fn run(&self, name: &str, text: &str) -> Result<(), String> {
        let script = Script::parse(name, text, self.flavour);
        let mut variants = vec![("as it is".to_owned(), Options::default())];
        variants.extend(script.matrix.iter().cloned());
        for (words, variant) in &variants {
            let mut result = {
                let _beside = BESIDE_OTHERS.read().unwrap_or_else(PoisonError::into_inner);
                self.variant(name, &script, variant)
            };
            // A busy machine delays a reply now and then, a wrong wait is there every time, also
            // where no other script runs.
            for _ in 0..3 {
                if matches!(&result, Err(e) if e.contains("pace Some") || e.contains(", came ")) {
                    let _alone = BESIDE_OTHERS.write().unwrap_or_else(PoisonError::into_inner);
                    result = self.variant(name, &script, variant);
                }
            }
            result.map_err(|e| format!("{name} ({words}) on {:?}: {e}", self.flavour))?;
        }
        Ok(())
    }

    fn variant(&self, name: &str, script: &Script, variant: &Options) -> Result<(), String> {
        let Self { server, flavour, wrap, .. } = *self;
        let accounts = Accounts::create(server);
        let names = &accounts.names;
        let runner = Runner { server, script, variant, names, wrap };
        let direct = runner.run(server.port, &mut server.root());
        if std::env::var("LOCKSTEAD_DIFF_SHOW").is_ok_and(|v| v == "1") {
            println!("{name} on {flavour:?}\n{}", shown_whole(&direct));
        }
        let wrong = unexpected(&direct, flavour, names);
        if !wrong.is_empty() {
            return Err(format!("{flavour:?} itself is not as expected\n{}", wrong.join("\n")));
        }
        let proxied = runner.run(self.through.unwrap_or(server.port), &mut server.root());
        compare(&direct, &proxied, flavour, names).map(drop)
    }
}
