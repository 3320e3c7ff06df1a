//! Prints every file of src/ with what it is about: the first sentence of the file itself.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workplace::Workplace;

pub(crate) fn run(place: &Workplace) -> Result<()> {
    for file in files(&place.root().join("src"))? {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let path = file.strip_prefix(place.root()).unwrap_or(&file);
        println!("{:<48}{}", path.display().to_string(), subject(&text));
    }
    Ok(())
}

/// All source files below, in order of their paths.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            all.append(&mut files(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

/// The first sentence of a file's `//!` lines.
fn subject(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let words = lines.join(" ");
    words
        .split_once(". ")
        .map_or(words.as_str(), |(first, _)| first)
        .trim_end_matches('.')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_is_the_subject() {
        assert_eq!(
            subject("//! One thing,\n//! in two lines. More.\nuse std;"),
            "One thing, in two lines"
        );
        assert_eq!(subject("//! A title\n//!\n//! More."), "A title");
        assert_eq!(subject("use std;"), "");
    }
}
