//! Logins packet by packet: where the proxy judges one, the client is told what the server would tell it.

use super::ground::{Ground, Tenant};
use super::logins::LONG;
use crate::own_server::flavour_of;
use crate::script::{Flavour, Server};
use crate::stage::on_both;
use crate::wire::capability::{
    CAN_HANDLE_EXPIRED_PASSWORDS, DEFAULT, PLUGIN_AUTH, PLUGIN_AUTH_LENENC_DATA,
};
use crate::wire::wrap::Wrap;
use crate::wire::{Account, Client, End, Packet};

on_both! {
    a_login_is_answered_as_by_the_server
}

/// How a client library logs in.
struct Style {
    name: &'static str,
    capabilities: u64,
    no_password: &'static [u8],
    /// The login names a plugin that the account does not have.
    names_another: bool,
    schema: bool,
}

const PLAIN: Style = Style {
    name: "plain",
    capabilities: DEFAULT,
    no_password: &[],
    names_another: false,
    schema: false,
};
/// The last cannot be asked again: after one of those was refused, nonces are the server's for a while.
const STYLES: [Style; 6] = [
    PLAIN,
    Style { name: "a NUL for no password", no_password: &[0], ..PLAIN },
    Style { name: "another plugin first", names_another: true, no_password: &[0], ..PLAIN },
    Style {
        name: "takes expired passwords",
        capabilities: DEFAULT | CAN_HANDLE_EXPIRED_PASSWORDS,
        no_password: &[0],
        ..PLAIN
    },
    Style {
        name: "short lengths, and a schema",
        capabilities: DEFAULT & !PLUGIN_AUTH_LENENC_DATA,
        no_password: &[0],
        schema: true,
        ..PLAIN
    },
    Style {
        name: "without plugins",
        capabilities: DEFAULT & !(PLUGIN_AUTH | PLUGIN_AUTH_LENENC_DATA),
        ..PLAIN
    },
];

/// An account of a plugin by which the proxy learns no password from the server's verifier.
fn of_another_plugin(server: &Server) -> Tenant {
    const PASSWORD: &str = "of another plugin";
    let tenant = Tenant::create(server, PASSWORD);
    let identified = match flavour_of(server) {
        Flavour::MySql => format!("WITH sha256_password BY '{PASSWORD}'"),
        Flavour::MariaDb => {
            // Another test may have done so.
            server.root().try_run("INSTALL SONAME 'auth_ed25519'");
            format!("VIA ed25519 USING PASSWORD('{PASSWORD}')")
        }
    };
    server.root().run(&format!("ALTER USER {} IDENTIFIED {identified}", tenant.name));
    tenant
}

/// What a client is told from its login packet on.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    /// Other methods by their names, and the end.
    packets: Vec<Vec<u8>>,
    /// The server has something to say of its plugin: that it knows the password, or wants it in full.
    more: bool,
}

fn log_in(port: u16, account: &Account) -> Told {
    let client = Client::connect("127.0.0.1", port, account).expect("a connection");
    let heard = &client.login.packets;
    assert_eq!(client.login.end, End::Complete);
    let mut expected = 2 + u8::from(account.wrap.tls);
    for packet in heard {
        assert_eq!(packet.sequence(), expected, "{heard:?}");
        // That the password is known needs no answer.
        expected += if packet.payload == [1, 3] { 1 } else { 2 };
    }
    let is_more = |packet: &&Packet| packet.payload.first() == Some(&1);
    let shown = |packet: &Packet| match packet.payload.split_first() {
        Some((0xfe, rest)) => rest.split(|b| *b == 0).next().unwrap_or_default().to_vec(),
        _ => packet.payload.clone(),
    };
    let packets = heard.iter().filter(|p| !is_more(p)).map(shown).collect();
    let more = heard.iter().any(|packet| is_more(&packet));
    client.say_quit();
    Told { packets, more }
}

fn a_login_is_answered_as_by_the_server(server: &Server) {
    let ground = Ground::new(server, 2, &LONG);
    let (open, expired) =
        (Tenant::create(ground.server(), ""), Tenant::create(ground.server(), "of the past"));
    ground.server().root().run(&format!("ALTER USER {} PASSWORD EXPIRE", expired.name));
    let another = of_another_plugin(ground.server());
    let other = match flavour_of(server) {
        Flavour::MySql => "mysql_native_password",
        Flavour::MariaDb => "caching_sha2_password",
    };
    for style in &STYLES {
        for tenant in [&ground.tenant, &open, &expired, &another] {
            let right = tenant.account.password.as_str();
            for (password, tls) in
                [right, "not it", ""].into_iter().flat_map(|p| [(p, false), (p, true)])
            {
                let account = Account {
                    password: password.to_owned(),
                    database: tenant.account.database.clone().filter(|_| style.schema),
                    capabilities: style.capabilities,
                    plugin: style.names_another.then_some(other),
                    no_password: style.no_password,
                    wrap: Wrap { tls, ..Wrap::default() },
                    ..tenant.account.clone()
                };
                let of = format!("{} {password:?} of {right:?}, TLS {tls}", style.name);
                // The server itself may ask for a password in full at first.
                log_in(ground.server().port, &account);
                let direct = log_in(ground.server().port, &account);
                for nth in 0..3 {
                    let mut proxied = log_in(ground.proxy.port, &account);
                    // A proof by a nonce of the proxy's may be asked for again.
                    if !password.is_empty() && proxied.packets.len() == direct.packets.len() + 1 {
                        proxied.packets.remove(0);
                    }
                    assert_eq!(proxied, direct, "{of}, login {nth}");
                }
            }
        }
    }
}
