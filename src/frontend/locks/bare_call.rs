//! A statement that is one call, as its text says it.

use crate::protocol::packet;
use crate::sql::classify::{Alias, BareCall};

/// Longest column name that no server cuts, in bytes.
const NAME_MAX: usize = 255;

/// A bare call in its packet.
pub(crate) struct CallInPacket<'a> {
    /// Command byte and query attributes.
    pub prefix: &'a [u8],
    /// The statement.
    pub text: &'a [u8],
    pub bare: BareCall,
}

impl CallInPacket<'_> {
    /// The statement with an expression in the call's place.
    pub(crate) fn spliced(&self, expression: &[u8]) -> Vec<u8> {
        let span = &self.bare.call;
        let (before, after) = (&self.text[..span.start], &self.text[span.end..]);
        let (opens, closes) = self.bare.around;
        packet::command(&[
            self.prefix,
            before,
            opens.as_bytes(),
            expression,
            closes.as_bytes(),
            after,
        ])
    }

    /// The column's name, where the server would not have to convert or cut it.
    pub(crate) fn plain_name(&self) -> Option<&[u8]> {
        let name = match &self.bare.alias {
            Alias::None if self.bare.odd => return None,
            Alias::None => &self.text[self.bare.call.clone()],
            Alias::Simple { text, .. } => &self.text[text.clone()],
            Alias::Complex => return None,
        };
        is_plain_name(name).then_some(name)
    }
}

/// Whether a name is the same in every usual character set.
pub(crate) fn is_plain_name(name: &[u8]) -> bool {
    name.len() <= NAME_MAX && name.iter().all(|b| b.is_ascii() && *b != 0)
}
