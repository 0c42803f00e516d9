//! Which module of a crate may name which. The table is the crate's floors: read it from bottom to top.

use super::{File, Finding, Tree, words};

const RULE: &str = "floors";

/// A crate that is built in floors.
struct House {
    /// Its directory in `crates/`.
    krate: &'static str,
    /// Its modules, lower ones first: a module may name what stands above it here, and nothing else.
    modules: &'static [&'static str],
    /// Modules that name a higher one all the same. A row that nobody needs any more is a finding, so this list only
    /// gets shorter.
    wrong: &'static [(&'static str, &'static str)],
}

#[rustfmt::skip]
const HOUSES: &[House] = &[House {
    krate: "planner",
    modules: &["functions", "plan", "optimize", "bind"],
    wrong: &[],
}, House {
    krate: "sql",
    modules: &[
        // what all of it stands on
        "trace", "api", "patience", "presets", "supervisor", "cancel", "temporary", "memory", "error", "gate", "workers",
        "activity", "told", "identity", "reclamation", "sequence", "pins", "stored", "adopted",
        // compiled statements, how often they run, and those that are written in routines
        "compiled", "counts", "routine",
        // plans at work
        "exec", "statistics",
        // what clients read of the database
        "system", "explain",
        // what sessions share, sessions, and who opens them
        "shared", "session", "database", "library",
    ],
    wrong: &[],
}, House {
    krate: "kit",
    modules: &[
        // what is told and counted
        "rules", "hash", "backoff", "counters", "account", "kept", "sampled", "record", "write_set",
        // tables, and a database of them
        "table", "tables", "catalog", "changes", "core", "records", "reader",
        // a transaction, and a worker that runs it
        "txn", "usable", "operations", "entries", "worker", "protocol",
        // tables and indexes come and go
        "bulk", "build", "closed", "definitions", "empty",
        // files and checks
        "checkpoint", "recovery", "rebuild", "inspect",
        // a database that is open
        "background", "instance",
    ],
    wrong: &[],
}, House {
    krate: "acc",
    modules: &[
        // records; what is told and counted; what a worker keeps
        "record", "rules", "config", "pending", "tune", "lane", "contention", "boundary", "retain",
        // tables, and a database of them
        "table", "shared", "reader", "records", "cleanup", "lookahead",
        // a transaction, and a worker that runs it
        "write_finder", "txn", "worker", "merge", "background", "read", "scan", "write", "redo", "commit",
        "snapshot",
        // changes of indexes, reports
        "change", "weigh", "stats",
    ],
    wrong: &[],
}, House {
    krate: "cicada",
    modules: &[
        // records and their versions; what is told
        "version", "record", "garbage", "guard", "rules", "techniques", "config", "horizon",
        // tables, and a database of them
        "table", "shared", "reader", "records", "gc", "background",
        // a transaction, and a worker that runs it
        "clock", "own", "txn", "worker", "read", "scan", "write", "redo", "commit",
        // reports
        "weigh", "stats",
    ],
    wrong: &[],
}];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    HOUSES.iter().flat_map(|house| house.check(tree)).collect()
}

impl House {
    fn check(&self, tree: &Tree) -> Vec<Finding> {
        let root = format!("crates/{}/src/", self.krate);
        let lib = tree.file(&format!("{root}lib.rs"));
        let at_root = lib.map(|lib| self.at_root(lib)).unwrap_or_default();
        let mut found = Vec::new();
        let mut needed = Vec::new();
        let mut seen = Vec::new();
        for file in tree.files.iter().filter(|file| file.is_rust()) {
            let Some(path) = file.path.strip_prefix(&root) else { continue };
            let Some(module) = module_of(path) else { continue };
            seen.push(module);
            let Some(floor) = self.floor(module) else {
                let what =
                    format!("{module} has no row in the table of xtask/src/tidy/floors.rs: give it one");
                found.push(file.finding(1, RULE, what));
                continue;
            };
            for (line, named) in named(file, depth(path)) {
                // what is not a module is named at the root: it is the module's that it comes from
                let from = at_root.iter().find(|(name, _)| *name == named).map(|(_, module)| module.clone());
                let named = from.unwrap_or(named);
                let Some(other) = self.floor(&named) else { continue };
                if other <= floor {
                    continue;
                }
                match self.wrong.iter().find(|wrong| **wrong == (module, named.as_str())) {
                    Some(wrong) => needed.push(wrong),
                    None => found.push(file.finding(
                        line,
                        RULE,
                        format!(
                            "{module} must not name {named}, which stands on a higher floor: move the code, or pass \
                             in what it needs"
                        ),
                    )),
                }
            }
        }
        // a tree without the crate is one of a test
        if let Some(lib) = lib {
            for (module, named) in self.wrong.iter().filter(|wrong| !needed.contains(wrong)) {
                let what = format!("{module} does not name {named} any more: remove the exception");
                found.push(lib.finding(1, RULE, what));
            }
            for module in self.modules.iter().filter(|module| !seen.contains(module)) {
                found.push(lib.finding(1, RULE, format!("there is no module {module}: remove its row")));
            }
        }
        found
    }

