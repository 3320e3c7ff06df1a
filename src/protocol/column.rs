//! Column definition packets: reading the name, and putting another in its place.

use super::reader::{Reader, put_lenenc_bytes};
use super::reply::ColumnType;

/// Whether a packet is a column definition: it begins with the catalog's name, `def`, in the
/// character set of results.
pub fn is_definition(payload: &[u8]) -> bool {
    const CATALOGS: [&[u8]; 4] =
        [b"\x03def", b"\x06\0d\0e\0f", b"\x06d\0e\0f\0", b"\x0c\0\0\0d\0\0\0e\0\0\0f"];
    CATALOGS.iter().any(|c| payload.starts_with(c))
}

/// The catalog's name, which is the same for all, and the column's.
pub fn names(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut r = Reader::new(payload);
    let catalog = r.lenenc_bytes()?;
    for _ in 0..3 {
        r.lenenc_bytes()?;
    }
    Some((catalog, r.lenenc_bytes()?))
}

/// The name of the schema of the column's table; empty where it is not a table's.
pub fn schema(payload: &[u8]) -> Option<&[u8]> {
    let mut r = Reader::new(payload);
    r.lenenc_bytes()?;
    r.lenenc_bytes()
}

/// Rebuilds a column definition with the column's `name` (and, when given, another type);
/// everything else stays as the server sent it. `None` if the packet is not a definition.
pub fn rename(payload: &[u8], name: Option<&[u8]>, column: Option<ColumnType>) -> Option<Vec<u8>> {
    let mut r = Reader::new(payload);
    for _ in 0..4 {
        r.lenenc_bytes()?;
    }
    let mut out = payload.get(..r.position())?.to_vec();
    let old = r.lenenc_bytes()?;
    put_lenenc_bytes(&mut out, name.unwrap_or(old));
    // In the table of a cursor it is called the same.
    let in_table = r.lenenc_bytes()?;
    put_lenenc_bytes(&mut out, name.filter(|_| !in_table.is_empty()).unwrap_or(in_table));
    let rest = r.rest();
    out.extend_from_slice(rest);
    if let Some(column) = column {
        // From the end: length 4, type 1, flags 2, decimals 1, filler 2.
        let place = out.last_chunk_mut::<10>()?;
        place[..4].copy_from_slice(&column.length.to_le_bytes());
        place[4] = column.kind;
        place[5..7].copy_from_slice(&column.flags.to_le_bytes());
    }
    Some(out)
}

/// What a column holds, as far as a literal for it differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralKind {
    /// A whole number.
    Integer {
        /// The number has no sign.
        unsigned: bool,
    },
    /// A number with a point.
    Decimal,
    /// A number with an exponent.
    Double,
    /// Anything else.
    Other,
}

impl LiteralKind {
    /// The kind of literal that a column definition describes.
    pub fn of(definition: &[u8]) -> Option<Self> {
        const UNSIGNED: u8 = 0x20;
        let types = type_bytes(definition)?;
        Some(match types[4] {
            1 | 2 | 3 | 8 | 9 => Self::Integer { unsigned: types[5] & UNSIGNED != 0 },
            0 | 246 => Self::Decimal,
            4 | 5 => Self::Double,
            _ => Self::Other,
        })
    }
}

/// Length, type, flags and decimals in a definition.
pub type TypeBytes = [u8; 8];

/// Place of the flags, after length and type.
const FLAGS_AT: usize = 5;

/// How a column is to be described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: Vec<u8>,
    /// A type, and what to put in its place.
    pub types: Option<(TypeBytes, TypeBytes)>,
    /// All of the definition, where the table is another too.
    pub whole: Option<Vec<u8>>,
    /// The server's definition, for a client that may have another: it is sent also where the server leaves it out.
    pub left_out: Option<Vec<u8>>,
}

impl Column {
    /// The definition, if it is not to stay as it is.
    pub fn describe(&self, payload: &[u8]) -> Option<Vec<u8>> {
        if let Some(whole) = &self.whole {
            let mut out = whole.clone();
            // MariaDB sets it in the table that it makes for a result.
            let (from, to) = (flags_at(payload)?, flags_at(whole)?);
            *out.get_mut(to + 1)? |= payload.get(from + 1)? & IN_RESULT;
            return Some(out);
        }
        let mut r = Reader::new(payload);
        for _ in 0..4 {
            r.lenenc_bytes()?;
        }
        let mut out = payload.get(..r.position())?.to_vec();
        let (name, in_table) = (r.lenenc_bytes()?, r.lenenc_bytes()?);
        put_lenenc_bytes(&mut out, &self.name);
        // In a table that the server made for the result, it is called the same.
        put_lenenc_bytes(&mut out, if in_table == name { &self.name } else { in_table });
        out.extend_from_slice(r.rest());
        if let Some((from, to)) = self.types {
            let at = type_at(&out)?;
            let bytes: &mut TypeBytes = out.get_mut(at..)?.first_chunk_mut()?;
            if *bytes == from {
                *bytes = to;
            } else if bytes[..FLAGS_AT] == from[..FLAGS_AT] {
                // In such a table it has other flags.
                bytes[..FLAGS_AT].copy_from_slice(&to[..FLAGS_AT]);
            }
        }
        (out != payload).then_some(out)
    }
}

/// The kind of type in a definition, and whether it has a sign: what decides how a value is read.
pub fn kind(payload: &[u8]) -> Option<(u8, bool)> {
    const UNSIGNED: u8 = 0x20;
    type_bytes(payload).map(|t| (t[4], t[5] & UNSIGNED != 0))
}

/// The character set in a definition.
pub fn character_set(payload: &[u8]) -> Option<[u8; 2]> {
    let at = type_at(payload)?.checked_sub(2)?;
    payload.get(at..at + 2)?.try_into().ok()
}

/// The type in a definition.
pub fn type_bytes(payload: &[u8]) -> Option<TypeBytes> {
    let at = type_at(payload)?;
    payload.get(at..at + 8)?.try_into().ok()
}

/// The higher byte of a flag.
const IN_RESULT: u8 = 0x80;

fn flags_at(payload: &[u8]) -> Option<usize> {
    type_at(payload).map(|at| at + 5)
}

/// After the type are two bytes that are always zero.
fn type_at(payload: &[u8]) -> Option<usize> {
    payload.len().checked_sub(10)
}
