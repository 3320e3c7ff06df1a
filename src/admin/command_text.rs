//! The text of a command: its words, its quotes and its comments.

pub(super) fn quoted_word(word: &Word) -> Result<String, String> {
    match word {
        Word::Quoted(text) => Ok(text.clone()),
        Word::Bare(word) => Err(format!("{word} needs quotes")),
    }
}

pub(super) fn number(word: Option<&Word>) -> Result<u64, String> {
    match word {
        Some(Word::Bare(word)) => {
            word.parse().map_err(|_| format!("{word} is not a number from 0 to 2^64-1"))
        }
        _ => Err("write a number without quotes".to_owned()),
    }
}

/// A word of a command.
#[derive(Debug)]
pub(super) enum Word {
    Bare(String),
    Quoted(String),
}

impl Word {
    /// In capitals, to compare with keywords. Quoted text matches none.
    pub(super) fn upper(&self) -> String {
        match self {
            Self::Bare(word) => word.to_ascii_uppercase(),
            Self::Quoted(_) => String::new(),
        }
    }
}

/// Splits a command into words.
pub(super) fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim().trim_end_matches(';').trim_end();
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = rest.trim_start();
        } else if first == '\'' || first == '"' {
            let (word, after) = quoted(&rest[1..], first)?;
            words.push(Word::Quoted(word));
            rest = after;
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || c == '\'' || c == '"');
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            words.push(Word::Bare(word.to_owned()));
            rest = after;
        }
    }
    Ok(words)
}

/// Text up to the quote that ends it, with the escapes of SQL's text.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/string-literals.html>
fn quoted(text: &str, quote: char) -> Result<(String, &str), String> {
    let mut word = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            match chars.next().map(|(_, c)| c) {
                // The LIKE pattern gives it its meaning.
                Some(c @ ('%' | '_')) => word.extend(['\\', c]),
                Some('0') => word.push('\0'),
                Some('b') => word.push('\x08'),
                Some('n') => word.push('\n'),
                Some('r') => word.push('\r'),
                Some('t') => word.push('\t'),
                Some('Z') => word.push('\x1a'),
                Some(c) => word.push(c),
                None => break,
            }
        } else if c != quote {
            word.push(c);
        } else if text[at + 1..].starts_with(quote) {
            word.push(quote);
            chars.next();
        } else {
            return Ok((word, &text[at + 1..]));
        }
    }
    Err("a quote is not closed".to_owned())
}

/// The expressions between SELECT and LIMIT, each with the name of its column.
pub(super) fn select_list(text: &str) -> Vec<(String, String)> {
    let text = text.trim().trim_end_matches(';');
    let text = text.get(6..).unwrap_or_default();
    let lower = text.to_ascii_lowercase();
    let end = lower.find(" limit ").unwrap_or(text.len());
    text[..end].split(',').map(expression).collect()
}

/// `expression [[AS] name]`
fn expression(text: &str) -> (String, String) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let given = match words.as_slice() {
        [asked, name] => Some((asked, name)),
        [asked, word, name] if word.eq_ignore_ascii_case("AS") => Some((asked, name)),
        _ => None,
    };
    let Some((asked, name)) = given else {
        let asked = words.join(" ");
        return (asked.clone(), asked);
    };
    ((*asked).to_owned(), name.trim_matches(['`', '\'', '"']).to_owned())
}

/// The text with a space for each comment, as MySQL's lexer takes them.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/comments.html>
pub(super) fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let dashes = rest.strip_prefix("--").map(|after| after.chars().next());
        if first == '#' || dashes.is_some_and(|next| next.is_none_or(char::is_whitespace)) {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
            out.push(' ');
        } else if let Some(after) = rest.strip_prefix("/*") {
            let Some((_, after)) = after.split_once("*/") else {
                // Not a command: parsing it fails.
                out.push_str(rest);
                return out;
            };
            rest = after;
            out.push(' ');
        } else {
            let end = if matches!(first, '\'' | '"' | '`') {
                quoted_length(rest, first)
            } else {
                first.len_utf8()
            };
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    out
}

/// Length of the quoted text at the start of `text`.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' && quote != '`' {
            escaped = true;
        } else if c == quote {
            return at + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn select_lists_are_read_without_comments() {
        let pairs = |text: &str| select_list(&without_comments(text));
        let pair = |asked: &str, name: &str| (asked.to_owned(), name.to_owned());
        assert_eq!(
            pairs("select @@version_comment limit 1"),
            [pair("@@version_comment", "@@version_comment")]
        );
        assert_eq!(
            pairs("SELECT  @@session.x AS a, @@y as `b`,USER() c -- d, e"),
            [pair("@@session.x", "a"), pair("@@y", "b"), pair("USER()", "c")]
        );
        assert_eq!(without_comments("a/* ' */b # c\n'/* -- ''#' --d"), "a b  \n'/* -- ''#' --d");
    }
}