    /// Names that the crate's root has from its modules, with these.
    fn at_root(&self, lib: &File) -> Vec<(String, String)> {
        let code: String = lib.source.numbered().map(|(_, line)| format!("{} ", line.code)).collect();
        let mut names = Vec::new();
        for statement in code.split(';') {
            let Some(path) = words(statement, "use").last().map(|at| statement[at + "use".len()..].trim())
            else {
                continue;
            };
            let path = path.trim_start_matches("crate::").trim_start_matches("self::");
            let Some((module, rest)) =
                path.split_once("::").filter(|(module, _)| self.floor(module).is_some())
            else {
                continue;
            };
            for item in rest.trim_matches(['{', '}']).split(',') {
                let name = item.rsplit([':', ' ']).find(|name| !name.is_empty()).unwrap_or_default();
                if !name.is_empty() {
                    names.push((name.to_owned(), module.to_owned()));
                }
            }
        }
        names
    }

    /// The number of a module's floor.
    fn floor(&self, module: &str) -> Option<usize> {
        self.modules.iter().position(|known| *known == module)
    }
}

/// The module at the root of the crate that a file belongs to; `None` for the root itself.
fn module_of(path: &str) -> Option<&str> {
    let module = path.split('/').next()?.trim_end_matches(".rs");
    (module != "lib").then_some(module)
}

/// How many modules deep a file is.
fn depth(path: &str) -> usize {
    path.split('/').count() - usize::from(path.ends_with("/mod.rs"))
}

/// The names at the root of the crate that a file's code mentions, with their lines: behind `crate::`, and behind as
/// many `super::` as the file is deep. Test modules are left out: they may use all.
fn named(file: &File, depth: usize) -> Vec<(usize, String)> {
    let mut code = String::new();
    let mut starts = Vec::new();
    for (number, line) in file.source.numbered() {
        starts.push((code.len(), number));
        if !line.test {
            code.push_str(&line.code);
        }
        code.push('\n');
    }
    let up = "super::".repeat(depth);
    let from_root = words(&code, "crate").map(|at| at + "crate".len());
    let from_root = from_root.filter_map(|at| code[at..].starts_with("::").then_some(at + 2));
    let upward = code.match_indices(&up).map(|(at, _)| at + up.len());
    let mut all = Vec::new();
    for at in from_root.chain(upward) {
        let number = starts.iter().rev().find(|(start, _)| *start <= at).map_or(1, |(_, number)| *number);
        all.extend(firsts(&code[at..]).into_iter().map(|name| (number, name)));
    }
    all
}

