//! Differential scripts: what to send, on which session, in which order.
//!
//! A script is lines of text, one step a line; `#` begins a comment line. Each line may begin
//! with `[mysql]` or `[mariadb]` and then holds for that flavour only.
//!
//! ```text
//! @session a caps=-DEPRECATE_EOF,+QUERY_ATTRIBUTES charset=latin1 user=root db=none
//! @matrix caps=+FOUND_ROWS       the whole script again, with this added to every session
//! @setup SQL                     run by root at the server, outside the comparison
//! @global max_allowed_packet=67108864    raised at the server if it is lower
//! @only mysql                    also mariadb: the other server has nothing to say to it
//! @also over_tls over_zlib       further passes that it is in; tests/differential/pass.rs has them
//! @not over_zlib                 passes that it cannot be in, whatever is asked for
//! @end shuffled [mysql]          that pass ends here: a known difference follows (docs/pooling-reference.md)
//! @client mysql2 own             only as these libraries; tests/support/src/wire/library.rs has them
//! @own OPTION...                 on a server of its own, started with these options
//! @first SQL                     run by root at a server of its own, once
//! @ignored WHY                   not run unless ignored tests are asked for
//! a: SELECT GET_LOCK('$Nk',0)    a statement and its response
//! = 1                            what the server itself must say to the tests' own client, as `render::summary` puts it
//! ~ 0                            what the proxy says instead: a documented difference
//! b!: SELECT GET_LOCK('$Nk',5)   send, then wait until the statement really waits
//! b!!: DO SLEEP(1)               send, and go on at once
//! b?                             collect the response that is outstanding
//! b~1000: SELECT ...             compare also whether it took its 1000 ms or came at once
//! a*300: SELECT GET_LOCK('$Nk$#',0)      300 times, $# being 0, 1, 2...
//! a qattr trace='x' n=5 : SELECT 1
//! a prepare p1 : SELECT GET_LOCK(?,?)
//! a execute p1 '$Nk' 0           also 1.5 null null:8 t:1 s:1 i:1 u:1 f:1.5 d:'1.5' c:'x' v:'x'
//!                                b:'x' long long:253 dt:2024-01-02T03:04:05, and the options
//!                                cursor keep attr:name=VALUE
//! a fetch p1 2 | a closestmt p1 | a resetstmt p1 | a longdata p1 0 text
//! a initdb x | a ping | a statistics | a fieldlist t % | a setoption 0 | a raw ff00
//! a reset | a changeuser user=.. password=.. db=.. charset=.. | a connect
//! a quit | a close | a rst | a infile text | a gone
//! ```
//!
//! Placeholders: `$N` eight characters of this run's own, `$X` the same in hexadecimal, `$D` eight digits of its own,
//! `$DB`, `$USER`, `$USER2`. Also `$ID(a)` the connection id of a session, `$REP(x,513)` repetition, `\xe9` a byte.

pub(crate) mod accounts;
pub(crate) mod action;
pub(crate) mod canon;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod expand;
pub(crate) mod parse;
pub(crate) mod perform;
pub(crate) mod readings;
pub(crate) mod run;
pub(crate) mod teach;
pub(crate) mod values;

pub(crate) use compare::compare;
pub(crate) use lockstead_support::Flavour;
pub(crate) use lockstead_support::server::{self, Server};
pub(crate) use parse::Script;
pub(crate) use run::Runner;
