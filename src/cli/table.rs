//! Tables for people.

use std::fmt;

/// Writes columns as wide as they must be; `right` says which are set to the right.
pub(super) fn write(
    f: &mut impl fmt::Write,
    rows: &[Vec<String>],
    right: impl Fn(usize) -> bool,
) -> fmt::Result {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest =
        |n: usize| rows.iter().filter_map(|r| r.get(n)).map(|c| width(c)).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    for row in rows {
        let cell = |(n, text): (usize, &String)| {
            let room = " ".repeat(widths[n] - width(text));
            if right(n) { format!("{room}{text}") } else { format!("{text}{room}") }
        };
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        writeln!(f, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// Columns that a text takes in a terminal.
fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// As much of a line as there are columns for.
pub(super) fn cut(line: &str, columns_there: usize) -> String {
    let mut left = columns_there;
    let fits = |c: &char| {
        let fits = columns(*c) <= left;
        left = left.saturating_sub(columns(*c));
        fits
    };
    line.chars().take_while(fits).collect()
}

/// Two for what East Asian scripts and emoji are written with, none for marks on the letter before.
///
/// <https://www.unicode.org/reports/tr11/>
fn columns(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{489}'
        | '\u{591}'..='\u{5bd}'
        | '\u{64b}'..='\u{65f}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{fe20}'..='\u{fe2f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_in_any_script() {
        let rows = [["名前", "1"], ["e\u{301}té", "22"], ["plain", "3"]];
        let rows: Vec<Vec<String>> = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        let mut out = String::new();
        write(&mut out, &rows, |n| n == 1).expect("written");
        assert_eq!(out, "名前    1\ne\u{301}té    22\nplain   3\n");
        assert_eq!(cut("名前1", 3), "名");
        assert_eq!(cut("名前1", 5), "名前1");
    }
}
