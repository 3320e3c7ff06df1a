//! Steps of clients, of their sessions in the proxy (`frontend`), and of the server's threads.
//!
//! A pause between a check and the write after it looks like a packet that is long on its way. So both are one step
//! here, and the way takes any time.

use super::keeper::server_protects;
use super::state::{Broken, Phase, ProxyState, Session, State, Thread, home};
use super::variants::{Model, Weak};

/// The session and whether its process runs.
fn at(s: &State, session: usize) -> Option<Session> {
    s.processes[home(session)].running.then_some(s.sessions[session])
}

/// GET_LOCK: `Engine::acquire`.
pub(crate) fn claim(m: &Model, s: &State, session: usize) -> Option<State> {
    let it = at(s, session)?;
    // Of two sessions that are alike the first goes first.
    let turn = session.is_multiple_of(2) || s.sessions[session - 1].claims > 0;
    if !turn || it.phase != Phase::Idle || it.thread != Thread::Open {
        return None;
    }
    let mut n = *s;
    if m.world.native[home(session)] && m.weak != Weak::NoServerLock {
        // The server is asked first: it has its own queue.
        n.native = u8::try_from(session).ok().filter(|_| s.native == 0)? + 1;
    }
    n.sessions[session].claims += 1;
    n.sessions[session].phase = Phase::Waiting;
    (it.claims < m.world.claims[session]).then_some(n)
}

/// The time is over: `Engine::cancel`.
pub(crate) fn give_up(m: &Model, s: &State, session: usize) -> Option<State> {
    let waiting = m.world.gives_up && at(s, session)?.phase == Phase::Waiting;
    let mut n = *s;
    n.free_native(session);
    n.sessions[session].phase = Phase::Idle;
    waiting.then_some(n)
}

/// `Session::get_lock`: the ledger, the check, the answer.
pub(crate) fn client_told(m: &Model, s: &State, session: usize) -> Option<State> {
    let it = at(s, session)?;
    let vouched = s.vouches(home(session), it.by) || m.weak == Weak::NoCheckAfterReply;
    if it.phase != Phase::Granted || !vouched {
        return None;
    }
    let mut n = *s;
    n.sessions[session].phase = Phase::Told;
    // A session that the server has ended meanwhile has nothing there, as without a proxy.
    let ended = m.world.native[home(session)] && it.thread == Thread::Gone;
    if !ended && !holds(m, s, session) {
        n.breaks(Broken::ToldTooLate);
    }
    Some(n)
}

/// `Locks::keep_without_row`, while the row cannot be written: the server's own lock counts.
pub(crate) fn told_without_row(m: &Model, s: &State, session: usize) -> Option<State> {
    let it = at(s, session)?;
    let p = home(session);
    let by = s.processes[p].id;
    let counts = s.store.blocked && s.vouches(p, by) && server_protects(m, s, p);
    if it.phase != Phase::Waiting || !counts {
        return None;
    }
    let mut n = *s;
    (n.sessions[session].phase, n.sessions[session].by) = (Phase::Told, by);
    Some(n)
}

/// `Link::send_server`: in front of each write to the server.
pub(crate) fn write_sent(m: &Model, s: &State, session: usize) -> Option<State> {
    let it = at(s, session)?;
    let vouched = s.vouches(home(session), it.by) || m.weak == Weak::NoForwardCheck;
    if !m.world.writes[home(session)] {
        return None;
    }
    if it.phase != Phase::Told || it.thread != Thread::Open || it.write || !vouched {
        return None;
    }
    let mut n = *s;
    n.sessions[session].write = true;
    if s.row(it.by).state != ProxyState::Live {
        n.breaks(Broken::SentWhenRevoked);
    }
    Some(n)
}

/// The server runs what was sent, as long as it has the thread.
pub(crate) fn write_runs(m: &Model, s: &State, session: usize) -> Option<State> {
    let it = s.sessions[session];
    if !it.write {
        return None;
    }
    let mut n = *s;
    n.sessions[session].write = false;
    if !holds(m, s, session) {
        n.breaks(Broken::LateWrite);
    }
    Some(n)
}

/// Whether no other client can have been given the lock: by the row, or by the server's own lock.
fn holds(m: &Model, s: &State, session: usize) -> bool {
    let it = s.sessions[session];
    let by_row = s.store.lock.holder == it.by && s.store.lock.tok == it.token;
    by_row || m.world.native[home(session)] && s.has_native(session)
}

