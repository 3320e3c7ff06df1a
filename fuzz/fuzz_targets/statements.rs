//! What must hold of any bytes as a command with query attributes: no panic, the text stands after
//! the attributes, and a packet that is cut has no text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockstead::protocol::attributes::text_offset;
use lockstead::protocol::command::Command;
use lockstead::sql::find::prefilter::scan;

fuzz_target!(|payload: &[u8]| {
    let Some(first) = payload.first() else { return };
    let command = Command(*first);
    let _ = (command.label(), command.is_unanswered());
    let Some(at) = text_offset(payload) else { return };
    let (head, text) = payload.split_at(at);
    assert_eq!(text_offset(head), Some(at), "attributes end where the text begins");
    for n in 0..at {
        assert_eq!(text_offset(&head[..n]), None, "attributes of {n} bytes");
    }
    let mut other = head.to_vec();
    other.extend_from_slice(b"SELECT GET_LOCK('a', 0)");
    assert_eq!(text_offset(&other), Some(at), "the text decides about the attributes");
    let _ = scan(text);
});
