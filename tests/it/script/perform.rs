//! Performing the steps of a script on its sessions.

use std::collections::BTreeMap;
use std::time::Duration;

use super::accounts::PASSWORD;
use super::action::{Action, Options, Pace, Step};
use super::readings::Readings;
use super::run::{Entry, Reply, Runner, UNSEEN, is_unseen, wait_until_blocked};
use super::server::Root;
use super::values;
use crate::wire::{Account, Client, Execute, Param, Response, Shape};

/// Query attributes by their names.
type Attributes = Vec<(String, Param)>;

/// A prepared statement as the script knows it.
struct Prepared {
    id: u32,
    shows_ids: bool,
}

/// A response that a session still owes.
struct Owed {
    shape: Shape,
    /// The response may show connection ids.
    shows_ids: bool,
    /// [`Performance::unseen`] when the statement was sent.
    unseen: Duration,
}

/// A script being run: its sessions and what is owed to them.
pub(crate) struct Performance<'a> {
    runner: &'a Runner<'a>,
    port: u16,
    clients: BTreeMap<String, Client>,
    owed: BTreeMap<String, Owed>,
    /// How long the script has waited, in all, for sessions that nobody can see waiting.
    unseen: Duration,
    statements: BTreeMap<(String, String), Prepared>,
    ids: BTreeMap<String, u32>,
    connections: Vec<(String, usize, u32)>,
    entries: Vec<Entry>,
    readings: Readings,
}

impl<'a> Performance<'a> {
    pub(crate) fn of(runner: &'a Runner<'a>, port: u16) -> Self {
        Performance {
            runner,
            port,
            clients: BTreeMap::new(),
            owed: BTreeMap::new(),
            unseen: Duration::ZERO,
            statements: BTreeMap::new(),
            ids: BTreeMap::new(),
            connections: Vec::new(),
            entries: Vec::new(),
            readings: Readings::default(),
        }
    }

    /// Closes all sessions. Returns what they said, and their connections.
    pub(crate) fn end(self) -> (Vec<Entry>, Vec<(String, usize, u32)>) {
        for (_, client) in self.clients {
            client.hang_up();
        }
        (self.entries, self.connections)
    }

    pub(crate) fn step(&mut self, step: &Step, blocked: &mut Root) {
        let name = step.session.clone();
        let explicit = matches!(step.action, Action::Connect);
        if explicit || !self.clients.contains_key(&name) {
            self.connect(step, explicit);
            if explicit {
                return;
            }
        }
        let shows_ids = self.shows_ids(step);
        if let Action::Close | Action::Rst = step.action {
            let client = self.clients.remove(&name).expect("a session to close");
            self.owed.remove(&name);
            if matches!(step.action, Action::Rst) {
                client.reset_tcp();
            } else {
                client.hang_up();
            }
            return self.record(step, Reply::Sent(None), false);
        }
        if let Action::Gone = step.action {
            self.owed.remove(&name);
            let response = self.client(&name).read_until_closed();
            return self.record(step, Reply::Response(response), false);
        }
        if let Action::Collect = step.action {
            let owed = self.owed.remove(&name);
            let Owed { shape, shows_ids, unseen } =
                owed.unwrap_or_else(|| panic!("{name} owes nothing: line {}", step.line));
            let mut response = self.client(&name).read_response(shape);
            self.compare_readings(&name, &response);
            if step.expected_ms == Some(0) {
                response.took = response.took.saturating_sub(self.unseen.saturating_sub(unseen));
            }
            return self.record(step, Reply::Response(response), shows_ids);
        }
        assert!(!self.owed.contains_key(&name), "{name} still owes a reply: line {}", step.line);
        if step.pace == Pace::Now {
            let response = self.ask(step);
            self.compare_readings(&name, &response);
            if let (Action::Prepare { handle, .. }, Some(id)) =
                (&step.action, response.statement_id())
            {
                self.statements.insert((name, handle.clone()), Prepared { id, shows_ids });
            }
            return self.record(step, Reply::Response(response), shows_ids);
        }
        let shape = self.send(step);
        self.owed.insert(name.clone(), Owed { shape, shows_ids, unseen: self.unseen });
        let seen = (step.pace == Pace::WhenBlocked)
            .then(|| wait_until_blocked(blocked, self.client(&name)));
        if seen == Some(true) && is_unseen(self.client(&name)) {
            self.unseen += UNSEEN;
        }
        self.record(step, Reply::Sent(seen), false);
    }

