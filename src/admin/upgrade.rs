//! UPGRADE and UPGRADE IF NEEDED: a new process replaces this one.

use tokio::sync::oneshot;

use super::control::{Control, UpgradeRequest};
use super::reply::{AdminReply, failed};
use super::table::{AdminTable, Cell, ColumnKind};
use crate::config::SettingChange;
use crate::protocol::reply::ErrorReply;

impl Control {
    pub(super) async fn upgrade(&self) -> Result<AdminReply, ErrorReply> {
        let process = self.next_process().await;
        let process =
            process.map_err(|e| failed(format!("no upgrade, nothing was changed: {e}")))?;
        let columns = &[("process", ColumnKind::Number)];
        let rows = vec![vec![Cell::Number(u64::from(process))]];
        Ok(AdminReply::Did(Some(AdminTable::of(columns, rows)), format!("process {process}")))
    }

    /// Reads the settings again. Starts a new process if a changed setting needs a start, or if the
    /// program on disk has changed.
    pub(super) async fn upgrade_if_needed(&self) -> Result<AdminReply, ErrorReply> {
        let (late, mut changes): (Vec<_>, Vec<_>) =
            self.read_again()?.into_iter().partition(|change| change.at_start);
        let read = |e| failed(format!("no upgrade, but the settings were read again: {e}"));
        let late: Vec<_> = late.into_iter().map(|change| change.what).collect();
        let late = (!late.is_empty()).then(|| format!("a start applies {}", late.join(", ")));
        let replaced = (self.replaced)().map_err(read)?;
        let reasons: Vec<_> = late.into_iter().chain(replaced).collect();
        if reasons.is_empty() {
            let why =
                "not needed: no changed setting needs a start, and the program has not changed";
            changes.push(SettingChange::of("upgrade", why));
        } else {
            let why = reasons.join("; ");
            let process = self.next_process().await;
            let process =
                process.map_err(|e| read(format!("an upgrade is needed, because {why}; {e}")))?;
            changes.push(SettingChange::of("upgrade", &format!("done: {why}")));
            changes.push(SettingChange::of("process", &process.to_string()));
        }
        Ok(Self::told(changes))
    }

    async fn next_process(&self) -> Result<u32, String> {
        let gone = || "another process has already replaced this one".to_owned();
        // Held until the answer: there is one at a time.
        let Ok(asked) = self.upgrade.try_lock() else {
            let message = "an upgrade is already under way; its answer and the log say how it ends";
            return Err(message.to_owned());
        };
        let (tell, told) = oneshot::channel();
        asked.send(UpgradeRequest(tell)).await.map_err(|_| gone())?;
        told.await.map_err(|_| gone())?
    }
}
