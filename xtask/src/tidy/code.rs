//! Small rules of single files: size, width, head, leftovers, dead files, paths of somebody's machine.

use super::{File, Finding, Tree, has_word, words};

const RULE: &str = "code";

/// The greatest number of lines of a file.
const MAX_LINES: usize = 1_000;

/// The greatest width of a line that is a comment; rustfmt holds the width of code.
const MAX_COMMENT: usize = 120;

const LEFTOVERS: &[&str] = &["todo", "unimplemented", "dbg"];

/// Paths that exist only where somebody once worked. Split, so that this file passes its own rule.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/tmp", "/t/"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        found.extend(size(file));
        found.extend(machine_paths(file));
        if file.is_rust() {
            found.extend(head(file));
            found.extend(width(file));
            found.extend(leftovers(file));
            found.extend(dead(tree, file));
        }
    }
    found
}

fn size(file: &File) -> Option<Finding> {
    let lines = file.text.lines().count();
    (lines > MAX_LINES).then(|| {
        file.finding(MAX_LINES + 1, RULE, format!("{lines} lines, {MAX_LINES} are allowed: split by ideas"))
    })
}

/// Comments that nobody can read without moving the window. Addresses and rows of tables cannot be broken, and examples
/// and drawings are as wide as they are.
fn width(file: &File) -> Vec<Finding> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for (number, line) in (1..).zip(file.text.lines()) {
        let text = line.trim_start();
        if !text.starts_with("//") {
            fenced = false;
            continue;
        }
        fenced ^= text.trim_start_matches(['/', '!', ' ']).starts_with("```");
        let whole = text.contains("://") || text.contains("| ");
        if line.chars().count() > MAX_COMMENT && !fenced && !whole {
            found.push(file.finding(
                number,
                RULE,
                format!("a comment of more than {MAX_COMMENT} columns: break the line"),
            ));
        }
    }
    found
}

/// Every crate root begins with a doc comment.
fn head(file: &File) -> Option<Finding> {
    let root = file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs");
    let first = file.text.lines().next().unwrap_or_default();
    let good = first.strip_prefix("//!").is_some_and(|text| !text.trim().is_empty());
    (root && !good).then(|| file.finding(1, RULE, "begin the crate with a `//!` line that says what it is"))
}

fn leftovers(file: &File) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, line) in file.source.numbered() {
        for name in LEFTOVERS {
            let mut calls = words(&line.code, name);
            if calls.any(|at| line.code[at + name.len()..].starts_with('!')) {
                found.push(file.finding(
                    number,
                    RULE,
                    format!("`{name}!` is left over: finish it or remove it"),
                ));
            }
        }
    }
    found
}

fn machine_paths(file: &File) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        for path in MACHINE_PATHS {
            let named = line
                .match_indices(path)
                .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.}/".contains(c)));
            if named {
                let what = format!("`{path}` exists on one machine only: name no absolute path");
                found.push(file.finding(number, RULE, what));
            }
        }
    }
    found
}

/// Finds files that no `mod` names: they look like code and are none.
fn dead(tree: &Tree, file: &File) -> Option<Finding> {
    let (dir, name) = file.path.rsplit_once('/')?;
    let module = name.strip_suffix(".rs")?;
    let (parent, leaf) = dir.rsplit_once('/')?;
    // roots of crates, and targets that cargo finds by their place
    let target = matches!(leaf, "tests" | "benches" | "examples" | "bin" | "fuzz_targets");
    if matches!(module, "lib" | "main" | "build") || target {
        return None;
    }
    let (dir, module) = if module == "mod" { (parent, leaf) } else { (dir, module) };
    let (parent, leaf) = dir.rsplit_once('/')?;
    let parents = [
        format!("{dir}/mod.rs"),
        format!("{dir}/lib.rs"),
        format!("{dir}/main.rs"),
        format!("{parent}/{leaf}.rs"),
    ];
    let declared = parents.iter().filter_map(|path| tree.file(path)).any(|parent| {
        parent.source.lines.iter().any(|line| has_word(&line.code, "mod") && has_word(&line.code, module))
    });
    // a module of several test binaries may be named by any of them
    let shared = dir.contains("/tests")
        && tree.files.iter().any(|other| {
            other.path.starts_with(dir)
                && other
                    .source
                    .lines
                    .iter()
                    .any(|line| has_word(&line.code, "mod") && has_word(&line.code, module))
        });
    (!declared && !shared).then(|| file.finding(1, RULE, "no `mod` names this file: declare it or remove it"))
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    #[test]
    fn a_long_file_is_found() {
        let text = |lines| format!("//! A\n{}", "a\n".repeat(lines));
        assert_eq!(check(&Tree::of(&[("a.md", &text(1_000))])).len(), 1);
        assert!(check(&Tree::of(&[("a.md", &text(999))])).is_empty());
    }

    #[test]
    fn a_wide_comment_is_found() {
        let found = |line: &str| check(&Tree::of(&[("crates/a/tests/a.rs", line)])).len();
        assert_eq!(found(&format!("    /// {}", "a ".repeat(57))), 1);
        assert_eq!(found(&format!("    /// {}", "a ".repeat(56))), 0);
        assert_eq!(found(&format!("f(\"{}\");", "a ".repeat(80))), 0);
        assert_eq!(found(&format!("// https://example.org/{}", "a".repeat(100))), 0);
        assert_eq!(found(&format!("/// ```\n/// {}\n/// ```", "a ".repeat(80))), 0);
    }

    #[test]
    fn a_crate_without_a_head_is_found() {
        let found = |text| check(&Tree::of(&[("crates/a/src/lib.rs", text)])).len();
        assert_eq!(found("mod a;"), 1);
        assert_eq!(found("//!\nmod a;"), 1);
        assert_eq!(found("//! What it is.\nmod a;"), 0);
    }

    #[test]
    fn leftovers_are_found() {
        let text = "//! A\nfn f() {\n    todo!()\n}\n// todo!()\nfn todo() { dbg!(1); }\n";
        let tree = Tree::of(&[("crates/a/src/lib.rs", text)]);
        assert_eq!(lines(&check(&tree)), [("crates/a/src/lib.rs", 3), ("crates/a/src/lib.rs", 6)]);
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        let text = format!("see {}x\nhttps://example.org{0}x\n", concat!("/ho", "me/"));
        assert_eq!(lines(&check(&Tree::of(&[("a.md", &text)]))), [("a.md", 1)]);
    }

    #[test]
    fn dead_files_are_found() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "//! A\npub mod b;\n"),
            ("crates/a/src/b/mod.rs", "mod c;\n"),
            ("crates/a/src/b/c.rs", ""),
            ("crates/a/src/b/d.rs", ""),
            ("crates/a/tests/e.rs", "mod common;\n"),
            ("crates/a/tests/common/mod.rs", ""),
        ]);
        assert_eq!(lines(&check(&tree)), [("crates/a/src/b/d.rs", 1)]);
    }
}
