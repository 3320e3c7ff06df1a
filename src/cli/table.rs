//! Tables for people.

use std::fmt;

/// Writes columns as wide as they must be; `right` says which are set to the right.
pub(super) fn write(
    f: &mut impl fmt::Write,
    rows: &[Vec<String>],
    right: impl Fn(usize) -> bool,
) -> fmt::Result {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |n: usize| {
        rows.iter().filter_map(|r| r.get(n)).map(|c| c.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cell = |(n, text): (usize, &String)| {
            let width = widths[n];
            if right(n) { format!("{text:>width$}") } else { format!("{text:<width$}") }
        };
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        writeln!(f, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}
