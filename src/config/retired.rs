//! Settings of earlier versions that there are no more: each is refused with what to do instead.

use super::error::ConfigError;

/// Name, and what to do instead.
const RETIRED: &[(&str, &str)] = &[
    (
        "digests",
        "is gone: delete the setting. `lockstead report` shows the statements of mode observe, `metrics_locks` counts single locks, and the server's performance_schema counts statements by shape",
    ),
    (
        "fast_path",
        "is gone: bare lock calls are always answered without a round trip to the session's server where that is right. Delete the setting",
    ),
    (
        "on_lease_lost",
        "is gone: sessions with locks are always held back until the lease is renewed, and closed after three leases. Delete the setting; a shorter `lease` closes them sooner",
    ),
    (
        "handover",
        "is gone: a shared connection gets what differs from the state that its last session has left, and is reset if that has left more. Delete the setting",
    ),
    (
        "on_backend_loss",
        "is gone: a session that shares connections always goes on with another one if it can. Delete the setting; with pooling = \"session\" a session ends with its connection",
    ),
];

/// What to do instead of a setting that there is no more.
pub(super) fn advice(key: &str) -> Option<&'static str> {
    RETIRED.iter().find(|(name, _)| *name == key).map(|(_, advice)| *advice)
}

/// Refuses flags of the command line that there are no more.
pub fn refuse_flags(arguments: impl Iterator<Item = String>) -> Result<(), ConfigError> {
    let name = |argument: String| {
        let flag = argument.strip_prefix("--")?.split('=').next()?;
        Some(flag.replace('-', "_"))
    };
    let names: Vec<String> = arguments.filter_map(name).collect();
    refuse(|key| names.iter().any(|name| name == key))
}

/// Refuses LOCKSTEAD_* variables that there are no more.
pub(super) fn refuse_variables(is_set: impl Fn(&str) -> bool) -> Result<(), ConfigError> {
    refuse(|key| is_set(&format!("LOCKSTEAD_{}", key.to_uppercase())))
}

fn refuse(is_given: impl Fn(&str) -> bool) -> Result<(), ConfigError> {
    match RETIRED.iter().find(|(key, _)| is_given(key)) {
        Some(&(key, advice)) => {
            Err(ConfigError::Value { place: String::new(), key, problem: advice.to_owned() })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::ConfigKey;
    use super::*;

    fn refused(arguments: &[&str], variables: &[&str]) -> Option<String> {
        let flags = refuse_flags(arguments.iter().map(|&argument| argument.to_owned()));
        let refused = flags.and_then(|()| refuse_variables(|name| variables.contains(&name)));
        refused.err().map(|error| error.to_string())
    }

    #[test]
    fn flags_and_variables_are_refused_with_what_to_do() {
        let said = refused(&["serve", "--fast-path=false"], &[]).expect("a refusal");
        assert!(said.starts_with("`fast_path`: is gone: bare lock calls"), "{said}");
        assert_eq!(refused(&["--fast-path", "true"], &[]), Some(said.clone()));
        assert_eq!(refused(&[], &["LOCKSTEAD_FAST_PATH"]), Some(said));
        assert_eq!(refused(&["--fast-paths", "fast_path"], &["LOCKSTEAD_LEASE"]), None);
    }

    #[test]
    fn none_is_a_key() {
        for (key, advice) in RETIRED {
            assert!(ConfigKey::find(key).is_none(), "{key}");
            assert!(advice.starts_with("is gone: ") && !advice.ends_with('.'), "{advice}");
        }
    }
}
