//! Variables of the session that change how a lock call is answered: `sql_select_limit`, which may
//! leave no row, and `character_set_results`, in which the column is named.
//!
//! Nothing tells when they change. A statement that names one may have set it, so the server is
//! asked at the next lock call.

use super::{End, Session};
use crate::frontend::locks::reply::Call;
use crate::protocol::command::Shape;
use crate::protocol::frame::HEADER;
use crate::sql::classify::named::may_be_named;
use crate::types::Flavour;

/// What is known of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::frontend) enum Settings {
    /// A row comes, and ASCII is ASCII.
    #[default]
    Usual,
    /// Named by a statement since the server was asked.
    Named,
    /// Only the server's own reply will do: `sql_select_limit` is 0, or ASCII is not sent as it is.
    Unusual { limited: bool, wide: bool },
}

/// What a statement does with an expression in the call's place.
pub(in crate::frontend) enum Trial {
    /// The server refuses it: its reply.
    Refused(Vec<u8>),
    /// It gives no row, so the call would not be evaluated.
    NoRow,
    /// It gives a row.
    Row,
}

/// The character sets of results in which ASCII is not sent as it is.
const WIDE: &str = "'ucs2','utf16','utf16le','utf32'";

impl Session {
    /// A statement names one of the variables; one that is prepared may set it whenever it is executed.
    pub(in crate::frontend) fn note_setting(&mut self, text: &[u8], prepares: bool) {
        self.settings = Settings::Named;
        self.settings_prepared |= prepares || may_be_named(text, false);
    }

    /// Asks the server if a statement has named one of the variables.
    pub(in crate::frontend) async fn learn_settings(&mut self) -> Result<(), End> {
        if self.settings != Settings::Named && !self.settings_prepared {
            return Ok(());
        }
        let question =
            format!("SELECT @@sql_select_limit=0,COALESCE(@@character_set_results,'') IN ({WIDE})");
        let row = self.ask_row(question.as_bytes()).await?.unwrap_or_default();
        let [limited, wide] = [0, 1].map(|i| row.get(i) != Some(&Some(b"0".to_vec())));
        self.settings =
            if limited || wide { Settings::Unusual { limited, wide } } else { Settings::Usual };
        Ok(())
    }

    /// Whether the statement gives no row, and so does not call: `sql_select_limit` is 0, or a hint
    /// sets it for this statement.
    pub(in crate::frontend) async fn gives_no_row(&mut self, call: &Call<'_>) -> Result<bool, End> {
        // MySQL runs DO as a SELECT, limit and all; MariaDB's knows no rows.
        if call.bare.is_do && self.flavour == Flavour::MariaDb {
            return Ok(false);
        }
        self.learn_settings().await?;
        if call.bare.is_do {
            return Ok(matches!(self.settings, Settings::Unusual { limited: true, .. }));
        }
        if self.settings == Settings::Usual && !call.bare.hint {
            return Ok(false);
        }
        Ok(matches!(self.try_out(call).await?, Trial::NoRow))
    }

    /// Runs the statement without its call.
    pub(in crate::frontend) async fn try_out(&mut self, call: &Call<'_>) -> Result<Trial, End> {
        let packet = call.spliced(b"(NULL OR 1)");
        let reply = self.exchange(&packet, Shape::Results).await?;
        let refused = reply.frames().next().is_some_and(|f| f.get(HEADER) == Some(&0xff));
        Ok(if refused {
            Trial::Refused(reply.bytes)
        } else if reply.row().is_none() {
            Trial::NoRow
        } else {
            Trial::Row
        })
    }
}
