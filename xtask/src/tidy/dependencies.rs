//! docs/dependencies.md lists every dependency from outside, in its version, and nothing else.

use super::manifest::{self, Kind};
use super::{Finding, Tree};

const RULE: &str = "dependencies";
const LIST: &str = "docs/dependencies.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let text = tree.file(LIST).map_or("", |file| file.text.as_str());
    // rows: | `name` | version | where | why |
    let rows: Vec<(usize, &str, &str)> = (1..)
        .zip(text.lines())
        .filter_map(|(number, line)| {
            let mut cells = line.strip_prefix("| `")?.split('|');
            let name = cells.next()?.trim().trim_end_matches('`');
            Some((number, name, cells.next()?.trim()))
        })
        .collect();
    let mut used = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        for dependency in manifest::dependencies(&file.text) {
            let name = dependency.name;
            if dependency.path || name == "scaledb" || name.starts_with("scaledb-") {
                continue;
            }
            let listed: Vec<_> = rows.iter().filter(|row| row.1 == name).collect();
            let version = dependency.version.as_deref();
            if listed.is_empty() {
                let what = format!("`{name}` is not in {LIST}: add a row that says where it is used and why");
                found.push(file.finding(dependency.line, RULE, what));
            } else if let Some(version) = version
                && listed.iter().all(|row| row.2 != version)
            {
                let what =
                    format!("`{name}` is {version} here and {} in {LIST}: make them agree", listed[0].2);
                found.push(file.finding(dependency.line, RULE, what));
            }
            if dependency.kind != Kind::Workspace {
                used.push(name);
            }
        }
    }
    if let Some(list) = tree.file(LIST) {
        for (number, name, _) in rows {
            if !used.iter().any(|used| used == name) {
                let what =
                    format!("no crate uses `{name}`: remove the row (and it from the workspace's manifest)");
                found.push(list.finding(number, RULE, what));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    const LISTED: &str =
        "| name | version | used by | why |\n|---|---|---|---|\n| `rand` | 0.9 | acc | dice |\n";

    fn found(manifest: &str) -> Vec<Finding> {
        check(&Tree::of(&[("crates/acc/Cargo.toml", manifest), (LIST, LISTED)]))
    }

    #[test]
    fn an_unlisted_dependency_is_found() {
        let found = found("[dependencies]\nrand = \"0.9\"\nscaledb-sync.workspace = true\nserde = \"1\"\n");
        assert_eq!(lines(&found), [("crates/acc/Cargo.toml", 4)]);
    }

    #[test]
    fn another_version_is_found() {
        assert_eq!(
            lines(&found("[dependencies]\nrand = { version = \"0.8\" }\n")),
            [("crates/acc/Cargo.toml", 2)]
        );
        assert!(found("[dependencies]\nrand.workspace = true\n").is_empty());
    }

    #[test]
    fn a_row_that_nothing_uses_is_found() {
        assert_eq!(lines(&found("[workspace.dependencies]\nrand = \"0.9\"\n")), [(LIST, 3)]);
    }
}
