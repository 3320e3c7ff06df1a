//! Statements that have one to four lock calls in them, without tables or with one row that is written into `g`.
//!
//! No timeout is other than 0, so nothing waits. IS_USED_LOCK is a column or is compared: a
//! connection id that is calculated with would differ from run to run.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// Few, so that the calls meet.
pub(super) const NAMES: [&str; 3] = ["$Na", "$Nb", "$Nc"];

/// How deep expressions are nested at most.
const DEPTH: usize = 3;

/// Which statements are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One call with literals.
    Bare,
    /// All calls are evaluated in the order of their ends in the text, and each once or never.
    Plain,
    /// Others too.
    Odd,
}

/// Draws statements.
pub(super) struct Grammar {
    random: StdRng,
    kind: Kind,
    /// Calls that the statement may still have.
    left: usize,
    /// Calls that it has.
    drawn: usize,
    /// How deep its expressions are nested.
    depth: usize,
    /// A function that each call is passed to, with its number in the order of the calls' ends.
    tracer: Option<&'static str>,
}

impl Grammar {
    pub(super) fn new(seed: u64, kind: Kind) -> Self {
        let random = StdRng::seed_from_u64(seed);
        Self { random, kind, left: 0, drawn: 0, depth: DEPTH, tracer: None }
    }

    /// The statements of [`Self::new`], with each call passed to a function.
    pub(super) fn traced(seed: u64, kind: Kind, function: &'static str) -> Self {
        Self { tracer: Some(function), ..Self::new(seed, kind) }
    }

