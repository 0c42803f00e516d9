//! Chores of the repository. `cargo xtask tidy` checks the rules that neither the compiler nor clippy knows, and
//! `cargo xtask mutants` whether some test notices each change of an operation.

mod mutants;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy [--only RULE]
       cargo xtask mutants [--record] [--last] CRATE [FILE]

  tidy      checks the rules of STYLE.md and ARCHITECTURE.md that the compiler does not;
            with --only, the findings of one rule
  mutants   changes one operation at a time in a crate, or in a file of its src, and runs tests; fails if one survives
            that xtask/survivors.txt has not; with --record, takes out of it what is noticed now, and adds files that
            were never run. A run that was cut off goes on; with --last, nothing is run, and what runs so far have
            found is compared, however they ended. Needs cargo-mutants";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["tidy"] => tidy(None),
        ["tidy", "--only", rule] => tidy(Some(rule)),
        ["mutants", ref rest @ ..] => {
            let has = |flag: &str| rest.contains(&flag);
            let options = mutants::Options { record: has("--record"), last: has("--last") };
            let names: Vec<&str> =
                rest.iter().copied().filter(|arg| !matches!(*arg, "--record" | "--last")).collect();
            match names[..] {
                [krate] => mutants::run(&root(), krate, None, options),
                [krate, file] => mutants::run(&root(), krate, Some(file), options),
                _ => usage(),
            }
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn root() -> PathBuf {
    // asked at run time: clones that share a target directory share this program
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&manifest).parent().expect("xtask lies in the workspace").to_owned()
}

fn tidy(only: Option<&str>) -> ExitCode {
    let root = root();
    let tree = match tidy::Tree::read(&root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: cannot read {}: {error}", root.display());
            return ExitCode::FAILURE;
        }
    };
    let mut found = tidy::check(&tree);
    if let Some(only) = only {
        found.retain(|finding| finding.rule == only);
    }
    for finding in &found {
        eprintln!("{finding}");
    }
    if found.is_empty() {
        println!("tidy: {} files, nothing to complain about", tree.files.len());
        ExitCode::SUCCESS
    } else {
        eprintln!("tidy: {} findings", found.len());
        ExitCode::FAILURE
    }
}
