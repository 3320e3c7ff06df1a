//! What it costs that a grant counts only when a replica has executed it.

use anyhow::{Result, ensure};
use lockstead_support::{Flavour, PrivateServer};

use super::Run;

impl Run<'_> {
    /// Pairs of lock and unlock before a server with a replica: with it as a failover candidate, and without.
    pub(super) fn measure_witness(&mut self) -> Result<()> {
        let replica = self.start_replica()?;
        let candidate = format!("127.0.0.1:{}", replica.port());
        self.stage.set_others(vec![replica]);
        self.stage.start_lockstead("grace", &["--mode", "durable"])?;
        let witness = ["--mode", "durable", "--failover-candidates", &candidate];
        self.stage.start_lockstead("witness", &witness)?;
        for round in 1..=self.plan.rounds {
            self.say(&format!("witness, round {round}"));
            for n in [1, 64] {
                for variant in ["grace", "witness"] {
                    self.pairs("witness", (n, variant), &[])?;
                }
            }
        }
        let asked = self.stage.metric("witness", "lockstead_witness_seconds_count")?;
        ensure!(asked > 0.0, "the candidate was not asked");
        self.stage.stop_all();
        self.stage.set_others(Vec::new());
        Ok(())
    }

    /// A replica of the server, which takes no writes.
    fn start_replica(&self) -> Result<PrivateServer> {
        let folder = self.stage.place().file(&format!("replica-{}", self.flavour.name()));
        let replica = PrivateServer::start_in(folder, self.flavour, &["--server-id=2"])?;
        let port = self.stage.server().port();
        let logs = self.stage.server().sql("SHOW BINARY LOGS")?;
        let first = logs.split_whitespace().find(|word| word.starts_with("binlog."));
        ensure!(first.is_some(), "the server has no binary log: {logs}");
        let first = first.unwrap_or_default();
        replica.sql(&match self.flavour {
            Flavour::MySql => format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='root', \
                 SOURCE_PASSWORD='rootpw', SOURCE_LOG_FILE='{first}', SOURCE_LOG_POS=4, GET_SOURCE_PUBLIC_KEY=1;
                 START REPLICA; SET GLOBAL super_read_only=1"
            ),
            Flavour::MariaDb => format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='root', \
                 MASTER_PASSWORD='rootpw', MASTER_LOG_FILE='{first}', MASTER_LOG_POS=4; START SLAVE; \
                 SET GLOBAL read_only=1"
            ),
        })?;
        Ok(replica)
    }
}
