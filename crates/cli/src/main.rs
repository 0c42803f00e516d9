//! The `scaledb` command.
//!
//! Exit codes: 0, done; 1, a check of the database failed; 2, wrong arguments or an error; 3, the disk failed while the
//! server ran. The shell has its own. A reader of the output that goes away is no error.

mod args;
mod bench;
mod cluster;
mod demo;
mod directory;
mod format;
mod output;
mod password;
mod print;
mod progress;
#[cfg(feature = "repro")]
mod repro;
mod serve;
mod shell;

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;

/// Whether all checks passed; or what went wrong.
type Result<T = bool, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Bench(args) => bench::run(&args),
        #[cfg(feature = "repro")]
        Command::Repro(args) => repro::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Shell(args) => return shell::run(&args),
        Command::Password => password::run(),
        Command::Check(args) => directory::check(&args),
        Command::Backup(args) => directory::backup(&args),
        Command::Restore(args) => directory::restore(&args),
        Command::Log(args) => directory::log(&args),
        Command::Cluster(args) => cluster::run(&args),
    };
    let done = done.and_then(|passed| match output::error() {
        Some(error) => Err(format!("standard output: {error}").into()),
        None => Ok(passed),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            output::complain!("error: {error}\n");
            ExitCode::from(if error.is::<serve::DiskFailed>() { 3 } else { 2 })
        }
    }
}
