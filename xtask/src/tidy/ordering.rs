//! Every memory ordering weaker than `SeqCst` has a comment that says what it pairs with or why none is needed.

use super::source::{Line, Source};
use super::{Finding, Tree, has_word};

const RULE: &str = "ordering";

const WEAK: &[&str] = &["Relaxed", "Acquire", "Release", "AcqRel"];

/// How many lines of code above a comment may speak for.
const REACH: usize = 6;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| file.is_rust() && file.is_production()) {
        for (number, line) in file.source.numbered().filter(|(_, line)| !line.test) {
            let Some(weak) = WEAK.iter().find(|weak| uses(line, weak)) else { continue };
            if !explained(&file.source, number) {
                let what = format!(
                    "`{weak}` without a reason: say beside it or above, in the same function, what it pairs with, \
                     or why nothing needs to"
                );
                found.push(file.finding(number, RULE, what));
            }
        }
    }
    found
}

fn uses(line: &Line, weak: &str) -> bool {
    has_word(&line.code, weak) && !has_word(&line.code, "use")
}

/// Whether a comment speaks for the line: beside it, above it within the same paragraph of the same
/// function, or that function's doc comment if it is as near.
fn explained(source: &Source, number: usize) -> bool {
    let lines = &source.lines[..number];
    let mut code = 0;
    for (distance, line) in lines.iter().rev().enumerate() {
        // what makes a pointer valid is another matter
        if !line.comment.is_empty() && !line.comment.contains("SAFETY:") {
            return true;
        }
        if line.is_blank() && distance > 0 {
            return false;
        }
        // attributes stand between a function and its doc comment
        code += usize::from(!line.code.trim_start().starts_with("#["));
        if code > REACH {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        lines(&check(&Tree::of(&[(path, text)]))).into_iter().map(|(_, line)| line).collect()
    }

    const PATH: &str = "crates/acc/src/a.rs";

    #[test]
    fn a_weak_ordering_without_a_reason_is_found() {
        assert_eq!(found(PATH, "fn f() {\n    a.load(Ordering::Relaxed);\n}"), [2]);
        assert_eq!(found(PATH, "fn f() {\n    // one\n\n    fence(Acquire);\n}"), [4]);
        assert_eq!(found(PATH, "// SAFETY: a\nunsafe { &*p.load(Acquire) }"), [2]);
        assert_eq!(found(PATH, "// a\nb();\nb();\nb();\nb();\nb();\nb();\nc.load(Acquire);"), [8]);
    }

    #[test]
    fn a_reason_beside_or_above_passes() {
        assert!(found(PATH, "a.load(Ordering::Relaxed); // a statistic").is_empty());
        assert!(found(PATH, "// pairs with `f`\na\n    .load(Ordering::Acquire);").is_empty());
        assert!(found(PATH, "a.load(Ordering::SeqCst);").is_empty());
        assert!(found(PATH, "use Ordering::{Acquire, Relaxed};").is_empty());
    }

    #[test]
    fn tests_are_free() {
        assert!(found("crates/acc/tests/a.rs", "a.load(Ordering::Relaxed);").is_empty());
        assert!(found(PATH, "#[cfg(test)]\nmod tests {\n    fn f() { a.load(Relaxed); }\n}").is_empty());
    }
}
