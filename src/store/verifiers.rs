//! What MariaDB keeps of its accounts' passwords. With it, a client's login shows the hash that opens other connections
//! for its account.

use super::connection::{StoreConnection, StoreError};
use super::rows::column;
use crate::types::Flavour;

/// Accounts at most; a server with more has those of the first ones read.
const MOST: usize = 1024;

/// What the server keeps of one account: its user, and SHA1(SHA1(password)).
#[derive(Clone, PartialEq, Eq)]
pub struct AccountVerifier {
    /// The user's name. Accounts for several hosts may have the same.
    pub user: Vec<u8>,
    /// Twenty bytes.
    pub verifier: Vec<u8>,
}

impl StoreConnection {
    /// Verifiers of all accounts with mysql_native_password; none of MySQL, which does not show them.
    pub async fn account_verifiers(&mut self) -> Result<Vec<AccountVerifier>, StoreError> {
        if self.flavour() == Flavour::MySql {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT User,JSON_VALUE(Priv,'$.authentication_string') FROM mysql.global_priv \
             WHERE JSON_VALUE(Priv,'$.plugin')='mysql_native_password' LIMIT {MOST}"
        );
        let rows = self.query(sql, 1).await?;
        let read = |row: &mysql_async::Row| {
            let text: Option<Vec<u8>> = column(row, 1);
            let verifier = hex::decode(text?.strip_prefix(b"*")?).ok()?;
            Some(AccountVerifier { user: column(row, 0), verifier })
        };
        Ok(rows.iter().flatten().filter_map(read).collect())
    }
}
