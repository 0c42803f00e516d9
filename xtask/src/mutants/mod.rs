//! Mutants: one operation of the code is changed at a time, and some test must fail. [cargo-mutants] lists them; all
//! those of a crate are compiled into one build, in which any of them can be switched on. Those that no test notices
//! stand in a table, which only shrinks.
//!
//! ```text
//! list ──► rewrite ──► build ──► reach ──► judge ──► results ──► table
//!            ▲           │                   ▲
//!            └─ drops ◄──┘ ───► alone ───────┘
//! ```
//!
//! [cargo-mutants]: https://mutants.rs

mod alone;
mod build;
mod copy;
mod judge;
mod list;
mod process;
mod reach;
mod results;
mod rewrite;
#[cfg(test)]
mod switch;
mod table;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use build::Built;
use copy::Copy;
use list::Mutant;
use results::{Outcome, Results};
use table::TABLE;

/// A crate whose mutants are run.
struct Crate {
    name: &'static str,
    /// Its test programs; all of them if none is named.
    tests: &'static [&'static str],
    /// Whether the tests that all engines have in common look at it, too.
    in_common: bool,
}

const CRATES: [Crate; 6] = [
    Crate { name: "memory", tests: &[], in_common: false },
    Crate { name: "index", tests: &[], in_common: false },
    Crate { name: "log", tests: &[], in_common: false },
    Crate { name: "kit", tests: &[], in_common: true },
    Crate { name: "acc", tests: &["records", "sizes", "waits", "unmerged_keys"], in_common: true },
    Crate {
        name: "cicada",
        tests: &["clean_up", "clocks", "horizon", "large", "memory", "workloads"],
        in_common: true,
    },
];

/// Test programs of `scaledb-verify` for every engine.
const IN_COMMON: [&str; 6] = ["anomalies", "crashes", "durable", "histories", "memory", "schema_changes"];

/// How many run at a time.
const TOGETHER: usize = 2;

impl Crate {
    /// What cargo builds its tests by.
    fn cargo(&self) -> Vec<Vec<String>> {
        let test = |package: &str, programs: &[&str], library: bool| {
            let mut arguments =
                vec!["test".to_owned(), "--no-run".into(), format!("--package=scaledb-{package}")];
            match programs {
                [] => arguments.push("--tests".into()),
                programs => arguments.extend(programs.iter().map(|program| format!("--test={program}"))),
            }
            arguments.extend(library.then(|| "--lib".to_owned()));
            arguments
        };
        let own = test(self.name, self.tests, !self.tests.is_empty());
        std::iter::once(own).chain(self.in_common.then(|| test("verify", &IN_COMMON, false))).collect()
    }
}

/// How mutants are run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// The table is written.
    pub(crate) record: bool,
    /// What runs so far have found is compared, and nothing is run.
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
    let Some(krate) = CRATES.iter().find(|known| known.name == krate) else {
        let known: Vec<&str> = CRATES.iter().map(|known| known.name).collect();
        return Err(format!("{krate} is none of the crates whose mutants are run: {}", known.join(", ")));
    };
    let mut mutants = list::list(root, krate.name)?;
    if let Some(file) = file {
        let path = format!("crates/{}/src/{file}", krate.name);
        mutants.retain(|mutant| mutant.file == path);
    }
    let results = judge_all(root, krate, &mutants, options.last)?;
    let found = results.found(&mutants);
    for (file, known) in &found {
        let survivors: usize = known.survivors.values().sum();
        println!("mutants: {file}: {} mutants, {survivors} survive", known.mutants);
    }
    let path = root.join(TABLE);
    let mut known = table::parse(&std::fs::read_to_string(&path).unwrap_or_default())?;
    let complaints = table::judge(&known, &found);
    if options.record {
        table::merge(&mut known, found);
        std::fs::write(&path, table::print(&known)).map_err(|error| format!("{TABLE}: {error}"))?;
    }
    Ok(complaints)
}

/// Runs those mutants of which it is not known what becomes of them.
fn judge_all(root: &Path, krate: &Crate, mutants: &[Mutant], last: bool) -> Result<Results, String> {
    let folder = root.join("target/mutants");
    let scratch = folder.join("scratch");
    std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let copy = Copy::of(root, folder.join("tree"))?;
    let results = Results::open(&folder.join(format!("{}.results", krate.name)), &copy, mutants, last)?;
    let open = |number: &u32| results.judged(&mutants[*number as usize - 1]).is_none();
    let mut numbers: Vec<u32> = (1..).take(mutants.len()).filter(open).collect();
    numbers.sort_by_key(|&number| results.was_missed(&mutants[number as usize - 1]));
    if numbers.is_empty() || last {
        return Ok(results);
    }
    println!("mutants: {} of {} are open", numbers.len(), mutants.len());
    let cargo = krate.cargo();
    let known = Built {
        programs: Vec::new(),
        unviable: results.not_switched(mutants, false),
        left: results.not_switched(mutants, true),
    };
    let built = build::build(&copy, krate.name, mutants, &cargo, known)?;
    println!("mutants: {} do not compile, {} need a build alone", built.unviable.len(), built.left.len());
    let tests = reach::tests(&built.programs, &folder.join(format!("{}.tests", krate.name)), &scratch)?;
    println!("mutants: {} tests in {} programs", tests.len(), built.programs.len());
    let results = Mutex::new(results);
    let mutant = |number: u32| (number, &mutants[number as usize - 1]);
    let (mut switched, mut alone) = (Vec::new(), Vec::new());
    for number in numbers {
        if built.unviable.contains(&number) {
            results.lock().expect("no other thread runs").add(mutant(number).1, Outcome::Unviable)?;
        } else if built.left.contains(&number) {
            results.lock().expect("no other thread runs").add(mutant(number).1, Outcome::Alone)?;
            alone.push(mutant(number));
        } else {
            switched.push(mutant(number));
        }
    }
    judge::judge(&built.programs, &tests, &switched, &results, &scratch)?;
    alone::judge_alone(&copy, (&built.programs, &tests), &cargo, &alone, &results, &scratch)?;
    Ok(results.into_inner().expect("no thread has panicked"))
}

/// Does something with each of some, by a few threads, until that fails; it is told which thread it is on.
fn together<T: Sync>(all: &[T], each: impl Fn(usize, &T) -> Result<(), String> + Sync) -> Result<(), String> {
    let next = AtomicUsize::new(0);
    let run = |thread: usize| {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            each(thread, one).inspect_err(|_| next.store(all.len(), Ordering::Relaxed))?;
        }
        Ok(())
    };
    let run = &run;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..TOGETHER).map(|thread| scope.spawn(move || run(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("what runs mutants does not panic"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_number_in_the_environment_no_mutant_is_on() {
        assert!((0..3).all(|number| !switch::on(number + 1)));
    }

    #[test]
    fn each_is_done_once_until_one_fails() {
        let done = Mutex::new(Vec::new());
        let each = |_, &one: &u32| {
            done.lock().expect("no panic").push(one);
            if one == 3 { Err("three".to_owned()) } else { Ok(()) }
        };
        assert_eq!(together(&[1, 2], each), Ok(()));
        assert_eq!(together(&[3, 4, 5, 6, 7, 8], each), Err("three".to_owned()));
        let mut done = done.into_inner().expect("no panic");
        done.sort_unstable();
        done.dedup();
        assert!(done.starts_with(&[1, 2, 3]), "{done:?}");
    }
}
