//! Errors about locks that the proxy itself tells a client.

use crate::protocol::reply::ErrorReply;

/// ER_NOT_SUPPORTED_YET, for a lock call in a form that is not yet covered.
pub fn unsupported(what: &str) -> ErrorReply {
    ErrorReply {
        code: 1235,
        state: "42000",
        message: format!(
            "Lockstead does not yet support {what}. Supported: one bare call, SELECT|DO \
             fn(literal or ? arguments) [AS alias]. The statement was not run and no lock was taken"
        ),
    }
}

/// ER_UNKNOWN_ERROR, for a lock whose state the store could not tell.
pub fn store_failed(why: &str) -> ErrorReply {
    ErrorReply {
        code: 1105,
        state: "HY000",
        message: format!("Lockstead cannot reach its lock store: {why}"),
    }
}

/// The last words to a session whose locks can no longer be vouched for.
pub fn fenced() -> ErrorReply {
    ErrorReply {
        code: 4031,
        state: "HY000",
        message:
            "Lockstead lost its lease on the lock store; this session held locks that may pass to \
                  another client, so it is closed"
                .to_owned(),
    }
}

/// ER_SERVER_SHUTDOWN.
pub fn draining() -> ErrorReply {
    ErrorReply { code: 1053, state: "08S01", message: "Server shutdown in progress".into() }
}

/// CR_CONN_HOST_ERROR as a greeting.
pub fn unreachable(backend: &str, why: &str) -> ErrorReply {
    ErrorReply {
        code: 2003,
        state: "HY000",
        message: format!("Lockstead can't connect to the MySQL server on '{backend}' ({why})"),
    }
}

/// ER_HANDSHAKE_ERROR.
pub fn bad_handshake() -> ErrorReply {
    ErrorReply { code: 1043, state: "08S01", message: "Bad handshake".into() }
}

/// ER_CON_COUNT_ERROR.
pub fn too_many_connections() -> ErrorReply {
    ErrorReply { code: 1040, state: "08004", message: "Too many connections".into() }
}
