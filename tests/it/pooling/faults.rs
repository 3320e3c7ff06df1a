//! A fault of the program, which tests ask for: it ends the session that meets it, and nothing else.

use std::sync::Arc;

use super::ground::options;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::Proxy;
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::End;

on_both! {
    mutant_fault
}

fn mutant_fault(server: &Server) {
    let flavour = flavour_of(server);
    let own = Arc::new(OwnServer::start(flavour, options(flavour)));
    for settings in
        [&["--mode", "coexist"][..], &["--mode", "durable"], &["--pooling", "transaction"]]
    {
        let settings = [settings, &["--workers", "1"]].concat();
        let proxy = Proxy::start_mutant(&own.server.url, "Fault", &settings);
        let mut other = Session::at(proxy.port);
        for times in 1..=3 {
            let mut session = Session::at(proxy.port);
            session.lock("k");
            session.run("BEGIN");
            assert_eq!(session.client.query(b"DO 'fault'").end, End::Closed, "{settings:?}");
            assert_eq!(other.value("SELECT 7").as_deref(), Some("7"));
            eventually("its lock is free", || other.is_free("k").then_some(()));
            let metric = |name: &str| proxy.metric(name);
            eventually("it is counted", || {
                let sessions = (metric("lockstead_sessions") - 1.0).abs() < 0.5;
                (sessions && metric("lockstead_panics_total") >= f64::from(times)).then_some(())
            });
        }
        other.lock("k");
        let log = proxy.log();
        assert_eq!(log.matches("a fault of the proxy ends a session").count(), 3, "{log}");
        assert_eq!(log.matches("panicked at").count(), 3, "{log}");
    }
}
