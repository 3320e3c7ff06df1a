//! Whether a server takes writes, by what it says of itself and of its cluster.

use std::time::Duration;

use super::connection::{StoreConnection, StoreError};
use super::rows::column;
use crate::types::Flavour;

/// What a server says of writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writability {
    /// The server refuses writes: `super_read_only` or `read_only`.
    pub read_only: bool,
    /// The server's place in a cluster.
    pub membership: Membership,
    /// Number of other servers that have each change before it is acknowledged, by semi-synchronous replication that
    /// waits for them whatever it takes.
    pub copies: usize,
}

/// A server's place in a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Membership {
    /// The server is in no cluster.
    Alone,
    /// Group Replication.
    Group {
        /// The server itself is ONLINE.
        online: bool,
        /// The server's role is PRIMARY, as that of each member where all take writes.
        primary: bool,
        /// More than half of the members that it knows are ONLINE. A primary without a majority keeps its role, and
        /// calls itself writable.
        majority: bool,
        /// `group_replication_consistency` is EVENTUAL: a new primary shows the past, and takes writes, before it has
        /// applied all that was committed.
        eventual: bool,
        /// `group_replication_group_name`.
        group: String,
        /// Identities of members that may take writes, for all that this one knows: PRIMARY, and ONLINE or UNREACHABLE.
        writers: Vec<String>,
    },
    /// Galera.
    Galera {
        /// `wsrep_cluster_status` is Primary.
        primary: bool,
        /// `wsrep_ready` is ON.
        ready: bool,
        /// `wsrep_cluster_state_uuid`.
        cluster: String,
        /// `wsrep_cluster_conf_id`: the number of its view.
        view: String,
        /// Nodes in that view that have data: an arbitrator has none.
        nodes: usize,
    },
}

/// Why a member with `group_replication_consistency=EVENTUAL` is not used.
const EVENTUAL: &str = "has group_replication_consistency=EVENTUAL, with which a new primary does not know yet what \
                        was committed: SET PERSIST group_replication_consistency='BEFORE_ON_PRIMARY_FAILOVER' on all \
                        members";

impl Writability {
    /// Why the server takes no writes, in words that follow its name.
    pub fn refusal(&self) -> Option<&'static str> {
        let why = match &self.membership {
            Membership::Group { online: false, .. } => "is not ONLINE in its group",
            Membership::Group { majority: false, .. } => "is in a minority of its group",
            Membership::Group { primary: false, .. } => "is a secondary of its group",
            Membership::Group { eventual: true, .. } => EVENTUAL,
            Membership::Galera { primary: false, .. } => "is not in the primary component",
            Membership::Galera { ready: false, .. } => "is not ready (wsrep_ready)",
            _ if self.read_only => "is read-only",
            Membership::Alone | Membership::Group { .. } | Membership::Galera { .. } => {
                return None;
            }
        };
        Some(why)
    }

    /// Of a server that takes no writes: whether it has the changes of the others in its cluster. `None`: it is in none.
    pub fn has_changes_of_cluster(&self) -> Option<bool> {
        match self.membership {
            Membership::Alone => None,
            Membership::Group { online, majority, primary, .. } => {
                Some(online && majority && (self.read_only || !primary))
            }
            Membership::Galera { primary, ready, .. } => Some(primary && ready),
        }
    }
}

/// How long a server may take to say whether it takes writes, where nothing else waits.
pub const ANSWER: Duration = Duration::from_secs(2);

