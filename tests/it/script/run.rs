//! Running a script against one address and keeping all that came back.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::Flavour;
use super::accounts::{see_off, set_up, tear_down};
use super::action::{Options, Step};
use super::expand::Names;
use super::parse::Script;
use super::perform::Performance;
use super::server::{Root, Server};
use crate::wire::wrap::Wrap;
use crate::wire::{Client, End, Library, Login, Response};

/// How long a sent statement may take to be seen waiting.
const TO_BLOCK: Duration = Duration::from_secs(5);

/// How long a statement that cannot be seen waiting is given to answer.
pub(super) const UNSEEN: Duration = Duration::from_millis(500);

/// Waits until a session waits in its statement; false when its reply came instead. The server
/// sees the waits of the proxy's clients too.
pub(crate) fn wait_until_blocked(root: &mut Root, session: &mut Client) -> bool {
    let began = Instant::now();
    while began.elapsed() < TO_BLOCK {
        if session.readable_within(Duration::from_millis(3)) {
            return false;
        }
        if is_unseen(session) && began.elapsed() > UNSEEN {
            return true;
        }
        if root.waits(session.connection_id()) {
            return true;
        }
    }
    panic!("a statement neither waits nor answers")
}

/// Whether the server does not know the id of a session, which shares its connections.
pub(super) fn is_unseen(session: &Client) -> bool {
    session.connection_id() >> 30 == 1
}

/// What came back from one step.
#[derive(Debug)]
pub(crate) enum Reply {
    Login(Box<Login>),
    Response(Response),
    /// Sent only; true if it was seen waiting, false if its reply was there at once.
    Sent(Option<bool>),
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) step: Step,
    pub(crate) reply: Reply,
    /// Whether the reply may have connection ids, which are then compared by session name.
    pub(crate) shows_ids: bool,
}

/// All that one run brought.
#[derive(Debug)]
pub(crate) struct Transcript {
    pub(crate) entries: Vec<Entry>,
    /// Every connection: the session, its how many-th connection it is, and its id.
    pub(crate) connections: Vec<(String, usize, u32)>,
}

/// A script about to be run under given names.
pub(crate) struct Runner<'a> {
    pub(crate) server: &'a Server,
    pub(crate) script: &'a Script,
    /// What one line of the script's matrix adds to every session.
    pub(crate) variant: &'a Options,
    pub(crate) names: &'a Names,
    /// Around the connections of its sessions.
    pub(crate) wrap: Wrap,
    /// As which its sessions log in.
    pub(crate) library: &'static Library,
    pub(crate) flavour: Flavour,
}

impl Runner<'_> {
    /// Runs the script against `port` on the server's host.
    pub(crate) fn run(&self, port: u16, blocked: &mut Root) -> Transcript {
        let mut root = self.server.root();
        set_up(&mut root, self.names);
        for (variable, least) in &self.script.globals {
            root.raise(variable, *least);
        }
        for sql in &self.script.setup {
            let sql = self.names.expand(sql, &BTreeMap::new());
            root.run(&String::from_utf8(sql).expect("a setup statement is UTF-8"));
        }
        let mut performance = Performance::of(self, port);
        for step in &self.script.steps {
            performance.step(step, blocked);
        }
        let (entries, connections) = performance.end();
        let direct = port == self.server.port;
        let ids: Vec<u32> = connections.iter().map(|(.., id)| *id).collect();
        see_off(&mut root, self.names, if direct { &ids } else { &[] });
        tear_down(&mut root, self.names);
        Transcript { entries, connections }
    }
}

impl Entry {
    /// The response, where there is one.
    pub(crate) fn response(&self) -> Option<&Response> {
        match &self.reply {
            Reply::Response(response) => Some(response),
            Reply::Login(_) | Reply::Sent(_) => None,
        }
    }

    /// Whether reading the reply ran into its time limit.
    pub(crate) fn timed_out(&self) -> bool {
        match &self.reply {
            Reply::Login(login) => login.end == End::TimedOut,
            Reply::Response(response) => response.end == End::TimedOut,
            Reply::Sent(_) => false,
        }
    }
}
