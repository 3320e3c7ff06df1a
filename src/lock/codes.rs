//! Errors about locks that the proxy itself tells a client.

use std::time::Duration;

use super::held::Held;
use crate::protocol::reply::ErrorReply;
use crate::types::Flavour;

/// ER_NOT_SUPPORTED_YET, for a lock call in a form that is not yet covered.
pub fn unsupported(what: &str) -> ErrorReply {
    ErrorReply {
        code: 1235,
        state: "42000",
        message: format!(
            "Lockstead does not yet support {what}. Call the lock function in a statement of its own, \
             for example SELECT GET_LOCK(name, timeout) or SELECT RELEASE_LOCK(name). The statement \
             was not run"
        ),
    }
}

/// ER_NOT_SUPPORTED_YET, found when other calls of the statement may have been carried out.
pub fn unsupported_midway(what: &str) -> ErrorReply {
    ErrorReply {
        code: 1235,
        state: "42000",
        message: format!(
            "Lockstead does not yet support {what}. The statement was not run, but other lock calls \
             in it have taken effect"
        ),
    }
}

/// ER_OPTION_PREVENTS_STATEMENT, for a lock call in a session at a replica.
pub fn at_replica() -> ErrorReply {
    ErrorReply {
        code: 1290,
        state: "HY000",
        message: "Lockstead keeps locks at the server that takes writes, and this listener leads to replicas \
                  (role = \"replica\"): no lock function is carried out here, and the statement was not run. Use a \
                  listener to the writer"
            .to_owned(),
    }
}

/// ER_MALFORMED_PACKET or ER_WRONG_ARGUMENTS, as the servers mostly say, for a packet that the proxy
/// cannot read and the server perhaps could: what calls are in it is not known.
pub fn unreadable(flavour: Flavour) -> ErrorReply {
    let (code, message) = match flavour {
        Flavour::MySql => (1835, "Malformed communication packet."),
        Flavour::MariaDb => (1210, "Incorrect arguments to mysqld_stmt_execute"),
    };
    ErrorReply { code, state: "HY000", message: message.to_owned() }
}

/// A statement by which MariaDB says that it was ended, where that ends more than the call that waits.
pub const INTERRUPTED: &str =
    "SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO=1317,MESSAGE_TEXT='Query execution was interrupted'";

/// ER_UNKNOWN_ERROR, for a lock whose state the store could not tell.
pub fn store_failed(why: &str) -> ErrorReply {
    ErrorReply {
        code: 1105,
        state: "HY000",
        message: format!("Lockstead cannot reach its lock store: {why}"),
    }
}

/// ER_LOCK_WAIT_TIMEOUT, where the response to a statement that took a lock at the server cannot be changed.
pub fn held_in_rows() -> ErrorReply {
    ErrorReply {
        code: 1205,
        state: "HY000",
        message: "Lock wait timeout exceeded: a session of another Lockstead, in mode durable, holds this \
                  lock. The statement has run, but its lock was given back; try again"
            .to_owned(),
    }
}

/// A statement by which the server itself says that a lock is not taken because of a deadlock; as
/// a warning where it lets such an error pass.
pub fn deadlock(flavour: Flavour, as_warning: bool) -> String {
    let (code, state, message) = match flavour {
        Flavour::MySql => (
            3058,
            "HY000",
            "Deadlock found when trying to get user-level lock; try rolling back \
             transaction/releasing locks and restarting lock acquisition.",
        ),
        Flavour::MariaDb => {
            (1213, "40001", "Deadlock found when trying to get lock; try restarting transaction")
        }
    };
    let state = if as_warning { "01000" } else { state };
    format!("SIGNAL SQLSTATE '{state}' SET MYSQL_ERRNO={code},MESSAGE_TEXT='{message}'")
}

/// The last words to a session whose locks can no longer be vouched for.
pub fn fenced(held: &Held) -> ErrorReply {
    // Clients cut an error's text at 512 bytes.
    const ROOM: usize = 300;
    let mut names = String::new();
    let mut unnamed = 0;
    for name in held.names() {
        if names.len() + name.len() > ROOM {
            unnamed += 1;
            continue;
        }
        names.push_str(if names.is_empty() { "'" } else { ", '" });
        names.push_str(&name);
        names.push('\'');
    }
    match (names.is_empty(), unnamed) {
        (_, 0) => {}
        (true, n) => names = format!("{n} locks"),
        (false, n) => names = format!("{names} and {n} more"),
    }
    ErrorReply {
        code: 4031,
        state: "HY000",
        message: format!(
            "Lockstead lost its lease on the lock store, and with it this session's {names}: other \
             sessions may take these locks, so this session is closed"
        ),
    }
}

