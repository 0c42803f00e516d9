//! What has become of each mutant of a crate, in a file that grows by a line for each: a run that was cut off goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::Path;

use super::copy::Copy;
use super::list::Mutant;
use super::table::{Files, Known};

/// What has become of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// By whom.
    Noticed(String),
    /// And how many tests should have noticed.
    Missed(String),
    Unviable,
    /// It can only be judged in a build alone, which was not done yet.
    Alone,
}

/// All of them, and the file.
pub(super) struct Results {
    file: File,
    /// By the mutants' names, with what was true of the tree then.
    all: BTreeMap<String, (u64, Outcome)>,
    /// The fingerprints of the mutants' files.
    files: BTreeMap<String, u64>,
    /// Of all crates.
    tree: u64,
    /// Whether what was missed counts whatever has changed since.
    last: bool,
}

impl Results {
    /// Reads what earlier runs have found.
    pub(super) fn open(path: &Path, copy: &Copy, mutants: &[Mutant], last: bool) -> Result<Self, String> {
        let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let all = text.lines().filter_map(parse).collect();
        let file = File::options().append(true).create(true).open(path).map_err(wrong)?;
        let files = mutants.iter().map(|mutant| (mutant.file.clone(), copy.print_of(&mutant.file))).collect();
        Ok(Self { file, all, files, tree: copy.print_of_all(), last })
    }

    /// Those that do not compile, and those that need a build alone, as far as that is known.
    pub(super) fn not_switched(&self, mutants: &[Mutant], alone: bool) -> BTreeSet<u32> {
        let known = |mutant: &Mutant| match self.of(mutant) {
            Some(Outcome::Unviable) => !alone,
            Some(Outcome::Alone) => alone,
            _ => false,
        };
        (1..).zip(mutants).filter(|(_, mutant)| known(mutant)).map(|(number, _)| number).collect()
    }

    /// What is true still: what was noticed, or does not compile, while its file is as it was; what was missed, only
    /// while everything is.
    fn of(&self, mutant: &Mutant) -> Option<&Outcome> {
        let (then, outcome) = self.all.get(&mutant.name)?;
        let counts = self.last && matches!(outcome, Outcome::Missed(_));
        (counts || *then == self.now(mutant, outcome)).then_some(outcome)
    }

    /// The same of a mutant that needs nothing more.
    pub(super) fn judged(&self, mutant: &Mutant) -> Option<&Outcome> {
        self.of(mutant).filter(|outcome| **outcome != Outcome::Alone)
    }

    /// Whether it was missed once, as far as that counts: it will most likely be missed again, and that takes longest.
    pub(super) fn was_missed(&self, mutant: &Mutant) -> bool {
        matches!(self.all.get(&mutant.name), Some((_, Outcome::Missed(_))))
    }

    fn now(&self, mutant: &Mutant, outcome: &Outcome) -> u64 {
        match outcome {
            Outcome::Missed(_) => self.tree,
            Outcome::Noticed(_) | Outcome::Unviable | Outcome::Alone => {
                self.files.get(&mutant.file).copied().unwrap_or(0)
            }
        }
    }

    pub(super) fn add(&mut self, mutant: &Mutant, outcome: Outcome) -> Result<(), String> {
        let now = self.now(mutant, &outcome);
        let (word, detail) = match &outcome {
            Outcome::Noticed(by) => ("noticed", by.as_str()),
            Outcome::Missed(tests) => ("missed", tests.as_str()),
            Outcome::Unviable => ("unviable", ""),
            Outcome::Alone => ("alone", ""),
        };
        writeln!(self.file, "{now:016x}\t{word}\t{}\t{detail}", mutant.name)
            .map_err(|error| error.to_string())?;
        self.all.insert(mutant.name.clone(), (now, outcome));
        Ok(())
    }

    /// Files of which every mutant is judged, for the table.
    pub(super) fn found(&self, mutants: &[Mutant]) -> Files {
        let mut files = Files::new();
        for of_file in mutants.chunk_by(|a, b| a.file == b.file) {
            let mut known = Known::default();
            let judged = of_file.iter().map(|mutant| self.judged(mutant)).collect::<Option<Vec<_>>>();
            let Some(outcomes) = judged else {
                continue;
            };
            for (mutant, outcome) in of_file.iter().zip(outcomes) {
                known.mutants += usize::from(*outcome != Outcome::Unviable);
                if let (Outcome::Missed(_), Some(what)) = (outcome, without_place(&mutant.name)) {
                    *known.survivors.entry(what.to_owned()).or_default() += 1;
                }
            }
            files.insert(of_file[0].file.clone(), known);
        }
        files
    }
}

/// What was changed, without the place, which moves with every edit.
fn without_place(name: &str) -> Option<&str> {
    name.split_once(": ").map(|(_, what)| what)
}

fn parse(line: &str) -> Option<(String, (u64, Outcome))> {
    let mut parts = line.split('\t');
    let then = u64::from_str_radix(parts.next()?, 16).ok()?;
    let (word, name, detail) = (parts.next()?, parts.next()?, parts.next()?.to_owned());
    let outcome = match word {
        "noticed" => Outcome::Noticed(detail),
        "missed" => Outcome::Missed(detail),
        "unviable" => Outcome::Unviable,
        "alone" => Outcome::Alone,
        _ => return None,
    };
    Some((name.to_owned(), (then, outcome)))
}
