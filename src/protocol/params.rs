//! The binary values of COM_STMT_EXECUTE.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_execute.html>

use std::ops::Range;

use super::reader::Reader;

/// A bound value, as far as lock calls look into it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// FLOAT or DOUBLE.
    Double(f64),
    /// Characters or bytes in the client's character set; `blob` when sent as a BLOB type.
    Bytes {
        /// The bytes.
        bytes: Vec<u8>,
        /// Sent as `MYSQL_TYPE_*BLOB`, so without a character set.
        blob: bool,
    },
    /// DECIMAL, sent as text.
    Decimal(Vec<u8>),
    /// A DATE, DATETIME or TIMESTAMP that exists, in whole seconds: its literal.
    Moment(String),
    /// Another type or value, that only the server can turn into a name.
    Other,
}

/// `COM_STMT_EXECUTE`, with the types bound now or at an earlier execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    /// The server's statement id.
    pub id: u32,
    /// Cursor flags.
    pub flags: u8,
    /// Parameter types, to be kept for an execution that does not bind again.
    pub types: Vec<u16>,
    /// One value a parameter.
    pub values: Vec<Value>,
    /// The ranges of the values in the payload; empty for NULL and for long data.
    pub raw: Vec<Range<usize>>,
    /// Query attributes: types, and the ranges of names and values in the payload.
    pub attributes: Vec<Attribute>,
    /// Where the types would be in the payload, if it binds none, and how many.
    unbound: Option<(usize, usize)>,
}

/// A query attribute that comes with an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Type of the value.
    pub kind: u16,
    /// Name of the attribute, with its length.
    pub name: Range<usize>,
    /// The value; `None` for NULL.
    pub value: Option<Range<usize>>,
}

/// Bit of COM_STMT_EXECUTE that asks for a cursor (CURSOR_TYPE_READ_ONLY); servers look at no other.
pub const READ_ONLY: u8 = 1;

/// Whether an execution asks for a cursor.
pub fn wants_cursor(flags: u8) -> bool {
    flags & READ_ONLY != 0
}

/// Cursor flag that says that a parameter count follows (with query attributes).
pub const PARAMETER_COUNT_AVAILABLE: u8 = 8;

impl Execute {
    /// Reads the payload, command byte included. `long_data` holds what was sent ahead for a
    /// parameter. `None` when the packet is broken.
    pub fn parse(
        payload: &[u8],
        params: usize,
        bound: &[u16],
        long_data: &[Option<Vec<u8>>],
        query_attributes: bool,
    ) -> Option<Self> {
        let mut r = Reader::new(payload);
        let Bindings { id, flags, count, nulls, types: new, names } =
            Bindings::read(&mut r, params, query_attributes)?;
        if nulls.is_empty() {
            let (types, values, raw) = (Vec::new(), Vec::new(), Vec::new());
            let attributes = Vec::new();
            return Some(Self { id, flags, types, values, raw, attributes, unbound: None });
        }
        let unbound = new.is_none().then_some((r.position(), count));
        let types = new.unwrap_or_else(|| bound.to_vec());
        if types.len() < params {
            return None;
        }
        let mut values = Vec::with_capacity(params);
        let mut raw = Vec::with_capacity(params);
        for i in 0..params {
            let start = r.position();
            let value = if let Some(Some(bytes)) = long_data.get(i) {
                let blob = matches!(types.get(i)? & 0xff, 249..=252);
                Value::Bytes { bytes: bytes.clone(), blob }
            } else if is_null(nulls, i)? {
                Value::Null
            } else {
                read_value(&mut r, *types.get(i)?)?
            };
            values.push(value);
            raw.push(start..r.position());
        }
        let mut attributes = Vec::new();
        // Attributes were bound with their names, after the parameters.
        for (i, name) in names.into_iter().enumerate().skip(params) {
            let kind = *types.get(i)?;
            let start = r.position();
            let null = is_null(nulls, i)?;
            if !null {
                skip_value(&mut r, kind)?;
            }
            let value = (!null).then_some(start..r.position());
            attributes.push(Attribute { kind, name, value });
        }
        Some(Self { id, flags, types, values, raw, attributes, unbound })
    }