/// The first name of a path, or of each path in braces.
fn firsts(path: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(list) = path.strip_prefix('{') else { return vec![name(path)] };
    let mut names = Vec::new();
    let (mut depth, mut start) = (1, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => {
                names.push(name(&list[start..at]));
                start = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            names.push(name(&list[start..at]));
            break;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    const HOUSE: House =
        House { krate: "sql", modules: &["parse", "bind", "exec", "session"], wrong: &[("bind", "exec")] };

    /// What is found in one file, beside the others of the crate.
    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let path = format!("crates/sql/src/{path}");
        let found = HOUSE.check(&Tree::of(&[(&path, text)]));
        found.into_iter().map(|finding| (finding.line, finding.what)).collect()
    }

    #[test]
    fn who_names_a_higher_floor_is_found() {
        assert_eq!(found("parse/mod.rs", "use std::fmt;\nuse crate::bind::Binder;\n")[0].0, 2);
        assert_eq!(found("parse/lex.rs", "fn f() { crate::session::run() }\n").len(), 1);
        assert_eq!(
            found("exec/spill/mod.rs", "use crate::{\n    bind::Typed,\n    session::{Context, run},\n};\n")
                .len(),
            1
        );
    }

    #[test]
    fn each_way_up_in_each_crate_is_refused_and_each_way_down_passes() {
        for house in HOUSES {
            for (floor, module) in house.modules.iter().enumerate() {
                for (other, named) in house.modules.iter().enumerate() {
                    let path = format!("crates/{}/src/{module}/mod.rs", house.krate);
                    let tree = Tree::of(&[(&path, &format!("use crate::{named}::Something;\n"))]);
                    let refused = other > floor && !house.wrong.contains(&(module, named));
                    assert_eq!(house.check(&tree).len(), usize::from(refused), "{module} -> {named}");
                }
            }
        }
    }

    #[test]
    fn the_way_up_is_found_however_it_is_written() {
        assert_eq!(found("parse.rs", "use super::bind::Binder;\n").len(), 1);
        assert_eq!(found("parse/lex.rs", "use super::super::bind::Binder;\n").len(), 1);
        assert_eq!(found("parse/mod.rs", "use super::bind::Binder;\n").len(), 1);
        // the file's own neighbours
        assert!(found("parse/lex.rs", "use super::bind::Binder;\n").is_empty());
    }

    #[test]
    fn who_names_a_lower_floor_passes() {
        let text = "use crate::parse::lex;\nuse crate::exec::Exec;\nuse crate::Database;\n// crate::bind\n";
        assert!(found("exec/mod.rs", text).is_empty());
        let test = "#[cfg(test)]\nmod tests {\n    use crate::session::Session;\n}\n";
        assert!(found("parse/mod.rs", test).is_empty());
    }

    #[test]
    fn the_way_up_by_the_root_of_the_crate_is_found() {
        let lib =
            "mod session;\npub use session::{Rows, run::Session};\npub(crate) use exec::Exec as Executor;\n";
        let tree = |parse| Tree::of(&[("crates/sql/src/lib.rs", lib), ("crates/sql/src/parse.rs", parse)]);
        let upward = |parse| {
            let found = HOUSE.check(&tree(parse));
            found.into_iter().filter(|finding| finding.path.ends_with("parse.rs")).count()
        };
        assert_eq!(upward("use crate::Session;\n"), 1);
        assert_eq!(upward("use crate::{Executor, Rows};\n"), 2);
        assert_eq!(upward("use super::Session;\n"), 1);
        assert_eq!(upward("use crate::Anything;\n"), 0);
    }

    #[test]
    fn a_module_without_a_row_is_found() {
        assert_eq!(found("cellar.rs", "")[0].0, 1);
        assert_eq!(found("cellar/mod.rs", "").len(), 1);
    }

    #[test]
    fn an_exception_ends_with_what_it_is_for() {
        let tree = |bind| {
            Tree::of(&[
                ("crates/sql/src/lib.rs", "mod parse;\n"),
                ("crates/sql/src/parse.rs", ""),
                ("crates/sql/src/bind.rs", bind),
                ("crates/sql/src/exec.rs", ""),
                ("crates/sql/src/session.rs", ""),
            ])
        };
        assert!(HOUSE.check(&tree("use crate::exec::weight;\n")).is_empty());
        assert_eq!(lines(&HOUSE.check(&tree(""))), [("crates/sql/src/lib.rs", 1)]);
    }

    #[test]
    fn a_row_without_a_module_is_found() {
        let tree = Tree::of(&[
            ("crates/sql/src/lib.rs", ""),
            ("crates/sql/src/parse.rs", ""),
            ("crates/sql/src/bind.rs", "use crate::exec::weight;\n"),
            ("crates/sql/src/exec.rs", ""),
        ]);
        assert!(HOUSE.check(&tree)[0].what.contains("session"));
    }

    #[test]
    fn an_exception_is_an_upward_edge() {
        for house in HOUSES {
            for (module, named) in house.wrong {
                assert!(house.floor(module).unwrap() < house.floor(named).unwrap(), "{module} -> {named}");
            }
        }
    }
}
