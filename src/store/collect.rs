//! Deleting the rows of locks that were not taken for long.
//!
//! A grant's token is above the base of its time. So a free row with a token below the base was not
//! taken since the base was set, and a new row begins above all tokens that it had (I9).

use super::connection::{StoreConnection, StoreError};
use super::identity::ident_expression;
use super::reads::between;
use crate::mutants::{self, Mutant};

/// A page of rows, and how many of them were deleted.
#[derive(Debug)]
pub struct Collected {
    /// The page's last key; the next page begins after it.
    pub to: Vec<u8>,
    /// Rows deleted.
    pub rows: u64,
}

impl StoreConnection {
    /// Deletes the free rows with tokens below `base` from the page after `from`. `None` after the last
    /// page.
    pub async fn collect(
        &mut self,
        base: u64,
        from: Option<&[u8]>,
    ) -> Result<Option<Collected>, StoreError> {
        let schema = self.schema();
        let Some(to) = self.next_page(from, PAGE).await? else {
            return Ok(None);
        };
        let below = format!("tok<{base}");
        let below = mutants::or(Mutant::DeleteWithoutFloor, below.as_str(), "1");
        let sql = format!(
            "DELETE FROM `{schema}`.locks WHERE {} AND holder=0 AND {below}",
            between(from, &to)
        );
        let rows = self.execute(sql).await?;
        Ok(Some(Collected { to, rows }))
    }

    /// Moves the base on, unless another proxy has. Batches on the old base do nothing from now.
    pub async fn move_base(&mut self, epoch: u64, old: u64, new: u64) -> Result<bool, StoreError> {
        let schema = self.schema();
        let ident = ident_expression(self.flavour());
        let new = mutants::or(Mutant::DeleteWithoutFloor, new, old);
        let sql = format!(
            "UPDATE `{schema}`.meta SET base={new} \
             WHERE id=1 AND epoch={epoch} AND base={old} AND ident={ident}"
        );
        Ok(self.execute(sql).await? == 1)
    }

    /// Has all later grants of new rows begin above `token`.
    pub async fn raise_base(&mut self, token: u64) -> Result<(), StoreError> {
        let schema = self.schema();
        let ident = ident_expression(self.flavour());
        let sql = format!(
            "UPDATE `{schema}`.meta SET base={token} WHERE id=1 AND base<{token} AND ident={ident}"
        );
        self.execute(sql).await.map(drop)
    }
}

/// Rows that one DELETE goes through: few, since batches wait for those it locks.
const PAGE: u32 = 1000;
