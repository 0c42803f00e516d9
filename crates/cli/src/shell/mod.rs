//! `scaledb shell`: SQL at a terminal, or from a script.
//!
//! ```text
//!  input.rs, editor.rs ─► scanner.rs ─► repl.rs ──┬─► connection.rs: local.rs, remote/
//!      lines               statements             │        │ columns, rows, tag
//!                          \commands ─► command.rs┘        ▼
//!                                                 printer.rs ─► table.rs, formats.rs, report.rs
//! ```
//!
//! Exit status, as psql's: 0, done; 1, an error of the shell or of `-c`; 2, the connection is lost or cannot be made;
//! 3, an error in a script under `ON_ERROR_STOP`.

mod arguments;
mod command;
mod complete;
mod connection;
mod copy;
mod describe;
mod editor;
mod formats;
mod help;
mod input;
mod interrupt;
mod local;
mod printer;
mod remote;
mod repl;
mod report;
mod rows;
mod scanner;
mod settings;
mod table;
mod variables;

use crate::Result;
use crate::output::{complain, say};
use clap::Args;
use complete::Completer;
use connection::Connection;
use editor::Terminal;
use input::{Input, Reader};
use interrupt::Interrupt;
use local::Local;
use remote::Remote;
use repl::{Done, Outcome, Shell};
use settings::{Expanded, Format, Settings};
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// An error of the shell itself, or of a statement of `-c`.
const EXIT_FAILURE: u8 = 1;
/// No connection, or no more.
const EXIT_LOST: u8 = 2;
/// A script has ended at an error.
const EXIT_STOPPED: u8 = 3;

/// What the command line says.
#[derive(Debug, Args)]
pub(crate) struct ShellArgs {
    /// The database's directory [default: in memory only]
    pub(crate) directory: Option<PathBuf>,
    /// Be a client of a server instead: postgresql://user@host:port/database, or host=... user=...
    #[arg(long, value_name = "CONNINFO", conflicts_with = "directory")]
    pub(crate) connect: Option<String>,
    /// Encrypt the connection to the server in any case, as sslmode=require does
    #[arg(long, requires = "connect")]
    pub(crate) tls: bool,
    /// Encrypt, and believe only servers that these certificates (PEM) vouch for
    #[arg(long, value_name = "FILE", requires = "connect")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// Run this and end; may be repeated
    #[arg(short, long, value_name = "SQL", conflicts_with = "file")]
    pub(crate) command: Vec<String>,
    /// Run this file and end; may be repeated; - is the standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// Set a variable, such as ON_ERROR_STOP=1
    #[arg(short = 'v', long = "set", value_name = "NAME=VALUE")]
    pub(crate) variables: Vec<String>,
    /// How results are printed
    #[arg(long, value_enum, conflicts_with_all = ["no_align", "csv", "json"])]
    pub(crate) format: Option<Format>,
    /// The same as --format unaligned
    #[arg(short = 'A', long)]
    pub(crate) no_align: bool,
    /// The same as --format csv
    #[arg(long, conflicts_with = "no_align")]
    pub(crate) csv: bool,
    /// The same as --format json
    #[arg(long, conflicts_with_all = ["no_align", "csv"])]
    pub(crate) json: bool,
    /// What stands between values of the unaligned format
    #[arg(short = 'F', long, value_name = "TEXT", default_value = "|")]
    pub(crate) field_separator: String,
    /// Rows only: no names of columns, no counts
    #[arg(short, long)]
    pub(crate) tuples_only: bool,
    /// Each value on a line of its own
    #[arg(short = 'x', long)]
    pub(crate) expanded: bool,
    /// No greeting, no tags of statements
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Mebibytes that rows and indexes may take [default: what the machine has]
    #[arg(long, value_name = "MIB", conflicts_with = "connect")]
    pub(crate) memory: Option<u64>,
}

/// Runs the shell.
pub(crate) fn run(args: &ShellArgs) -> ExitCode {
    match start(args) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            complain!("error: {error}\n");
            ExitCode::from(EXIT_LOST)
        }
    }
}