/// `SessionEvent::Fence` comes, or the session finds that the incarnation is over: `LockOwner::abandon`.
/// Past the deadline alone it stays, suspended.
pub(crate) fn session_fenced(_: &Model, s: &State, session: usize) -> Option<State> {
    let it = at(s, session)?;
    let holds =
        matches!(it.phase, Phase::Granted | Phase::Told | Phase::Releasing | Phase::Leaving);
    if !holds || s.vouches(home(session), it.by) {
        return None;
    }
    // A release that is under way goes on: the ledger has forgotten the lock.
    if it.phase == Phase::Releasing && s.is_known(session) {
        return None;
    }
    Some(abandon(s, session))
}

/// `engine::io::disconnects` watches the thread, if the service still knows the lock.
fn abandon(s: &State, session: usize) -> State {
    let mut n = *s;
    let known = s.is_known(session);
    let it = &mut n.sessions[session];
    it.phase = if known { Phase::Watched } else { Phase::Over };
    if it.thread == Thread::Open {
        it.thread = Thread::Ending;
    }
    n
}

/// RELEASE_LOCK: the server owes no response then.
pub(crate) fn client_releases(m: &Model, s: &State, session: usize) -> Option<State> {
    let it = at(s, session)?;
    let mut n = *s;
    n.free_native(session);
    n.sessions[session].phase = Phase::Releasing;
    let may = m.world.releases && it.phase == Phase::Told && !it.write;
    (may && s.is_known(session)).then_some(n)
}

/// The client is gone: `Session::let_server_finish`.
pub(crate) fn client_leaves(m: &Model, s: &State, session: usize) -> Option<State> {
    let told = at(s, session)?.phase == Phase::Told;
    let mut n = *s;
    n.sessions[session].phase = Phase::Leaving;
    (m.world.endings && m.world.writes[home(session)] && told).then_some(n)
}

/// The statement that was sent has run, and the OK to COM_RESET_CONNECTION came after the rollback.
pub(crate) fn server_finished(m: &Model, s: &State, session: usize) -> Option<State> {
    let it = at(s, session)?;
    let finished = !it.write || m.weak == Weak::ReleasedBeforeRollback;
    if it.phase != Phase::Leaving || it.thread != Thread::Open || !finished {
        return None;
    }
    let mut n = *s;
    n.free_native(session);
    n.sessions[session].phase = Phase::Returning;
    n.sessions[session].thread = Thread::Ending;
    Some(n)
}

/// `disconnects::watch`: the server shows the thread no more.
pub(crate) fn watch_over(m: &Model, s: &State, session: usize) -> Option<State> {
    let it = at(s, session)?;
    let gone = it.thread == Thread::Gone || m.weak == Weak::ReleasedBeforeRollback;
    let mut n = *s;
    n.sessions[session].phase = if s.is_known(session) { Phase::Returning } else { Phase::Over };
    (it.phase == Phase::Watched && gone).then_some(n)
}

/// KILL, or a broken connection. The end of a socket is no proof that the thread has ended.
pub(crate) fn thread_killed(m: &Model, s: &State, session: usize) -> Option<State> {
    if !m.world.endings
        || !m.world.writes[home(session)]
        || s.sessions[session].thread != Thread::Open
    {
        return None;
    }
    let mut n = *s;
    n.faults = s.faults.checked_sub(1)?;
    n.sessions[session].thread = Thread::Ending;
    (s.sessions[session].claims > 0).then_some(n)
}

/// The session finds its server connection closed: `End::ServerGone`.
pub(crate) fn server_gone(_: &Model, s: &State, session: usize) -> Option<State> {
    let it = at(s, session)?;
    if it.thread == Thread::Open {
        return None;
    }
    match it.phase {
        Phase::Granted | Phase::Told | Phase::Leaving => Some(abandon(s, session)),
        Phase::Idle | Phase::Waiting => {
            let mut n = *s;
            n.sessions[session].phase = Phase::Over;
            Some(n)
        }
        Phase::Releasing | Phase::Watched | Phase::Returning | Phase::Over => None,
    }
}

/// The server is done with a thread, its transaction rolled back.
pub(crate) fn thread_gone(_: &Model, s: &State, session: usize) -> Option<State> {
    let mut n = *s;
    n.free_native(session);
    n.sessions[session].thread = Thread::Gone;
    n.sessions[session].write = false;
    (s.sessions[session].thread == Thread::Ending).then_some(n)
}

impl State {
    /// The process is dead. Sessions that never did anything stand for those that come later.
    pub(crate) fn end_sessions_of(&mut self, p: usize) {
        for it in self.sessions[p * 2..p * 2 + 2].iter_mut().filter(|it| it.claims > 0) {
            it.phase = Phase::Over;
            if it.thread == Thread::Open {
                it.thread = Thread::Ending;
            }
        }
    }
}
