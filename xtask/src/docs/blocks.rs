//! Blocks of code in a page of Markdown.

use lockstead_support::Flavour;

/// What a block is written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Language {
    Sh,
    Sql,
    Toml,
    Text,
    Other(String),
}

/// What the comment above a block says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    None,
    NotRun(String),
    Only(Flavour),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// Where it begins in the page.
    pub(crate) line: usize,
    pub(crate) language: Language,
    pub(crate) mark: Mark,
    pub(crate) text: String,
}

/// A line that begins with one of these shows a command.
const PROGRAMS: [&str; 14] = [
    "lockstead",
    "mysql",
    "mariadb",
    "make",
    "cargo",
    "docker",
    "systemctl",
    "apt",
    "apt-get",
    "curl",
    "haproxy",
    "keepalived",
    "kill",
    "export",
];

/// The blocks of a page, or the lines that nobody would run or understand.
pub(crate) fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut mark = Mark::None;
    let mut bad = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        if let Some(mut block) = open.take() {
            if line.trim_start_matches(' ') == "```" {
                blocks.push(block);
                continue;
            }
            let excused = matches!(block.mark, Mark::NotRun(_));
            if block.language == Language::Text && shows_command(line) && !excused {
                bad.push(format!("line {number}: {line}"));
            }
            block.text.push_str(line);
            block.text.push('\n');
            open = Some(block);
        } else if let Some(language) = line.trim_start_matches(' ').strip_prefix("```") {
            let mark = std::mem::replace(&mut mark, Mark::None);
            let language = self::language(language);
            open = Some(Block { line: number, language, mark, text: String::new() });
        } else if line.starts_with("<!--") {
            match self::mark(line) {
                Some(read) => mark = read,
                None => bad.push(format!("line {number}: an unknown mark: {line}")),
            }
        } else {
            mark = Mark::None;
        }
    }
    if open.is_some() {
        bad.push("a block is not closed".to_owned());
    }
    if bad.is_empty() { Ok(blocks) } else { Err(bad.join("\n  ")) }
}

fn language(name: &str) -> Language {
    match name {
        "sh" => Language::Sh,
        "sql" => Language::Sql,
        "toml" => Language::Toml,
        "" | "text" => Language::Text,
        other => Language::Other(other.to_owned()),
    }
}

fn mark(line: &str) -> Option<Mark> {
    match line.strip_prefix("<!-- ")?.strip_suffix(" -->")? {
        "only mysql" => Some(Mark::Only(Flavour::MySql)),
        "only mariadb" => Some(Mark::Only(Flavour::MariaDb)),
        words => {
            let why = words.strip_prefix("not run: ").filter(|why| !why.is_empty())?;
            Some(Mark::NotRun(why.to_owned()))
        }
    }
}

fn shows_command(line: &str) -> bool {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    line.split_once(' ').is_some_and(|(program, _)| PROGRAMS.contains(&program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_a_language_and_the_mark_above_them() {
        let page = "a\n<!-- only mysql -->\n```sql\nSELECT 1;\n\n```\n<!-- not run: no root -->\n```sh\nx\n```\n\n  ```\nmysqld\n  ```\n";
        let block = |line, language, mark, text: &str| Block {
            line,
            language,
            mark,
            text: text.to_owned(),
        };
        let expected = [
            block(3, Language::Sql, Mark::Only(Flavour::MySql), "SELECT 1;\n\n"),
            block(8, Language::Sh, Mark::NotRun("no root".to_owned()), "x\n"),
            block(12, Language::Text, Mark::None, "mysqld\n"),
        ];
        assert_eq!(blocks(page).as_deref(), Ok(&expected[..]));
    }

    #[test]
    fn a_mark_holds_for_the_block_right_below_it() {
        let read = blocks("<!-- only mysql -->\n\n```sh\n```\n").expect("blocks");
        assert_eq!(read[0].mark, Mark::None);
    }

    #[test]
    fn a_page_whose_commands_nobody_would_run_is_refused() {
        for page in [
            "```\nmysql -u root\n```\n",
            "```text\n$ curl x\n```\n",
            "<!-- only oracle -->\n",
            "<!-- not run:  -->\n".trim_end(),
            "```sh\n",
        ] {
            assert!(blocks(page).is_err(), "{page}");
        }
        assert!(blocks("<!-- not run: why -->\n```\nmysql -u root\n```\n").is_ok());
    }
}
