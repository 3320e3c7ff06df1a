//! Responses as text, for failure messages and for the expectations of scripts.

use std::fmt::Write as _;

use super::decode::{Column, binary_integer, binary_row, text_row};
use super::response::{End, ErrPacket, Kind, OkPacket, Packet, Response, parse_eof};

/// Bytes of a packet that a rendering shows in hexadecimal before it is cut.
const HEX_SHOWN: usize = 160;

/// Bytes as text: printable ASCII and valid UTF-8 as they are, the rest as `\xNN`.
pub fn bytes(raw: &[u8]) -> String {
    let mut out = String::new();
    for chunk in raw.utf8_chunks() {
        for ch in chunk.valid().chars() {
            if ch.is_control() {
                let _ = write!(out, "\\x{:02x}", u32::from(ch));
            } else {
                out.push(ch);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

fn hex(raw: &[u8]) -> String {
    let mut out = String::new();
    for byte in raw.iter().take(HEX_SHOWN) {
        let _ = write!(out, "{byte:02x}");
    }
    if raw.len() > HEX_SHOWN {
        let _ = write!(out, "… ({} bytes)", raw.len());
    }
    out
}

fn short(raw: &[u8]) -> String {
    if raw.len() > HEX_SHOWN * 2 {
        format!("{}… ({} bytes)", bytes(&raw[..HEX_SHOWN]), raw.len())
    } else {
        bytes(raw)
    }
}

/// Every packet on a line, decoded, and below it in hexadecimal.
pub fn packets(response: &Response) -> String {
    let mut out = String::new();
    for (i, packet) in response.packets.iter().enumerate() {
        let columns = response.columns_before(i);
        let _ = writeln!(
            out,
            "  [{}] {}\n      {}",
            packet.sequence(),
            decoded(packet, &columns),
            hex(&packet.payload)
        );
    }
    out
}

/// A response as text, with its end and the time.
pub fn response(response: &Response) -> String {
    format!(
        "{}  {:?} after {:.3} s\n",
        packets(response),
        response.end,
        response.took.as_secs_f64()
    )
}

/// One packet in words.
pub fn decoded(packet: &Packet, columns: &[Column]) -> String {
    let payload = &packet.payload;
    match packet.kind {
        Kind::Ok => OkPacket::parse(payload).map_or_else(
            || "OK, malformed".to_owned(),
            |ok| {
                format!(
                    "OK{} affected {} insert_id {} status {} warnings {} info '{}'",
                    if payload[0] == 0xfe { "(0xfe)" } else { "" },
                    ok.affected,
                    ok.insert_id,
                    ok.status,
                    ok.warnings,
                    short(&ok.rest)
                )
            },
        ),
        Kind::Err => {
            let err = ErrPacket::parse(payload);
            format!("ERR {}/{} {}", err.code, bytes(&err.state), short(&err.message))
        }
        Kind::Eof => match parse_eof(payload) {
            Some((warnings, status)) => format!("EOF warnings {warnings} status {status}"),
            None => "EOF, malformed".to_owned(),
        },
        Kind::Column => match Column::parse(payload) {
            Some(c) => format!(
                "column '{}' type {} length {} charset {} flags {} decimals {} of {}.{}/{} org '{}'",
                short(&c.name),
                c.kind,
                c.length,
                c.charset,
                c.flags,
                c.decimals,
                bytes(&c.origin[0]),
                bytes(&c.origin[1]),
                bytes(&c.origin[2]),
                bytes(&c.org_name)
            ),
            None => "column, malformed".to_owned(),
        },
        Kind::TextRow | Kind::BinaryRow => format!("row {}", row(packet, columns).join(" | ")),
        Kind::ColumnCount => format!("columns: {}", payload.first().copied().unwrap_or_default()),
        Kind::PrepareOk => "prepared".to_owned(),
        Kind::LocalInfile => {
            format!("LOCAL INFILE '{}'", short(payload.get(1..).unwrap_or_default()))
        }
        Kind::Auth => "auth data".to_owned(),
        Kind::Text => format!("text '{}'", short(payload)),
        Kind::Unsolicited => "unsolicited".to_owned(),
    }
}

/// The values of a row packet as text; NULL is `NULL`.
pub fn row(packet: &Packet, columns: &[Column]) -> Vec<String> {
    let show = |value: Option<&[u8]>| value.map_or_else(|| "NULL".to_owned(), short);
    if packet.kind == Kind::TextRow {
        text_row(&packet.payload).unwrap_or_default().into_iter().map(show).collect()
    } else {
        binary_row(&packet.payload, columns)
            .unwrap_or_default()
            .into_iter()
            .zip(columns)
            .map(|(value, column)| {
                let integer = value.and_then(|v| binary_integer(column, v));
                integer.unwrap_or_else(|| show(value))
            })
            .collect()
    }
}

/// A response in a few words: rows as `1 | NULL`, else `OK`, `ERR 1582`, `closed`.
///
/// Several rows or results are joined by `; `; warnings of the last packet are appended as ` W2`.
pub fn summary(response: &Response) -> String {
    let mut parts = Vec::new();
    let mut warnings = 0;
    for (i, packet) in response.packets.iter().enumerate() {
        match packet.kind {
            Kind::TextRow | Kind::BinaryRow => {
                parts.push(row(packet, &response.columns_before(i)).join(" | "));
            }
            Kind::Err => {
                let err = ErrPacket::parse(&packet.payload);
                parts.push(format!("ERR {}/{}", err.code, bytes(&err.state)));
                warnings = 0;
            }
            Kind::Ok => {
                warnings = OkPacket::parse(&packet.payload).map_or(0, |ok| ok.warnings);
                if packet.payload[0] == 0 {
                    parts.push("OK".to_owned());
                }
            }
            Kind::Eof => warnings = parse_eof(&packet.payload).map_or(0, |(w, _)| w),
            Kind::PrepareOk => parts.push("prepared".to_owned()),
            Kind::LocalInfile => parts.push("infile".to_owned()),
            Kind::Text => parts.push("text".to_owned()),
            Kind::Unsolicited => parts.push("unsolicited".to_owned()),
            Kind::ColumnCount | Kind::Column | Kind::Auth => {}
        }
    }
    if parts.is_empty() {
        parts.push("empty".to_owned());
    }
    match response.end {
        End::Closed => parts.push("closed".to_owned()),
        End::TimedOut => parts.push("timed out".to_owned()),
        End::Complete | End::WantsFile => {}
    }
    let mut out = parts.join("; ");
    if warnings > 0 {
        let _ = write!(out, " W{warnings}");
    }
    out
}