fn start(args: &ShellArgs) -> Result<u8> {
    let interactive = args.command.is_empty() && args.file.is_empty() && io::stdin().is_terminal();
    let settings = settings(args, interactive)?;
    let interrupt = Interrupt::install(interactive)?;
    let mut shell = Shell::new(connect(args)?, settings, interrupt);
    let status = if interactive {
        if !args.quiet {
            say!(
                "scaledb {}: \\? lists the commands, \\h shows the syntax of SQL.",
                env!("CARGO_PKG_VERSION")
            );
            say!("{}\n", shell.connection.borrow().info());
        }
        let mut terminal = Terminal::open(Completer::new(shell.connection.clone()))?;
        status(shell.run(&mut terminal))
    } else if !args.command.is_empty() {
        commands(&mut shell, &args.command)
    } else {
        files(&mut shell, &args.file)
    };
    Ok(match shell.out.flush() {
        Err(error) if status == 0 => unwritten(&error),
        _ => status,
    })
}

/// How the shell ends when results cannot be written. That their reader has gone is no error.
fn unwritten(error: &io::Error) -> u8 {
    if error.kind() == io::ErrorKind::BrokenPipe { 0 } else { EXIT_FAILURE }
}

fn status(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Done => 0,
        Outcome::Exit(status) => status,
    }
}

/// Runs texts of the command line; each that is SQL as one request.
fn commands(shell: &mut Shell, texts: &[String]) -> u8 {
    let mut status = 0;
    for text in texts {
        let mut nothing = Reader::new(io::stdin().lock(), None);
        let done = match text.trim_start().strip_prefix('\\') {
            Some(_) => match shell.run(&mut Reader::new(text.as_bytes(), None)) {
                Outcome::Done => Done::Well,
                Outcome::Exit(status) => Done::Exit(status),
            },
            None => shell.statement(text.trim(), &mut nothing),
        };
        match done {
            Done::Well => status = 0,
            Done::Exit(status) => return status,
            Done::Badly => {
                status = EXIT_FAILURE;
                if shell.settings.stops_on_error() || shell.interrupt.came() {
                    break;
                }
            }
        }
    }
    status
}

/// Runs files, or the standard input.
fn files(shell: &mut Shell, paths: &[PathBuf]) -> u8 {
    let standard = [PathBuf::from("-")];
    let paths = if paths.is_empty() { &standard[..] } else { paths };
    for path in paths {
        let mut input: Box<dyn Input> = if path == Path::new("-") {
            Box::new(Reader::new(io::stdin().lock(), None))
        } else {
            match File::open(path) {
                Ok(file) => Box::new(Reader::new(BufReader::new(file), Some(path.display().to_string()))),
                Err(error) => {
                    shell.complain(&format!("{}: {error}", path.display()));
                    return EXIT_FAILURE;
                }
            }
        };
        if let Outcome::Exit(status) = shell.run(&mut *input) {
            return status;
        }
    }
    0
}

fn connect(args: &ShellArgs) -> Result<Box<dyn Connection>> {
    match &args.connect {
        Some(conninfo) => Ok(Box::new(Remote::open(conninfo, args.tls, args.tls_ca.as_deref())?)),
        None => Ok(Box::new(Local::open(args.directory.as_deref(), args.memory)?)),
    }
}

fn settings(args: &ShellArgs, interactive: bool) -> Result<Settings> {
    let mut settings = Settings {
        format: match args.format {
            Some(format) => format,
            None if args.no_align => Format::Unaligned,
            None if args.csv => Format::Csv,
            None if args.json => Format::Json,
            None => Format::Aligned,
        },
        expanded: match (args.expanded, interactive) {
            (true, _) => Expanded::On,
            (false, true) => Expanded::Auto,
            (false, false) => Expanded::Off,
        },
        tuples_only: args.tuples_only,
        separator: args.field_separator.clone(),
        quiet: args.quiet,
        ..Settings::default()
    };
    for variable in &args.variables {
        let (name, value) = variable.split_once('=').unwrap_or((variable, ""));
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(format!("--set {variable}: NAME=VALUE is expected").into());
        }
        settings.variables.insert(name.to_owned(), value.to_owned());
    }
    Ok(settings)
}