    fn compare_readings(&mut self, name: &str, response: &Response) {
        let client = &self.clients[name];
        self.readings.compare(name, client, response);
    }

    fn record(&mut self, step: &Step, reply: Reply, shows_ids: bool) {
        self.entries.push(Entry { step: step.clone(), reply, shows_ids });
    }

    fn client(&mut self, name: &str) -> &mut Client {
        self.clients.get_mut(name).expect("an open session")
    }

    fn connect(&mut self, step: &Step, explicit: bool) {
        let name = &step.session;
        let runner = self.runner;
        let own = runner.script.sessions.get(name).cloned().unwrap_or_default();
        let account = self.account(&runner.variant.with(&own));
        let client = Client::connect(&runner.server.host, self.port, &account)
            .unwrap_or_else(|e| panic!("line {}: {name} cannot connect: {e}", step.line));
        assert!(
            explicit || client.login.succeeded(),
            "line {}: {name} cannot log in: {:?}",
            step.line,
            client.login
        );
        self.ids.insert(name.clone(), client.connection_id());
        let before = self.connections.iter().filter(|(of, ..)| of == name).count();
        self.connections.push((name.clone(), before + 1, client.connection_id()));
        let login = Reply::Login(Box::new(client.login.clone()));
        if client.login.succeeded() {
            self.clients.insert(name.clone(), client);
        }
        self.record(step, login, false);
    }

    fn account(&self, options: &Options) -> Account {
        let runner = self.runner;
        let expand = |text: &str| {
            String::from_utf8(runner.names.expand(text, &self.ids)).expect("an option in UTF-8")
        };
        let mut account = match options.user.as_deref() {
            Some("root") => runner.server.root.clone(),
            Some(user) => Account::new(&expand(user), PASSWORD),
            None => Account::new(&runner.names.user(), PASSWORD),
        };
        if let Some(password) = &options.password {
            account.password = expand(password);
        }
        account.database = match options.database.as_deref() {
            Some("none") => None,
            Some(database) => Some(expand(database)),
            None => Some(runner.names.database()),
        };
        account.collation = options.collation.unwrap_or(account.collation);
        if options.no_attributes {
            account.attributes.clear();
        }
        account = account.by(runner.library, runner.flavour);
        account.capabilities = (account.capabilities | options.add) & !options.remove;
        account.wrap = runner.wrap;
        account
    }

    /// Connection ids are looked for only where they can stand: everywhere else a value that
    /// happens to equal one would hide a difference.
    fn shows_ids(&self, step: &Step) -> bool {
        let statement = |handle: &String| {
            let key = (step.session.clone(), handle.clone());
            self.statements.get(&key).is_some_and(|p| p.shows_ids)
        };
        match &step.action {
            Action::Execute { handle, .. } | Action::Fetch { handle, .. } => statement(handle),
            other => other.sql().is_some_and(|sql| {
                let sql = sql.to_ascii_lowercase();
                ["is_used_lock", "connection_id", "processlist", "$id("]
                    .iter()
                    .any(|word| sql.contains(word))
            }),
        }
    }

    fn statement(&self, step: &Step, handle: &str) -> u32 {
        let key = (step.session.clone(), handle.to_owned());
        match self.statements.get(&key) {
            Some(prepared) => prepared.id,
            // A handle that was never prepared stands for an id that the server does not know.
            None => 0x00ff_fff0,
        }
    }

