//! Atomics, locks and threads come from `scaledb-sync`, so that model checkers see them.

use super::{Finding, Tree, words};

const RULE: &str = "sync";

/// What carries no protocol: shared ownership of what does not change, and values that are made once.
const HARMLESS: &[&str] = &["Arc", "OnceLock", "LazyLock"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        // an application's threads are its own: so are those of the tests and examples that stand for one
        let application =
            !file.is_production() && file.krate().is_some_and(|krate| matches!(krate, "scaledb" | "cli"));
        if !file.is_rust()
            || file.krate().is_none_or(|krate| matches!(krate, "sync" | "machine"))
            || application
        {
            continue;
        }
        for (number, line) in file.source.numbered() {
            // a list of imports may end some lines later
            let rest: Vec<&str> =
                file.source.lines[number - 1..].iter().take(8).map(|line| line.code.as_str()).collect();
            if let Some(name) = forbidden(&line.code, &rest.concat()) {
                let what = format!(
                    "`{name}` comes from scaledb_sync here: a model checker cannot see the standard library's"
                );
                found.push(file.finding(number, RULE, what));
            }
        }
    }
    found
}

/// The first forbidden path of a line; `text` is the line and what follows.
fn forbidden(line: &str, text: &str) -> Option<String> {
    for root in ["std", "core", "alloc"] {
        for at in words(line, root) {
            let Some(rest) = text[at + root.len()..].strip_prefix("::") else { continue };
            for path in members(rest) {
                let mut parts = path.split("::").map(str::trim);
                let (module, item) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                let harmless =
                    module == "sync" && HARMLESS.contains(&item.split(' ').next().unwrap_or_default());
                if matches!(module, "sync" | "thread") && !harmless {
                    return Some(format!("{root}::{}", path.trim()));
                }
            }
        }
    }
    None
}

/// The paths that a path with groups stands for: `a::{b, c}` is `a::b` and `a::c`.
fn members(text: &str) -> Vec<String> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let (prefix, rest) = text.split_at(end);
    let Some(group) = rest.strip_prefix('{') else { return vec![prefix.to_owned()] };
    let mut depth = 0;
    let mut found = Vec::new();
    let mut start = 0;
    for (at, c) in group.char_indices() {
        let ends = depth == 0 && (c == ',' || c == '}');
        if ends {
            let member = group[start..at].trim();
            if !member.is_empty() {
                found.extend(members(member).into_iter().map(|member| format!("{prefix}{member}")));
            }
            start = at + 1;
        }
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        lines(&check(&Tree::of(&[(path, text)]))).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn the_standard_library_is_found() {
        let path = "crates/acc/src/a.rs";
        assert_eq!(found(path, "use std::sync::Mutex;"), [1]);
        assert_eq!(found(path, "\nstd::thread::spawn(f);"), [2]);
        assert_eq!(found(path, "use core::sync::atomic::AtomicU64;"), [1]);
        assert_eq!(found(path, "use std::sync::{Arc, Mutex};"), [1]);
        assert_eq!(found(path, "use std::{\n    fmt,\n    sync::atomic::fence,\n};"), [1]);
        assert_eq!(found(path, "use std::sync;"), [1]);
    }

    #[test]
    fn harmless_things_pass() {
        let path = "crates/acc/src/a.rs";
        assert!(found(path, "use std::sync::Arc;\nfn f() -> std::sync::Arc<u8> {}").is_empty());
        assert!(found(path, "use std::sync::{Arc, OnceLock};").is_empty());
        assert!(found(path, "use std::{fmt, collections::{HashMap, HashSet}};").is_empty());
        assert!(found("crates/sync/src/lock.rs", "use std::sync::Mutex;").is_empty());
        assert!(found("xtask/src/main.rs", "use std::thread;").is_empty());
        assert!(found("crates/scaledb/tests/a.rs", "use std::thread;").is_empty());
        assert_eq!(found("crates/scaledb/src/a.rs", "use std::thread;"), [1]);
    }
}
