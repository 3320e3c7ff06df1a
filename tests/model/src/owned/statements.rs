//! Statements on the row of an owned name: sent, carried out, answered.

use super::{
    BLOCK, Block, Broken, Client, LockRow, Pipe, Question, Sent, State, Statement, TOKENS, Weak,
    World,
};

/// Sends a statement.
fn send(s: &State, p: usize, statement: Statement) -> State {
    let mut n = *s;
    let me = &mut n.proxies[p];
    let sent = Sent { statement, by: me.id, generation: me.generation, attempt: me.attempt };
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
    let looks_idle = w.weak == Weak::TakenByItsLooks && lock.shown == 0 && me.silent > 0;
    let may = !hopeless || me.outvoted != 0 || looks_idle;
    let wants = me.client == Client::Waits && me.owns.is_none() && may;
    (is_idle(s, p) && wants).then(|| send(s, p, Statement::Claim { outvoted: me.outvoted }))
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
    let Block { upto, .. } = me.owns?;
    let LockRow { holder, want, attempt, .. } = s.lock;
    let asked = holder == me.id && want != 0 && want != me.id;
    // A session here that comes now waits until the outcome is known.
    let may = is_idle(s, p) && asked && me.client == Client::Idle;
    may.then(|| send(s, p, Statement::Promise { upto, to: want, attempt }))
}

pub(super) fn send_give_back(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let Block { upto, .. } = me.owns?;
    let may = is_idle(s, p) && me.client == Client::Idle;
    may.then(|| send(s, p, Statement::GiveBack { upto }))
}

pub(super) fn send_show(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let Block { upto, .. } = me.owns?;
    let token = if let Client::Holds(token) = me.client { token } else { 0 };
    let answers = p == 0 && matches!(s.question, Question::Asked { answered: false, .. });
    let may = is_idle(s, p) && (s.lock.shown != token || answers);
    may.then(|| send(s, p, Statement::Show { upto, token, answers }))
}

pub(super) fn send_extend(_: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let Block { next, upto } = me.owns?;
    let spent = next > upto && upto < TOKENS;
    (is_idle(s, p) && spent).then(|| send(s, p, Statement::Extend { upto }))
}

/// Without the own lease each grant is written.
pub(super) fn send_grant(w: &World, s: &State, p: usize) -> Option<State> {
    let me = &s.proxies[p];
    let Block { next, upto } = me.owns?;
    let may = is_idle(s, p) && w.native[p] && me.own == 0 && me.client == Client::Waits;
    (may && next <= upto).then(|| send(s, p, Statement::Grant { upto, token: next }))
}

