//! The tests of the programs: how long each takes, and which mutants' places it comes to. Only those can notice them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::build::Program;
use super::process::{self, End};
use super::{copy, together};

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

/// Runs every test of the programs once by itself. What that says stands in a file, for as long as a program is the
/// same.
pub(super) fn tests(programs: &[Program], known: &Path, scratch: &Path) -> Result<Vec<Test>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", known.display());
    let before = std::fs::read_to_string(known).unwrap_or_default();
    let before: BTreeMap<&str, &str> = before.lines().filter_map(|line| line.split_once(" = ")).collect();
    let file = Mutex::new(File::options().append(true).create(true).open(known).map_err(wrong)?);
    let mut names = Vec::new();
    for (program, of) in programs.iter().enumerate() {
        let bytes = std::fs::read(&of.path).map_err(|error| format!("{}: {error}", of.path.display()))?;
        let same = copy::fingerprint(bytes);
        names.extend(list(of)?.into_iter().map(|name| (program, format!("{same:016x} {name}"), name)));
    }
    let found = Mutex::new(Vec::new());
    together(&names, |thread, (program, id, name)| {
        let test = |takes, reaches| Test { program: *program, name: name.clone(), takes, reaches };
        if let Some((takes, reaches)) = before.get(id.as_str()).and_then(|said| parse(said)) {
            found.lock().expect("not held while one panics").push(test(takes, reaches));
            return Ok(());
        }
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
        let reaches: BTreeSet<u32> = numbers.map(u32::from_le_bytes).collect();
        let line = format!("{id} = {}", print(takes, &reaches));
        writeln!(file.lock().expect("not held while one panics"), "{line}").map_err(wrong)?;
        found.lock().expect("not held while one panics").push(test(takes, reaches));
        Ok(())
    })?;
    let mut tests = found.into_inner().expect("no thread has panicked");
    tests.sort_by_key(|test| test.takes);
    Ok(tests)
}

fn print(takes: Duration, reaches: &BTreeSet<u32>) -> String {
    let numbers: Vec<String> = reaches.iter().map(u32::to_string).collect();
    format!("{} {}", takes.as_millis(), numbers.join(" "))
}

fn parse(said: &str) -> Option<(Duration, BTreeSet<u32>)> {
    let mut words = said.split_whitespace();
    let takes = Duration::from_millis(words.next()?.parse().ok()?);
    Some((takes, words.map(str::parse).collect::<Result<_, _>>().ok()?))
}

fn list(program: &Program) -> Result<Vec<String>, String> {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).args(["--list", "--format", "terse"]);
    let output = command.output().map_err(|error| format!("{}: {error}", program.path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_comes_to_is_read_as_it_was_written() {
        let known = (Duration::from_millis(12), BTreeSet::from([1, 20]));
        assert_eq!(parse(&print(known.0, &known.1)), Some(known));
        assert_eq!(parse("5 "), Some((Duration::from_millis(5), BTreeSet::new())));
        assert_eq!(parse("5 x"), None);
    }
}