    /// Whether an execution names fewer values than there are parameters, which servers refuse.
    pub fn has_too_few(payload: &[u8], params: usize, query_attributes: bool) -> bool {
        const COUNT: usize = 10;
        let count = payload.get(COUNT..).and_then(|rest| Reader::new(rest).lenenc());
        query_attributes && count.is_some_and(|count| count < params as u64)
    }

    /// The payload with its types bound, for a server that has not seen the execution that
    /// bound them; `None` when it binds them already, or is another payload.
    pub fn with_types(&self, payload: &[u8], query_attributes: bool) -> Option<Vec<u8>> {
        let (at, count) = self.unbound?;
        let types = encode_types(&self.types, count, query_attributes);
        let (before, values) = payload.split_at_checked(at)?;
        // The last byte before the values says that no types are bound.
        let (_, before) = before.split_last()?;
        Some([before, &[1], &types, values].concat())
    }
}

/// What the bits say of the value at `i`; `None` where there are fewer.
pub(super) fn is_null(nulls: &[u8], i: usize) -> Option<bool> {
    nulls.get(i / 8).map(|byte| byte & (1 << (i % 8)) != 0)
}

/// Types for as many values as an execution has.
fn encode_types(types: &[u16], count: usize, query_attributes: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(3 * count);
    // The types of values beyond the parameters are not known: they are NULL.
    for kind in types.iter().chain(std::iter::repeat(&6)).take(count) {
        out.extend_from_slice(&kind.to_le_bytes());
        if query_attributes {
            out.push(0);
        }
    }
    out
}

/// What an execution says of the types of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypesBound {
    /// The execution binds these types.
    Here(Vec<u16>),
    /// The execution binds no types.
    Before {
        /// Where the byte or the flag in the payload is that says so, and its value if it bound them.
        flag: (usize, u8),
        /// Where the types would be in the payload.
        at: usize,
        /// Number of values.
        count: usize,
    },
}

impl TypesBound {
    /// Of a COM_STMT_EXECUTE with so many parameters, of which at least the beginning is there.
    pub fn of_execution(head: &[u8], params: usize, query_attributes: bool) -> Option<Self> {
        let mut r = Reader::new(head);
        let Bindings { count, types, .. } = Bindings::read(&mut r, params, query_attributes)?;
        let at = r.position();
        Some(match types {
            Some(types) => Self::Here(types),
            None => Self::Before { flag: (at.checked_sub(1)?, 1), at, count },
        })
    }

    /// Reads a bulk execution of MariaDB's, of which at least the beginning is there.
    pub fn of_bulk(head: &[u8], params: usize) -> Option<Self> {
        const SENDS_TYPES: u8 = 128;
        let mut r = Reader::new(head);
        r.take(5)?;
        let flag = r.position();
        let flags = *r.take(2)?.first()?;
        let at = r.position();
        if flags & SENDS_TYPES == 0 {
            return Some(Self::Before { flag: (flag, flags | SENDS_TYPES), at, count: params });
        }
        (0..params).map(|_| r.u16()).collect::<Option<Vec<u16>>>().map(Self::Here)
    }

    /// The bytes that bind these types, to be put where [`Self::Before`] says.
    pub fn encode(&self, types: &[u16], query_attributes: bool) -> Vec<u8> {
        match self {
            Self::Here(_) => Vec::new(),
            Self::Before { count, .. } => encode_types(types, *count, query_attributes),
        }
    }
}

/// The part before the values.
struct Bindings<'a> {
    id: u32,
    flags: u8,
    /// How many values there are.
    count: usize,
    /// A bit for each value; empty when there are none.
    nulls: &'a [u8],
    /// The types, if the packet binds them.
    types: Option<Vec<u16>>,
    /// With the types, where each one's name stands.
    names: Vec<Range<usize>>,
}

