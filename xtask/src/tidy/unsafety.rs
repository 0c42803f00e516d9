//! `unsafe` stands only where the table allows it, and says why it is sound.

use super::source::Source;
use super::{File, Finding, Tree, has_word, words};

const RULE: &str = "unsafe";

/// Crates (with their tests) and files that may contain `unsafe`.
const ALLOWED: &[&str] = &[
    // fibers, and the machine that they reach through a pointer of their thread
    "crates/machine/",
    "crates/sync/",
    "crates/memory/",
    "crates/index/",
    // the server's interface for modules is one of C
    "crates/occult-module/src/",
    // engines hand their records over as addresses
    "crates/kit/src/build.rs",
    "crates/kit/src/bulk.rs",
    "crates/kit/src/checkpoint.rs",
    "crates/kit/src/empty.rs",
    "crates/kit/src/inspect.rs",
    "crates/kit/src/rebuild.rs",
    "crates/kit/src/record.rs",
    "crates/kit/src/recovery.rs",
    "crates/kit/src/worker.rs",
    "crates/kit/src/write_set.rs",
    // tables stay until the end, and are found by one load
    "crates/kit/src/tables.rs",
    // rows of a transaction are named by address
    "crates/engine/src/worker.rs",
    "crates/verify/src/reference/worker.rs",
    "crates/cluster/src/engine/own.rs",
    // the kernel is told where it may use huge pages
    "crates/log/src/disk/buffer.rs",
    // the kernel reads a buffer while a submission runs
    "crates/log/src/disk/uring.rs",
    // records and pending lists outlive their lock-free readers by rules that no type can say
    "crates/acc/src/cleanup.rs",
    "crates/acc/src/commit/abort.rs",
    "crates/acc/src/commit/claim.rs",
    "crates/acc/src/lane.rs",
    "crates/acc/src/merge.rs",
    "crates/acc/src/pending.rs",
    "crates/acc/src/read.rs",
    "crates/acc/src/record/",
    "crates/acc/tests/records.rs",
    "crates/acc/tests/sizes.rs",
    "crates/acc/src/scan.rs",
    "crates/acc/src/snapshot.rs",
    "crates/acc/src/table.rs",
    "crates/acc/src/txn.rs",
    "crates/acc/src/weigh.rs",
    // records and versions are addresses, valid by the horizon
    "crates/cicada/src/commit.rs",
    "crates/cicada/src/gc.rs",
    "crates/cicada/src/read.rs",
    "crates/cicada/src/record.rs",
    "crates/cicada/src/reader.rs",
    "crates/cicada/src/records.rs",
    "crates/cicada/src/scan.rs",
    "crates/cicada/src/table.rs",
    "crates/cicada/src/txn.rs",
    "crates/cicada/src/version.rs",
    "crates/cicada/src/weigh.rs",
    "crates/cicada/src/write.rs",
    // a transaction is active since a clock reading that it has
    "crates/cicada/src/worker.rs",
];

/// How many lines of code may stand between a `SAFETY` comment and its `unsafe`: a statement may begin
/// before, and one comment may speak for two blocks.
const REACH: usize = 3;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().filter(|file| file.is_rust()).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let allowed = ALLOWED
        .iter()
        .any(|place| file.path == *place || place.ends_with('/') && file.path.starts_with(place));
    // programs that compare the structures with others' call them as their tests do
    let comparison = file.path.starts_with("bench/compare/");
    let mut found = Vec::new();
    for (number, line) in file.source.numbered() {
        for at in words(&line.code, "unsafe") {
            let rest = line.code[at + "unsafe".len()..].trim_start();
            if rest.starts_with("_code") || line.code.trim_start().starts_with("#") {
                continue; // an attribute names the lint
            }
            if !allowed && !comparison {
                let what = "no `unsafe` here: use a safe interface of a lower crate, or argue for a row in the \
                            table of xtask/src/tidy/unsafety.rs";
                found.push(file.finding(number, RULE, what));
                continue;
            }
            let declares = rest.starts_with("fn") || rest.starts_with("trait") || rest.starts_with("extern");
            if declares && !is_type(&line.code[..at]) {
                if !implements(&file.source, number) && !documented(&file.source, number) {
                    let what = "say under `# Safety` what the caller must uphold";
                    found.push(file.finding(number, RULE, what));
                }
            } else if !declares && !justified(&file.source, number) {
                let what = "say in a `// SAFETY:` comment above why this is sound";
                found.push(file.finding(number, RULE, what));
            }
        }
    }
    found
}

