//! Workloads on 1 to 128 cores: simulated in builds with `--cfg sim`, else on the real ones of this machine.
//!
//! ```text
//! manycore --workload tpcc --cores 1,2,4,8,16,24,36 --ways collected,measured,synchronous,cicada --hot
//! ```
//!
//! It prints a row of the scaling table for each way and number of cores: transactions per second, times those of the
//! first number of cores, conflicts by cause; with `--hot`, where the cores' time went, and the lines they lost it on.
//! A simulation is evidence of sharing, not of nanoseconds.

mod args;
mod table;

use args::Args;
use clap::Parser;
use scaledb_manycore::{Build, Failure, measure};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("manycore: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    if args.build {
        println!("{}", serde_json::to_string(&Build::this())?);
        return Ok(());
    }
    if let Some(text) = &args.ask {
        let answer = measure(&serde_json::from_str(text)?)?;
        println!("{}", serde_json::to_string(&answer)?);
        return Ok(());
    }
    table::heading(args)?;
    let mut csv = table::Csv::create(args.csv.as_deref())?;
    for &shape in &args.workload {
        for &way in &args.ways {
            let mut first = None;
            for &cores in &args.cores {
                let answer = measure(&args.point(shape, way, cores))?;
                let first = *first.get_or_insert(answer.per_second / cores as f64);
                let row = table::Row { shape, way, cores, answer: &answer, first };
                table::print(&row);
                csv.row(args, &row)?;
                if args.hot {
                    println!("{}", answer.times);
                }
            }
        }
    }
    Ok(())
}
