//! Parameters as scripts write them.

use std::collections::BTreeMap;

use super::expand::Names;
use crate::wire::{Execute, Param};

/// The words of an `execute` step as parameters and options.
pub(crate) fn execute(words: &[String], names: &Names, ids: &BTreeMap<String, u32>) -> Execute {
    let mut execute = Execute::default();
    for word in words {
        match word.as_str() {
            "cursor" => execute.cursor = 1,
            "keep" => execute.keep_types = true,
            _ => match word.strip_prefix("attr:").and_then(|w| w.split_once('=')) {
                Some((name, value)) => {
                    execute.attributes.push((name.to_owned(), param(value, names, ids)));
                }
                None => execute.params.push(param(word, names, ids)),
            },
        }
    }
    execute
}

/// One value: its type is its prefix, or follows from how it looks.
pub(crate) fn param(word: &str, names: &Names, ids: &BTreeMap<String, u32>) -> Param {
    let (kind, literal) = match word.split_once(':') {
        Some((kind, literal)) if !word.starts_with('\'') => (kind, literal),
        _ => ("", word),
    };
    let bad = || -> ! { panic!("not a parameter: {word}") };
    let text = || {
        let inner = literal.strip_prefix('\'').and_then(|l| l.strip_suffix('\''));
        names.expand(inner.unwrap_or(literal), ids)
    };
    let plain = String::from_utf8(text()).unwrap_or_default();
    match kind {
        "" if literal == "null" => Param::Null,
        "" if literal == "long" => Param::LongData(252),
        "" if literal.starts_with('\'') => Param::Text(text()),
        "" if literal.contains(['.', 'e']) => {
            Param::Double(plain.parse().unwrap_or_else(|_| bad()))
        }
        "" => Param::LongLong(plain.parse().unwrap_or_else(|_| bad())),
        "null" => Param::NullOf(plain.parse().unwrap_or_else(|_| bad())),
        "long" => Param::LongData(plain.parse().unwrap_or_else(|_| bad())),
        "t" => Param::Tiny(plain.parse().unwrap_or_else(|_| bad())),
        "s" => Param::Short(plain.parse().unwrap_or_else(|_| bad())),
        "i" => Param::Long(plain.parse().unwrap_or_else(|_| bad())),
        "u" => Param::ULongLong(plain.parse().unwrap_or_else(|_| bad())),
        "f" => Param::Float(plain.parse().unwrap_or_else(|_| bad())),
        "d" => Param::Decimal(text()),
        "c" => Param::Char(text()),
        "v" => Param::Varchar(text()),
        "b" => Param::Blob(text()),
        "dt" => Param::DateTime(date_time(literal).unwrap_or_else(|| bad())),
        _ => bad(),
    }
}

fn date_time(text: &str) -> Option<[u16; 6]> {
    let mut parts = text.split(['-', 'T', ':']).map(str::parse::<u16>);
    let mut out = [0; 6];
    for slot in &mut out {
        *slot = parts.next()?.ok()?;
    }
    Some(out)
}
