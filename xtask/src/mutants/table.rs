//! The table of mutants that no test notices. It only shrinks.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The table, from the root of the repository.
pub(super) const TABLE: &str = "xtask/survivors.txt";

const HEAD: &str = "\
# Mutants that no test notices, by file, with how many there were; files that do not stand here were never run.
# `make mutants CRATE=..` runs a crate's and compares. The table only shrinks: a test for a survivor takes its
# line out, and new code adds none.
";

/// How often something survived, by what was changed.
pub(super) type Survivors = BTreeMap<String, usize>;

/// What is known of a file's mutants.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) mutants: usize,
    pub(super) survivors: Survivors,
}

pub(super) type Files = BTreeMap<String, Known>;

/// What is wrong with a run beside the table.
pub(super) fn judge(known: &Files, found: &Files) -> Vec<String> {
    let none = Survivors::new();
    let mut complaints = Vec::new();
    for (file, now) in found {
        let before = known.get(file).map_or(&none, |known| &known.survivors);
        for (what, count) in &now.survivors {
            let allowed = before.get(what).copied().unwrap_or(0);
            if *count > allowed {
                let more = count - allowed;
                complaints.push(format!("{file}: no test notices: {what} ({more} more than the table has)"));
            }
        }
        for (what, count) in before {
            let left = now.survivors.get(what).copied().unwrap_or(0);
            if left < *count {
                complaints.push(format!("{file}: is noticed now: {what}; take it out of {TABLE}"));
            }
        }
    }
    complaints
}

/// The table behind a run: what is noticed now goes, files that were never run come; what survives anew in a file that
/// was run before is not taken up.
pub(super) fn merge(known: &mut Files, found: Files) {
    for (file, mut now) in found {
        if let Some(before) = known.get(&file) {
            now.survivors.retain(|what, count| {
                *count = (*count).min(before.survivors.get(what).copied().unwrap_or(0));
                *count > 0
            });
        }
        known.insert(file, now);
    }
}

pub(super) fn print(files: &Files) -> String {
    let mut text = HEAD.to_owned();
    for (file, known) in files {
        // writing to a string does not fail
        let _ = write!(text, "\n{file}: {} mutants\n", known.mutants);
        for (what, count) in &known.survivors {
            let _ = writeln!(text, "  {count} {what}");
        }
    }
    text
}

pub(super) fn parse(text: &str) -> Result<Files, String> {
    let mut files = Files::new();
    let mut last: Option<String> = None;
    for (number, line) in text.lines().enumerate() {
        let wrong = || format!("{TABLE}:{}: neither a file nor a survivor: {line}", number + 1);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(survivor) = line.strip_prefix("  ") {
            let (count, what) = survivor.split_once(' ').ok_or_else(wrong)?;
            let count = count.parse().map_err(|_| wrong())?;
            let known = last.as_ref().and_then(|file| files.get_mut(file)).ok_or_else(wrong)?;
            known.survivors.insert(what.to_owned(), count);
        } else {
            let (file, mutants) = line.split_once(": ").ok_or_else(wrong)?;
            let mutants = mutants.strip_suffix(" mutants").and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
            files.insert(file.to_owned(), Known { mutants, survivors: Survivors::new() });
            last = Some(file.to_owned());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTED: [&str; 2] = ["replace + with - in sum", "replace + with - in sum"];

    /// A file of three mutants.
    fn run(file: &str, missed: &[&str]) -> Files {
        let mut known = Known { mutants: 3, survivors: Survivors::new() };
        missed.iter().for_each(|what| *known.survivors.entry((*what).to_owned()).or_default() += 1);
        Files::from([(file.to_owned(), known)])
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let mut files = run("x.rs", &NOTED);
        files.extend(run("y.rs", &[]));
        assert_eq!(parse(&print(&files)).expect("its own text"), files);
        assert!(parse("  1 of no file\n").is_err());
    }

    #[test]
    fn a_survivor_more_is_a_complaint() {
        let known = run("x.rs", &NOTED);
        assert!(judge(&known, &known).is_empty());
        let complaints = judge(&known, &run("x.rs", &[NOTED[0]; 3]));
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].contains("no test notices: replace + with - in sum (1 more"), "{complaints:?}");
    }

    #[test]
    fn what_is_noticed_leaves_the_table_and_files_that_were_not_run_stay() {
        let mut known = run("x.rs", &NOTED);
        known.extend(run("y.rs", &NOTED));
        let now = run("x.rs", &NOTED[..1]);
        assert_eq!(judge(&known, &now).len(), 1);
        merge(&mut known, now);
        assert_eq!(known["x.rs"].survivors[NOTED[0]], 1);
        assert_eq!(known["y.rs"].survivors[NOTED[0]], 2);
    }

    #[test]
    fn recording_does_not_take_up_new_survivors_of_a_file_that_was_run() {
        let mut known = run("x.rs", &[]);
        merge(&mut known, run("x.rs", &NOTED));
        merge(&mut known, run("y.rs", &NOTED));
        assert!(known["x.rs"].survivors.is_empty());
        assert_eq!(known["y.rs"].survivors.len(), 1);
    }
}