/// The last words to a session whose lock an administrator has released.
pub fn revoked(name: &str) -> ErrorReply {
    // Clients cut an error's text at 512 bytes.
    let name: String = name.chars().take(64).collect();
    ErrorReply {
        code: 4031,
        state: "HY000",
        message: format!(
            "An administrator of Lockstead has released this session's lock '{name}': other sessions \
             may take it, so this session is closed"
        ),
    }
}

/// The last words to a session whose lock's row was deleted or changed.
pub fn lost(name: Option<&str>) -> ErrorReply {
    // Clients cut an error's text at 512 bytes.
    let name: String = name.unwrap_or_default().chars().take(64).collect();
    let lock = if name.is_empty() { "a lock".to_owned() } else { format!("the lock '{name}'") };
    ErrorReply {
        code: 4031,
        state: "HY000",
        message: format!(
            "The row of {lock} in Lockstead's lock tables was deleted or changed: others may have taken \
             the lock, so this session is closed"
        ),
    }
}

/// The last words to a session that asks for a lock, and may be at another server than the locks.
pub fn moved() -> ErrorReply {
    ErrorReply {
        code: 4031,
        state: "HY000",
        message:
            "Lockstead's lock tables have moved, or may have moved, to another server since this \
             session logged in: no lock was taken, and the session is closed. Connect again"
                .to_owned(),
    }
}

/// ER_SERVER_SHUTDOWN.
pub fn draining() -> ErrorReply {
    ErrorReply { code: 1053, state: "08S01", message: "Server shutdown in progress".into() }
}

/// ER_CONNECT_TO_FOREIGN_DATA_SOURCE: a server has errors of its own alone. At one of those that clients
/// raise themselves (from 2000 on) MariaDB's take the packet for broken, and hide its text.
pub const NO_SERVER: u16 = 1429;

/// Instead of a greeting.
pub fn unreachable(backend: &str, why: &str) -> ErrorReply {
    ErrorReply {
        code: NO_SERVER,
        state: "08S01",
        message: format!("Lockstead can't connect to the MySQL server on '{backend}' ({why})"),
    }
}

/// The error of a login that this proxy has made itself.
pub fn ring(backend: &str) -> ErrorReply {
    ErrorReply {
        code: NO_SERVER,
        state: "08S01",
        message: format!(
            "Lockstead's `backend` ('{backend}') leads back to this proxy: let it name the server"
        ),
    }
}

/// ER_HANDSHAKE_ERROR.
pub fn bad_handshake() -> ErrorReply {
    ErrorReply { code: 1043, state: "08S01", message: "Bad handshake".into() }
}

/// ER_SECURE_TRANSPORT_REQUIRED, as servers say it under require_secure_transport.
pub fn tls_required() -> ErrorReply {
    ErrorReply {
        code: 3159,
        state: "HY000",
        message: "Connections using insecure transport are prohibited while \
                  --require_secure_transport=ON."
            .into(),
    }
}

/// ER_ACCESS_DENIED_ERROR, as servers say it to accounts that REQUIRE X509.
pub fn certificate_required() -> ErrorReply {
    ErrorReply {
        code: 1045,
        state: "28000",
        message: "Access denied: Lockstead requires a client certificate (tls_client_cert). Connect with TLS, a certificate and its key"
            .into(),
    }
}

/// ER_SECURE_TRANSPORT_REQUIRED, for a password that would cross a leg in clear.
pub fn clear_password(plugin: &[u8], leg: &str) -> ErrorReply {
    ErrorReply {
        code: 3159,
        state: "HY000",
        message: format!(
            "Lockstead does not send a password in clear ({}): the connection {leg} has no TLS",
            String::from_utf8_lossy(plugin)
        ),
    }
}

/// The error of a leg to the server that is not encrypted as it must be.
pub fn backend_tls(backend: &str, why: &str) -> ErrorReply {
    ErrorReply {
        code: NO_SERVER,
        state: "08S01",
        message: format!(
            "Lockstead has no TLS connection to the MySQL server on '{backend}': {why}"
        ),
    }
}

/// An error of the server's that has come without an SQLSTATE.
pub fn of_server(code: u16, message: &str) -> ErrorReply {
    let state = if code == 1040 { "08004" } else { "HY000" };
    ErrorReply { code, state, message: message.to_owned() }
}

/// What greets in the server's place has connections of other sessions.
pub fn lent(backend: &str, why: &str) -> ErrorReply {
    ErrorReply {
        code: NO_SERVER,
        state: "08S01",
        message: format!(
            "'{backend}' is a proxy that lends the server's connections to sessions in turn (connection id 0). {why}"
        ),
    }
}

