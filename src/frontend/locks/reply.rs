//! The answer to a bare call: from a template, or by the server itself with the call replaced
//! by its value.

use std::time::Duration;

use crate::frontend::link::pending::Behind;
use crate::frontend::link::server_query::Reply;
use crate::frontend::session::settings::{Settings, Trial};
use crate::frontend::session::{End, Session};
use crate::lock::function::Function;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::{is_definition, rename};
use crate::protocol::command::Shape;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reply::{Delivery, OneValue, put_ok};
use crate::protocol::status::Status;
use crate::sql::classify::{Alias, BareCall};
use crate::types::Flavour;

/// Longest column name that no server cuts, in bytes.
const NAME_MAX: usize = 255;
/// A server that has not heard of the session for this long gets the statement itself, so that
/// its idle timeout counts from the client's last statement.
const QUIET: Duration = Duration::from_millis(500);

/// A bare call in its packet.
pub(in crate::frontend) struct Call<'a> {
    /// Command byte and query attributes.
    pub(in crate::frontend) prefix: &'a [u8],
    /// The statement.
    pub(in crate::frontend) text: &'a [u8],
    pub(in crate::frontend) bare: BareCall,
}

impl Call<'_> {
    /// The statement with an expression in the call's place.
    pub(in crate::frontend) fn spliced(&self, expression: &[u8]) -> Vec<u8> {
        let span = &self.bare.call;
        let (before, after) = (&self.text[..span.start], &self.text[span.end..]);
        let (opens, closes) = self.bare.around;
        let payload =
            [self.prefix, before, opens.as_bytes(), expression, closes.as_bytes(), after].concat();
        let mut packet = Vec::with_capacity(payload.len() + HEADER);
        put_frame(&mut packet, 0, &payload);
        packet
    }

    /// The column's name, where the server would not have to convert or cut it.
    pub(in crate::frontend) fn plain_name(&self) -> Option<&[u8]> {
        let name = match &self.bare.alias {
            Alias::None if self.bare.odd => return None,
            Alias::None => &self.text[self.bare.call.clone()],
            Alias::Simple { text, .. } => &self.text[text.clone()],
            Alias::Complex => return None,
        };
        is_plain_name(name).then_some(name)
    }
}

impl Session {
    /// Whether the server takes the alias: a bare word may be reserved. The refusal is its reply
    /// to the statement without the call.
    pub(in crate::frontend) async fn check_alias(
        &mut self,
        call: &Call<'_>,
    ) -> Result<Option<Vec<u8>>, End> {
        let alias = match &call.bare.alias {
            // The server must read the comments as the proxy does.
            _ if call.bare.odd => b"",
            Alias::None | Alias::Simple { bare: false, .. } => return Ok(None),
            Alias::Simple { text, bare: true } => &call.text[text.clone()],
            Alias::Complex => b"",
        };
        if !alias.is_empty() && self.good_alias.as_deref() == Some(alias) {
            return Ok(None);
        }
        if let Trial::Refused(reply) = self.try_out(call).await? {
            return Ok(Some(reply));
        }
        self.good_alias = Some(alias.into());
        Ok(None)
    }

    /// Whether a reply from a template cannot be told from the server's.
    ///
    /// Without DEPRECATE_EOF, result sets say nothing of changed state: the next OK does.
    pub(in crate::frontend) fn may_answer_alone(&self, by_ok: bool) -> bool {
        let late = by_ok
            && self.capabilities.has(Capabilities::SESSION_TRACK)
            && !self.capabilities.has(Capabilities::DEPRECATE_EOF);
        let shaped = by_ok || self.settings == Settings::Usual;
        !late
            && shaped
            && self.context.config.fast_path
            && self.status_is_plain()
            && !self.capabilities.has(Capabilities::OPTIONAL_METADATA)
            && !self.capabilities.has(Capabilities::MARIADB_CACHE_METADATA)
            && self.server_used.elapsed() < QUIET
    }

