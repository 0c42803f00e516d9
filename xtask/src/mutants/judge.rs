//! Runs each mutant before the tests that come to its place, the fastest first, until one notices it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::build::Program;
use super::list::Mutant;
use super::process::{self, End};
use super::reach::Test;
use super::results::{Outcome, Results};
use super::together;

/// Tests that take about as long share a run of their program.
const CLASSES: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(500),
    Duration::from_secs(5),
    Duration::from_secs(u64::MAX),
];

/// What any run may take: other programs use the machine as well.
const AT_LEAST: Duration = Duration::from_secs(10);

/// How much longer than without a mutant tests may take.
const TIMES: u32 = 5;

/// Runs mutants, and keeps what has become of each as soon as that is known.
pub(super) fn judge(
    programs: &[Program],
    tests: &[Test],
    mutants: &[(u32, &Mutant)],
    results: &Mutex<Results>,
    scratch: &Path,
) -> Result<(), String> {
    // who has noticed the last mutant of a file notices the next one, too, as often as not
    let last: Mutex<HashMap<&str, usize>> = Mutex::default();
    let began = Instant::now();
    let done = Mutex::new(0);
    together(mutants, |thread, &(number, mutant)| {
        let folder = scratch.join(format!("run.{thread}"));
        let try_tests = |some: &[usize]| -> Result<Option<String>, String> {
            let program = &programs[tests[some[0]].program];
            let names: Vec<&str> = some.iter().map(|&test| tests[test].name.as_str()).collect();
            let takes: Duration = some.iter().map(|&test| tests[test].takes).sum();
            let limit = AT_LEAST.max(takes * TIMES);
            let end =
                process::run(&program.path, &program.folder, &names, &number.to_string(), &folder, limit)?;
            Ok(match end {
                End::Passed => None,
                End::Failed(test) => Some(format!("{}: {test}", program.name)),
                End::TimedOut => Some(format!("{}: {} do not end", program.name, names.join(" "))),
            })
        };
        let reaching: Vec<usize> =
            (0..tests.len()).filter(|&test| tests[test].reaches.contains(&number)).collect();
        let first = last.lock().expect("not held while one panics").get(mutant.file.as_str()).copied();
        let first = first.filter(|test| reaching.contains(test)).map(|test| vec![test]);
        let rest = runs(tests, &reaching);
        let mut noticed = None;
        for some in first.iter().chain(&rest) {
            noticed = try_tests(some)?;
            if let Some(by) = &noticed {
                let named = |&&test: &&usize| by.ends_with(&format!(": {}", tests[test].name));
                let who = some.iter().find(named).copied().unwrap_or(some[0]);
                last.lock().expect("not held while one panics").insert(&mutant.file, who);
                break;
            }
        }
        let outcome = match noticed {
            Some(by) => Outcome::Noticed(by),
            None if reaching.is_empty() => Outcome::Missed("no test comes there".to_owned()),
            None => Outcome::Missed(format!("{} tests come there", reaching.len())),
        };
        results.lock().expect("not held while one panics").add(mutant, outcome)?;
        let mut done = done.lock().expect("not held while one panics");
        *done += 1;
        if *done % 50 == 0 {
            println!("mutants: {done} of {} after {} s", mutants.len(), began.elapsed().as_secs());
        }
        Ok(())
    })
}

/// Which tests are run together, in order.
fn runs(tests: &[Test], reaching: &[usize]) -> Vec<Vec<usize>> {
    let class = |test: usize| CLASSES.iter().position(|most| tests[test].takes <= *most);
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for &test in reaching {
        let alike = |run: &&mut Vec<usize>| {
            tests[run[0]].program == tests[test].program && class(run[0]) == class(test)
        };
        match runs.iter_mut().find(alike) {
            Some(run) => run.push(test),
            None => runs.push(vec![test]),
        }
    }
    runs.sort_by_key(|run| class(run[0]));
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_tests_of_a_program_run_together_and_before_slow_ones() {
        let test = |program, millis| Test {
            program,
            name: String::new(),
            takes: Duration::from_millis(millis),
            reaches: Default::default(),
        };
        let tests = [test(0, 5), test(1, 6), test(0, 7), test(0, 100), test(1, 9000)];
        assert_eq!(runs(&tests, &[0, 1, 2, 3, 4]), [vec![0, 2], vec![1], vec![3], vec![4]]);
        assert_eq!(runs(&tests, &[2, 4]), [[2], [4]]);
    }
}