impl<'a> Bindings<'a> {
    fn read(r: &mut Reader<'a>, params: usize, query_attributes: bool) -> Option<Self> {
        r.u8()?;
        let id = r.u32()?;
        let flags = r.u8()?;
        r.u32()?;
        let mut count = params;
        if query_attributes && (params > 0 || flags & PARAMETER_COUNT_AVAILABLE != 0) {
            count = usize::try_from(r.lenenc()?).ok()?;
        }
        if count < params || count > r.rest().len() * 8 {
            return None;
        }
        if count == 0 {
            return Some(Self { id, flags, count, nulls: &[], types: None, names: Vec::new() });
        }
        let nulls = r.take(count.div_ceil(8))?;
        let (mut types, mut names) = (None, Vec::new());
        if r.u8()? == 1 {
            let types = types.insert(Vec::new());
            for _ in 0..count {
                types.push(r.u16()?);
                if query_attributes {
                    let start = r.position();
                    r.lenenc_bytes()?;
                    names.push(start..r.position());
                }
            }
        }
        Some(Self { id, flags, count, nulls, types, names })
    }
}

/// The start of an execution that is not all there: the types that it binds, and how long its
/// first value is. `None` when it binds no types, or its first value has no length of its own.
pub fn first_value(head: &[u8], params: usize, query_attributes: bool) -> Option<(Vec<u16>, u64)> {
    let mut r = Reader::new(head);
    let Bindings { nulls, types, .. } = Bindings::read(&mut r, params, query_attributes)?;
    let types = types?;
    let has_length = matches!(types.first()? & 0xff, 0 | 15 | 246 | 249..=254);
    if !has_length || nulls.first()? & 1 != 0 {
        return None;
    }
    Some((types, r.lenenc()?))
}

fn read_value(r: &mut Reader<'_>, kind: u16) -> Option<Value> {
    let unsigned = kind & 0x8000 != 0;
    let signed = |v: i64| Value::Int(v);
    Some(match kind & 0xff {
        1 if unsigned => Value::Uint(u64::from(r.u8()?)),
        1 => signed(i64::from(r.u8()?.cast_signed())),
        2 | 13 if unsigned => Value::Uint(u64::from(r.u16()?)),
        2 | 13 => signed(i64::from(r.u16()?.cast_signed())),
        3 | 9 if unsigned => Value::Uint(u64::from(r.u32()?)),
        3 | 9 => signed(i64::from(r.u32()?.cast_signed())),
        8 if unsigned => Value::Uint(r.u64()?),
        8 => signed(r.u64()?.cast_signed()),
        4 => Value::Double(f64::from(f32::from_bits(r.u32()?))),
        5 => Value::Double(f64::from_bits(r.u64()?)),
        6 => Value::Null,
        0 | 246 => Value::Decimal(r.lenenc_bytes()?.to_vec()),
        15 | 253 | 254 => Value::Bytes { bytes: r.lenenc_bytes()?.to_vec(), blob: false },
        249..=252 => Value::Bytes { bytes: r.lenenc_bytes()?.to_vec(), blob: true },
        kind @ (7 | 10 | 12) => {
            let len = usize::from(r.u8()?);
            moment(kind == 10, r.take(len)?).map_or(Value::Other, Value::Moment)
        }
        other => {
            skip_value(r, other)?;
            Value::Other
        }
    })
}

/// The literal of a date with or without a time; `None` where a literal might be refused.
fn moment(date: bool, bytes: &[u8]) -> Option<String> {
    let [y0, y1, month, day, time @ ..] = bytes else { return None };
    let year = u16::from_le_bytes([*y0, *y1]);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u8::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let (hour, minute, second) = match time {
        [] => (0, 0, 0),
        [h, m, s] => (*h, *m, *s),
        _ => return None,
    };
    let exists = (1..=9999).contains(&year) && (1..=days).contains(day);
    if !exists || hour > 23 || minute > 59 || second > 59 || (date && !time.is_empty()) {
        return None;
    }
    let day = format!("{year:04}-{month:02}-{day:02}");
    Some(if date {
        format!("DATE'{day}'")
    } else {
        format!("TIMESTAMP'{day} {hour:02}:{minute:02}:{second:02}'")
    })
}

/// How far a value goes on after its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The value goes on for this number of bytes.
    Known(u64),
    /// More of the first bytes tell.
    NeedsMore,
    /// The value is of no known type, or has no such length.
    Unknown,
}

