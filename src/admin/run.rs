//! Carries out an administrator's command.

use super::client_queries;
use super::command::{AdminCommand, ClientQuery, HELP};
use super::control::{Caller, Control};
use super::reply::{AdminReply, empty};
use super::table::{AdminTable, Cell, ColumnKind, NOTES};
use crate::protocol::reply::ErrorReply;

impl Control {
    /// Carries out a command.
    pub(super) async fn run(
        &self,
        command: AdminCommand,
        caller: &Caller<'_>,
    ) -> Result<AdminReply, ErrorReply> {
        Ok(AdminReply::Rows(match command {
            AdminCommand::Locks(like) => self.locks(like.as_deref()).await?,
            AdminCommand::History(like) => self.history(like.as_deref())?,
            AdminCommand::Waiters => self.waiters().await,
            AdminCommand::Sessions => self.sessions().await,
            AdminCommand::Pool => self.pool(),
            AdminCommand::Proxies => self.proxies().await?,
            AdminCommand::Deadlocks => self.deadlocks().await,
            AdminCommand::Lease => self.lease(),
            AdminCommand::Backends => self.backends(),
            AdminCommand::Config => self.config(),
            AdminCommand::Metrics => self.metrics(),
            AdminCommand::Release { name, token, cluster } => {
                let who = &caller.who.name;
                return self.release(&name, token, cluster.as_deref(), who).await;
            }
            AdminCommand::Kill { id, cluster } => return self.kill(id, cluster.as_deref()).await,
            AdminCommand::Switchover => self.switchovers(),
            AdminCommand::PrepareSwitchover { hold, cluster } => {
                return self.prepare_switchover(hold, cluster.as_deref()).await;
            }
            AdminCommand::CancelSwitchover { cluster } => {
                return self.cancel_switchover(cluster.as_deref());
            }
            AdminCommand::Drain => return Ok(self.set_aside(true)),
            AdminCommand::Resume => return Ok(self.set_aside(false)),
            AdminCommand::Reload => return Ok(Self::told(self.read_again()?)),
            AdminCommand::Upgrade => return self.upgrade().await,
            AdminCommand::UpgradeIfNeeded => return self.upgrade_if_needed().await,
            AdminCommand::Help => help(),
            AdminCommand::Client(ClientQuery::Set) => return Ok(AdminReply::Done),
            AdminCommand::Client(ClientQuery::Empty) => return Err(empty()),
            AdminCommand::Client(ClientQuery::Warnings) => return Ok(AdminReply::Notes),
            AdminCommand::Client(ClientQuery::Errors) => AdminTable::of(NOTES, Vec::new()),
            AdminCommand::Client(ClientQuery::Select(list)) => {
                let value = |(what, name): (String, String)| {
                    Ok((name, client_queries::value(&what, caller.who, caller.notes.len())?))
                };
                let values: Result<_, _> = list.into_iter().map(value).collect();
                return values.map(AdminReply::Values);
            }
        }))
    }

    /// Load balancers that ask `/readyz` send no more clients.
    fn set_aside(&self, aside: bool) -> AdminReply {
        self.registry.set_aside(aside);
        AdminReply::Done
    }
}

fn help() -> AdminTable {
    let row = |(command, what): &(&str, &str)| {
        vec![Cell::Text((*command).to_owned()), Cell::Text((*what).to_owned())]
    };
    let columns = &[("command", ColumnKind::Text), ("what", ColumnKind::Text)];
    AdminTable::of(columns, HELP.iter().map(row).collect())
}
