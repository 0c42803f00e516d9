//! The code map of ARCHITECTURE.md is that of the repository: each crate has a row, each row a crate, and the files
//! that a row names are there. Rows stand in the order of the table of [`directions`](super::directions).
//! Likewise, the page on adding an engine names each function of the two traits.

use super::{Finding, Tree, directions};

const RULE: &str = "code-map";
const PAGE: &str = "ARCHITECTURE.md";

/// A row of the map: its line, its crate, and the names of files in its last column.
struct Row<'a> {
    line: usize,
    krate: &'a str,
    files: Vec<&'a str>,
}

/// The text of every `code` in a cell.
fn codes(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (line, text) in (1..).zip(page.lines()) {
        let Some(rest) = text.strip_prefix("| `crates/") else { continue };
        let Some((krate, cells)) = rest.split_once("` |") else { continue };
        let last = cells.trim_end().trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        rows.push(Row { line, krate, files: codes(last).collect() });
    }
    rows
}

const ENGINE: &str = "docs/internals/adding-an-engine.md";
const TRAITS: &str = "crates/engine/src/worker.rs";

/// Functions of the traits of engines that the page on adding one does not name.
fn unnamed(tree: &Tree) -> Vec<Finding> {
    let (Some(page), Some(traits)) = (tree.file(ENGINE), tree.file(TRAITS)) else { return Vec::new() };
    let mut of_trait = false;
    let mut found = Vec::new();
    for line in traits.text.lines() {
        if !line.starts_with(' ') && !line.is_empty() {
            of_trait = line.starts_with("pub trait ");
        }
        let Some(rest) = line.strip_prefix("    fn ").filter(|_| of_trait) else { continue };
        let name = rest.split(['(', '<']).next().unwrap_or_default();
        if !page.text.contains(&format!("`{name}`")) {
            found.push(page.finding(
                1,
                RULE,
                format!("the engine's `{name}` is not named: say whether it has a default"),
            ));
        }
    }
    found
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = unnamed(tree);
    found.extend(check_map(tree));
    found
}

fn check_map(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(PAGE) else { return Vec::new() };
    let rows = rows(&page.text);
    let mut found = Vec::new();
    let mut crates: Vec<&str> = tree.files.iter().filter_map(|file| file.krate()).collect();
    crates.dedup();
    for krate in crates.into_iter().filter(|krate| tree.has(&format!("crates/{krate}/Cargo.toml"))) {
        if !rows.iter().any(|row| row.krate == krate) {
            found.push(page.finding(1, RULE, format!("the code map has no row for crates/{krate}: add one")));
        }
    }
    let mut highest = 0;
    for row in &rows {
        if !tree.has(&format!("crates/{}", row.krate)) {
            found.push(page.finding(
                row.line,
                RULE,
                format!("there is no crates/{}: remove the row", row.krate),
            ));
            continue;
        }
        for file in row.files.iter().filter(|file| file.ends_with(".rs")) {
            if !tree.has(&format!("crates/{}/src/{file}", row.krate)) {
                let what = format!("crates/{}/src has no {file}: name one that is there", row.krate);
                found.push(page.finding(row.line, RULE, what));
            }
        }
        let Some(place) = directions::place_of(row.krate) else { continue };
        if place < highest {
            let what =
                "this row stands below one that may use it: rows go from the lowest crate to the highest";
            found.push(page.finding(row.line, RULE, what));
        }
        highest = highest.max(place);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    fn found(map: &str) -> Vec<usize> {
        let files = [
            (PAGE, map),
            ("crates/base/Cargo.toml", ""),
            ("crates/base/src/error.rs", ""),
            ("crates/sync/Cargo.toml", ""),
            ("crates/sync/src/lib.rs", "//! A"),
        ];
        lines(&check(&Tree::of(&files))).into_iter().map(|(_, line)| line).collect()
    }

    const BASE: &str = "| `crates/base` | ids | `error.rs` |\n";
    const SYNC: &str = "| `crates/sync` | atomics | `lib.rs`, [a page](x.md) |\n";

    #[test]
    fn a_map_of_what_is_there_passes() {
        assert!(found(&format!("{SYNC}{BASE}")).is_empty());
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        assert_eq!(found(SYNC), [1]);
    }

    #[test]
    fn rows_of_what_is_not_there_are_found() {
        let gone = "| `crates/gone` | | `lib.rs` |\n| `crates/sync` | | `gone.rs` |\n";
        assert_eq!(found(&format!("{SYNC}{BASE}{gone}")), [3, 4, 4]);
    }

    #[test]
    fn functions_of_engines_that_the_page_does_not_name_are_found() {
        let traits = "pub struct A;\n\npub trait Worker: Send {\n    /// Reads.\n    fn get<R>(\n        &self,\n    );\n\n\
                      \x20   fn scan(&self) {\n    }\n}\n\nimpl A {\n    fn own(&self) {}\n}\n";
        let found = |page| lines(&check(&Tree::of(&[(ENGINE, page), (TRAITS, traits)]))).len();
        assert_eq!((found("`get` and `scan`"), found("`get`"), found("")), (0, 1, 2));
    }

    #[test]
    fn rows_out_of_order_are_found() {
        assert_eq!(found(&format!("{BASE}{SYNC}")), [2]);
    }
}