/// How long a value is by its first bytes: none of a number's, else those that hold the length.
pub fn extent(head: &[u8], kind: u16) -> Extent {
    let known = |length: Option<u64>| length.map_or(Extent::Unknown, Extent::Known);
    match kind & 0xff {
        6 => Extent::Known(0),
        1 => Extent::Known(1),
        2 | 13 => Extent::Known(2),
        3 | 4 | 9 => Extent::Known(4),
        5 | 8 => Extent::Known(8),
        7 | 10 | 11 | 12 => {
            head.first().map_or(Extent::NeedsMore, |length| Extent::Known(u64::from(*length)))
        }
        0 | 15 | 16 | 242 | 245..=255 => {
            let size = match head.first() {
                None => return Extent::NeedsMore,
                Some(0xfc) => 3,
                Some(0xfd) => 4,
                Some(0xfe) => 9,
                Some(_) => 1,
            };
            if head.len() < size { Extent::NeedsMore } else { known(Reader::new(head).lenenc()) }
        }
        _ => Extent::Unknown,
    }
}

/// Steps over one value of the given type; `None` also for a type whose length is not known.
pub fn skip_value(r: &mut Reader<'_>, kind: u16) -> Option<()> {
    let length = match kind & 0xff {
        7 | 10 | 11 | 12 => usize::from(r.u8()?),
        // DECIMAL, VARCHAR, BIT, VECTOR, and from JSON to GEOMETRY.
        0 | 15 | 16 | 242 | 245..=255 => return r.lenenc_bytes().map(|_| ()),
        _ => match extent(&[], kind) {
            Extent::Known(length) => usize::try_from(length).ok()?,
            Extent::NeedsMore | Extent::Unknown => return None,
        },
    };
    r.take(length).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_bound_for_as_many_values_as_the_packet_says() {
        // Two values for one parameter, none of them NULL, and no types.
        let packet = b"\x17\x01\0\0\0\x08\x01\0\0\0\x02\0\0\x07\x09";
        let parse = |p: &[u8], bound: &[u16]| Execute::parse(p, 1, bound, &[], true);
        let execute = parse(packet, &[1]).expect("an execution");
        assert_eq!(execute.values, [Value::Int(7)]);
        let bound = execute.with_types(packet, true).expect("it binds none");
        let again = parse(&bound, &[]).expect("an execution");
        assert_eq!((again.values, again.types), (vec![Value::Int(7)], vec![1, 6]));
        assert!(parse(packet, &[]).is_none());
        assert_eq!(execute.with_types(&packet[..12], true), None, "it is another packet");
        // The second value is no parameter.
        for n in 0..packet.len() - 1 {
            assert!(parse(&packet[..n], &[1]).is_none(), "{n} bytes");
        }
    }

    #[test]
    fn an_execution_says_whether_it_binds_types() {
        let binds = b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0";
        let of = |p: &[u8]| TypesBound::of_execution(p, 1, false);
        assert_eq!(of(binds), Some(TypesBound::Here(vec![8])));
        assert_eq!(of(&binds[..13]), None, "not all there");
        let kept = of(b"\x17\x01\0\0\0\0\x01\0\0\0\0\0\x05").expect("the beginning");
        assert_eq!(kept, TypesBound::Before { flag: (11, 1), at: 12, count: 1 });
        assert_eq!(kept.encode(&[8], false), [8, 0]);
        let bulk = |p: &[u8]| TypesBound::of_bulk(p, 1);
        assert_eq!(bulk(b"\xfa\x01\0\0\0\x80\0\x08\0\0"), Some(TypesBound::Here(vec![8])));
        let kept = TypesBound::Before { flag: (5, 0xc0), at: 7, count: 1 };
        assert_eq!(bulk(b"\xfa\x01\0\0\0\x40\0\0"), Some(kept));
    }

    #[test]
    fn a_cursor_is_asked_for_by_one_bit() {
        assert!(wants_cursor(READ_ONLY) && wants_cursor(READ_ONLY | 8));
        assert!(!wants_cursor(0) && !wants_cursor(8));
    }
}
