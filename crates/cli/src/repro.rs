//! `scaledb repro`: the figures of the papers, made again.

use crate::Result;
use crate::args::ReproArgs;
use crate::output::{complain, say, show};
use scaledb_evidence::{Evidence, Failure, Figure, Form, Run, page};
use scaledb_figures::{Settings, all, select};
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Where the program that simulates is looked for, beside `scaledb` and where `make simulator` leaves it.
const SIMULATORS: [&str; 3] = ["manycore-sim", "../sim/release/manycore", "../sim/debug/manycore"];

pub(crate) fn run(args: &ReproArgs) -> Result {
    let simulator = if args.real { None } else { args.simulator.clone().or_else(simulator) };
    let settings = Settings { simulator };
    if args.figures.iter().any(|name| name == "list") {
        list(all(&settings));
        return Ok(true);
    }
    let figures = select(all(&settings), &args.figures).map_err(|name| {
        format!("there is no figure {name}; 'scaledb repro list' prints those that there are")
    })?;
    let form = if args.quick { Form::Quick } else { Form::Full };
    let terminal = std::io::stderr().is_terminal();
    let progress = move |what: &str| {
        if terminal {
            complain!("\r\x1b[K  {what}");
        }
    };
    let run = Run { form, seed: args.seed, progress: &progress };
    let mut missing = Vec::new();
    for figure in &figures {
        let made = figure.make(&run);
        if terminal {
            complain!("\r\x1b[K");
        }
        match made {
            Ok(evidence) => {
                print(&evidence);
                evidence.write(&args.out)?;
                if let Some(file) = &args.page {
                    fill(file, &args.out, &evidence)?;
                }
            }
            Err(Failure::Missing(what)) => missing.push(format!("{}: {what}", figure.name)),
            Err(other) => return Err(format!("{}: {other}", figure.name).into()),
        }
    }
    say!("{} of {} figures are in {}", figures.len() - missing.len(), figures.len(), args.out.display());
    missing.iter().for_each(|what| say!("missing: {what}"));
    Ok(missing.is_empty())
}

fn list(figures: Vec<Figure>) {
    for figure in figures {
        say!("{:<14} {:<64} {}", figure.name, figure.title, figure.source);
    }
}

fn print(evidence: &Evidence) {
    say!("{}: {}", evidence.name, evidence.title);
    say!("  {}; {}", evidence.source, evidence.y.label);
    show!("\n{}\n{}\n", evidence.table(), evidence.sketch());
    evidence.origins().iter().chain(&evidence.notes).for_each(|line| say!("  - {line}"));
    say!("");
}

/// The simulator, if it has been built.
fn simulator() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok()?;
    SIMULATORS.iter().map(|name| beside.with_file_name(name)).find(|path| path.is_file())
}

/// Puts a figure into its place in a page, if the page has one.
fn fill(file: &Path, pictures: &Path, evidence: &Evidence) -> Result<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(failed)?;
    if !page::figures(&text).contains(&evidence.name) {
        return Ok(());
    }
    // as the page sees them: relative, if they lie below it
    let here = file.parent().unwrap_or(Path::new("."));
    let seen = pictures.strip_prefix(here).unwrap_or(pictures);
    fs::write(file, page::fill(&text, evidence, &seen.to_string_lossy())?).map_err(failed)?;
    Ok(())
}
