//! Mutants: one operation of the code is changed at a time, and some test must fail. [cargo-mutants] makes and runs
//! them; those that no test notices stand in a table, which only shrinks.
//!
//! [cargo-mutants]: https://mutants.rs

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The table, from the root of the repository.
const TABLE: &str = "xtask/survivors.txt";

const HEAD: &str = "\
# Mutants that no test notices, by file, with how many there were; files that do not stand here were never run.
# `make mutants CRATE=.. FILE=..` runs one file's and compares. The table only shrinks: a test for a survivor takes its
# line out, and new code adds none.
";

/// A crate whose mutants are run.
struct Crate {
    name: &'static str,
    /// Its test programs; all of them if none is named.
    tests: &'static [&'static str],
    /// Whether the tests that all engines have in common look at it, too.
    in_common: bool,
}

const CRATES: [Crate; 5] = [
    Crate { name: "index", tests: &[], in_common: false },
    Crate { name: "log", tests: &[], in_common: false },
    Crate { name: "kit", tests: &[], in_common: true },
    Crate { name: "acc", tests: &["records", "sizes", "waits", "unmerged_keys"], in_common: true },
    Crate { name: "cicada", tests: &["clean_up", "clocks", "large", "workloads"], in_common: true },
];

/// Test programs of `scaledb-verify` for every engine.
const IN_COMMON: [&str; 6] = ["anomalies", "crashes", "durable", "histories", "memory", "schema_changes"];

/// How often something survived, by what was changed.
type Survivors = BTreeMap<String, usize>;

/// What is known of a file's mutants.
#[derive(Debug, Default, PartialEq, Eq)]
struct Known {
    mutants: usize,
    survivors: Survivors,
}

type Files = BTreeMap<String, Known>;

/// How mutants are run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// The table is written.
    pub(crate) record: bool,
    /// What the last run of the crate has found is compared, however it ended, and nothing is run.
    pub(crate) last: bool,
}

