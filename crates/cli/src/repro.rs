//! `scaledb repro`: the figures of the papers, made again.

use crate::Result;
use crate::args::ReproArgs;
use crate::output::{complain, say, show};
use scaledb_evidence::{Evidence, Failure, Figure, Form, Run, page};
use scaledb_figures::lab::{Lab, Settings};
use scaledb_figures::{all, select};
use scaledb_sync::Arc;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where the program that simulates is looked for, beside `scaledb` and where `make simulator` leaves it.
const SIMULATORS: [&str; 3] = ["manycore-sim", "../sim/release/manycore", "../sim/debug/manycore"];

/// The file of the points that are known, beside the pictures.
const POINTS: &str = "points.jsonl";

pub(crate) fn run(args: &ReproArgs) -> Result {
    let started = Instant::now();
    if args.figures.iter().any(|name| name == "list") {
        list(all(&Arc::new(Lab::new(Settings::default())?)));
        return Ok(true);
    }
    let points = args.out.join(POINTS);
    if args.again && points.exists() {
        fs::remove_file(&points)?;
    }
    let lab = Arc::new(Lab::new(Settings {
        simulator: if args.real { None } else { args.simulator.clone().or_else(simulator) },
        real: !args.simulated,
        points: Some(points),
        limit: args.limit,
    })?);
    let figures = select(all(&lab), &args.figures).map_err(|name| {
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
    let mut left_out = Vec::new();
    for (number, figure) in figures.iter().enumerate() {
        let (began, before) = (Instant::now(), lab.counts());
        let made = figure.make(&run).and_then(|evidence| keep(args, &evidence).map(|()| evidence));
        if terminal {
            complain!("\r\x1b[K");
        }
        match made {
            Ok(evidence) => print(&evidence),
            // the others can be made
            Err(Failure::Missing(what)) => left_out.push(format!("missing: {}: {what}", figure.name)),
            Err(other) => left_out.push(format!("FAILED: {}: {other}", figure.name)),
        }
        let (measured, known) = lab.counts();
        say!(
            "figure {} of {}, {}: {}; {} points measured, {} known\n",
            number + 1,
            figures.len(),
            figure.name,
            in_words(began.elapsed()),
            measured - before.0,
            known - before.1
        );
    }
    let (measured, known) = lab.counts();
    say!(
        "{} of {} figures are in {}; {measured} points measured and {known} known, in {}",
        figures.len() - left_out.len(),
        figures.len(),
        args.out.display(),
        in_words(started.elapsed())
    );
    left_out.iter().for_each(|what| complain!("{what}\n"));
    Ok(left_out.is_empty())
}

/// Writes its files, and puts it into the page.
fn keep(args: &ReproArgs, evidence: &Evidence) -> std::result::Result<(), Failure> {
    evidence.write(&args.out)?;
    args.page.as_ref().map_or(Ok(()), |file| fill(file, &args.out, evidence))
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
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
fn fill(file: &Path, pictures: &Path, evidence: &Evidence) -> std::result::Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Page(format!("{}: {error}", file.display()));
    let text = fs::read_to_string(file).map_err(failed)?;
    if !page::figures(&text).contains(&evidence.name) {
        return Ok(());
    }
    // as the page sees them: relative, if they lie below it
    let here = file.parent().unwrap_or(Path::new("."));
    let seen = pictures.strip_prefix(here).unwrap_or(pictures);
    fs::write(file, page::fill(&text, evidence, &seen.to_string_lossy())?).map_err(failed)
}