    /// Whose turn it is.
    pub(super) fn session(&mut self) -> &'static str {
        self.pick(&["a", "a", "b"])
    }

    /// What the session may be asked after a statement.
    pub(super) fn question(&mut self) -> Option<&'static str> {
        let rows = "SELECT v, w FROM g ORDER BY v, w";
        let questions = ["SHOW WARNINGS", "SELECT ROW_COUNT()", "SELECT @v, @w", rows];
        self.one_in(3).then(|| self.pick(&questions))
    }

    /// A statement with a call in it.
    pub(super) fn statement(&mut self) -> String {
        loop {
            self.left = if self.kind == Kind::Bare { 1 } else { self.random.random_range(1..=4) };
            self.drawn = 0;
            self.depth = self.random.random_range(1..=DEPTH);
            let odd = self.kind == Kind::Odd && self.one_in(3);
            let statement = match self.kind {
                Kind::Bare => self.bare(),
                Kind::Odd if odd => self.odd_statement(),
                Kind::Plain | Kind::Odd => self.plain_statement(),
            };
            if self.drawn > 0 {
                return statement;
            }
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        *from.choose(&mut self.random).expect("something to pick")
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.random.random_range(0..n) == 0
    }

    fn bare(&mut self) -> String {
        let verb = self.pick(&["SELECT", "SELECT", "DO"]);
        let call = if self.one_in(4) { self.used() } else { self.call(0) };
        let alias = if verb == "SELECT" { self.pick(&["", "", " AS x", " y"]) } else { "" };
        format!("{verb} {call}{alias}")
    }

    fn plain_statement(&mut self) -> String {
        match self.random.random_range(0..14) {
            0 => format!("DO {}", self.list()),
            1 => format!("SET @v = {}", self.top()),
            2 => format!("SET @v = {}, @w = {}", self.top(), self.top()),
            3 => format!("SELECT {} INTO @v", self.top()),
            4 => format!("SELECT {}, {} INTO @v, @w", self.top(), self.top()),
            5 => {
                let all = self.pick(&["UNION ALL", "UNION"]);
                format!("SELECT {} {all} SELECT {}", self.top(), self.top())
            }
            6 => {
                let tails = ["LIMIT 0", "LIMIT 1", "FROM DUAL WHERE 1=0", "FROM DUAL WHERE 1=1"];
                let columns = self.columns();
                format!("SELECT {columns} {}", self.pick(&tails))
            }
            7 => self.written(),
            _ => format!("SELECT {}", self.columns()),
        }
    }

    /// A row that is written, of which the proxy knows how far the server comes, or does not.
    fn written(&mut self) -> String {
        let verb = self.pick(&["INSERT", "REPLACE"]);
        let before = self.pick(&["NULL", "1", "'x'", "@n"]);
        match self.random.random_range(0..8) {
            0 => format!("{verb} INTO g VALUES ({}, {before})", self.top()),
            1 => format!("{verb} INTO g SET v = {}", self.top()),
            2 => format!("{verb} INTO g (w, v) SELECT {before}, {}", self.top()),
            3 => format!("{verb} INTO g VALUES ({}, {})", self.top(), self.top()),
            4 => format!("{verb} INTO g VALUES ({before}, @v), (1, {})", self.top()),
            _ => format!("{verb} INTO g VALUES ({before}, {})", self.top()),
        }
    }

    fn odd_statement(&mut self) -> String {
        match self.random.random_range(0..8) {
            0 => format!("SELECT {} FROM DUAL WHERE {}", self.columns(), self.top()),
            1 => format!("SELECT {} AS x HAVING x", self.top()),
            2 => {
                let all = self.pick(&["UNION ALL", "UNION"]);
                format!("SELECT {} {all} SELECT {} LIMIT 1", self.top(), self.top())
            }
            3 => format!("SELECT {} AS x ORDER BY x", self.top()),
            4 => format!("SELECT x, x FROM (SELECT {} AS x) d", self.top()),
            5 => format!("SELECT x FROM (SELECT {} AS x) d WHERE x", self.top()),
            6 => {
                let (cte, body) = (self.top(), self.top());
                let from = self.pick(&["", " FROM c", ", x FROM c", ", c.x FROM c, c e"]);
                format!("WITH c AS (SELECT {cte} AS x) SELECT {body}{from}")
            }
            _ => format!("SELECT {}, EXISTS(SELECT 1 WHERE {})", self.columns(), self.expr(1)),
        }
    }

    /// One to three expressions.
    fn list(&mut self) -> String {
        let expressions = self.random.random_range(1..=3);
        let list: Vec<String> = (0..expressions).map(|_| self.top()).collect();
        list.join(", ")
    }

    /// One to three columns, some of them named.
    fn columns(&mut self) -> String {
        let columns = self.random.random_range(1..=3);
        let columns: Vec<String> = (0..columns)
            .map(|_| {
                let column = match self.random.random_range(0..8) {
                    0 if self.left > 0 => self.used(),
                    1 => "CONNECTION_ID()".to_owned(),
                    _ => self.top(),
                };
                column + self.pick(&["", "", "", " AS x", " y"])
            })
            .collect();
        columns.join(", ")
    }

    /// A whole expression.
    fn top(&mut self) -> String {
        self.expr(self.depth)
    }

    fn expr(&mut self, depth: usize) -> String {
        if depth == 0 || self.one_in(if self.left == 0 { 2 } else { 5 }) {
            return self.leaf(depth);
        }
        let depth = depth - 1;
        if self.kind == Kind::Odd && self.one_in(8) {
            return self.odd_expr(depth);
        }
        let a = self.expr(depth);
        match self.random.random_range(0..20) {
            0 => format!("IF({a},{},{})", self.expr(depth), self.expr(depth)),
            1 => format!("CASE WHEN {a} THEN {} ELSE {} END", self.expr(depth), self.expr(depth)),
            2 => {
                let (b, c) = (self.expr(depth), self.expr(depth));
                format!("CASE {a} WHEN 0 THEN {b} WHEN 1 THEN {c} END")
            }
            3 => format!("COALESCE({a},{},{})", self.expr(depth), self.expr(depth)),
            4 => format!("IFNULL({a},{})", self.expr(depth)),
            5 | 6 => {
                let operator = self.pick(&["AND", "OR", "XOR", "AND", "OR"]);
                format!("({a} {operator} {})", self.expr(depth))
            }
            7 => format!("(NOT {a})"),
            8 | 9 => {
                let operator = self.pick(&["=", "<>", "<", ">="]);
                format!("({a} {operator} {})", self.expr(depth))
            }
            10 | 11 => {
                let operator = self.pick(&["+", "*"]);
                format!("({a} {operator} {})", self.expr(depth))
            }
            12 => format!("({a} IN (0,1,2))"),
            13 => format!("({a} BETWEEN 0 AND {})", self.expr(depth)),
            14 => {
                let test = self.pick(&["NULL", "NOT NULL", "TRUE", "NOT FALSE", "UNKNOWN"]);
                format!("({a} IS {test})")
            }
            15 => {
                let kind = self.pick(&["CHAR", "SIGNED", "DECIMAL(5,1)"]);
                format!("CAST({a} AS {kind})")
            }
            16 => format!("CONCAT({a},'x',{})", self.expr(depth)),
            17 => format!("EXISTS(SELECT {a})"),
            _ => format!("(SELECT {a})"),
        }
    }

    /// Operators that evaluate out of order, or an operand twice, on one flavour or both.
    fn odd_expr(&mut self, depth: usize) -> String {
        let (a, b) = (self.expr(depth), self.expr(depth));
        match self.random.random_range(0..9) {
            0 => format!("NULLIF({a},{b})"),
            7 => format!("(5 BETWEEN {a} AND {b})"),
            6 => format!("({a} <=> {b})"),
            5 => format!("CASE {a} WHEN 0 THEN 'zero' WHEN {b} THEN 2 END"),
            1 => format!("({a} IN ({b},7))"),
            2 => format!("(1 IN ({a},{b}))"),
            3 => format!("GREATEST({a},{b},0.5)"),
            4 => format!("(SELECT {a} WHERE {b})"),
            _ => format!("ELT({a},{b},{})", self.expr(depth)),
        }
    }

    fn leaf(&mut self, depth: usize) -> String {
        if self.left == 0 || self.one_in(4) {
            return self.pick(&["0", "1", "2", "NULL", "'x'", "'1'", "@v", "1.5"]).to_owned();
        }
        if !self.one_in(4) {
            return self.call(depth);
        }
        let used = self.used();
        let test = self.pick(&["=CONNECTION_ID()", " IS NULL", ">0", "<>CONNECTION_ID()"]);
        format!("({used}{test})")
    }

    /// A call whose value is the same in every run.
    fn call(&mut self, depth: usize) -> String {
        self.left -= 1;
        let call = match self.random.random_range(0..12) {
            0 => "RELEASE_ALL_LOCKS()".to_owned(),
            1..=3 => format!("RELEASE_LOCK({})", self.name(depth)),
            4 | 5 => format!("IS_FREE_LOCK({})", self.name(depth)),
            _ => {
                let name = self.name(depth);
                // MySQL evaluates a timeout also after an error in the name.
                let timeout = self.timeout(if name.contains('(') { 0 } else { depth });
                format!("GET_LOCK({name},{timeout})")
            }
        };
        self.numbered(call)
    }

    fn used(&mut self) -> String {
        self.left -= 1;
        let call = format!("IS_USED_LOCK({})", self.name(0));
        self.numbered(call)
    }

    /// A call whose text is complete, with those in its arguments counted before.
    fn numbered(&mut self, call: String) -> String {
        self.drawn += 1;
        match self.tracer {
            Some(function) => format!("{function}({},{call})", self.drawn),
            None => call,
        }
    }

    fn name(&mut self, depth: usize) -> String {
        if self.one_in(12) {
            return self.bad_name();
        }
        let name = self.pick(&NAMES);
        let computed = self.kind != Kind::Bare;
        match self.random.random_range(0..20) {
            0 if computed => "@n".to_owned(),
            1 if computed => format!("CONCAT('$N',{})", self.pick(&["'a'", "'b'"])),
            2 if computed && depth > 0 => {
                let other = self.pick(&NAMES);
                format!("IF({},'{name}','{other}')", self.expr(depth - 1))
            }
            _ => format!("'{name}'"),
        }
    }

    /// An error on MySQL, after which it evaluates the rest of some expressions and not of others.
    fn bad_name(&mut self) -> String {
        if self.kind != Kind::Odd {
            self.left = 0;
        }
        self.pick(&["NULL", "''", "'$REP(x,200)'"]).to_owned()
    }

    /// Always 0, NULL or unreadable.
    fn timeout(&mut self, depth: usize) -> String {
        let computed = self.kind != Kind::Bare;
        match self.random.random_range(0..24) {
            0 => "NULL".to_owned(),
            1 => "'0'".to_owned(),
            2 => "0.0".to_owned(),
            3 if computed => "(SELECT 0)".to_owned(),
            4 if computed && depth > 0 => format!("0*{}", self.leaf(0)),
            _ => "0".to_owned(),
        }
    }
}
