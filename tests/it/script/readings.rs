//! Three readings of each response: the client's, which found its end; one by the protocol's pages, which reads every
//! byte; and the product's own. They must agree on what follows each packet.

use std::collections::BTreeMap;

use lockstead::protocol::capabilities::Capabilities;
use lockstead::protocol::command::Shape;
use lockstead::protocol::response::{Progress, Tracker};

use crate::wire::decode::Column;
use crate::wire::frame::MAX_PAYLOAD;
use crate::wire::second::{After, Second};
use crate::wire::{Client, End, Packet, Response, command};

/// What was read of a script's sessions so far.
#[derive(Default)]
pub(crate) struct Readings {
    /// The columns that each session's cursors have, by the statement's id.
    columns: BTreeMap<(String, u32), Vec<Column>>,
}

impl Readings {
    /// Compares the readings of a session's last response. Panics if they differ.
    pub(crate) fn compare(&mut self, session: &str, client: &Client, response: &Response) {
        let asked = client.asked();
        if !matches!(response.end, End::Complete | End::WantsFile)
            || response.packets.is_empty()
            || asked.first() == Some(&command::CHANGE_USER)
        {
            return;
        }
        let id = asked.get(1..5).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let key = (session.to_owned(), id);
        let (capabilities, packets) = (client.capabilities(), &response.packets);
        let fetched = self.columns.get(&key).map(Vec::as_slice);
        let second = Second { capabilities, asked, fetched }.read(packets).unwrap_or_else(|why| {
            panic!("{session}: a response to {asked:02x?} is none: {why}\n{packets:02x?}")
        });
        let wants = second.last() == Some(&After::File);
        assert_eq!(wants, response.end == End::WantsFile, "{session}: {packets:02x?}");
        let product = product(capabilities, asked, packets);
        assert_eq!(product, second, "{session}: the product reads {asked:02x?} {packets:02x?}");
        let columns = response.columns_before(packets.len());
        match asked.first() {
            // A client that caches metadata gets none, and its rows are read as they come.
            Some(&command::STMT_EXECUTE) if columns.is_empty() => {
                self.columns.remove(&key);
            }
            Some(&command::STMT_EXECUTE) => {
                self.columns.insert(key, columns);
            }
            _ => {}
        }
    }
}

/// What follows each packet, as the product follows a response.
pub(crate) fn product(capabilities: u64, asked: &[u8], packets: &[Packet]) -> Vec<After> {
    let mut tracker = Tracker::new(Capabilities(capabilities));
    let length = u32::try_from(asked.len()).expect("some bytes").to_le_bytes();
    tracker.start_response(Shape::of(&[&length[..3], &[0], asked].concat()));
    let read = packets.iter().map(|packet| {
        let mut bytes = Vec::new();
        for (part, header) in packet.payload.chunks(MAX_PAYLOAD).zip(&packet.headers) {
            bytes.extend_from_slice(header);
            bytes.extend_from_slice(part);
        }
        // The last frame may be empty.
        for header in packet.headers.iter().skip(packet.payload.len().div_ceil(MAX_PAYLOAD)) {
            bytes.extend_from_slice(header);
        }
        let (fed, progress) = tracker.feed(&bytes);
        assert_eq!(fed, bytes.len(), "all of a packet");
        match progress {
            Progress::Continue => After::More,
            Progress::NextResult => After::Result,
            Progress::WantsFile => After::File,
            Progress::Ended(_) => After::Nothing,
            Progress::Broken(why) => panic!("{why}: {asked:02x?} {packets:02x?}"),
        }
    });
    read.collect()
}