/// ER_ACCESS_DENIED_ERROR, as servers say it to a password that was encrypted with another key.
pub fn wrong_key(plugin: &[u8]) -> ErrorReply {
    ErrorReply {
        code: 1045,
        state: "28000",
        message: format!(
            "Access denied: the password is encrypted with a public key that is not Lockstead's ({}); \
             let the client request the key, or use TLS",
            String::from_utf8_lossy(plugin)
        ),
    }
}

/// ER_USER_LIMIT_REACHED, for a limit of the configuration.
pub fn limit_met(owner: &[u8], key: &str, value: u64) -> ErrorReply {
    let owner: String = String::from_utf8_lossy(owner).chars().take(100).collect();
    ErrorReply {
        code: 1226,
        state: "42000",
        message: format!(
            "User '{owner}' has exceeded Lockstead's '{key}' resource (current value: {value})"
        ),
    }
}

/// ER_CON_COUNT_ERROR, for clients that come too fast.
pub fn too_many_logins(limit: u32) -> ErrorReply {
    let message = format!("Too many connections: more than {limit} in a second (max_login_rate)");
    ErrorReply { code: 1040, state: "08004", message }
}

/// ER_CON_COUNT_ERROR.
pub fn too_many_connections() -> ErrorReply {
    ErrorReply { code: 1040, state: "08004", message: "Too many connections".into() }
}

/// ER_NO_SUCH_THREAD.
pub fn unknown_thread(id: u64) -> ErrorReply {
    ErrorReply { code: 1094, state: "HY000", message: format!("Unknown thread id: {id}") }
}

/// ER_KILL_DENIED_ERROR.
pub fn not_owner(id: u64) -> ErrorReply {
    ErrorReply { code: 1095, state: "HY000", message: format!("You are not owner of thread {id}") }
}

/// ER_QUERY_INTERRUPTED, for a statement that KILL QUERY has ended.
pub fn interrupted() -> ErrorReply {
    ErrorReply { code: 1317, state: "70100", message: "Query execution was interrupted".into() }
}

/// ER_CLIENT_INTERACTION_TIMEOUT: what MySQL says to a session that was idle for too long. MariaDB says nothing.
pub fn inactive() -> ErrorReply {
    ErrorReply {
        code: 4031,
        state: "HY000",
        message:
            "The client was disconnected by the server because of inactivity. See wait_timeout and \
                  interactive_timeout for configuring this behavior."
                .into(),
    }
}

/// ER_NOT_SUPPORTED_YET, for an execution that relies on types which its connection does not know.
pub fn types_do_not_fit() -> ErrorReply {
    ErrorReply {
        code: 1235,
        state: "42000",
        message: "Lockstead cannot bind the types of an execution of 16 MiB or more, and the session has another \
                  connection than when they were bound. The statement was not run; send the types again"
            .to_owned(),
    }
}

/// ER_CON_COUNT_ERROR, for one statement.
pub fn no_connection(waited: Duration) -> ErrorReply {
    let waited = humantime::format_duration(waited);
    let message = format!(
        "Too many connections: within {waited} (pool_wait), no connection to the server was free for this session. It \
         goes on; try again, or give pool_size a higher number"
    );
    ErrorReply { code: 1040, state: "08004", message }
}

/// ER_LOCK_DEADLOCK, for a transaction that has ended with its connection to the server: nothing of it is there.
pub fn rolled_back() -> ErrorReply {
    ErrorReply {
        code: 1213,
        state: "40001",
        message: "The connection to the server has ended, and the server has rolled the transaction back; try restarting \
                  transaction"
            .to_owned(),
    }
}

/// ER_UNKNOWN_ERROR, for a statement whose connection has ended before its result came.
pub fn outcome_unknown() -> ErrorReply {
    ErrorReply {
        code: 1105,
        state: "HY000",
        message: "The connection to the server has ended while the statement ran: the outcome is unknown. It may have \
                  taken effect, or not; no transaction is open"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::name::plain;
    use crate::types::Flavour;

    #[test]
    fn a_fence_names_the_locks_as_far_as_an_error_has_room() {
        let mut held = Held::default();
        let mut grant = |name: &str| {
            held.grant(plain(name.as_bytes(), Flavour::MariaDb).expect("valid").key, 1);
            fenced(&held).message
        };
        assert!(grant("job b").contains("'job b':"));
        assert!(grant("job a").contains("'job a', 'job b':"));
        for n in 0..200 {
            assert!(grant(&format!("{n:03} {}", "x".repeat(n % 150))).len() < 512);
        }
        assert!(grant("z").contains(" more:"));
    }
}
