//! Reading and writing the protocol's integers and strings.

/// Reads values from the front of a payload; every reader answers `None` past the end.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|b| u16::from_le_bytes([b[0], b[1]]))
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// A length-encoded integer; the NULL marker 0xfb is not one.
    pub fn lenenc(&mut self) -> Option<u64> {
        let width = match self.u8()? {
            first @ 0..=0xfa => return Some(u64::from(first)),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            0xfb | 0xff => return None,
        };
        let bytes = self.take(width)?;
        Some(bytes.iter().rev().fold(0, |n, b| (n << 8) | u64::from(*b)))
    }

    pub fn lenenc_bytes(&mut self) -> Option<&'a [u8]> {
        let n = self.lenenc()?;
        self.take(usize::try_from(n).ok()?)
    }

    /// Bytes up to a NUL, which is consumed, or to the end.
    pub fn nul_bytes(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        let text = &self.0[..end];
        self.0 = self.0.get(end + 1..).unwrap_or_default();
        text
    }
}

/// Appends a length-encoded integer.
pub fn put_lenenc(out: &mut Vec<u8>, n: u64) {
    let bytes = n.to_le_bytes();
    match n {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a string with its length-encoded length.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The fields of a column definition that clients see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Schema, table, org_table, as sent.
    pub origin: [Vec<u8>; 3],
    pub name: Vec<u8>,
    pub org_name: Vec<u8>,
    pub charset: u16,
    pub length: u32,
    pub kind: u8,
    pub flags: u16,
    pub decimals: u8,
}

impl Column {
    pub fn parse(payload: &[u8]) -> Option<Column> {
        Self::read(&mut Cursor(payload))
    }

    /// A definition to its last byte. That of COM_FIELD_LIST has a default value `with_default`.
    pub fn parse_whole(payload: &[u8], with_default: bool) -> Option<Column> {
        let mut c = Cursor(payload);
        let column = Self::read(&mut c)?;
        // A filler.
        c.u16()?;
        if with_default && c.0.first() != Some(&0xfb) {
            c.lenenc_bytes()?;
        } else if with_default {
            c.u8()?;
        }
        c.0.is_empty().then_some(column)
    }

    fn read(c: &mut Cursor<'_>) -> Option<Column> {
        c.lenenc_bytes()?;
        let origin =
            [c.lenenc_bytes()?.to_vec(), c.lenenc_bytes()?.to_vec(), c.lenenc_bytes()?.to_vec()];
        let name = c.lenenc_bytes()?.to_vec();
        let org_name = c.lenenc_bytes()?.to_vec();
        // MariaDB's extended metadata stand before twelve bytes, whose number is told.
        if c.0.first() != Some(&12) || c.0.len() < 13 || c.0.len() > 13 && c.0.get(13) == Some(&12)
        {
            c.lenenc_bytes()?;
        }
        c.lenenc()?;
        Some(Column {
            origin,
            name,
            org_name,
            charset: c.u16()?,
            length: c.u32()?,
            kind: c.u8()?,
            flags: c.u16()?,
            decimals: c.u8()?,
        })
    }
}

/// The values of a text row; `None` is NULL.
pub fn text_row(payload: &[u8]) -> Option<Vec<Option<&[u8]>>> {
    let mut c = Cursor(payload);
    let mut values = Vec::new();
    while let Some(first) = c.0.first() {
        if *first == 0xfb {
            c.u8();
            values.push(None);
        } else {
            values.push(Some(c.lenenc_bytes()?));
        }
    }
    Some(values)
}

/// The values of a binary row as their raw bytes; `None` is NULL.
pub fn binary_row<'a>(payload: &'a [u8], columns: &[Column]) -> Option<Vec<Option<&'a [u8]>>> {
    binary_values(&mut Cursor(payload), columns)
}

/// Whether a packet is a binary row to its last byte.
pub fn binary_row_whole(payload: &[u8], columns: &[Column]) -> bool {
    let mut c = Cursor(payload);
    payload.first() == Some(&0) && binary_values(&mut c, columns).is_some() && c.0.is_empty()
}

fn binary_values<'a>(c: &mut Cursor<'a>, columns: &[Column]) -> Option<Vec<Option<&'a [u8]>>> {
    c.u8()?;
    let nulls = c.take((columns.len() + 9) / 8)?;
    let mut values = Vec::new();
    for (i, column) in columns.iter().enumerate() {
        if nulls[(i + 2) / 8] & (1 << ((i + 2) % 8)) != 0 {
            values.push(None);
            continue;
        }
        let value = match column.kind {
            1 => c.take(1)?,
            2 | 13 => c.take(2)?,
            3 | 4 | 9 => c.take(4)?,
            5 | 8 => c.take(8)?,
            7 | 10..=12 => {
                let n = c.u8()?;
                c.take(usize::from(n))?
            }
            6 => &[],
            _ => c.lenenc_bytes()?,
        };
        values.push(Some(value));
    }
    Some(values)
}

/// An integer column's binary value in decimal, if the column is one.
pub fn binary_integer(column: &Column, value: &[u8]) -> Option<String> {
    let unsigned = column.flags & 32 != 0;
    let width = match column.kind {
        1 => 1,
        2 => 2,
        3 | 9 => 4,
        8 => 8,
        _ => return None,
    };
    let mut wide = if !unsigned && value.last()? & 0x80 != 0 { [0xff; 8] } else { [0; 8] };
    wide[..width].copy_from_slice(value.get(..width)?);
    Some(if unsigned {
        u64::from_le_bytes(wide).to_string()
    } else {
        i64::from_le_bytes(wide).to_string()
    })
}
