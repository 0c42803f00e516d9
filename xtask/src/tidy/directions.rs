//! Which crate may depend on which. The table is the architecture: read it from bottom to top.

use super::manifest::{self, Kind};
use super::{Finding, Tree};

const RULE: &str = "directions";

struct Crate {
    name: &'static str,
    may_use: &'static [&'static str],
    /// What its tests may use besides.
    tests_may_use: &'static [&'static str],
}

const fn row(
    name: &'static str,
    may_use: &'static [&'static str],
    tests_may_use: &'static [&'static str],
) -> Crate {
    Crate { name, may_use, tests_may_use }
}

const CHECKERS: &[&str] = &["scaledb-acc", "scaledb-verify", "scaledb-workloads"];

/// Lower crates first: a crate may use only what stands above it here, and of that only what its row says.
#[rustfmt::skip]
const CRATES: &[Crate] = &[
    row("scaledb-machine", &[], &[]),
    row("scaledb-evidence", &[], &[]),
    row("scaledb-sync", &["scaledb-machine"], &[]),
    row("scaledb-base", &[], &[]),
    row("scaledb-keys", &["scaledb-base"], &[]),
    row("scaledb-row", &["scaledb-base", "scaledb-keys"], &[]),
    row("scaledb-memory", &["scaledb-sync", "scaledb-base"], &[]),
    row("scaledb-index", &["scaledb-sync", "scaledb-base", "scaledb-memory"], &[]),
    row("scaledb-locks", &["scaledb-sync"], &[]),
    row("scaledb-engine", &["scaledb-base", "scaledb-keys", "scaledb-row", "scaledb-locks"], &[]),
    row("scaledb-scar", &[], &[]),
    row("scaledb-occult", &[], &[]),
    row("scaledb-occult-module", &["scaledb-occult"], &[]),
    row("scaledb-occult-client", &["scaledb-occult"], &[]),
    row("scaledb-occult-python", &["scaledb-occult-client"], &[]),
    row(
        "scaledb-occult-lab",
        &["scaledb-sync", "scaledb-occult", "scaledb-occult-client"],
        &["scaledb-occult-sim"],
    ),
    row("scaledb-occult-sim", &["scaledb-occult"], &[]),
    row("scaledb-log", &["scaledb-sync", "scaledb-base"], CHECKERS),
    row("scaledb-cluster", &[
        "scaledb-sync", "scaledb-base", "scaledb-keys", "scaledb-row", "scaledb-locks", "scaledb-engine", "scaledb-log",
        "scaledb-scar",
    ], &["scaledb-sql", "scaledb-types", "scaledb-verify"]),
    row("scaledb-durability", &["scaledb-sync", "scaledb-base", "scaledb-engine", "scaledb-log"], &[]),
    row("scaledb-kit", &[
        "scaledb-sync", "scaledb-base", "scaledb-keys", "scaledb-row", "scaledb-memory", "scaledb-index",
        "scaledb-engine", "scaledb-log", "scaledb-durability",
    ], &[]),
    row("scaledb-acc", &[
        "scaledb-sync", "scaledb-base", "scaledb-keys", "scaledb-row", "scaledb-memory", "scaledb-index",
        "scaledb-engine", "scaledb-log", "scaledb-durability", "scaledb-kit",
    ], CHECKERS),
    row("scaledb-cicada", &[
        "scaledb-sync", "scaledb-base", "scaledb-keys", "scaledb-row", "scaledb-memory", "scaledb-index",
        "scaledb-engine", "scaledb-log", "scaledb-durability", "scaledb-kit",
    ], CHECKERS),
    row("scaledb-engines", &[
        "scaledb-sync", "scaledb-base", "scaledb-engine", "scaledb-log", "scaledb-durability", "scaledb-kit",
        "scaledb-acc", "scaledb-cicada",
    ], &[]),
    row("scaledb-types", &["scaledb-sync", "scaledb-base"], &[]),
    row("scaledb-extensions", &["scaledb-types"], &[]),
    row("scaledb-notify", &["scaledb-sync"], &[]),
    row("scaledb-catalog", &[
        "scaledb-sync", "scaledb-base", "scaledb-keys", "scaledb-row", "scaledb-engine", "scaledb-types",
    ], CHECKERS),
    row("scaledb-parse", &["scaledb-types", "scaledb-locks", "scaledb-catalog"], &[]),
    row("scaledb-planner", &[
        "scaledb-sync", "scaledb-base", "scaledb-row", "scaledb-engine", "scaledb-types", "scaledb-catalog",
        "scaledb-extensions", "scaledb-locks", "scaledb-parse",
    ], &[]),
    row("scaledb-sql", &[
        "scaledb-sync", "scaledb-base", "scaledb-keys", "scaledb-row", "scaledb-engine", "scaledb-types",
        "scaledb-catalog", "scaledb-extensions", "scaledb-locks", "scaledb-notify", "scaledb-log", "scaledb-parse",
        "scaledb-planner",
    ], &["scaledb-acc", "scaledb-cicada", "scaledb-verify"]),
    row("scaledb", &[
        "scaledb-sync", "scaledb-base", "scaledb-keys", "scaledb-row", "scaledb-engine", "scaledb-log",
        "scaledb-acc", "scaledb-cicada", "scaledb-engines", "scaledb-types", "scaledb-catalog", "scaledb-sql",
    ], CHECKERS),
    row("scaledb-verify", &[
        "scaledb-sync", "scaledb-base", "scaledb-keys", "scaledb-row", "scaledb-engine", "scaledb-log", "scaledb-scar",
        "scaledb-acc", "scaledb-cicada",
    ], &["scaledb-acc", "scaledb-verify", "scaledb-workloads", "scaledb-memory", "scaledb-cluster"]),
    row("scaledb-workloads", &[
        "scaledb-sync", "scaledb-base", "scaledb-keys", "scaledb-row", "scaledb-engine",
    ], CHECKERS),
    row("scaledb-scar-lab", &["scaledb-sync", "scaledb-scar", "scaledb-workloads"], &[]),
    row("scaledb-occult-bench", &[
        "scaledb-sync", "scaledb-occult", "scaledb-occult-sim", "scaledb-occult-lab", "scaledb-workloads",
    ], &[]),
    row("scaledb-manycore", &[
        "scaledb-sync", "scaledb-base", "scaledb-memory", "scaledb-index", "scaledb-engine", "scaledb-acc",
        "scaledb-cicada", "scaledb-workloads",
    ], &[]),
    row("scaledb-figures", &[
        "scaledb-sync", "scaledb-workloads", "scaledb-manycore", "scaledb-evidence", "scaledb-scar-lab", "scaledb-occult",
        "scaledb-occult-bench",
    ], &[]),
    row("scaledb-pgwire", &["scaledb-base"], &["scaledb-sync"]),
    row("scaledb-client", &["scaledb-sync", "scaledb-base", "scaledb-pgwire"], &[]),
    row("scaledb-server", &[
        "scaledb-sync", "scaledb-base", "scaledb-engine", "scaledb-log", "scaledb-acc", "scaledb-cicada",
        "scaledb-engines", "scaledb-types", "scaledb-catalog", "scaledb-sql", "scaledb", "scaledb-pgwire",
    ], CHECKERS),
    row("scaledb-sqlbench", &[
        "scaledb-sync", "scaledb-base", "scaledb-engine", "scaledb-types", "scaledb-sql", "scaledb-workloads",
        "scaledb-client",
    ], &["scaledb-acc", "scaledb-pgwire", "scaledb-server"]),
    row("scaledb-cli", &[
        "scaledb-sync", "scaledb-base", "scaledb-keys", "scaledb-row", "scaledb-engine", "scaledb-log",
        "scaledb-acc", "scaledb-cicada", "scaledb-engines", "scaledb-types", "scaledb-catalog", "scaledb-sql", "scaledb",
        "scaledb-verify", "scaledb-workloads", "scaledb-pgwire", "scaledb-client", "scaledb-server",
        "scaledb-cluster", "scaledb-scar", "scaledb-sqlbench", "scaledb-evidence", "scaledb-figures",
    ], CHECKERS),
    row("scaledb-fuzzing", &[
        "scaledb-sync", "scaledb-base", "scaledb-types", "scaledb-log", "scaledb-acc", "scaledb-sql", "scaledb-pgwire",
        "scaledb-server", "scaledb-verify",
    ], &[]),
    row("scaledb-sqlfuzz", &["scaledb-engine", "scaledb-types", "scaledb-sql", "scaledb-engines"], &["scaledb-sync"]),
    row("xtask", &[], &[]),
];

