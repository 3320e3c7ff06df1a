//! Scripts that need a server set up for them.

use crate::differential::check_at;
use crate::own_server::OwnServer;
use crate::proxy::Proxy;
use crate::script::Flavour;

fn check(flavour: Flavour, setting: &str, name: &str, text: &str) {
    let own = OwnServer::start(flavour, &[]);
    own.server.root().run(setting);
    let proxy = Proxy::start(&own.server.url, &[]);
    check_at(&own.server, name, text, flavour, Some(&proxy));
}

#[test]
fn query_attributes_reach_the_statement_in_the_place_of_another() {
    let component = "INSTALL COMPONENT 'file://component_query_attributes'";
    let script = include_str!("scripts/own/query_attributes.sql");
    check(Flavour::MySql, component, "query_attributes", script);
}

#[test]
fn a_limit_of_rows_that_nobody_names_is_not_seen() {
    let setting = "SET GLOBAL init_connect='SET sql_select_limit=0'";
    for flavour in [Flavour::MySql, Flavour::MariaDb] {
        let script = include_str!("scripts/own/init_connect.sql");
        check(flavour, setting, "init_connect", script);
    }
}
