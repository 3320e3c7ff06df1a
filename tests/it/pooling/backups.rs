//! Sessions that share connections during a backup.

use std::sync::Arc;

use super::ground::{Ground, Suited, options};
use crate::backups::{LEASE, waits_for_the_backup};
use crate::own_server::{OwnServer, flavour_of};
use crate::script::Server;
use crate::stage::on_both;

on_both! {
    a_read_lock_costs_no_shared_session_its_locks
}

fn a_read_lock_costs_no_shared_session_its_locks(server: &Server) {
    let flavour = flavour_of(server);
    let own = Arc::new(OwnServer::start(flavour, options(flavour)));
    let ground = Ground::before(Suited::alone(&own), 3, &LEASE);
    waits_for_the_backup(&own.server, &ground.proxy, || ground.session());
}
