//! Releasing a session's locks, and looking at those of others.

use std::pin::pin;

use super::operations::Outcome;
use crate::engine::handle::Look;
use crate::frontend::session::{End, Session};
use crate::lock::held::Release;
use crate::lock::name::Key;

impl Session {
    /// RELEASE_LOCK.
    pub(in crate::frontend) async fn release_lock(
        &mut self,
        key: Key,
    ) -> Result<Result<Option<u64>, String>, End> {
        match self.held.release(&key) {
            Release::Counted => {
                self.check_lease()?;
                Ok(Ok(Some(1)))
            }
            Release::Last(token) => {
                self.release(vec![(key.clone(), token)]).await?;
                self.held.forget(&key);
                Ok(Ok(Some(1)))
            }
            Release::NotMine => Ok(match self.look(key).await? {
                Ok(Some(_)) => Ok(Some(0)),
                Ok(None) => Ok(None),
                Err(e) => Err(e),
            }),
        }
    }

    /// RELEASE_ALL_LOCKS.
    pub(in crate::frontend) async fn release_all(&mut self) -> Result<Outcome, End> {
        let count = self.release_held().await?;
        Ok(Outcome::Value(Some(count), Vec::new()))
    }

    /// Releases everything; the number of acquisitions there were.
    pub(in crate::frontend) async fn release_held(&mut self) -> Result<u64, End> {
        let (count, locks) = self.held.take_all();
        if !locks.is_empty() {
            self.release(locks).await?;
        }
        Ok(count)
    }

    async fn release(&mut self, locks: Vec<(Key, u64)>) -> Result<(), End> {
        let Some(proxy) = self.granted_by else {
            return Ok(());
        };
        self.context.engine.release(locks, proxy).await;
        // Released, or lost with the lease: the difference decides what the client hears.
        if !self.context.engine.lease().vouches_for(proxy) {
            return Err(End::Fenced);
        }
        // Or lost before, which the engine has said by now.
        while let Ok(event) = self.events.try_recv() {
            self.event(event)?;
        }
        Ok(())
    }

    /// The connection id of a lock's holder, `None` when it is free.
    pub(in crate::frontend) async fn look(
        &mut self,
        key: Key,
    ) -> Result<Result<Option<u64>, String>, End> {
        if self.held.contains(&key) {
            self.check_lease()?;
            return Ok(Ok(Some(self.connection.0)));
        }
        let engine = self.context.engine.clone();
        let mut look = pin!(engine.look(key));
        let look = loop {
            tokio::select! {
                biased;
                look = &mut look => break look,
                // Others may look for this session meanwhile.
                Some(event) = self.events.recv() => self.event(event)?,
            }
        };
        Ok(match look {
            Look::Free => Ok(None),
            Look::Used(conn) => Ok(Some(conn.0)),
            Look::Failed(why) => Err(why),
        })
    }
}