/// The place of `crates/NAME` in the table: a crate may use only those with smaller ones.
pub(super) fn place_of(name: &str) -> Option<usize> {
    let package = if name == "scaledb" { name.to_owned() } else { format!("scaledb-{name}") };
    CRATES.iter().position(|row| row.name == package)
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        let inside = file.krate().is_some() || file.path.starts_with("xtask/");
        if !inside || !file.path.ends_with("/Cargo.toml") {
            continue;
        }
        let Some(name) = manifest::package(&file.text) else { continue };
        let Some(row) = CRATES.iter().find(|row| row.name == name) else {
            let what = format!("{name} has no row in the table of xtask/src/tidy/directions.rs: give it one");
            found.push(file.finding(1, RULE, what));
            continue;
        };
        for dependency in manifest::dependencies(&file.text) {
            let used = dependency.name.as_str();
            let ours = used == "scaledb" || used.starts_with("scaledb-");
            let tests = dependency.kind == Kind::Dev && row.tests_may_use.contains(&used);
            if ours && !row.may_use.contains(&used) && !tests {
                let what = format!(
                    "{name} must not depend on {used}: move the code down, or change the table of \
                     xtask/src/tidy/directions.rs together with ARCHITECTURE.md"
                );
                found.push(file.finding(dependency.line, RULE, what));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    #[test]
    fn the_table_has_no_upward_edge() {
        for (i, row) in CRATES.iter().enumerate() {
            for used in row.may_use {
                assert!(CRATES[..i].iter().any(|lower| lower.name == *used), "{} -> {used}", row.name);
            }
        }
    }

    #[test]
    fn each_direction_that_the_table_does_not_have_is_refused() {
        for row in CRATES {
            for used in CRATES.iter().map(|other| other.name).filter(|used| used.starts_with("scaledb")) {
                for (section, allowed) in [
                    ("dependencies", row.may_use.contains(&used)),
                    ("dev-dependencies", row.may_use.contains(&used) || row.tests_may_use.contains(&used)),
                ] {
                    let manifest =
                        format!("[package]\nname = \"{}\"\n[{section}]\n{used}.workspace = true\n", row.name);
                    let found = check(&Tree::of(&[("crates/some/Cargo.toml", &manifest)]));
                    assert_eq!(found.is_empty(), allowed, "{} -> {used} in {section}", row.name);
                }
            }
        }
    }

    #[test]
    fn an_upward_edge_is_found() {
        let manifest = "[package]\nname = \"scaledb-index\"\n[dependencies]\nscaledb-sync.workspace = true\n\
                        scaledb-engine.workspace = true\n";
        let found = check(&Tree::of(&[("crates/index/Cargo.toml", manifest)]));
        assert_eq!(lines(&found), [("crates/index/Cargo.toml", 5)]);
    }

    #[test]
    fn tests_may_use_more_than_the_crate() {
        let manifest = |section| {
            format!("[package]\nname = \"scaledb-workloads\"\n[{section}]\nscaledb-verify.workspace = true\n")
        };
        let tree = |section| Tree::of(&[("crates/workloads/Cargo.toml", &manifest(section))]);
        assert!(check(&tree("dev-dependencies")).is_empty());
        assert_eq!(check(&tree("dependencies")).len(), 1);
    }

    #[test]
    fn an_unknown_crate_is_found() {
        let found = check(&Tree::of(&[("crates/new/Cargo.toml", "[package]\nname = \"scaledb-new\"\n")]));
        assert_eq!(lines(&found), [("crates/new/Cargo.toml", 1)]);
    }
}