/// The store carries a statement out.
pub(super) fn statement_runs(w: &World, s: &State, p: usize) -> Option<State> {
    let Pipe::Sent(sent) = s.proxies[p].pipe else { return None };
    let Sent { statement, by, attempt, .. } = sent;
    let mut n = *s;
    let live = s.is_live(by);
    let row = s.lock;
    let mine = |upto: u8| live && row.holder == by && row.upto == upto;
    let begin = if w.weak == Weak::BlockUsedAgain { row.tok } else { row.upto };
    let block =
        LockRow { upto: begin + BLOCK, tok: begin + 1, shown: begin + 1, grant: attempt, ..row };
    let won = match statement {
        Statement::Claim { outvoted } => {
            let clean = row.holder == 0 || !s.is_live(row.holder);
            let taken = outvoted != 0 && outvoted == row.upto;
            let looks = w.weak == Weak::TakenByItsLooks && row.shown == 0;
            live && (clean || row.holder == by || taken || looks)
        }
        Statement::Want => live && row.holder != by && (row.want == by || !s.is_live(row.want)),
        Statement::Withdraw => row.want == by,
        Statement::Read => true,
        Statement::Promise { upto, to, attempt } => {
            let asked = row.want == to && row.attempt == attempt;
            mine(upto) && asked && (s.is_live(to) || w.weak == Weak::PromisedToTheDead)
        }
        Statement::GiveBack { upto }
        | Statement::Show { upto, .. }
        | Statement::Extend { upto }
        | Statement::Grant { upto, .. } => mine(upto),
    };
    if won {
        match statement {
            Statement::Claim { outvoted } => {
                let from = row.holder;
                if from != 0 && from != by && s.is_live(from) && outvoted == 0 {
                    n.broken = n.broken.or(Some(Broken::TakenFromTheLiving));
                }
                let want = if row.want == by { 0 } else { row.want };
                n.lock = LockRow { holder: by, want, ..block };
                n.granted(block.tok);
            }
            Statement::Want => (n.lock.want, n.lock.attempt) = (by, attempt),
            Statement::Withdraw => n.lock.want = 0,
            Statement::Read => {}
            Statement::Promise { to, attempt, .. } => {
                n.lock = LockRow { holder: to, want: 0, grant: attempt, ..block };
                n.granted(block.tok);
            }
            Statement::GiveBack { .. } => (n.lock.holder, n.lock.shown) = (0, 0),
            Statement::Show { token, answers, .. } => {
                n.lock.shown = token;
                n.lock.tok = row.tok.max(token);
                let asked = matches!(n.question, Question::Asked { .. });
                if let Question::Asked { answered, .. } = &mut n.question
                    && (answers || (asked && w.weak == Weak::AnswersFromBefore))
                {
                    *answered = true;
                }
            }
            Statement::Extend { .. } => n.lock.upto += BLOCK,
            Statement::Grant { token, .. } => {
                (n.lock.shown, n.lock.tok) = (token, token);
                n.granted(token);
            }
        }
    }
    n.proxies[p].pipe = Pipe::Done(sent, won, n.lock);
    Some(n)
}

/// The answer comes.
pub(super) fn statement_heard(w: &World, s: &State, p: usize) -> Option<State> {
    let Pipe::Done(sent, won, row) = s.proxies[p].pipe else { return None };
    let mut n = *s;
    let vouched = s.vouches(p);
    let me = &mut n.proxies[p];
    me.pipe = Pipe::Idle;
    if me.id != sent.by {
        // The incarnation is over, and its takeover finds the row.
        return Some(n);
    }
    let same = me.generation == sent.generation || w.weak == Weak::AnswerOfAGenerationBefore;
    let waits = me.client == Client::Waits && me.attempt == sent.attempt;
    // Of a block that was won in a generation before, others may have gone on already: it counts as spent.
    let fresh = if same { row.tok + 1 } else { row.upto + 1 };
    let block = Block { next: fresh, upto: row.upto };
    match sent.statement {
        Statement::Claim { .. } => {
            me.outvoted = 0;
            if won {
                (me.asked, me.owns) = (false, Some(block));
            }
            if won && waits && vouched {
                me.client = Client::Holds(row.tok);
            }
        }
        // Another one's promise.
        Statement::Read | Statement::Withdraw if row.holder == sent.by => {
            (me.asked, me.owns) = (false, Some(block));
            if waits && row.grant == sent.attempt && vouched {
                me.client = Client::Holds(row.tok);
            }
        }
        Statement::Withdraw => me.asked = false,
        Statement::Promise { .. } | Statement::GiveBack { .. } if won => me.owns = None,
        Statement::Promise { upto, .. }
        | Statement::GiveBack { upto }
        | Statement::Show { upto, .. }
        | Statement::Extend { upto }
        | Statement::Grant { upto, .. }
            if !won =>
        {
            let lost = row.holder != sent.by || row.upto != upto;
            me.owns = me.owns.filter(|_| !lost);
        }
        Statement::Want
        | Statement::Read
        | Statement::Promise { .. }
        | Statement::GiveBack { .. }
        | Statement::Show { .. } => {}
        Statement::Extend { .. } => {
            let next = if same { me.owns?.next } else { row.upto + 1 };
            me.owns = Some(Block { next, upto: row.upto });
        }
        Statement::Grant { token, .. } => {
            if let Some(block) = &mut me.owns {
                block.next = block.next.max(token + 1);
            }
            if waits && vouched {
                me.client = Client::Holds(token);
            }
        }
    }
    Some(n)
}
