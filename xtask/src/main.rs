//! Chores of the repository. `cargo xtask tidy` checks the rules that neither the compiler nor clippy knows.

mod tidy;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy [--only RULE]

  tidy   checks the rules of STYLE.md and ARCHITECTURE.md that the compiler does not;
         with --only, the findings of one rule";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["tidy"] => tidy(None),
        ["tidy", "--only", rule] => tidy(Some(rule)),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn tidy(only: Option<&str>) -> ExitCode {
    // asked at run time: clones that share a target directory share this program
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&manifest).parent().expect("xtask lies in the workspace");
    let tree = match tidy::Tree::read(root) {
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
