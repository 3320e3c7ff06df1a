//! What the proxy says before a login is over, as the clients of both families show it.

use lockstead_support::launch::refusing_address;

use crate::launch::Launched;
use crate::legs::{client, text};
use crate::own_server::flavour_of;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::on_both;
use crate::wire::Account;

on_both! {
    errors_before_a_login_reach_every_client
    a_password_under_another_key_is_reported_as_wrong
}

const WITHOUT_TLS: [&str; 2] = ["--ssl-mode=DISABLED", "--skip-ssl"];

#[track_caller]
fn assert_told(port: u16, account: &Account, options: [&str; 2], (code, words): (u16, &str)) {
    for (flavour, option) in [Flavour::MySql, Flavour::MariaDb].into_iter().zip(options) {
        let said = text(&client(flavour, account, port, &[option.to_owned()]));
        assert!(said.contains(&format!("ERROR {code} ")), "{flavour:?}: {said}");
        assert!(said.contains(words), "{flavour:?}: {said}");
    }
}

fn errors_before_a_login_reach_every_client(server: &Server) {
    let root = &server.root;
    let start = |extra: &[&str]| Proxy::start(&server.url, extra);
    let ca = server.root().column("SELECT @@ssl_ca").concat();
    let other = ca.replace("/ca.pem", "/client-cert.pem");
    let proxy = start(&["--backend-tls", "verify-ca", "--backend-tls-ca", &other]);
    let untrusted = (1429, "Lockstead has no TLS connection to the MySQL server");
    assert_told(proxy.port, root, WITHOUT_TLS, untrusted);
    assert_told(proxy.port, root, ["--ssl-mode=REQUIRED", "--ssl"], untrusted);
    let asks = ["--tls-client-cert", "require", "--tls-client-ca", &ca];
    let proxy = start(&asks);
    assert_told(proxy.port, root, WITHOUT_TLS, (1045, "tls_client_cert"));
    assert_told(proxy.port, root, ["--ssl-mode=REQUIRED", "--ssl"], (1045, "tls_client_cert"));
    let proxy = start(&["--tls", "require"]);
    assert_told(proxy.port, root, WITHOUT_TLS, (3159, "insecure transport"));
    let proxy = start(&["--max-connections", "1"]);
    let only = Session::at(proxy.port);
    assert_told(proxy.port, root, WITHOUT_TLS, (1040, "Too many connections"));
    drop(only);
    let proxy = start(&[]);
    let clear = ["--enable-cleartext-plugin", "--default-auth=mysql_clear_password"];
    let said = text(&client(
        Flavour::MySql,
        root,
        proxy.port,
        &[WITHOUT_TLS[0], clear[0], clear[1]].map(str::to_owned),
    ));
    assert!(said.contains("ERROR 3159 ") && said.contains("password in clear"), "{said}");
    // A server that does not answer, and one that has no TLS where that is demanded.
    let (_taken, nobody) = refusing_address();
    let nobody = nobody.to_string();
    let store = format!("{}{}", server.url, fresh_schema());
    // In mode durable it is not ready before it has compared `backend` and `store`.
    let coexist = ["--create-schema", "--mode", "coexist"];
    let proxy = Launched::start(&nobody, &store, &coexist);
    let unreachable = (1429, "Lockstead can't connect to the MySQL server");
    assert_told(proxy.port, root, WITHOUT_TLS, unreachable);
    let plain = Proxy::start(&server.url, &["--tls", "off"]);
    let backend = format!("127.0.0.1:{}", plain.port);
    let store = format!("{}{}", server.url, fresh_schema());
    let proxy =
        Launched::start(&backend, &store, &[&coexist[..], &["--backend-tls", "required"]].concat());
    assert_told(proxy.port, root, WITHOUT_TLS, (1429, "the server offers none"));
}

fn a_password_under_another_key_is_reported_as_wrong(server: &Server) {
    if flavour_of(server) == Flavour::MariaDb {
        return;
    }
    let name = fresh_schema().replace("lockstead_t", "u");
    server.root().run(&format!("CREATE USER {name} IDENTIFIED BY 'a-secret'"));
    let key = std::env::temp_dir().join(format!("{name}.pem"));
    let pem = "SELECT variable_value FROM performance_schema.global_status \
               WHERE variable_name='Caching_sha2_password_rsa_public_key'";
    std::fs::write(&key, server.root().column(pem).concat()).expect("written");
    let options =
        [WITHOUT_TLS[0].to_owned(), format!("--server-public-key-path={}", key.display())];
    let account = Account::new(&name, "a-secret");
    let proxy = Proxy::start(&server.url, &["--backend-tls", "required"]);
    let said = text(&client(Flavour::MySql, &account, proxy.port, &options));
    assert!(said.contains("ERROR 1045 ") && said.contains("a public key that is not"), "{said}");
    // At the server it is the right one.
    let said = text(&client(Flavour::MySql, &account, server.port, &options));
    assert!(said.contains("got in"), "{said}");
    let _ = std::fs::remove_file(&key);
    server.root().run(&format!("DROP USER {name}"));
}
