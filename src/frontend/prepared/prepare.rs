//! COM_STMT_PREPARE of a text that calls lock functions.

use std::sync::Arc;

use super::prepare_context::context_of;
use super::session_id::prepare_with_id;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::reading::classify_text;
use crate::frontend::state::lock_statement::{Calls, LockStatement};
use crate::frontend::statements::uncovered::pass_or_refuse;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
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

/// COM_STMT_PREPARE of a text that may call.
pub(crate) async fn prepare_statement(
    cx: &mut CallContext<'_>,
    packet: Vec<u8>,
) -> Result<(), CloseReason> {
    let text = &packet[HEADER + 1..];
    let calls = match classify_text(cx, text).await? {
        Statement::Bare(bare) => Either::Bare(bare),
        Statement::Composite(composite) => Either::Composite(composite),
        Statement::NoCall | Statement::PerhapsLists
            if prepare_with_id(cx, &packet, text).await? =>
        {
            return Ok(());
        }
        statement => {
            cx.command.keep(&packet, text);
            return pass_or_refuse(cx, &packet, text, &statement).await;
        }
    };
    cx.count(Command::STMT_PREPARE);
    cx.settle_skipped().await?;
    let context = match &calls {
        Either::Bare(_) => None,
        Either::Composite(composite) => context_of(cx, text, composite).await?,
    };
    let reply = cx.exchange_prepare(&packet).await?;
    let first = reply.prepared();
    if let Some(ok) = first {
        // The result column's definition is the last packet that is one.
        let name = reply
            .column_names()
            .last()
            .filter(|_| ok.columns > 0)
            .map_or_else(|| calls.source(text).to_vec(), |column| column.name);
        let params = usize::from(ok.params);
        let only_lists = calls.only_list();
        let calls = match calls {
            Either::Bare(bare) => Calls::Bare(bare),
            Either::Composite(composite) => {
                Calls::Composite(Arc::new(composite), reply.definitions().into())
            }
        };
        let mut statement = LockStatement::new(calls, text, params, name);
        statement.context = context;
        if statement.size() > cx.room() {
            // A statement that only lists locks may go on without the proxy.
            if only_lists {
                return cx.send_client(&reply.bytes);
            }
            cx.close_statement(ok.id)?;
            return cx.refuse_no_room();
        }
        cx.statements.insert(ok.id, statement);
    }
    cx.send_client(&reply.bytes)
}
