//! Statements on the row of an owned name: sent, carried out, answered.

use super::{
    Broken, Client, LockRow, Owned, Pipe, Question, Sent, State, Statement, TOKENS, WINDOW, Weak,
    World,
};

/// Sends a statement.
fn send(s: &State, p: usize, statement: Statement) -> State {
    let mut n = *s;
    let me = &mut n.proxies[p];
    let sent = Sent { statement, by: me.id, attempt: me.attempt };
    me.pipe = Pipe::Sent(sent);
    n
}

fn is_idle(s: &State, p: usize) -> bool {
    s.vouches(p) && s.proxies[p].pipe == Pipe::Idle
}

pub(super) fn send_claim(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let (lock, id) = (&s.lock, me.id);
    let hopeless = lock.holder != 0 && lock.holder != id && s.is_live(lock.holder);
    let looks_idle = w.weak == Weak::TakenByItsLooks && !lock.shown && me.silent > 0;
    let wants = me.client == Client::Waits && me.owns.is_none() && (!hopeless || looks_idle);
    (is_idle(s, p) && wants).then(|| send(s, p, Statement::Claim))
}

pub(super) fn send_want(_: &World, s: &State, p: usize) -> Option<State> {
    let (me, lock) = (&s.proxies[p], &s.lock);
    let other = lock.holder != 0 && lock.holder != me.id && s.is_live(lock.holder);
    let placed = lock.want == me.id && lock.attempt == me.attempt;
    let wants = me.client == Client::Waits && me.owns.is_none() && other && !placed;
    let mut n = send(s, p, Statement::Want);
    n.proxies[p].asked = true;
    (is_idle(s, p) && wants).then_some(n)
}

/// A ring, or the poll.
pub(super) fn send_read(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let wants = me.client == Client::Waits && me.owns.is_none() && s.lock.holder == me.id;
    (is_idle(s, p) && me.asked && wants).then(|| send(s, p, Statement::Read))
}

pub(super) fn send_withdraw(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let left = me.asked && me.client != Client::Waits && me.owns.is_none();
    (is_idle(s, p) && left).then(|| send(s, p, Statement::Withdraw))
}

pub(super) fn send_promise(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let Owned { tok, last, .. } = me.owns?;
    let LockRow { holder, want, attempt, .. } = s.lock;
    let asked = holder == me.id && want != 0 && want != me.id;
    // A session here that comes now waits until the outcome is known.
    let may = is_idle(s, p) && asked && me.client == Client::Idle;
    may.then(|| send(s, p, Statement::Promise { tok, last, to: want, attempt }))
}

pub(super) fn send_give_back(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let Owned { tok, last, .. } = me.owns?;
    let may = is_idle(s, p) && me.client == Client::Idle;
    may.then(|| send(s, p, Statement::GiveBack { tok, last }))
}

/// RELEASE_LOCK of a name whose changes are written first.
pub(super) fn send_release(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let Owned { tok, last, exact } = me.owns?;
    let holds = matches!(me.client, Client::Holds(_));
    let mut n = send(s, p, Statement::GiveBack { tok, last });
    n.let_go(p);
    n.proxies[p].client = Client::Leaves;
    (is_idle(s, p) && holds && exact).then_some(n)
}

pub(super) fn send_show(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let Owned { tok, last, exact: was } = me.owns?;
    let held = matches!(me.client, Client::Holds(_));
    let exact = p == 0 && matches!(s.question, Question::Asked { .. });
    let behind = s.lock.shown != held || (held && tok != last);
    let may = is_idle(s, p) && me.client != Client::Leaves && (behind || exact != was);
    may.then(|| send(s, p, Statement::Show { tok, last, held, exact }))
}

/// At the window's end, or if each change is written first, a grant is written.
pub(super) fn send_grant(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let owned = me.owns?;
    let needed = !owned.has_room() || owned.exact;
    let may = is_idle(s, p) && needed && me.client == Client::Waits;
    (may && owned.last < TOKENS)
        .then(|| send(s, p, Statement::Grant { tok: owned.tok, token: owned.last + 1 }))
}