    /// Answers a text call.
    pub(in crate::frontend) async fn answer(
        &mut self,
        call: &Call<'_>,
        value: Option<u64>,
        pure: &[Vec<u8>],
    ) -> Result<(), End> {
        // A failed attempt empties MariaDB's list of warnings, which only the server can do.
        let emptied = empties_warnings(call.bare.function, self.flavour, value);
        let simple = pure.is_empty()
            && !call.bare.special
            && !emptied
            && self.may_answer_alone(call.bare.is_do);
        if let Some(name) = call.plain_name().filter(|_| simple) {
            let mut out = Vec::with_capacity(128);
            let status = Status(self.status.lasting());
            self.behind.answered(call.bare.is_do);
            if call.bare.is_do {
                put_ok(&mut out, 1, status);
            } else {
                let column = call.bare.function.column(self.flavour);
                let reply = OneValue {
                    catalog: b"def",
                    name,
                    column,
                    value,
                    between: status,
                    status,
                    warnings: 0,
                    delivery: Delivery::Text,
                    metadata: true,
                    end: None,
                };
                reply.encode(&mut out, self.capabilities);
            }
            return self.send_client(&out);
        }
        // Asked before the statement runs, so that what it leaves behind is the last.
        let name = self.source_name(call).await?;
        self.behind = Behind::default();
        let expression = call.bare.function.value_expression(self.flavour, value, pure);
        let reply = self.exchange(&call.spliced(&expression), Shape::Results).await?;
        let bytes = self.patched(call, name.as_deref(), &reply);
        self.send_results(&bytes)
    }

    /// The server's reply with the column's native name, and type where no expression has it.
    pub(in crate::frontend) fn patched(
        &self,
        call: &Call<'_>,
        name: Option<&[u8]>,
        reply: &Reply,
    ) -> Vec<u8> {
        let retype = self.flavour == Flavour::MariaDb
            && matches!(call.bare.function, Function::IsUsedLock | Function::ReleaseAllLocks);
        let column = retype.then(|| call.bare.function.column(self.flavour));
        let mut out = Vec::with_capacity(reply.bytes.len() + 64);
        for frame in reply.frames() {
            let payload = &frame[HEADER..];
            let renamed = is_definition(payload).then(|| rename(payload, name, column)).flatten();
            match renamed {
                Some(definition) => put_frame(&mut out, frame[HEADER - 1], &definition),
                None => out.extend_from_slice(frame),
            }
        }
        out
    }

    /// The column's name where no alias gives it: the call's source text, as the server shows it in
    /// the character set of results. It is asked where it may convert or cut: with LIMIT 0 it
    /// describes the column and calls nothing.
    pub(in crate::frontend) async fn source_name(
        &mut self,
        call: &Call<'_>,
    ) -> Result<Option<Vec<u8>>, End> {
        if call.bare.alias != Alias::None || call.bare.is_do {
            return Ok(None);
        }
        if let Some(name) = call.plain_name().filter(|_| self.settings == Settings::Usual) {
            return Ok(Some(name.to_vec()));
        }
        let (body, none) = call.bare.none;
        let payload = [call.prefix, &call.text[..body], none.as_bytes()].concat();
        let mut packet = Vec::with_capacity(payload.len() + HEADER);
        put_frame(&mut packet, 0, &payload);
        let reply = self.exchange(&packet, Shape::Results).await?;
        Ok(reply.column_names().next().map(|(_, name)| name))
    }
}

/// Whether a name is the same in every usual character set.
pub(in crate::frontend) fn is_plain_name(name: &[u8]) -> bool {
    name.len() <= NAME_MAX && name.iter().all(|b| b.is_ascii() && *b != 0)
}

/// MariaDB empties the warnings of earlier statements when GET_LOCK answers 0.
pub(in crate::frontend) fn empties_warnings(
    function: Function,
    flavour: Flavour,
    value: Option<u64>,
) -> bool {
    flavour == Flavour::MariaDb && function == Function::GetLock && value == Some(0)
}
