//! What must hold of any bytes as packets: no panic, nothing read past their end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockstead::protocol::column::{self, Column};
use lockstead::protocol::frame::{FrameHeader, HEADER, put_frame};
use lockstead::protocol::reader::{Reader, put_lenenc, put_lenenc_bytes};

fuzz_target!(|data: &[u8]| {
    if let Some(frame) = FrameHeader::peek(data) {
        let payload = &data[HEADER..];
        let payload = &payload[..frame.len.min(payload.len())];
        let mut again = Vec::new();
        put_frame(&mut again, frame.seq, payload);
        let header = FrameHeader { len: payload.len(), seq: frame.seq };
        assert_eq!(FrameHeader::peek(&again), Some(header));
        assert_eq!(&again[HEADER..], payload);
        definition(payload);
    }
    if let Some((steps, rest)) = data.split_first_chunk::<8>() {
        read(steps, rest);
    }
});

/// Getter after getter.
fn read(steps: &[u8], bytes: &[u8]) {
    let mut r = Reader::new(bytes);
    for step in steps {
        let before = r.position();
        match step % 8 {
            0 => assert_eq!(r.u8().is_some(), before < bytes.len()),
            1 => drop(r.u16()),
            2 => drop(r.u32()),
            3 => drop(r.u64()),
            4 => {
                if let Some(n) = r.lenenc() {
                    let mut again = Vec::new();
                    put_lenenc(&mut again, n);
                    assert_eq!(Reader::new(&again).lenenc(), Some(n));
                }
            }
            5 => {
                if let Some(s) = r.lenenc_bytes() {
                    let mut again = Vec::new();
                    put_lenenc_bytes(&mut again, s);
                    assert_eq!(Reader::new(&again).lenenc_bytes(), Some(s));
                }
            }
            6 => assert!(r.nul_bytes().is_none_or(|s| !s.contains(&0))),
            _ => drop(r.take(usize::from(*step))),
        }
        assert!(r.position() >= before && r.position() + r.rest().len() == bytes.len());
    }
}

/// As a column's definition.
fn definition(payload: &[u8]) {
    let _ = (column::schema(payload), column::kind(payload));
    let names = column::names(payload);
    assert!(names.is_none_or(|(c, n)| c.len() + n.len() <= payload.len()));
    if let Some(renamed) = column::rename(payload, Some(b"another"), None) {
        assert_eq!(column::names(&renamed).map(|(_, name)| name), Some(&b"another"[..]));
    }
    let types = column::type_bytes(payload).map(|t| (t, [7; 8]));
    let column = Column { name: b"another".to_vec(), types, whole: None, left_out: None };
    let described = column.describe(payload);
    let whole = described.filter(|d| column::names(d).is_some());
    let _ = Column { whole, ..column }.describe(payload);
}
