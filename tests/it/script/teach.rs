//! Teaches a proxy with shared server connections the accounts of a run, so that their sessions move.

use lockstead_support::eventually;
use lockstead_support::server::{Root, Server};
use lockstead_support::wire::{Account, Client, End};

use super::accounts::PASSWORD;
use super::expand::Names;

/// Logs both accounts in until their sessions outlive the connections that they had.
pub(crate) fn teach(port: u16, server: &Server, names: &Names) {
    let mut root = server.root();
    for user in [names.user(), names.second_user()] {
        eventually("the proxy knows the account", || {
            outlives(port, &user, &mut root).then_some(())
        });
    }
}

/// Whether a session goes on after the server has ended the account's connections. One over TLS shows its password.
fn outlives(port: u16, user: &str, root: &mut Root) -> bool {
    let mut account = Account::new(user, PASSWORD);
    account.wrap.tls = true;
    let mut client = Client::connect("127.0.0.1", port, &account).expect("a connection");
    assert!(client.login.succeeded(), "{user} cannot log in");
    let goes_on = |client: &mut Client| {
        let response = client.query(b"DO 0");
        response.error().is_none() && response.end == End::Complete
    };
    if !goes_on(&mut client) {
        return false;
    }
    let processes = root.processes();
    for id in root.column(&format!("SELECT id FROM {processes} WHERE user='{user}'")) {
        // One may have ended by itself.
        root.try_run(&format!("KILL {id}"));
    }
    let left = format!("SELECT COUNT(*) FROM {processes} WHERE user='{user}'");
    eventually("the connections are gone", || (root.column(&left) == ["0"]).then_some(()));
    goes_on(&mut client)
}
