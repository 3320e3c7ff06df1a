//! COM_STMT_PREPARE of a text that calls lock functions.

use std::sync::Arc;

use super::store::{Calls, LockStatement};
use crate::frontend::session::{End, Session};
use crate::frontend::statements::composite::definitions;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::HEADER;
use crate::protocol::response::PrepareOk;
use crate::sql::classify::{BareCall, Statement};
use crate::sql::expression::composite::Composite;

/// The calls in a text that is prepared.
enum Either {
    Bare(BareCall),
    Composite(Composite),
}

impl Either {
    /// No call: the statement lists locks.
    fn only_list(&self) -> bool {
        matches!(self, Self::Composite(composite) if composite.calls.is_empty())
    }

    /// The text of the only call.
    fn source<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Bare(bare) => &text[bare.call.clone()],
            Self::Composite(_) => b"",
        }
    }
}

impl Session {
    /// COM_STMT_PREPARE of a text that may call.
    pub(in crate::frontend) async fn prepare(&mut self, packet: Vec<u8>) -> Result<(), End> {
        let text = &packet[HEADER + 1..];
        let calls = match self.classify(text).await? {
            Statement::Bare(bare) => Either::Bare(bare),
            Statement::Composite(composite) => Either::Composite(composite),
            statement => {
                self.take_in_hand(&packet, text);
                return self.not_bare(&packet, text, &statement).await;
            }
        };
        self.count(Command::STMT_PREPARE);
        self.settle_behind().await?;
        let surroundings = match &calls {
            Either::Bare(_) => None,
            Either::Composite(composite) => self.surroundings(text, composite).await?,
        };
        let reply = self.exchange(&packet, Shape::Prepare).await?;
        let first = reply.frames().next().and_then(|f| PrepareOk::parse(&f[HEADER..]));
        if let Some(ok) = first {
            // The result column's definition is the last packet that is one.
            let name = reply
                .column_names()
                .last()
                .filter(|_| ok.columns > 0)
                .map_or_else(|| calls.source(text).to_vec(), |(_, name)| name);
            let params = usize::from(ok.params);
            let only_lists = calls.only_list();
            let calls = match calls {
                Either::Bare(bare) => Calls::Bare(bare),
                Either::Composite(composite) => {
                    Calls::Composite(Arc::new(composite), definitions(&reply).into())
                }
            };
            let statement = LockStatement {
                calls,
                text: text.to_vec(),
                params,
                name,
                surroundings,
                types: Vec::new(),
                long_data: vec![None; params],
                kept: 0,
                beyond: Vec::new(),
                no_room: false,
                refused_data: false,
                cursor: None,
                server_cursor: false,
                stand_in: None,
            };
            if statement.size() > self.room() {
                // It may go on without the proxy.
                if only_lists {
                    return self.send_client(&reply.bytes);
                }
                self.close_statement(ok.id)?;
                return self.refuse(&self.no_room());
            }
            self.statements.insert(ok.id, statement);
            self.last_prepared = Some(ok.id);
        }
        self.send_client(&reply.bytes)
    }
}
