//! The five functions, and the types of their results.

use crate::protocol::reply::ColumnType;
use crate::types::Flavour;

/// A user-level lock function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// `GET_LOCK(name, timeout)`
    GetLock,
    /// `RELEASE_LOCK(name)`
    ReleaseLock,
    /// `RELEASE_ALL_LOCKS()`
    ReleaseAllLocks,
    /// `IS_FREE_LOCK(name)`
    IsFreeLock,
    /// `IS_USED_LOCK(name)`
    IsUsedLock,
}

impl Function {
    /// All five.
    pub const ALL: [Self; 5] = [
        Self::GetLock,
        Self::ReleaseLock,
        Self::ReleaseAllLocks,
        Self::IsFreeLock,
        Self::IsUsedLock,
    ];

    /// Recognises a function's name, in any letter case.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name().as_bytes().eq_ignore_ascii_case(name))
    }

    /// The name as MySQL spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GetLock => "GET_LOCK",
            Self::ReleaseLock => "RELEASE_LOCK",
            Self::ReleaseAllLocks => "RELEASE_ALL_LOCKS",
            Self::IsFreeLock => "IS_FREE_LOCK",
            Self::IsUsedLock => "IS_USED_LOCK",
        }
    }

    /// The label in metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::GetLock => "get_lock",
            Self::ReleaseLock => "release_lock",
            Self::ReleaseAllLocks => "release_all_locks",
            Self::IsFreeLock => "is_free_lock",
            Self::IsUsedLock => "is_used_lock",
        }
    }

    /// How many arguments a correct call has.
    pub fn arity(self) -> usize {
        match self {
            Self::GetLock => 2,
            Self::ReleaseLock | Self::IsFreeLock | Self::IsUsedLock => 1,
            Self::ReleaseAllLocks => 0,
        }
    }

    /// The type of an unadorned call's column (native-semantics, section 1).
    pub fn column(self, flavour: Flavour) -> ColumnType {
        let kind = match flavour {
            Flavour::MySql => 8,
            Flavour::MariaDb => 3,
        };
        let (length, flags) = match (self, flavour) {
            (Self::GetLock | Self::ReleaseLock | Self::IsFreeLock, _) => (1, 128),
            (Self::IsUsedLock, Flavour::MySql) => (21, 160),
            (Self::IsUsedLock, Flavour::MariaDb) => (10, 128),
            (Self::ReleaseAllLocks, Flavour::MySql) => (21, 161),
            (Self::ReleaseAllLocks, Flavour::MariaDb) => (11, 161),
        };
        ColumnType { kind, length, flags }
    }

    /// A constant of the value and type of a call that returned `value`, for the server to plan a
    /// statement over tables with.
    pub fn calm_expression(self, flavour: Flavour, value: Option<u64>) -> Vec<u8> {
        let text = match (self, flavour, value) {
            (Self::GetLock | Self::ReleaseLock | Self::IsFreeLock, Flavour::MariaDb, value) => {
                match value {
                    Some(0) => "IF(1,0,NULL)".to_owned(),
                    Some(_) => "IF(1,1,NULL)".to_owned(),
                    None => "IF(0,1,NULL)".to_owned(),
                }
            }
            (Self::GetLock | Self::ReleaseLock | Self::IsFreeLock, Flavour::MySql, value) => {
                match value {
                    Some(0) => "(NULL AND 0)".to_owned(),
                    Some(_) => "(NULL OR 1)".to_owned(),
                    None => "(NULL OR 0)".to_owned(),
                }
            }
            (Self::IsUsedLock, Flavour::MySql, None) => "IF(0,CAST(1 AS UNSIGNED),NULL)".to_owned(),
            (Self::IsUsedLock, Flavour::MySql, Some(n)) => {
                format!("IF(1,CAST({n} AS UNSIGNED),NULL)")
            }
            (Self::IsUsedLock, Flavour::MariaDb, Some(n)) => {
                format!("IF(1,CAST({n} AS SIGNED),NULL)")
            }
            (_, _, Some(n)) => format!("CAST({n} AS UNSIGNED)"),
            (_, _, None) => "CAST(NULL AS SIGNED)".to_owned(),
        };
        text.into_bytes()
    }

    /// The result of [`Self::calm_expression`] for MySQL, with expressions that are evaluated for the
    /// warnings they have, which may be errors.
    pub fn warning_expression(self, value: Option<u64>, pure: &[Vec<u8>]) -> Option<Vec<u8>> {
        if pure.is_empty() || self != Self::GetLock {
            return None;
        }
        let (open, test, joined): (&[u8], &[u8], &[u8]) = match value {
            Some(0) => (b"(NULL AND (", b"1<>1", b" OR "),
            Some(_) => (b"(NULL OR (", b"1=1", b" AND "),
            None => (b"(NULL OR (", b"1<>1", b" OR "),
        };
        let tests: Vec<Vec<u8>> = pure.iter().map(|p| [test, b"+0*(", p, b")"].concat()).collect();
        Some([open, tests.join(joined).as_slice(), b"))"].concat())
    }

    /// An expression without side effects whose value, and as far as the server allows whose
    /// type, are those of a call that returned `value` (interception, 3).
    ///
    /// `pure` are arguments that the server must evaluate again, because it warns about them;
    /// none of them is NULL.
    pub fn value_expression(
        self,
        flavour: Flavour,
        value: Option<u64>,
        pure: &[Vec<u8>],
    ) -> Vec<u8> {
        // SLEEP(0) has no effect; like a lock call, it keeps the server from computing the value
        // before it runs the statement, and counts as unsafe in a transaction's tracked state.
        let tested =
            |test: &str, joined: &str, calm: &str| -> Vec<u8> {
                let mut tests = vec![format!("SLEEP(0){calm}0").into_bytes()];
                tests.extend(pure.iter().map(|p| {
                    [b"((SLEEP(0)=0)+0*(", p.as_slice(), b")) ", test.as_bytes()].concat()
                }));
                [b"(", tests.join(joined.as_bytes()).as_slice(), b")"].concat()
            };
        let never = || tested("<>1", " OR ", "<>");
        let always = || tested("=1", " AND ", "=");
        let text = match (self, flavour, value) {
            // A derived table makes MariaDB empty its list of warnings, as a failed attempt does.
            (Self::GetLock, Flavour::MariaDb, Some(0)) => {
                let empties = b" AND (SELECT 1 FROM (SELECT 0) d),0,NULL)";
                return [b"IF(", always().as_slice(), empties].concat();
            }
            (Self::GetLock | Self::ReleaseLock | Self::IsFreeLock, Flavour::MariaDb, value) => {
                let (test, value): (_, &[u8]) = match value {
                    Some(0) => (always(), b",0,NULL)"),
                    Some(_) => (always(), b",1,NULL)"),
                    None => (never(), b",1,NULL)"),
                };
                return [b"IF(", test.as_slice(), value].concat();
            }
            (Self::GetLock | Self::ReleaseLock | Self::IsFreeLock, _, Some(0)) => {
                return [b"(NULL AND ", never().as_slice(), b")"].concat();
            }
            (Self::GetLock | Self::ReleaseLock | Self::IsFreeLock, _, Some(_)) => {
                return [b"(NULL OR ", always().as_slice(), b")"].concat();
            }
            (Self::GetLock | Self::ReleaseLock | Self::IsFreeLock, _, None) => {
                return [b"(NULL OR ", never().as_slice(), b")"].concat();
            }
            (Self::IsUsedLock, Flavour::MySql, Some(n)) => {
                let n = format!(",CAST({n} AS UNSIGNED),NULL)");
                return [b"IF(", always().as_slice(), n.as_bytes()].concat();
            }
            (Self::IsUsedLock, Flavour::MySql, None) => {
                return [b"IF(", never().as_slice(), b",CAST(1 AS UNSIGNED),NULL)"].concat();
            }
            (Self::IsUsedLock, Flavour::MariaDb, Some(n)) => {
                let n = format!(",CAST({n} AS SIGNED),NULL)");
                return [b"IF(", always().as_slice(), n.as_bytes()].concat();
            }
            (Self::IsUsedLock, Flavour::MariaDb, None) => {
                return [b"IF(", never().as_slice(), b",CAST(1 AS SIGNED),NULL)"].concat();
            }
            (_, _, Some(n)) => format!("CAST({n} AS UNSIGNED)"),
            (_, _, None) => "NULL".into(),
        };
        text.into_bytes()
    }
}
