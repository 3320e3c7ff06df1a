//! How responses are changed on their way to the client.

use crate::protocol::amend::Amend;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::Column;

/// The change to the response that is to come, or to several.
#[derive(Debug)]
pub(crate) struct Amendments {
    capabilities: Capabilities,
    amend: Option<Box<Amend>>,
    /// The responses to several statements are joined; otherwise the change ends with the next response.
    joins: bool,
}

impl Amendments {
    /// None yet.
    pub(crate) fn new(capabilities: Capabilities) -> Self {
        Self { capabilities, amend: None, joins: false }
    }

    fn get_or_start(&mut self) -> &mut Amend {
        let capabilities = self.capabilities;
        self.amend.get_or_insert_with(|| Box::new(Amend::new(capabilities)))
    }

    /// How the columns of the response that is to come are to be described.
    pub(crate) fn describe(&mut self, columns: Vec<Column>) {
        if !columns.is_empty() {
            self.get_or_start().describe(columns);
        }
    }

    /// The responses to the statements of one text go to the client as one.
    pub(crate) fn join(&mut self) {
        self.amend = None;
        self.get_or_start();
        self.joins = true;
    }

    /// The next response to be joined; another follows it if `more`.
    pub(crate) fn join_next(&mut self, more: bool) {
        if let Some(amend) = &mut self.amend {
            amend.next(more);
        }
    }

    /// Whether one of the joined responses was an error.
    pub(crate) fn has_failed(&self) -> bool {
        self.amend.as_ref().is_some_and(|amend| amend.failed())
    }

    /// There is none any more: all statements of the text have their response.
    pub(crate) fn end(&mut self) {
        (self.amend, self.joins) = (None, false);
    }

    /// Whether responses are joined.
    pub(super) fn joins(&self) -> bool {
        self.joins
    }

    /// Whether a response is changed that stands alone.
    pub(super) fn is_of_one(&self) -> bool {
        self.amend.is_some() && !self.joins
    }

    /// What the client gets in place of these bytes; `None`: these bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.amend.as_mut().map(|amend| amend.feed(bytes))
    }
}