impl StoreConnection {
    /// Asks the server whether it takes writes. After an error the connection is of no use.
    pub async fn writability(&mut self, limit: Duration) -> Result<Writability, StoreError> {
        let sql = match self.flavour() {
            Flavour::MySql => {
                "SELECT @@global.super_read_only OR @@global.read_only; \
                 SELECT member_id=@@server_uuid, member_state, member_role, member_id \
                 FROM performance_schema.replication_group_members; \
                 SELECT variable_name, variable_value FROM performance_schema.global_variables WHERE variable_name IN \
                 ('group_replication_group_name','group_replication_consistency') \
                 OR variable_name LIKE 'rpl\\_semi\\_sync\\_%'"
            }
            Flavour::MariaDb => {
                "SELECT CAST(@@global.read_only AS CHAR) NOT IN ('0','OFF'); \
                 SELECT UPPER(variable_name), variable_value FROM information_schema.global_status \
                 WHERE variable_name IN ('WSREP_PROVIDER_NAME','WSREP_CLUSTER_STATUS','WSREP_READY',\
                 'WSREP_CLUSTER_STATE_UUID','WSREP_CLUSTER_CONF_ID','WSREP_INCOMING_ADDRESSES',\
                 'RPL_SEMI_SYNC_MASTER_STATUS'); \
                 SELECT 'rpl_semi_sync_master_enabled', IF(@@global.rpl_semi_sync_master_enabled,'ON','OFF') UNION ALL \
                 SELECT 'rpl_semi_sync_master_wait_no_slave', \
                 IF(@@global.rpl_semi_sync_master_wait_no_slave,'ON','OFF') UNION ALL \
                 SELECT 'rpl_semi_sync_master_wait_point', @@global.rpl_semi_sync_master_wait_point UNION ALL \
                 SELECT 'rpl_semi_sync_master_timeout', @@global.rpl_semi_sync_master_timeout"
            }
        };
        let rows = self.query_within(limit, sql.to_owned(), 3).await?;
        let read_only = rows[0].first().is_none_or(|row| column::<u8>(row, 0) == 1);
        let pairs = |rows: &[mysql_async::Row]| -> Vec<(String, String)> {
            rows.iter().map(|row| (column(row, 0), column(row, 1))).collect()
        };
        let membership = match self.flavour() {
            Flavour::MySql => {
                let member = |row: &mysql_async::Row| GroupMember {
                    own: column::<u8>(row, 0) == 1,
                    online: column::<String>(row, 1) == "ONLINE",
                    primary: column::<String>(row, 2) == "PRIMARY",
                    offline: column::<String>(row, 1) == "OFFLINE",
                    unreachable: column::<String>(row, 1) == "UNREACHABLE",
                    ident: column(row, 3),
                };
                in_group(&rows[1].iter().map(member).collect::<Vec<_>>(), &pairs(&rows[2]))
            }
            Flavour::MariaDb => in_galera(&pairs(&rows[1])),
        };
        let mut copies = semi_sync_copies(&pairs(&rows[2]));
        let running = match self.flavour() {
            Flavour::MySql if copies > 0 => self.semi_sync_status(limit).await?,
            Flavour::MySql => String::new(),
            Flavour::MariaDb => value(&pairs(&rows[1]), "RPL_SEMI_SYNC_MASTER_STATUS").to_owned(),
        };
        // The server goes on alone once it has waited for too long, also after the limit is raised.
        if running != "ON" {
            copies = 0;
        }
        Ok(Writability { read_only, membership, copies })
    }

    /// Whether semi-synchronous replication waits for others. To list states takes long at a server with many connections.
    async fn semi_sync_status(&mut self, limit: Duration) -> Result<String, StoreError> {
        let sql = "SELECT variable_value FROM performance_schema.global_status WHERE variable_name IN \
                   ('Rpl_semi_sync_source_status','Rpl_semi_sync_master_status')";
        let rows = self.query_within(limit, sql.to_owned(), 1).await?;
        Ok(rows[0].first().map(|row| column(row, 0)).unwrap_or_default())
    }
}

/// A time limit in milliseconds, from which on a server waits whatever it takes.
const ENDLESS: u64 = 24 * 60 * 60 * 1000;

/// How many other servers have a change before it is acknowledged, by the variables of semi-synchronous replication; 0 where
/// another client may see it before, or the server stops waiting. MariaDB waits for one.
fn semi_sync_copies(variables: &[(String, String)]) -> usize {
    let of = |names: [&str; 2]| {
        let found = names.map(|name| value(variables, &format!("rpl_semi_sync_{name}")));
        found.into_iter().find(|value| !value.is_empty()).unwrap_or_default()
    };
    let on = |names| of(names) == "ON";
    let endless = of(["source_timeout", "master_timeout"]).parse().unwrap_or(0) >= ENDLESS;
    let waits = on(["source_enabled", "master_enabled"])
        && on(["source_wait_no_replica", "master_wait_no_slave"])
        && of(["source_wait_point", "master_wait_point"]) == "AFTER_SYNC"
        && endless;
    if waits {
        of(["source_wait_for_replica_count", "master_wait_for_slave_count"]).parse().unwrap_or(1)
    } else {
        0
    }
}

