//! Files with secrets, and folders that others may write to.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use crate::admin::Folder;
use crate::cli::text;
use crate::launch::run;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::Server;
use crate::stage::on_both;

on_both! {
    the_state_directory_is_its_users_alone
    a_key_that_others_may_have_written_is_refused
    a_password_that_every_user_may_read_is_reported
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
}

fn the_state_directory_is_its_users_alone(server: &Server) {
    let folder = Folder::new();
    let state = folder.file("one/state");
    let argument = state.display().to_string();
    let proxy = Proxy::start(&server.url, &["--state-dir", &argument]);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o7777;
    assert_eq!((mode(&state), mode(&folder.file("one"))), (0o700, 0o700));
    assert_eq!(mode(&state.join("tls-key.pem")), 0o600);
    assert!(!proxy.log().contains("may write") && !proxy.log().contains("may read"));
    drop(proxy);
    set(&state, 0o1777);
    set(&state.join("tls-key.pem"), 0o644);
    let proxy = Proxy::start(&server.url, &["--state-dir", &argument]);
    let log = proxy.log();
    assert!(log.contains("other users may write to the state directory"), "{log}");
    assert!(log.contains("all users may read it (mode 644): chmod 600"), "{log}");
}

/// What a start says that fails.
fn refused(server: &Server, state: &Path) -> String {
    let store = format!("{}{}", server.url, fresh_schema());
    let (backend, state) = (format!("127.0.0.1:{}", server.port), state.display().to_string());
    let fixed = ["serve", "--backend", &backend, "--store", &store, "--listen", "127.0.0.1:0"];
    let output = run(&[&fixed[..], &["--http", "off", "--state-dir", &state]].concat());
    assert_ne!(output.status.code(), Some(0));
    text(&output)
}

fn a_key_that_others_may_have_written_is_refused(server: &Server) {
    let folder = Folder::new();
    let (state, key) = (folder.file("state"), folder.file("state/tls-key.pem"));
    drop(Proxy::start(&server.url, &["--state-dir", &state.display().to_string()]));
    set(&key, 0o622);
    let said = refused(server, &state);
    assert!(
        said.contains("tls-key.pem: other users may change it (mode 622): chmod 600"),
        "{said}"
    );
    set(&key, 0o600);
    // Only root can give a file away.
    if chown(&key, Some(12345), None).is_ok() {
        let said = refused(server, &state);
        assert!(said.contains("tls-key.pem: it belongs to user 12345"), "{said}");
    }
}

fn a_password_that_every_user_may_read_is_reported(server: &Server) {
    let folder = Folder::new();
    let file = folder.file("settings.toml");
    let argument = file.display().to_string();
    let warning = "has the password of `store`: all users may read it";
    let store = format!("store = \"{}{}\"\n", server.url, fresh_schema());
    for (line, mode, told) in
        [(store.as_str(), 0o644, true), (&store, 0o640, false), ("workers = 1\n", 0o644, false)]
    {
        fs::write(&file, line).expect("written");
        set(&file, mode);
        let backend = format!("127.0.0.1:{}", server.port);
        let said = text(&run(&["check", "--config", &argument, "--backend", &backend]));
        assert_eq!(said.contains(warning), told, "{line}{mode:o}: {said}");
        assert!(!said.contains("rootpw"), "{said}");
    }
    fs::write(&file, &store).expect("written");
    set(&file, 0o644);
    let proxy = Proxy::start(&server.url, &["--config", &argument]);
    assert!(proxy.log().contains(warning), "{}", proxy.log());
}
