//! Rows of the lock tables, as they are read.

use super::change_rows::ASK;
use super::changes::EXACT;
use crate::types::ProxyId;

/// A lock row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockRow {
    /// The key's bytes.
    pub key: Vec<u8>,
    /// Token of the last grant.
    pub token: u64,
    /// Incarnation of the holder; 0 for a free row.
    pub holder: u64,
    /// Grant id.
    pub grant: u64,
    /// The holder's connection id.
    pub conn: u64,
    /// Incarnation that waits; 0: none.
    pub want: u64,
    /// Token since which it waits.
    pub ticket: u64,
    /// The run of the server, as [`run_number`] has it, in which the holder has the server's own lock, too; 0:
    /// the row alone keeps the lock.
    ///
    /// [`run_number`]: super::identity::run_number
    pub run: u64,
}

impl LockRow {
    /// Whether the proxy that it names as waiting only asks who has the lock.
    pub fn asks(&self) -> bool {
        self.want != 0 && self.ticket == ASK
    }

    /// Whether its owner writes each change of it first ([`EXACT`]).
    pub fn is_exact(&self) -> bool {
        self.grant & EXACT != 0
    }
}

/// The columns of a lock row, in the order in which they are read.
pub(super) const LOCK_ROW: &str = "k,tok,holder,sess,conn,want,ticket,IF(proof=sess,run,0)";

pub(super) fn to_row(row: &mysql_async::Row) -> LockRow {
    LockRow {
        key: column(row, 0),
        token: column(row, 1),
        holder: column(row, 2),
        grant: column(row, 3),
        conn: column(row, 4),
        want: column(row, 5),
        ticket: column(row, 6),
        run: column(row, 7),
    }
}

/// State of an incarnation; it only ever grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProxyState {
    /// May grant.
    Live,
    /// Revoked: can neither renew nor grant, but its server sessions may still run.
    Dead,
    /// The incarnation's server sessions are gone: its locks may be taken.
    Clean,
}

/// [`ProxyRow::server_start`] of a proxy whose row was deleted: its connections' ids may be of any
/// run. (0, as `lockstead adopt` enters it, is none of this server's.)
pub const UNKNOWN_RUN: i64 = -1;

/// A row of `proxies`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyRow {
    /// Incarnation.
    pub id: ProxyId,
    /// State.
    pub state: ProxyState,
    /// Version of the last renewal.
    pub rvn: u64,
    /// The epoch that it has joined.
    pub epoch: u64,
    /// Lease, in milliseconds.
    pub ttl_ms: u32,
    /// Address where it listens.
    pub addr: String,
    /// Start of the server that its connection ids belong to, in seconds of the server's clock.
    pub server_start: i64,
    /// Ids of its own store connections.
    pub conns: Vec<u64>,
    /// Whether the server's own locks are taken beside its rows.
    pub native: bool,
    /// The version of the tables that it knows.
    pub tables: u32,
    /// For how many milliseconds it keeps names without a holder.
    pub keeps: u32,
}

/// The columns of a row of `proxies`, in the order in which they are read.
pub(super) const PROXY_ROW: &str =
    "id,state,rvn,ttl_ms,addr,server_start,conns,mode,epoch,tables,keeps";

pub(super) fn to_proxy(row: &mysql_async::Row) -> ProxyRow {
    let state = match column::<u8>(row, 1) {
        1 => ProxyState::Live,
        3 => ProxyState::Clean,
        // An unknown state of a later version is treated as one that may still run.
        _ => ProxyState::Dead,
    };
    let conns: String = column(row, 6);
    ProxyRow {
        id: ProxyId(column(row, 0)),
        state,
        rvn: column(row, 2),
        epoch: column(row, 8),
        ttl_ms: column(row, 3),
        addr: column(row, 4),
        server_start: column(row, 5),
        conns: conns.split(',').filter_map(|n| n.parse().ok()).collect(),
        native: column::<u8>(row, 7) == 1,
        tables: column(row, 9),
        keeps: column(row, 10),
    }
}

/// A column of a row, or its type's default where the server sent NULL or another type.
pub(super) fn column<T: mysql_async::prelude::FromValue + Default>(
    row: &mysql_async::Row,
    index: usize,
) -> T {
    row.get_opt::<T, usize>(index).and_then(Result::ok).unwrap_or_default()
}
