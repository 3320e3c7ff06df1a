//! Typed parameters, as prepared statements and query attributes carry them.

use super::decode::{put_lenenc, put_lenenc_bytes};

/// A parameter with the type its client declares.
#[derive(Debug, Clone, PartialEq)]
pub enum Param {
    /// MYSQL_TYPE_NULL.
    Null,
    /// A typed NULL: the type is declared, the null bit is set.
    NullOf(u8),
    Tiny(i8),
    Short(i16),
    Long(i32),
    LongLong(i64),
    /// BIGINT UNSIGNED.
    ULongLong(u64),
    Float(f32),
    Double(f64),
    /// DECIMAL, sent as its text.
    Decimal(Vec<u8>),
    /// DATETIME: year, month, day, hour, minute, second.
    DateTime([u16; 6]),
    /// VAR_STRING.
    Text(Vec<u8>),
    /// STRING.
    Char(Vec<u8>),
    /// VARCHAR.
    Varchar(Vec<u8>),
    Blob(Vec<u8>),
    /// Declared with this type, its value sent before by COM_STMT_SEND_LONG_DATA.
    LongData(u8),
}

impl Param {
    /// The type byte and the unsigned flag.
    pub fn kind(&self) -> [u8; 2] {
        match self {
            Param::Null => [6, 0],
            Param::NullOf(kind) | Param::LongData(kind) => [*kind, 0],
            Param::Tiny(_) => [1, 0],
            Param::Short(_) => [2, 0],
            Param::Long(_) => [3, 0],
            Param::LongLong(_) => [8, 0],
            Param::ULongLong(_) => [8, 0x80],
            Param::Float(_) => [4, 0],
            Param::Double(_) => [5, 0],
            Param::Decimal(_) => [246, 0],
            Param::DateTime(_) => [12, 0],
            Param::Text(_) => [253, 0],
            Param::Char(_) => [254, 0],
            Param::Varchar(_) => [15, 0],
            Param::Blob(_) => [252, 0],
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Param::Null | Param::NullOf(_))
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Param::Null | Param::NullOf(_) | Param::LongData(_) => {}
            Param::Tiny(n) => out.extend_from_slice(&n.to_le_bytes()),
            Param::Short(n) => out.extend_from_slice(&n.to_le_bytes()),
            Param::Long(n) => out.extend_from_slice(&n.to_le_bytes()),
            Param::LongLong(n) => out.extend_from_slice(&n.to_le_bytes()),
            Param::ULongLong(n) => out.extend_from_slice(&n.to_le_bytes()),
            Param::Float(x) => out.extend_from_slice(&x.to_le_bytes()),
            Param::Double(x) => out.extend_from_slice(&x.to_le_bytes()),
            Param::DateTime([year, rest @ ..]) => {
                out.push(7);
                out.extend_from_slice(&year.to_le_bytes());
                out.extend(rest.iter().map(|part| part.to_le_bytes()[0]));
            }
            Param::Decimal(b)
            | Param::Text(b)
            | Param::Char(b)
            | Param::Varchar(b)
            | Param::Blob(b) => put_lenenc_bytes(out, b),
        }
    }
}

/// How a COM_STMT_EXECUTE is to be sent.
#[derive(Debug, Clone, Default)]
pub struct Execute {
    pub params: Vec<Param>,
    /// The cursor type byte; 1 asks for a read-only cursor.
    pub cursor: u8,
    /// Leave `new_params_bind_flag` 0: the types of the previous execution hold.
    pub keep_types: bool,
    /// Named query attributes; sent only when the capability is on.
    pub attributes: Vec<(String, Param)>,
}

impl Execute {
    /// The command after the statement id.
    pub fn body(&self, query_attributes: bool) -> Vec<u8> {
        const PARAMETER_COUNT_AVAILABLE: u8 = 8;
        // libmysqlclient counts and names its parameters whenever it has the capability.
        let counted = query_attributes;
        let mut out = vec![self.cursor | if counted { PARAMETER_COUNT_AVAILABLE } else { 0 }];
        out.extend_from_slice(&1_u32.to_le_bytes());
        let mut all: Vec<(&str, &Param)> = self.params.iter().map(|p| ("", p)).collect();
        if counted {
            all.extend(self.attributes.iter().map(|(name, p)| (name.as_str(), p)));
            put_lenenc(&mut out, all.len() as u64);
        }
        if !all.is_empty() {
            put_params(&mut out, &all, !self.keep_types, counted);
        }
        out
    }
}

/// The block that precedes the text of a COM_QUERY under CLIENT_QUERY_ATTRIBUTES.
pub fn attribute_block(attributes: &[(String, Param)]) -> Vec<u8> {
    let mut out = Vec::new();
    put_lenenc(&mut out, attributes.len() as u64);
    put_lenenc(&mut out, 1);
    if !attributes.is_empty() {
        let all: Vec<(&str, &Param)> = attributes.iter().map(|(n, p)| (n.as_str(), p)).collect();
        put_params(&mut out, &all, true, true);
    }
    out
}

fn put_params(out: &mut Vec<u8>, params: &[(&str, &Param)], types: bool, names: bool) {
    let mut nulls = vec![0_u8; params.len().div_ceil(8)];
    for (i, (_, param)) in params.iter().enumerate() {
        if param.is_null() {
            nulls[i / 8] |= 1 << (i % 8);
        }
    }
    out.extend_from_slice(&nulls);
    out.push(u8::from(types));
    if types {
        for (name, param) in params {
            out.extend_from_slice(&param.kind());
            if names {
                put_lenenc_bytes(out, name.as_bytes());
            }
        }
    }
    for (_, param) in params {
        param.put(out);
    }
}
