//! The tests of the programs: how long each takes, and which mutants' places it comes to. Only those can notice them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::build::Program;
use super::process::{self, End};
use super::together;

/// A test that does not end within this is not run for mutants.
const PATIENCE: Duration = Duration::from_secs(120);

/// A test that passes while no mutant is on.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) program: usize,
    pub(super) name: String,
    pub(super) takes: Duration,
    pub(super) reaches: BTreeSet<u32>,
}

/// Runs every test of the programs once by itself.
pub(super) fn tests(programs: &[Program], scratch: &Path) -> Result<Vec<Test>, String> {
    let mut names = Vec::new();
    for (program, of) in programs.iter().enumerate() {
        names.extend(list(of)?.into_iter().map(|name| (program, name)));
    }
    let found = Mutex::new(Vec::new());
    together(&names, |thread, (program, name)| {
        let of = &programs[*program];
        let notes = scratch.join(format!("notes.{thread}"));
        let _ = std::fs::remove_file(&notes);
        let note = format!("note:{}", notes.display());
        let began = Instant::now();
        let folder = scratch.join(format!("run.{thread}"));
        let end = process::run(&of.path, &of.folder, &[name], &note, &folder, PATIENCE)?;
        if end != End::Passed {
            println!("mutants: {}: {name} is left out: {end:?} without a mutant", of.name);
            return Ok(());
        }
        let takes = began.elapsed();
        let bytes = std::fs::read(&notes).unwrap_or_default();
        let numbers = bytes.chunks_exact(4).filter_map(|number| number.try_into().ok());
        let reaches = numbers.map(u32::from_le_bytes).collect();
        let test = Test { program: *program, name: name.clone(), takes, reaches };
        found.lock().expect("no test is held while it panics").push(test);
        Ok(())
    })?;
    let mut tests = found.into_inner().expect("no thread has panicked");
    tests.sort_by_key(|test| test.takes);
    Ok(tests)
}

fn list(program: &Program) -> Result<Vec<String>, String> {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).args(["--list", "--format", "terse"]);
    let output = command.output().map_err(|error| format!("{}: {error}", program.path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}