    /// Sends a statement without reading; only queries and executions can be left outstanding.
    fn send(&mut self, step: &Step) -> Shape {
        match &step.action {
            Action::Query { attributes, sql } => {
                let (sql, attributes) = self.query_of(attributes, sql);
                self.client(&step.session).send_query(&sql, &attributes);
                Shape::Query
            }
            Action::Execute { handle, words } => {
                let (id, execute) = self.execution_of(step, handle, words);
                self.client(&step.session).send_execute(id, &execute);
                Shape::Execute
            }
            _ => panic!("line {}: only queries and executions can be left waiting", step.line),
        }
    }

    fn query_of(&self, attributes: &[(String, String)], sql: &str) -> (Vec<u8>, Attributes) {
        let names = self.runner.names;
        let attributes = attributes
            .iter()
            .map(|(name, value)| (name.clone(), values::param(value, names, &self.ids)))
            .collect();
        (names.expand(sql, &self.ids), attributes)
    }

    fn execution_of(&self, step: &Step, handle: &str, words: &[String]) -> (u32, Execute) {
        let execute = values::execute(words, self.runner.names, &self.ids);
        (self.statement(step, handle), execute)
    }

    /// Sends a command and reads its response.
    fn ask(&mut self, step: &Step) -> Response {
        let names = self.runner.names;
        let ids = self.ids.clone();
        let expand = |text: &str| names.expand(text, &ids);
        let statement = |handle: &str| self.statement(step, handle);
        match &step.action {
            Action::Query { attributes, sql } => {
                let (sql, attributes) = self.query_of(attributes, sql);
                self.client(&step.session).query_with(&sql, &attributes)
            }
            Action::Execute { handle, words } => {
                let (id, execute) = self.execution_of(step, handle, words);
                self.client(&step.session).execute(id, &execute)
            }
            Action::Prepare { sql, .. } => self.client(&step.session).prepare(&expand(sql)),
            Action::Fetch { handle, rows } => {
                let id = statement(handle);
                self.client(&step.session).fetch(id, *rows)
            }
            Action::CloseStatement { handle } => {
                let id = statement(handle);
                self.client(&step.session).close_statement(id)
            }
            Action::ResetStatement { handle } => {
                let id = statement(handle);
                self.client(&step.session).reset_statement(id)
            }
            Action::LongData { handle, param, text } => {
                let id = statement(handle);
                self.client(&step.session).send_long_data(id, *param, &expand(text))
            }
            Action::InitDb(database) => self.client(&step.session).init_db(&expand(database)),
            Action::Ping => self.client(&step.session).ping(),
            Action::Statistics => self.client(&step.session).statistics(),
            Action::FieldList { table, wildcard } => {
                self.client(&step.session).field_list(&expand(table), &expand(wildcard))
            }
            Action::SetOption(option) => self.client(&step.session).set_option(*option),
            Action::Raw(hex) => self.raw(&step.session, &expand(hex)),
            Action::Reset => self.client(&step.session).reset_connection(),
            Action::ChangeUser(options) => {
                let own = self.runner.script.sessions.get(&step.session);
                let own = self.runner.variant.with(&own.cloned().unwrap_or_default());
                let account = self.account(&own.with(options));
                self.client(&step.session).change_user(&account)
            }
            Action::Infile(text) => self.client(&step.session).answer_infile(&expand(text)),
            Action::Quit => self.client(&step.session).quit(),
            Action::Connect | Action::Collect | Action::Gone | Action::Close | Action::Rst => {
                unreachable!("handled before")
            }
        }
    }

    /// A command as hexadecimal text, its response being one packet.
    fn raw(&mut self, name: &str, hex: &[u8]) -> Response {
        let digits = String::from_utf8_lossy(hex).replace(' ', "");
        let bytes = hex::decode(digits).expect("hexadecimal digits");
        let client = self.client(name);
        client.send(&bytes);
        client.read_response(Shape::One)
    }
}
