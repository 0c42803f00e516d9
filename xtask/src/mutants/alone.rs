//! A mutant in a build of its own, for what the compiler evaluates: constants, lengths of arrays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use super::build::{self, Program};
use super::copy::Copy;
use super::judge::judge;
use super::list::Mutant;
use super::reach::Test;
use super::results::{Outcome, Results};

/// Builds and runs them, one after the other.
pub(super) fn judge_alone(
    copy: &Copy,
    (programs, tests): (&[Program], &[Test]),
    cargo: &[Vec<String>],
    mutants: &[(u32, &Mutant)],
    results: &Mutex<Results>,
    scratch: &Path,
) -> Result<(), String> {
    for (count, &(number, mutant)) in mutants.iter().enumerate() {
        println!("mutants: {} of {} by itself: {}", count + 1, mutants.len(), mutant.name);
        let mut text = copy.text(&mutant.file)?.to_owned();
        text.replace_range(mutant.span.clone(), &mutant.replacement);
        copy.write(&BTreeMap::from([(mutant.file.clone(), text)]))?;
        if !build::compiles(copy, cargo)? {
            let mut results = results.lock().expect("no other thread runs");
            results.add(mutant, Outcome::Unviable)?;
            continue;
        }
        // what it changes is in no place that tests come to: any may notice
        let all = tests.iter().map(|test| Test {
            program: test.program,
            name: test.name.clone(),
            takes: test.takes,
            reaches: BTreeSet::from([number]),
        });
        judge(programs, &all.collect::<Vec<_>>(), &[(number, mutant)], results, scratch)?;
    }
    Ok(())
}
