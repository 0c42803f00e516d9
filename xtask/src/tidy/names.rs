//! Names that say little are not given twice: a reader who meets `Table` should not have to ask which of ten it is.
//! Outside of the crate that owns such a name, a type says in its name whose table, place or state it is.

use super::{Finding, Tree, words};

const RULE: &str = "names";

/// Names, and the crates that may define a type of that name; nobody else.
const OWNED: &[(&str, &[&str])] = &[
    ("Place", &[]),
    ("Shared", &["sql"]),
    ("State", &[]),
    // the library's, and the one of the protocol's model
    ("Table", &["scaledb", "verify"]),
    ("Worker", &["engine"]),
];

const KINDS: &[&str] = &["enum", "struct", "trait", "union"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| file.is_rust() && file.is_production()) {
        for (number, line) in file.source.numbered().filter(|(_, line)| !line.test) {
            for (name, owners) in OWNED {
                let owned = file.krate().is_some_and(|krate| owners.contains(&krate));
                if !owned && defines(&line.code, name) {
                    let what =
                        format!("`{name}` says too little: name the type after what it is the {name} of");
                    found.push(file.finding(number, RULE, what));
                }
            }
        }
    }
    found
}

/// Whether a line defines a type of that name. The types of a trait are no definitions: they are named by it.
fn defines(code: &str, name: &str) -> bool {
    let alias = code.trim_start_matches("pub ").starts_with("type ").then_some("type");
    KINDS.iter().copied().chain(alias).any(|kind| {
        words(code, kind).any(|at| {
            let rest = code[at + kind.len()..].trim_start();
            words(rest, name).next() == Some(0)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        lines(&check(&Tree::of(&[(path, text)]))).len()
    }

    #[test]
    fn each_name_is_found_where_its_owner_is_another_crate() {
        for (name, owners) in OWNED {
            for text in [
                format!("struct {name};\n"),
                format!("pub(super) struct {name}<T> {{\n"),
                format!("    pub enum {name} {{\n"),
                format!("pub trait {name}: Send {{\n"),
                format!("pub type {name} = u8;\n"),
            ] {
                assert_eq!(found("crates/cluster/src/engine/mod.rs", &text), 1, "{text}");
                for owner in *owners {
                    assert_eq!(found(&format!("crates/{owner}/src/a.rs"), &text), 0, "{owner}: {text}");
                }
            }
        }
    }

    #[test]
    fn uses_longer_names_types_of_traits_and_tests_pass() {
        for text in [
            "use scaledb::Table;\n",
            "struct TableCore;\n",
            "struct Tables { table: Table }\n",
            "impl A for B {\n    type State = u8;\n}\n",
            "// a struct State\n",
            "#[cfg(test)]\nmod tests {\n    struct State;\n}\n",
        ] {
            assert_eq!(found("crates/acc/src/a.rs", text), 0, "{text}");
        }
        assert_eq!(found("crates/acc/tests/a.rs", "struct State;\n"), 0);
    }
}
