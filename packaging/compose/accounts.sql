-- For mysql. An administrator runs this.
SET NAMES utf8mb4;
SET SESSION sql_mode = '';

CREATE USER IF NOT EXISTS `lockstead`@`%` IDENTIFIED BY 'lockstead';

-- To keep the rows of locks, waits and proxies, and delete those that are not needed.
-- Without it: it cannot keep locks.
GRANT SELECT, INSERT, UPDATE, DELETE ON `lockstead`.* TO `lockstead`@`%`;

-- To see whether the server still works for a session that has ended.
-- Without it: it cannot see when a broken connection's or a dead proxy's sessions are gone, so their locks stay held until an operator acts.
GRANT PROCESS ON *.* TO `lockstead`@`%`;

-- To end the sessions of a dead proxy.
-- Without it: a dead proxy's sessions are not killed, so its locks pass on only when the server ends them itself.
GRANT CONNECTION_ADMIN ON *.* TO `lockstead`@`%`;

-- To see a killed session to the end of its rollback, and replicas.
-- Without it: it looks up sessions one by one, a start waits one lease, and `lockstead adopt` does not work.
GRANT SELECT ON performance_schema.threads TO `lockstead`@`%`;

-- To find the sessions of a dead proxy by their connection attribute.
-- Without it: a dead proxy's sessions without locks are not ended.
GRANT SELECT ON performance_schema.session_connect_attrs TO `lockstead`@`%`;

-- To see which of the server's own locks a session holds, with `mode = "coexist"`.
-- Without it: in that mode, locks whose names are not in a statement's text have no rows.
GRANT SELECT ON performance_schema.metadata_locks TO `lockstead`@`%`;

-- To see that there is no replication, so that a start need not wait one lease.
-- Without it: a start waits one lease.
GRANT SELECT ON performance_schema.replication_connection_configuration TO `lockstead`@`%`;

-- To show `lockstead adopt` whether the server still replicates, and which one is a replica.
-- Without it: `lockstead adopt` does not work, and a read-only server is taken for a replica.
GRANT SELECT ON performance_schema.replication_connection_status TO `lockstead`@`%`;

-- To show `lockstead adopt` whether changes of another server are still applied, and which one is a replica.
-- Without it: `lockstead adopt` does not work, and a read-only server is taken for a replica.
GRANT SELECT ON performance_schema.replication_applier_status TO `lockstead`@`%`;

-- To show `lockstead doctor` whether the server is in a group.
-- Without it: `lockstead doctor` assumes that a server with the plugin is in a group.
GRANT SELECT ON performance_schema.replication_group_members TO `lockstead`@`%`;

-- To create and upgrade the tables with --create-schema or `lockstead schema install`.
-- Without it: an administrator must run the output of `lockstead schema print`.
GRANT CREATE, CREATE VIEW, ALTER ON `lockstead`.* TO `lockstead`@`%`;
