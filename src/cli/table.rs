//! Text tables.

use std::fmt;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Writes columns as wide as they must be; `right` says which are set to the right.
pub(super) fn write(
    f: &mut impl fmt::Write,
    rows: &[Vec<String>],
    right: impl Fn(usize) -> bool,
) -> fmt::Result {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest = |n: usize| {
        rows.iter().filter_map(|r| r.get(n)).map(|c| c.width()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    for row in rows {
        let cell = |(n, text): (usize, &String)| {
            let room = " ".repeat(widths[n].saturating_sub(text.width()));
            if right(n) { format!("{room}{text}") } else { format!("{text}{room}") }
        };
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        writeln!(f, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// As much of a line as there are columns for.
pub(super) fn cut(line: &str, columns_there: usize) -> String {
    let mut left = columns_there;
    let fits = |c: &char| {
        let columns = c.width().unwrap_or_default();
        let fits = columns <= left;
        left = left.saturating_sub(columns);
        fits
    };
    line.chars().take_while(fits).collect()
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
