//! Incarnations that are certainly over, so that no proxy need wait for their leases: earlier ones of
//! this process, and those of processes that are proved to be gone.

use crate::state::{StateDir, StateError};
use crate::types::ProxyId;

/// The known ones.
#[derive(Debug)]
pub(in crate::engine) struct Predecessors {
    /// Proves that this process lives, and shows which others do not.
    state: Option<StateDir>,
    /// Earlier incarnations of this process.
    former: Vec<ProxyId>,
    /// Incarnations of processes that are gone.
    gone: Vec<ProxyId>,
}

impl Predecessors {
    pub(in crate::engine) fn new(state: Option<StateDir>) -> Self {
        Self { state, former: Vec::new(), gone: Vec::new() }
    }

    /// Looks for processes that are gone.
    pub(in crate::engine) fn find_gone(&mut self) {
        let gone = &mut self.gone;
        with_state(&mut self.state, |state| {
            let found = state.reap()?;
            for id in &found {
                tracing::info!(proxy = %id, "the process of an earlier proxy is gone: no wait for its lease");
            }
            gone.extend(found);
            Ok(())
        });
    }

    /// Whether an incarnation is certainly over.
    pub(in crate::engine) fn is_over(&self, id: ProxyId) -> bool {
        self.is_own(id) || self.gone.contains(&id)
    }

    /// Whether it is an earlier one of this process.
    pub(in crate::engine) fn is_own(&self, id: ProxyId) -> bool {
        self.former.contains(&id)
    }

    /// An incarnation of this process is about to register. If that ends without an answer, its
    /// row may be there nevertheless.
    pub(in crate::engine) fn note_registering(&mut self, id: ProxyId) {
        with_state(&mut self.state, |state| state.enter(id));
        self.former.push(id);
    }

    /// The incarnation has registered: it is not over.
    pub(in crate::engine) fn registered(&mut self, id: ProxyId) {
        self.former.retain(|former| *former != id);
    }

    /// The incarnation was taken back before it granted anything: nothing is left of it.
    pub(in crate::engine) fn withdrawn(&mut self, id: ProxyId) {
        self.former.retain(|former| *former != id);
        self.forget(|own| own == id);
    }

    /// An incarnation of this process is over.
    pub(in crate::engine) fn add(&mut self, id: ProxyId) {
        self.former.push(id);
    }

    /// Removes the proof of incarnations that need none any more.
    pub(in crate::engine) fn forget(&mut self, over: impl Fn(ProxyId) -> bool) {
        if let Some(state) = &mut self.state {
            state.forget(over);
        }
    }
}

/// Does something with the state directory, which is given up at the first failure.
fn with_state(
    state: &mut Option<StateDir>,
    task: impl FnOnce(&mut StateDir) -> Result<(), StateError>,
) {
    if let Some(Err(e)) = state.as_mut().map(task) {
        tracing::warn!(error = %e, "without a state directory a restart after a kill waits for the lease");
        *state = None;
    }
}