/// A row of `replication_group_members`.
#[derive(Debug, Clone)]
struct GroupMember {
    own: bool,
    online: bool,
    primary: bool,
    offline: bool,
    unreachable: bool,
    ident: String,
}

/// The value of a variable; empty if there is none.
fn value<'a>(of: &'a [(String, String)], name: &str) -> &'a str {
    let found = of.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
    found.map_or("", |(_, value)| value.as_str())
}

/// A server outside all groups lists nobody, or one member that is OFFLINE.
fn in_group(members: &[GroupMember], variables: &[(String, String)]) -> Membership {
    if members.iter().all(|member| member.offline) {
        return Membership::Alone;
    }
    let own = members.iter().find(|member| member.own);
    let online = members.iter().filter(|member| member.online).count();
    Membership::Group {
        online: own.is_some_and(|own| own.online),
        primary: own.is_some_and(|own| own.primary),
        majority: online * 2 > members.len(),
        eventual: value(variables, "group_replication_consistency") == "EVENTUAL",
        group: value(variables, "group_replication_group_name").to_owned(),
        writers: members
            .iter()
            .filter(|member| member.primary && (member.online || member.unreachable))
            .map(|member| member.ident.clone())
            .collect(),
    }
}

/// A server without a provider names none.
fn in_galera(status: &[(String, String)]) -> Membership {
    let of = |name: &str| value(status, name);
    if of("WSREP_PROVIDER_NAME").is_empty() {
        return Membership::Alone;
    }
    let addresses = of("WSREP_INCOMING_ADDRESSES").split(',');
    Membership::Galera {
        primary: of("WSREP_CLUSTER_STATUS") == "Primary",
        ready: of("WSREP_READY") == "ON",
        cluster: of("WSREP_CLUSTER_STATE_UUID").to_owned(),
        view: of("WSREP_CLUSTER_CONF_ID").to_owned(),
        nodes: addresses.filter(|address| !address.trim().is_empty()).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(own: bool, state: &str, role: &str) -> GroupMember {
        let (online, offline) = (state == "ONLINE", state == "OFFLINE");
        let (unreachable, ident) = (state == "UNREACHABLE", format!("{own} {state}"));
        GroupMember { own, online, primary: role == "PRIMARY", offline, unreachable, ident }
    }

    #[test]
    fn a_member_of_a_group_takes_writes_as_the_primary_of_a_majority() {
        let me = |state, role| member(true, state, role);
        let other = |state| member(false, state, "SECONDARY");
        for (members, says) in [
            (vec![], None),
            (vec![member(false, "OFFLINE", "")], None),
            (vec![me("ONLINE", "PRIMARY")], None),
            (vec![me("ONLINE", "PRIMARY"), other("ONLINE"), other("UNREACHABLE")], None),
            (
                vec![me("ONLINE", "PRIMARY"), other("UNREACHABLE"), other("UNREACHABLE")],
                Some("minority"),
            ),
            (vec![me("ONLINE", "PRIMARY"), other("UNREACHABLE")], Some("minority")),
            (vec![me("ONLINE", "SECONDARY"), other("ONLINE")], Some("secondary")),
            (vec![me("RECOVERING", "SECONDARY"), other("ONLINE")], Some("not ONLINE")),
            (vec![me("ERROR", "")], Some("not ONLINE")),
        ] {
            let seen =
                Writability { read_only: false, membership: in_group(&members, &[]), copies: 0 };
            let is_secondary = says.is_some_and(|says| says == "secondary");
            let in_group = seen.membership != Membership::Alone;
            assert_eq!(seen.has_changes_of_cluster(), in_group.then_some(is_secondary));
            let refusal = seen.refusal();
            assert_eq!(refusal.is_some(), says.is_some(), "{members:?}: {refusal:?}");
            assert!(refusal.unwrap_or_default().contains(says.unwrap_or_default()), "{members:?}");
        }
    }

    #[test]
    fn a_member_that_is_primary_may_take_writes_until_its_group_says_that_it_is_gone() {
        let members = [
            member(true, "ONLINE", "PRIMARY"),
            member(false, "UNREACHABLE", "PRIMARY"),
            member(false, "RECOVERING", "PRIMARY"),
            member(false, "ONLINE", "SECONDARY"),
        ];
        let set = |value: &str| {
            [("group_replication_consistency", value), ("group_replication_group_name", "g")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        let Membership::Group { writers, group, .. } = in_group(&members, &set("AFTER")) else {
            panic!("it is in a group")
        };
        assert_eq!(
            (writers.join(","), group.as_str()),
            ("true ONLINE,false UNREACHABLE".into(), "g")
        );
        let membership = in_group(&members[..1], &set("EVENTUAL"));
        let refusal = Writability { read_only: false, membership, copies: 0 }.refusal();
        assert!(
            refusal.is_some_and(|why| why.contains("BEFORE_ON_PRIMARY_FAILOVER")),
            "{refusal:?}"
        );
    }

    #[test]
    fn semi_synchronous_replication_makes_copies_where_it_waits_whatever_it_takes() {
        let all = [
            ("source_enabled", "ON"),
            ("source_wait_no_replica", "ON"),
            ("source_wait_point", "AFTER_SYNC"),
            ("source_timeout", "86400000"),
            ("source_wait_for_replica_count", "2"),
        ];
        let copies = |change: (&str, &str), [source, replica]: [&str; 2]| {
            let variables = all.map(|(name, value)| {
                let value = if name == change.0 { change.1 } else { value };
                let name = name.replace("source", source).replace("replica", replica);
                (format!("rpl_semi_sync_{name}"), value.to_owned())
            });
            semi_sync_copies(&variables)
        };
        for names in [["source", "replica"], ["master", "slave"]] {
            assert_eq!(copies(("", ""), names), 2);
            for (change, left) in [
                (("source_enabled", "OFF"), 0),
                (("source_wait_no_replica", "OFF"), 0),
                (("source_wait_point", "AFTER_COMMIT"), 0),
                (("source_timeout", "10000"), 0),
                (("source_wait_for_replica_count", "1"), 1),
                (("source_wait_for_replica_count", ""), 1),
            ] {
                assert_eq!(copies(change, names), left, "{change:?}");
            }
        }
        assert_eq!(semi_sync_copies(&[]), 0);
    }

    #[test]
    fn an_arbitrator_is_no_node_with_data() {
        let status = [("WSREP_PROVIDER_NAME", "Galera"), ("WSREP_INCOMING_ADDRESSES", "a:1,,AUTO")];
        let status = status.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert!(matches!(in_galera(&status), Membership::Galera { nodes: 2, .. }));
    }

    #[test]
    fn a_node_of_galera_takes_writes_in_the_primary_component_when_it_is_ready() {
        let status = |provider: &str, cluster: &str, ready: &str| {
            let row = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            [
                row("WSREP_PROVIDER_NAME", provider),
                row("WSREP_CLUSTER_STATUS", cluster),
                row("WSREP_READY", ready),
            ]
        };
        for (status, takes) in [
            (status("", "Disconnected", "OFF"), true),
            (status("Galera", "Primary", "ON"), true),
            (status("Galera", "non-Primary", "OFF"), false),
            (status("Galera", "non-Primary", "ON"), false),
            (status("Galera", "Primary", "OFF"), false),
        ] {
            let seen = Writability { read_only: false, membership: in_galera(&status), copies: 0 };
            assert_eq!(seen.refusal().is_none(), takes, "{status:?}");
            let closed = Writability { read_only: true, ..seen };
            assert!(closed.refusal().is_some(), "{status:?}");
            let in_cluster = closed.membership != Membership::Alone;
            assert_eq!(closed.has_changes_of_cluster(), in_cluster.then_some(takes));
        }
    }
}