/// The store carries a statement out.
pub(super) fn statement_runs(w: &World, s: &State, p: usize) -> Option<State> {
    let Pipe::Sent(sent) = s.proxies[p].pipe else { return None };
    let Sent { statement, by, attempt, .. } = sent;
    let mut n = *s;
    let live = s.is_live(by);
    let row = s.lock;
    let mine = |tok: u8| live && row.holder == by && row.tok == tok;
    // Nobody knows how much the owner has handed out. A row that is free says it.
    let unknown = row.holder != 0 && w.weak != Weak::WindowUsedAgain;
    let begin = row.tok + if unknown { WINDOW } else { 0 };
    let given = |last: u8| if w.weak == Weak::LastTokenForgotten { row.tok } else { last };
    let won = match statement {
        Statement::Claim => {
            let clean = row.holder == 0 || !s.is_live(row.holder);
            let looks = w.weak == Weak::TakenByItsLooks && !row.shown;
            live && (clean || row.holder == by || looks)
        }
        Statement::Want => live && row.holder != by && (row.want == by || !s.is_live(row.want)),
        Statement::Withdraw => row.want == by,
        Statement::Read => true,
        Statement::Promise { tok, to, attempt, .. } => {
            let asked = row.want == to && row.attempt == attempt;
            mine(tok) && asked && (s.is_live(to) || w.weak == Weak::PromisedToTheDead)
        }
        Statement::GiveBack { tok, .. }
        | Statement::Show { tok, .. }
        | Statement::Grant { tok, .. } => mine(tok),
    };
    if won {
        match statement {
            Statement::Claim => {
                let from = row.holder;
                if from != 0 && from != by && s.is_live(from) {
                    n.broken = n.broken.or(Some(Broken::TakenFromTheLiving));
                }
                let want = if row.want == by { 0 } else { row.want };
                let tok = begin + 1;
                let (shown, exact) = (true, false);
                n.lock = LockRow { holder: by, tok, shown, grant: attempt, exact, want, ..row };
                n.granted(tok);
            }
            Statement::Want => (n.lock.want, n.lock.attempt) = (by, attempt),
            Statement::Withdraw => n.lock.want = 0,
            Statement::Read => {}
            Statement::Promise { last, to, attempt, .. } => {
                let tok = given(last) + 1;
                let (shown, exact, want) = (true, false, 0);
                n.lock = LockRow { holder: to, tok, shown, grant: attempt, exact, want, ..row };
                n.granted(tok);
            }
            Statement::GiveBack { last, .. } => {
                (n.lock.holder, n.lock.shown, n.lock.tok) = (0, false, given(last));
                n.lock.exact = false;
            }
            Statement::Show { last, held, exact, .. } => {
                (n.lock.shown, n.lock.tok, n.lock.exact) = (held, last, exact);
            }
            Statement::Grant { token, .. } => {
                (n.lock.shown, n.lock.tok, n.lock.exact) = (true, token, false);
                n.granted(token);
            }
        }
    }
    n.proxies[p].pipe = Pipe::Done(sent, won, n.lock);
    Some(n)
}

/// The answer comes.
pub(super) fn statement_heard(_: &World, s: &State, p: usize) -> Option<State> {
    let Pipe::Done(sent, won, row) = s.proxies[p].pipe else { return None };
    let mut n = *s;
    let vouched = s.vouches(p);
    let me = &mut n.proxies[p];
    me.pipe = Pipe::Idle;
    if me.id != sent.by {
        // The incarnation is over, and its takeover finds the row.
        return Some(n);
    }
    let waits = me.client == Client::Waits && me.attempt == sent.attempt;
    let LockRow { tok, exact, .. } = row;
    let owned = Owned { tok, last: tok, exact };
    if me.client == Client::Leaves {
        me.client = Client::Idle;
    }
    match sent.statement {
        Statement::Claim if won => {
            (me.asked, me.owns) = (false, Some(owned));
            if waits && vouched {
                me.client = Client::Holds(tok);
            }
        }
        // Another one's promise.
        Statement::Read | Statement::Withdraw if row.holder == sent.by => {
            (me.asked, me.owns) = (false, Some(owned));
            if waits && row.grant == sent.attempt && vouched {
                me.client = Client::Holds(row.tok);
            }
        }
        Statement::Withdraw => me.asked = false,
        Statement::Promise { .. } | Statement::GiveBack { .. } if won => me.owns = None,
        Statement::Promise { tok, .. }
        | Statement::GiveBack { tok, .. }
        | Statement::Show { tok, .. }
        | Statement::Grant { tok, .. }
            if !won =>
        {
            let lost = row.holder != sent.by || row.tok != tok;
            me.owns = me.owns.filter(|_| !lost);
        }
        Statement::Claim
        | Statement::Want
        | Statement::Read
        | Statement::Promise { .. }
        | Statement::GiveBack { .. } => {}
        Statement::Show { .. } => {
            // Sessions may have got and given back the lock meanwhile.
            let last = me.owns?.last.max(owned.last);
            me.owns = Some(Owned { tok, last, exact });
        }
        Statement::Grant { token, .. } => {
            me.owns = Some(owned);
            if waits && vouched {
                me.client = Client::Holds(token);
            }
        }
    }
    Some(n)
}
