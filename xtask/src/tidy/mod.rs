//! The rules, one file each. A rule takes the whole tree and returns what it found.

mod code;
mod code_map;
mod commands;
mod dependencies;
mod directions;
mod floors;
mod interface;
mod io;
mod manifest;
mod markdown;
mod names;
mod ordering;
mod source;
mod std_sync;
mod unsafety;

use source::Source;
use std::fmt;
use std::path::Path;

/// What a rule found.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// From 1.
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    /// What is wrong, and what to do.
    pub(crate) what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: [{}] {}", self.path, self.line, self.rule, self.what)
    }
}

/// A text file.
pub(crate) struct File {
    /// From the root of the repository, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The file as Rust, empty if it is something else.
    source: Source,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        let source = if path.ends_with(".rs") { Source::parse(text) } else { Source::default() };
        Self { path: path.to_owned(), text: text.to_owned(), source }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The crate that the file belongs to, if it lies in `crates/`.
    fn krate(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Whether the file is part of a library or binary, and not of its tests, benches or examples.
    fn is_production(&self) -> bool {
        self.krate().is_some_and(|krate| self.path["crates/".len() + krate.len()..].starts_with("/src/"))
    }

    fn finding(&self, line: usize, rule: &'static str, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, rule, what: what.into() }
    }
}

/// The text files of a repository.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

/// Directories that hold nothing written by hand.
const SKIPPED: [&str; 4] = [".git", "target", "proptest-regressions", "node_modules"];

/// Endings of the files that are read.
const TEXTS: [&str; 9] = [".rs", ".toml", ".md", ".sh", ".yml", ".yaml", ".py", ".sql", "Makefile"];

impl Tree {
    pub(crate) fn read(root: &Path) -> std::io::Result<Self> {
        let mut files = Vec::new();
        read_dir(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Self {
        Self { files: files.iter().map(|(path, text)| File::new(path, text)).collect() }
    }

    fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether a file or directory of that path exists.
    fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.iter().any(|file| {
            file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

fn read_dir(dir: &Path, prefix: &str, files: &mut Vec<File>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            read_dir(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            let read = TEXTS.iter().any(|ending| name.ends_with(ending)) || prefix == ".ci/";
            // other files have a name that links may point to, and no content
            let text = if read { std::fs::read_to_string(entry.path())? } else { String::new() };
            files.push(File::new(&path, &text));
        }
    }
    Ok(())
}

/// Applies every rule.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let rules: [fn(&Tree) -> Vec<Finding>; 13] = [
        code::check,
        code_map::check,
        commands::check,
        dependencies::check,
        directions::check,
        floors::check,
        interface::check,
        io::check,
        markdown::check,
        names::check,
        ordering::check,
        std_sync::check,
        unsafety::check,
    ];
    let mut found: Vec<Finding> = rules.iter().flat_map(|rule| rule(tree)).collect();
    found.sort();
    found
}

/// The positions of `word` in `code` as a whole identifier.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        !code[..at].ends_with(part_of_name) && !code[at + word.len()..].starts_with(part_of_name)
    })
}

fn has_word(code: &str, word: &str) -> bool {
    words(code, word).next().is_some()
}

/// The lines that a rule complains about, for the tests of rules.
#[cfg(test)]
fn lines(found: &[Finding]) -> Vec<(&str, usize)> {
    found.iter().map(|finding| (finding.path.as_str(), finding.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_not_a_part_of_a_name() {
        assert!(has_word("a(unsafe {", "unsafe"));
        assert!(!has_word("unsafety", "unsafe"));
        assert!(!has_word("my_unsafe", "unsafe"));
    }

    #[test]
    fn this_repository_is_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let tree = Tree::read(root).unwrap();
        assert!(tree.file("xtask/src/tidy/mod.rs").is_some());
        assert!(tree.has("crates/sync") && !tree.has("crates/syn"));
        assert!(!tree.has("target"));
    }

    #[test]
    fn a_finding_names_its_place() {
        let file = File::new("crates/acc/src/lib.rs", "");
        assert_eq!(file.finding(7, "rule", "wrong").to_string(), "crates/acc/src/lib.rs:7: [rule] wrong");
        assert_eq!(file.krate(), Some("acc"));
        assert!(file.is_production());
        assert!(!File::new("crates/acc/tests/a.rs", "").is_production());
    }
}
