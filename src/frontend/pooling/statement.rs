//! A prepared statement, as its session takes it along.

use std::sync::Arc;

use super::bound::BoundState;
use crate::sql::lexer::dialect::Dialect;

/// A prepared statement.
#[derive(Debug)]
pub(super) struct Carried {
    /// The statement's id on the session's connection, if it has one there.
    pub here: Option<u32>,
    /// What is prepared again; `None`: nothing can be.
    pub again: Option<Again>,
    /// The client does not know of it.
    pub hidden: bool,
    pub params: usize,
    /// Result columns that the client knows of; `None`: the server has said that they are others.
    pub columns: Option<u16>,
    /// The columns were others when the statement was prepared again, and the client has not heard it.
    pub changed: bool,
    /// An execution is under way whose response says so.
    pub telling: bool,
    /// The types of its parameters as they were bound last; `None`: they are not known.
    pub types: Option<Box<[u16]>>,
    /// The connection knows them.
    pub types_here: bool,
    /// Values were sent ahead of an execution.
    pub long_data: bool,
    pub cursor: bool,
    /// What its next execution is answered with: it could not be prepared again.
    pub refusal: Option<Box<[u8]>>,
    /// The statement is on no other connection, and can be on none.
    pub tied: bool,
}

/// What it takes to prepare a statement again.
#[derive(Debug, Clone)]
pub(crate) struct Again {
    pub text: Arc<[u8]>,
    pub dialect: Dialect,
    pub bound: Arc<BoundState>,
}

impl Carried {
    pub(super) fn size(&self) -> usize {
        let text = self.again.as_ref().map_or(0, |again| again.text.len() + again.bound.size());
        let types = self.types.as_ref().map_or(0, |types| size_of_val(&**types));
        let refusal = self.refusal.as_ref().map_or(0, |refusal| refusal.len());
        size_of::<Self>() + text + types + refusal
    }

    /// `has_schema`: the session has selected one. Nothing takes that back, so a statement that was prepared without any
    /// cannot be prepared again, nor the other way round.
    pub(super) fn ties(&self, has_schema: bool) -> bool {
        let fits = |again: &Again| again.bound.has_schema() == has_schema;
        let follows = self.types.is_some() && self.again.as_ref().is_some_and(fits);
        !self.hidden && !follows
    }
}

/// Sums over all statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sums {
    pub tied: usize,
    pub kept: usize,
    pub long_data: usize,
    pub cursors: usize,
    pub bytes: usize,
}

impl Sums {
    pub(super) fn of(carried: &Carried) -> Self {
        Self {
            tied: usize::from(carried.tied),
            kept: usize::from(carried.again.is_some()),
            long_data: usize::from(carried.long_data),
            cursors: usize::from(carried.cursor),
            bytes: carried.size(),
        }
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self {
            tied: self.tied + other.tied,
            kept: self.kept + other.kept,
            long_data: self.long_data + other.long_data,
            cursors: self.cursors + other.cursors,
            bytes: self.bytes + other.bytes,
        }
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self {
            tied: self.tied.saturating_sub(other.tied),
            kept: self.kept.saturating_sub(other.kept),
            long_data: self.long_data.saturating_sub(other.long_data),
            cursors: self.cursors.saturating_sub(other.cursors),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}
