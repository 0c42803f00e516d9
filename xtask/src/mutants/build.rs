//! All mutants of a crate in one build, and what of them does not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::copy::Copy;
use super::list::Mutant;
use super::rewrite::{Rewritten, rewrite};

const SWITCH: &str = include_str!("switch.rs");

/// A program of tests.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Where its tests run.
    pub(super) folder: PathBuf,
}

/// What has become of the mutants of a crate, each with its place in the list as its number, from one.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) programs: Vec<Program>,
    pub(super) unviable: BTreeSet<u32>,
    /// Those that cannot be switched on, but may compile alone.
    pub(super) left: BTreeSet<u32>,
}

/// Builds the programs of a crate's tests, of its copy in which all mutants can be switched on; but those of which
/// `built` says already that they cannot.
pub(super) fn build(
    copy: &Copy,
    krate: &str,
    all: &[Mutant],
    tests: &[Vec<String>],
    mut built: Built,
) -> Result<Built, String> {
    let numbered: Vec<(u32, &Mutant)> = (1..).zip(all).collect();
    let library = vec!["check".to_owned(), "--lib".to_owned(), format!("--package=scaledb-{krate}")];
    for arguments in std::iter::once(&library).chain(tests) {
        loop {
            let files = rewrite_all(copy, krate, &numbered, &mut built)?;
            let (programs, errors) = cargo(&copy.root, arguments)?;
            if errors.is_empty() {
                built.programs.extend(programs);
                break;
            }
            let before = built.unviable.len() + built.left.len();
            drop_those_of(&errors, &files, &mut built);
            if built.unviable.len() + built.left.len() == before {
                return Err(format!("the mutants do not compile, and none is to blame: {}", errors[0].said));
            }
        }
    }
    Ok(built)
}

/// Whether the copy compiles as it is now, its tests included.
pub(super) fn compiles(copy: &Copy, tests: &[Vec<String>]) -> Result<bool, String> {
    for arguments in tests {
        if !cargo(&copy.root, arguments)?.1.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes the copy with the mutants that are left.
fn rewrite_all(
    copy: &Copy,
    krate: &str,
    numbered: &[(u32, &Mutant)],
    built: &mut Built,
) -> Result<BTreeMap<String, Rewritten>, String> {
    let mut files = BTreeMap::new();
    let mut texts = BTreeMap::new();
    for of_file in numbered.chunk_by(|a, b| a.1.file == b.1.file) {
        let name = &of_file[0].1.file;
        let gone = |number| built.unviable.contains(number) || built.left.contains(number);
        let here: Vec<_> = of_file.iter().filter(|(number, _)| !gone(number)).copied().collect();
        let rewritten = rewrite(copy.text(name)?, &here).map_err(|error| format!("{name}: {error}"))?;
        built.unviable.extend(&rewritten.unviable);
        built.left.extend(&rewritten.left);
        texts.insert(name.clone(), rewritten.text.clone());
        files.insert(name.clone(), rewritten);
    }
    let root = format!("crates/{krate}/src/lib.rs");
    let text = texts.entry(root.clone()).or_insert(copy.text(&root)?.to_owned());
    // lints are about code that people write
    let lints = "#![allow(warnings, arithmetic_overflow, unconditional_panic, unsafe_op_in_unsafe_fn)]\n";
    *text = format!("{lints}{text}\nmod mutant_switch;\n");
    // the lines of the root have moved by one
    if let Some(rewritten) = files.get_mut(&root) {
        rewritten.move_down(1);
    }
    texts.insert(format!("crates/{krate}/src/mutant_switch.rs"), SWITCH.to_owned());
    copy.write(&texts)?;
    Ok(files)
}

/// What the compiler complains about.
struct Complaint {
    /// Files and lines; those that it is foremost about come first.
    places: Vec<(String, usize)>,
    said: String,
}

fn drop_those_of(errors: &[Complaint], files: &BTreeMap<String, Rewritten>, built: &mut Built) {
    for error in errors {
        let places = || error.places.iter().filter_map(|(file, line)| Some((files.get(file)?, *line)));
        if let Some(number) = places().find_map(|(file, line)| file.owner(line)) {
            built.unviable.insert(number);
        } else if let Some(numbers) =
            places().map(|(file, line)| file.around(line)).find(|numbers| !numbers.is_empty())
        {
            built.left.extend(numbers);
        }
    }
}

/// The programs that cargo has made, or what it complains about.
fn cargo(root: &Path, arguments: &[String]) -> Result<(Vec<Program>, Vec<Complaint>), String> {
    let mut command = Command::new("nice");
    command.args(["-n", "5", "cargo"]).args(arguments).args(["--locked", "--message-format=json"]);
    command.current_dir(root).env("CARGO_TARGET_DIR", root.with_file_name("build"));
    // a mutant changes no part of a crate that could be kept
    command.env("CARGO_INCREMENTAL", "0").stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("cargo does not start: {error}"))?;
    let (mut programs, mut errors) = (Vec::new(), Vec::new());
    for line in output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(said) = serde_json::from_slice::<Value>(line) else { continue };
        if said["reason"] == "compiler-message" && said["message"]["level"] == "error" {
            errors.extend(complaint(&said["message"]));
        }
        programs.extend(program(&said));
    }
    if !output.status.success() && errors.is_empty() {
        return Err(format!("cargo {} fails", arguments.join(" ")));
    }
    Ok((programs, errors))
}

fn program(said: &Value) -> Option<Program> {
    let path = said["executable"].as_str()?;
    let manifest = Path::new(said["manifest_path"].as_str()?);
    let name = said["target"]["name"].as_str()?.to_owned();
    let of_tests = said["profile"]["test"].as_bool()?;
    of_tests.then(|| Program {
        name,
        path: path.into(),
        folder: manifest.parent().unwrap_or(manifest).into(),
    })
}

fn complaint(message: &Value) -> Option<Complaint> {
    let spans = message["spans"].as_array()?;
    let mut places: Vec<(bool, String, usize)> = spans
        .iter()
        .filter_map(|span| {
            let place = span["file_name"].as_str()?.to_owned();
            Some((span["is_primary"] != true, place, span["line_start"].as_u64()? as usize))
        })
        .collect();
    places.sort_by_key(|place| place.0);
    // what only sums up has no place
    (!places.is_empty()).then(|| Complaint {
        places: places.into_iter().map(|(_, file, line)| (file, line)).collect(),
        said: message["rendered"].as_str().unwrap_or_default().to_owned(),
    })
}
