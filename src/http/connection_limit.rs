//! Connections to the windows, and which of them gives way when there are too many: one that has not asked
//! for anything, or that has its answer.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;

use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::Response;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

/// All connections.
#[derive(Debug)]
pub(super) struct Crowd {
    places: Arc<Semaphore>,
    members: Mutex<Members>,
    /// Signals that a connection may give way now.
    idle: Notify,
}

#[derive(Debug, Default)]
struct Members {
    last: u64,
    all: HashMap<u64, CrowdMember>,
    /// Connections that may give way: first those without a whole request, then answered ones; the oldest first.
    idle: BTreeMap<IdleSince, u64>,
}

#[derive(Debug)]
struct CrowdMember {
    /// None while a request of its is being answered.
    standing: Option<IdleSince>,
    give_way: oneshot::Sender<()>,
}

/// Whether it has had an answer, and when that was; or when it came.
type IdleSince = (bool, u64);

impl Crowd {
    pub(super) fn new(most: usize) -> Arc<Self> {
        let places = Arc::new(Semaphore::new(most));
        Arc::new(Self { places, members: Mutex::default(), idle: Notify::new() })
    }

    /// A place for a connection, for which another one gives way if need be.
    pub(super) async fn enter(self: &Arc<Self>) -> CrowdPlace {
        let permit = loop {
            let idle = self.idle.notified();
            if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
                break Some(permit);
            }
            let one_goes = self.send_away();
            let place = Arc::clone(&self.places).acquire_owned();
            if one_goes {
                break place.await.ok();
            }
            tokio::select! {
                place = place => break place.ok(),
                () = idle => {}
            }
        };
        let (give_way, told) = oneshot::channel();
        let mut members = self.members.lock();
        members.last += 1;
        let id = members.last;
        let standing = (false, id);
        members.all.insert(id, CrowdMember { standing: Some(standing), give_way });
        members.idle.insert(standing, id);
        CrowdPlace {
            seat: CrowdSeat { crowd: Arc::clone(self), id },
            told: Some(told),
            _permit: permit,
        }
    }

    /// Tells the one that gives way first, if any may.
    fn send_away(&self) -> bool {
        let mut members = self.members.lock();
        let Some((_, id)) = members.idle.pop_first() else { return false };
        // A connection that has ended meanwhile has left its place.
        members.all.remove(&id).is_some_and(|member| member.give_way.send(()).is_ok())
    }
}

/// A connection's place, given back with it.
#[derive(Debug)]
pub(super) struct CrowdPlace {
    seat: CrowdSeat,
    /// Comes when the connection is to give way; none when that has come.
    told: Option<oneshot::Receiver<()>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl CrowdPlace {
    pub(super) fn seat(&self) -> CrowdSeat {
        self.seat.clone()
    }

    /// Whether the connection must give way. The caller is woken when that changes.
    pub(super) fn gives_way(&mut self, cx: &mut Context<'_>) -> bool {
        // A receiver must not be polled again after its answer.
        if self.told.as_mut().is_some_and(|told| Pin::new(told).poll(cx).is_ready()) {
            self.told = None;
        }
        self.told.is_none()
    }
}

impl Drop for CrowdPlace {
    fn drop(&mut self) {
        let mut members = self.seat.crowd.members.lock();
        let left = members.all.remove(&self.seat.id);
        if let Some(standing) = left.and_then(|member| member.standing) {
            members.idle.remove(&standing);
        }
    }
}

/// By which a request finds the place of its connection.
#[derive(Debug, Clone)]
pub(super) struct CrowdSeat {
    crowd: Arc<Crowd>,
    id: u64,
}

impl CrowdSeat {
    /// A request is whole: until it is answered, the connection does not give way.
    fn asks(&self) {
        let mut members = self.crowd.members.lock();
        let member = members.all.get_mut(&self.id);
        if let Some(standing) = member.and_then(|member| member.standing.take()) {
            members.idle.remove(&standing);
        }
    }

    fn has_its_answer(&self) {
        let mut members = self.crowd.members.lock();
        members.last += 1;
        let standing = (true, members.last);
        if let Some(member) = members.all.get_mut(&self.id) {
            member.standing = Some(standing);
            members.idle.insert(standing, self.id);
        }
        drop(members);
        self.crowd.idle.notify_waiters();
    }
}

/// Has a connection keep its place while its request is answered.
pub(super) async fn keep(
    ConnectInfo(seat): ConnectInfo<CrowdSeat>,
    request: Request,
    next: Next,
) -> Response {
    seat.asks();
    let response = next.run(request).await;
    seat.has_its_answer();
    response
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn is_told(place: &mut CrowdPlace) -> bool {
        place.gives_way(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test]
    async fn the_oldest_without_a_whole_request_gives_way() {
        let crowd = Crowd::new(4);
        let mut places = Vec::new();
        for _ in 0..4 {
            places.push(crowd.enter().await);
        }
        // The first is being answered, the second has its answer.
        places[0].seat.asks();
        places[1].seat.asks();
        places[1].seat.has_its_answer();
        let mut left = Vec::new();
        for _ in 0..3 {
            let newcomer = tokio::spawn({
                let crowd = Arc::clone(&crowd);
                async move { crowd.enter().await }
            });
            let told = loop {
                let told = places.iter_mut().position(is_told);
                if let Some(told) = told {
                    break told;
                }
                tokio::task::yield_now().await;
            };
            let gone = places.remove(told);
            left.push(gone.seat.id);
            drop(gone);
            // The newcomer asks at once, and stays.
            let newcomer = newcomer.await.expect("a place");
            newcomer.seat.asks();
            places.push(newcomer);
        }
        assert_eq!(left, [3, 4, 2]);
        // All are being answered: the next one waits until one of them is.
        let waiting = tokio::spawn({
            let crowd = Arc::clone(&crowd);
            async move { crowd.enter().await }
        });
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert!(!waiting.is_finished());
        places[0].seat.has_its_answer();
        while !is_told(&mut places[0]) {
            tokio::task::yield_now().await;
        }
        drop(places.remove(0));
        waiting.await.expect("a place");
        drop(places);
        assert!(crowd.members.lock().idle.is_empty() && crowd.members.lock().all.is_empty());
    }
}
