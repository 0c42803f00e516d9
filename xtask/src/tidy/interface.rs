//! The interface of engines, and what stands below it, names nothing that only one engine has: neither in code nor in
//! comments. Options and counters of an engine are named by the engine.

use super::{Finding, Tree, has_word};

const RULE: &str = "interface";

/// Crates that all engines stand on, and the layers above them name.
const PURE: &[&str] = &["base", "engine"];

/// Engines, and words of one engine.
const WORDS: &[&str] = &[
    "acc",
    "cicada",
    "scar",
    "occult",
    "indexlet",
    "phantomlet",
    "merge",
    "merged",
    "merges",
    "merging",
    "posted",
    "repair",
    "repairs",
    "lane",
    "lanes",
    "pending",
    "replica",
    "replicas",
    "coordinator",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        let pure =
            file.is_rust() && file.is_production() && file.krate().is_some_and(|krate| PURE.contains(&krate));
        if !pure {
            continue;
        }
        for (number, line) in file.source.numbered().filter(|(_, line)| !line.test) {
            // names are written in several ways: MergeBatch, merge_batch
            let text = spaced(&format!("{} {}", line.code, line.comment));
            for word in WORDS.iter().filter(|word| has_word(&text, word)) {
                let what = format!("`{word}` is of one engine: say it for all, or let the engine name it");
                found.push(file.finding(number, RULE, what));
            }
        }
    }
    found
}

/// The words of a text, in lower case, with the parts of names apart.
fn spaced(text: &str) -> String {
    let mut words = String::new();
    let mut last = ' ';
    for c in text.chars() {
        if c.is_uppercase() && last.is_lowercase() {
            words.push(' ');
        }
        words.push(if c == '_' { ' ' } else { c.to_ascii_lowercase() });
        last = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        lines(&check(&Tree::of(&[(path, text)]))).len()
    }

    #[test]
    fn what_one_engine_has_is_found_in_the_interface() {
        for text in [
            "merge_batch: u32,\n",
            "/// Indexlets.\npub struct Indexlet;\n",
            "// as ACC does\n",
            "struct LastMerge;\n",
        ] {
            assert_eq!(found("crates/engine/src/def.rs", text), 1, "{text}");
        }
        assert_eq!(found("crates/base/src/error.rs", "/// A lane is full.\n"), 1);
    }

    #[test]
    fn other_words_and_other_places_pass() {
        assert_eq!(
            found("crates/engine/src/def.rs", "/// It emerges, and is accounted for.\nfn submerge() {}\n"),
            0
        );
        assert_eq!(
            found("crates/engine/src/def.rs", "#[cfg(test)]\nmod tests {\n    // merge_batch\n}\n"),
            0
        );
        assert_eq!(found("crates/acc/src/merge.rs", "fn merge() {}\n"), 0);
        assert_eq!(found("crates/engine/tests/a.rs", "fn merge() {}\n"), 0);
    }
}