/// Runs the mutants of a crate, or of one of its files, and compares them with the table.
pub(crate) fn run(root: &Path, krate: &str, file: Option<&str>, options: Options) -> ExitCode {
    match try_run(root, krate, file, options) {
        Ok(complaints) if complaints.is_empty() => ExitCode::SUCCESS,
        Ok(complaints) => {
            complaints.iter().for_each(|complaint| eprintln!("mutants: {complaint}"));
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("mutants: {why}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(root: &Path, krate: &str, file: Option<&str>, options: Options) -> Result<Vec<String>, String> {
    let Some(known) = CRATES.iter().find(|known| known.name == krate) else {
        let known: Vec<&str> = CRATES.iter().map(|known| known.name).collect();
        return Err(format!("{krate} is none of the crates whose mutants are run: {}", known.join(", ")));
    };
    let out = root.join("target/mutants").join(krate);
    let whole = options.last || cargo_mutants(root, known, file, &out)?;
    let found = found(&Lists::read(&out, known.in_common));
    let path = root.join(TABLE);
    let mut known = parse(&std::fs::read_to_string(&path).unwrap_or_default())?;
    let mut complaints = judge(&known, &found);
    let files: Vec<&str> = found.keys().map(String::as_str).collect();
    println!("mutants: compared {}", if files.is_empty() { "nothing".to_owned() } else { files.join(", ") });
    if options.record {
        merge(&mut known, found);
        std::fs::write(&path, print(&known)).map_err(|error| format!("{TABLE}: {error}"))?;
    }
    if !whole {
        complaints.push(
            "cargo mutants did not run to its end (is it installed?); --last compares what it has done"
                .into(),
        );
    }
    Ok(complaints)
}

/// Whether the mutants were run to the end: before the tests of the crate, and those of an engine that are left before
/// what all engines have in common, whose programs take far longer to build and to run.
fn cargo_mutants(root: &Path, krate: &Crate, file: Option<&str>, out: &Path) -> Result<bool, String> {
    std::fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let mut own = vec![format!("--test-package=scaledb-{}", krate.name)];
    match krate.tests {
        [] => own.push("--cargo-test-arg=--tests".to_owned()),
        tests => {
            own.push("--cargo-test-arg=--lib".to_owned());
            own.extend(tests.iter().map(|test| format!("--cargo-test-arg=--test={test}")));
        }
    }
    // most of a run is compilation: these tests are over in no time even of code that is not optimised
    own.push(format!("--cargo-arg=--config=profile.dev.package.scaledb-{}.opt-level=0", krate.name));
    // they take seconds, but others may use the machine as well; what does not end counts as noticed
    own.extend(["--timeout", "60"].map(str::to_owned));
    let whole = run_tests(root, krate, file, out, &own)?;
    if !krate.in_common || !whole {
        return Ok(whole);
    }
    let mut common = vec!["--iterate".to_owned(), "--test-package=scaledb-verify".to_owned()];
    common.extend(IN_COMMON.iter().map(|test| format!("--cargo-test-arg=--test={test}")));
    common.extend(["--timeout", "120"].map(str::to_owned));
    run_tests(root, krate, file, out, &common)
}

/// Whether the mutants were run to the end before some tests.
fn run_tests(
    root: &Path,
    krate: &Crate,
    file: Option<&str>,
    out: &Path,
    tests: &[String],
) -> Result<bool, String> {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["mutants", "--package", &format!("scaledb-{}", krate.name)]).args(tests);
    if let Some(file) = file {
        command.args(["--file", &format!("crates/{}/src/{file}", krate.name)]);
    }
    // whether the tests pass as the code is, others say; a run of them would take as long as some mutants
    command.args(["--baseline", "skip", "--output"]).arg(out);
    // it builds a copy of the tree: beside the other builds that would make each other anew
    command.env("CARGO_TARGET_DIR", root.join("target/mutants/build"));
    // nobody steps through a mutant
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    let status = command.status().map_err(|error| format!("cargo mutants does not start: {error}"))?;
    // 2 and 3: some survived, some took too long
    Ok(matches!(status.code(), Some(0 | 2 | 3)))
}

/// The file of a line of cargo-mutants, and what was changed, without the place that moves with every edit.
fn parts(line: &str) -> Option<(&str, &str)> {
    let (place, what) = line.split_once(": ")?;
    place.split_once(':').map(|(file, _)| (file, what))
}

/// The lists that a run leaves.
#[derive(Debug, Default)]
struct Lists {
    /// All mutants, before the first of them is run.
    all: String,
    missed: String,
    /// By a test that failed, or that did not end.
    noticed: String,
    /// Those that do not compile.
    unviable: String,
}

impl Lists {
    /// Those of the last run of a crate, which for an engine has two parts: the second has only what the first left.
    fn read(out: &Path, in_common: bool) -> Self {
        let part = |part: &str| {
            let list = |name: &str| std::fs::read_to_string(out.join(part).join(name)).unwrap_or_default();
            Self {
                all: list("mutants.json"),
                missed: list("missed.txt"),
                noticed: [list("caught.txt"), list("timeout.txt")].concat(),
                unviable: list("unviable.txt"),
            }
        };
        let second = out.join("mutants.out/previously_caught.txt").exists();
        match (in_common, second) {
            (false, _) => part("mutants.out"),
            // the second has still to judge them
            (true, false) => Self { missed: String::new(), ..part("mutants.out") },
            (true, true) => Self::both(part("mutants.out.old"), part("mutants.out")),
        }
    }

    /// What the second part missed was missed by both; it runs again what the first did not catch in time.
    fn both(first: Self, second: Self) -> Self {
        let again: Vec<&str> = names(&second.all).collect();
        let noticed =
            first.noticed.lines().filter(|line| !again.contains(line)).chain(second.noticed.lines());
        Self {
            noticed: noticed.fold(String::new(), |lines, line| lines + line + "\n"),
            all: first.all,
            missed: second.missed,
            unviable: first.unviable + &second.unviable,
        }
    }
}

/// The mutants of cargo-mutants' own list.
fn names(all: &str) -> impl Iterator<Item = &str> {
    let lines = all.lines().filter_map(|line| line.trim().strip_prefix("\"name\": \""));
    lines.map(|name| name.trim_end_matches(['"', ',']))
}

/// What a run has found in the files that it has come through.
fn found(lists: &Lists) -> Files {
    let mut files = Files::new();
    for (file, what) in lists.missed.lines().filter_map(parts) {
        let known = files.entry(file.to_owned()).or_default();
        known.mutants += 1;
        *known.survivors.entry(what.to_owned()).or_default() += 1;
    }
    for (file, _) in lists.noticed.lines().filter_map(parts) {
        files.entry(file.to_owned()).or_default().mutants += 1;
    }
    let of = |file: &str, lines: &str| lines.lines().filter_map(parts).filter(|(of, _)| *of == file).count();
    let names = names(&lists.all).collect::<Vec<_>>().join("\n");
    files.retain(|file, known| known.mutants + of(file, &lists.unviable) == of(file, &names));
    files
}

/// What is wrong with a run beside the table.
fn judge(known: &Files, found: &Files) -> Vec<String> {
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
fn merge(known: &mut Files, found: Files) {
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

fn print(files: &Files) -> String {
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

fn parse(text: &str) -> Result<Files, String> {
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

    const MISSED: &str = "\
crates/a/src/x.rs:5:9: replace + with - in sum
crates/a/src/x.rs:9:9: replace + with - in sum
crates/a/src/y.rs:1:1: replace f -> u8 with 0
";
    const NOTICED: &str = "crates/a/src/x.rs:5:9: replace + with * in sum\n";

    fn run(missed: &str, noticed: &str) -> Files {
        let names = [missed, noticed].concat();
        let all = names.lines().map(|line| format!("    \"name\": \"{line}\",\n")).collect();
        found(&Lists { all, missed: missed.into(), noticed: noticed.into(), unviable: String::new() })
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let files = run(MISSED, NOTICED);
        assert_eq!(files["crates/a/src/x.rs"].mutants, 3);
        assert_eq!(parse(&print(&files)).expect("its own text"), files);
        assert!(parse("  1 of no file\n").is_err());
    }

    #[test]
    fn a_survivor_more_is_a_complaint_wherever_it_has_moved() {
        let known = run(MISSED, NOTICED);
        let moved = run(&MISSED.replace(":5:9", ":7:1"), NOTICED);
        assert!(judge(&known, &moved).is_empty());
        let third = format!("{MISSED}crates/a/src/x.rs:20:9: replace + with - in sum\n");
        let complaints = judge(&known, &run(&third, NOTICED));
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].contains("no test notices: replace + with - in sum (1 more"), "{complaints:?}");
    }

    #[test]
    fn what_is_noticed_leaves_the_table_and_files_that_were_not_run_stay() {
        let mut known = run(MISSED, NOTICED);
        let now = run("crates/a/src/x.rs:5:9: replace + with - in sum\n", NOTICED);
        assert_eq!(judge(&known, &now).len(), 1);
        merge(&mut known, now);
        assert_eq!(known["crates/a/src/x.rs"].survivors["replace + with - in sum"], 1);
        assert!(known.contains_key("crates/a/src/y.rs"));
    }

    #[test]
    fn recording_does_not_take_up_new_survivors_of_a_file_that_was_run() {
        let mut known = run("", NOTICED);
        merge(&mut known, run(MISSED, NOTICED));
        assert!(known["crates/a/src/x.rs"].survivors.is_empty());
        assert_eq!(known["crates/a/src/y.rs"].survivors.len(), 1);
    }

    #[test]
    fn what_the_first_part_of_a_run_leaves_the_second_judges() {
        let all =
            |lines: &str| lines.lines().map(|line| format!("\"name\": \"{line}\",\n")).collect::<String>();
        let slow = "crates/a/src/x.rs:7:7: replace f with ()\n";
        let names = [MISSED, NOTICED, slow].concat();
        let noticed = [NOTICED, slow].concat();
        let first = Lists { all: all(&names), missed: MISSED.into(), noticed, unviable: String::new() };
        let (left, caught) = MISSED.split_once('\n').expect("several lines");
        let second = Lists {
            all: all(&[MISSED, slow].concat()),
            missed: format!("{left}\n"),
            noticed: [caught, slow].concat(),
            unviable: String::new(),
        };
        let files = found(&Lists::both(first, second));
        assert_eq!(files["crates/a/src/x.rs"].mutants, 4);
        assert_eq!(files["crates/a/src/x.rs"].survivors.values().sum::<usize>(), 1);
        assert_eq!(files["crates/a/src/y.rs"], Known { mutants: 1, survivors: Survivors::new() });
    }

    #[test]
    fn a_file_that_a_run_has_not_come_through_is_not_judged() {
        let all = MISSED.lines().map(|line| format!("\"name\": \"{line}\",\n")).collect();
        let missed = MISSED.lines().next().expect("a line").to_owned();
        let files = found(&Lists { all, missed, noticed: String::new(), unviable: String::new() });
        assert!(files.is_empty(), "{files:?}");
    }
}
