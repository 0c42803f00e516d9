//! Makes the figures of the paper: `scar-figures scar-7a --seconds 3 --out DIRECTORY`.

use scaledb_scar_lab::figures::{Effort, FIGURES, select};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str =
    "usage: scar-figures [list | NAME...] [--seconds S] [--rounds N] [--quick] [--out DIRECTORY]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scar-figures: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut effort = Effort { measured: Duration::from_secs(3), rounds: 3, tiny: false, seed: 1 };
    let (mut names, mut out) = (Vec::new(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(USAGE);
        match argument.as_str() {
            "--seconds" => effort.measured = Duration::try_from_secs_f64(value()?.parse()?)?,
            "--rounds" => effort.rounds = value()?.parse()?,
            "--quick" => {
                effort = Effort { measured: Duration::from_millis(200), rounds: 1, tiny: true, ..effort }
            }
            "--out" => out = Some(PathBuf::from(value()?)),
            option if option.starts_with('-') => return Err(USAGE.into()),
            _ => names.push(argument),
        }
    }
    if names.is_empty() {
        return Err(USAGE.into());
    }
    if names.iter().any(|name| name == "list") {
        FIGURES.iter().for_each(|figure| println!("{:<14} {}", figure.name, figure.title));
        return Ok(());
    }
    for name in &names {
        let figures = select(name);
        if figures.is_empty() {
            return Err(format!("there is no figure {name}: 'list' prints those that there are").into());
        }
        for figure in figures {
            let table = figure.make(&effort, &mut |what| eprint!("\r\x1b[K{}: {what}", figure.name))?;
            eprint!("\r\x1b[K");
            println!("{}: {}\n{}", figure.name, figure.title, table.text(figure.x));
            table.notes.iter().for_each(|note| println!("  - {note}"));
            println!();
            if let Some(out) = &out {
                std::fs::create_dir_all(out)?;
                std::fs::write(out.join(format!("{}.csv", figure.name)), table.csv(figure.x))?;
            }
        }
    }
    Ok(())
}
