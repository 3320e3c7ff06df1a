//! The cases of the clients in Rust.

mod cases;
mod clients;
mod session;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clients::Client;
use session::{Options, mariadb, say};

/// Runs tests/drivers/setup.sql.
fn set_up(client: &Client) {
    let mut s = (client.open)(&Options::default()).expect("the first connection");
    let (ours, other) = if mariadb() { ("mariadb: ", "mysql: ") } else { ("mysql: ", "mariadb: ") };
    let file = std::fs::read_to_string(session::setting("SETUP")).expect("SETUP names a file");
    for text in file.lines().filter(|text| !text.starts_with('#') && !text.starts_with(other)) {
        (client.setup)(&mut *s, text.strip_prefix(ours).unwrap_or(text))
            .unwrap_or_else(|fault| panic!("{text}: {fault}"));
    }
    s.close();
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_default();
    let Some(client) = clients::find(&name) else {
        eprintln!("no such client: {name}");
        return ExitCode::from(2);
    };
    let wanted: Vec<_> = args.collect();
    set_up(client);
    let shared = cases::SHARED.iter().filter(|(case, _)| !client.lacks.contains(case));
    for &(case, work) in shared.chain(client.own) {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == case) {
            continue;
        }
        session::begin(case);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(client))) {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            say(text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panic"));
        }
    }
    ExitCode::SUCCESS
}