/// Whether what stands before `unsafe fn` makes it a function pointer's type.
fn is_type(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with(':') || before.ends_with('=') || before.ends_with('<') || before.ends_with('(')
}

/// Whether a `SAFETY` comment reaches the line.
fn justified(source: &Source, number: usize) -> bool {
    let above = &source.lines[..number];
    let mut code = 0;
    for (distance, line) in above.iter().rev().enumerate() {
        if line.comment.contains("SAFETY:") {
            return true;
        }
        if distance > 0 && !line.is_comment() {
            code += 1;
        }
        if code > REACH {
            return false;
        }
    }
    false
}

/// Whether the line stands in an implementation of a trait, which has the contract already.
fn implements(source: &Source, number: usize) -> bool {
    let indent = |code: &str| code.len() - code.trim_start().len();
    let own = indent(&source.lines[number - 1].code);
    let outer = source.lines[..number - 1].iter().rev().map(|line| &line.code);
    let outer = outer.filter(|code| !code.trim().is_empty()).find(|code| indent(code) < own);
    outer.is_some_and(|code| has_word(code, "impl") && has_word(code, "for"))
}

/// Whether the doc comment above has a section on safety.
fn documented(source: &Source, number: usize) -> bool {
    let above = &source.lines[..number - 1];
    let docs =
        above.iter().rev().take_while(|line| line.is_comment() || line.code.trim_start().starts_with("#["));
    let docs: Vec<_> = docs.collect();
    docs.iter().any(|line| line.comment.contains("# Safety") || line.comment.contains("SAFETY:"))
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        lines(&check(&Tree::of(&[(path, text)]))).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn unsafe_outside_the_table_is_found() {
        assert_eq!(found("crates/keys/src/lib.rs", "// SAFETY: no\nunsafe { f() }"), [2]);
        assert_eq!(found("crates/acc/src/worker.rs", "unsafe { f() }"), [1]);
        assert!(found("crates/keys/src/lib.rs", "// unsafe\nlet a = \"unsafe\";").is_empty());
        assert!(found("crates/keys/src/lib.rs", "#![forbid(unsafe_code)]").is_empty());
    }

    /// What ARCHITECTURE.md says: none above the engines, but in the reference engine.
    #[test]
    fn no_crate_above_the_engines_is_in_the_table() {
        let engines = super::super::directions::place_of("engines").unwrap();
        for place in ALLOWED.iter().filter(|place| **place != "crates/verify/src/reference/worker.rs") {
            let krate = place.split('/').nth(1).unwrap();
            assert!(super::super::directions::place_of(krate).unwrap() < engines, "{place}");
        }
    }

    #[test]
    fn unsafe_without_a_reason_is_found() {
        assert_eq!(found("crates/index/src/a.rs", "fn f() {\n    unsafe { g() }\n}"), [2]);
        assert_eq!(found("crates/index/src/a.rs", "unsafe impl Send for A {}"), [1]);
        assert!(
            found("crates/index/src/a.rs", "// SAFETY: because\nlet a =\n    unsafe { g() };").is_empty()
        );
        assert!(found("crates/index/src/a.rs", "unsafe { g() } // SAFETY: because").is_empty());
    }

    #[test]
    fn a_reason_does_not_reach_far() {
        let text = "// SAFETY: because\na();\nb();\nc();\nd();\nunsafe { g() }";
        assert_eq!(found("crates/index/src/a.rs", text), [6]);
    }

    #[test]
    fn an_unsafe_function_documents_its_contract() {
        assert_eq!(found("crates/index/src/a.rs", "/// Frees.\npub unsafe fn f() {}"), [2]);
        let text = "/// Frees.\n///\n/// # Safety\n/// Once.\n#[inline]\npub unsafe fn f() {}";
        assert!(found("crates/index/src/a.rs", text).is_empty());
        let text = "// SAFETY: a\nunsafe impl A for B {\n    c();\n\n    unsafe fn f() {}\n}";
        assert!(found("crates/index/src/a.rs", text).is_empty());
        assert!(found("crates/index/src/a.rs", "drop: unsafe fn(*mut u8),").is_empty());
    }
}
