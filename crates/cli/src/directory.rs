//! `scaledb check`, `backup`, `restore` and `log dump`: what is done with database directories.

use crate::Result;
use crate::args::{BackupArgs, CheckArgs, Detail, DumpArgs, LogArgs, LogCommand};
use crate::format::{bytes, count, plural};
use crate::output::{say, show};
use scaledb_base::Error;
use scaledb_engines::{Durability, EngineKind, Progress, Recovered, Settings};
use scaledb_log::disk::{Disk, RealDisk};
use scaledb_log::{LogDump, LogError, Op};
use scaledb_sync::Arc;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Instant;

/// A directory that exists.
fn existing(path: &Path) -> Result<Arc<dyn Disk>> {
    if !path.is_dir() {
        return Err(format!("{} is not a directory", path.display()).into());
    }
    Ok(Arc::new(RealDisk::open(path)?))
}

/// Shows how far the reading of a directory is, on a terminal.
pub(crate) fn show(progress: &Progress) {
    if !std::io::stdout().is_terminal() {
        return;
    }
    let part = |done: u64, all: u64| (done * 100).checked_div(all).map_or(100, |part| part.min(100));
    show!(
        "\r  rows {:>3} %   log {:>3} %   indexes {:>3} %  ",
        part(progress.rows, progress.all_rows),
        part(progress.log_bytes, progress.all_log_bytes),
        part(progress.tables, progress.all_tables),
    );
}

/// What the reading of a directory found, and how fast it was.
pub(crate) fn tell(recovered: &Recovered) {
    let time = recovered.load_time + recovered.replay_time + recovered.rebuild_time;
    let all = recovered.rows + recovered.operations;
    say!(
        "  {} rows and {} transactions ({} operations, {} of log) in {:.2} s: {} records per second",
        count(recovered.rows),
        count(recovered.transactions),
        count(recovered.operations),
        bytes(recovered.log_bytes),
        time.as_secs_f64(),
        count((all as f64 / time.as_secs_f64().max(1e-9)) as u64),
    );
    say!(
        "  checkpoint {:.2} s, log {:.2} s, indexes {:.2} s ({} entries)",
        recovered.load_time.as_secs_f64(),
        recovered.replay_time.as_secs_f64(),
        recovered.rebuild_time.as_secs_f64(),
        count(recovered.entries),
    );
}

pub(crate) fn check(args: &CheckArgs) -> Result {
    let disk = existing(&args.directory)?;
    say!("{}", args.directory.display());
    let start = Instant::now();
    let report = scaledb_log::check(&disk)?;
    say!(
        "  database {} of engine {}, opened {}",
        report.database_id,
        report.engine,
        plural(report.incarnation, "time")
    );
    say!(
        "  checkpoint: {} rows in {}, {}",
        count(report.rows),
        plural(report.parts, "file"),
        bytes(report.checkpoint_bytes)
    );
    say!(
        "  log: {} transactions in {} and {}, {}",
        count(report.transactions),
        plural(report.groups, "group"),
        plural(report.segments, "segment"),
        bytes(report.log_bytes)
    );
    for problem in &report.problems {
        say!("  DAMAGED: {problem}");
    }
    if !report.is_sound() {
        return Ok(false);
    }
    say!("  all checksums are right ({:.2} s)", start.elapsed().as_secs_f64());
    let durability = Durability {
        recovery_threads: args.threads.map_or(0, usize::from),
        progress: Some(show),
        ..Durability::new(disk)
    };
    // by the engine that writes it
    let kind: EngineKind = report.engine.parse()?;
    let settings = Settings { durability: Some(durability), ..Settings::default() };
    match scaledb_engines::inspect(kind, settings) {
        Ok((recovered, inspected)) => {
            if std::io::stdout().is_terminal() {
                say!("");
            }
            tell(&recovered);
            say!(
                "  {} with {} rows fit {} with {} entries",
                plural(inspected.tables, "table"),
                count(inspected.rows),
                plural(inspected.indexes, "index"),
                count(inspected.entries),
            );
            Ok(true)
        }
        Err(Error::DirectoryInUse(_)) => {
            say!("  in use: indexes were not compared");
            Ok(true)
        }
        Err(error) => {
            say!("  DAMAGED: {error}");
            Ok(false)
        }
    }
}

pub(crate) fn backup(args: &BackupArgs) -> Result {
    copy(args, "backed up")
}

pub(crate) fn restore(args: &BackupArgs) -> Result {
    copy(args, "restored")
}

/// A backup is a database directory, and so is what is restored from it: both are copies that are verified.
fn copy(args: &BackupArgs, done: &str) -> Result {
    let from = existing(&args.from)?;
    let to: Arc<dyn Disk> = Arc::new(RealDisk::open(&args.to)?);
    let start = Instant::now();
    let report = scaledb_log::backup(&from, &to)?;
    say!(
        "{done}: {}, {} in {:.2} s, with all that was committed before {:?}; the copy is verified",
        plural(report.files, "file"),
        bytes(report.bytes),
        start.elapsed().as_secs_f64(),
        report.horizon,
    );
    Ok(true)
}

pub(crate) fn log(args: &LogArgs) -> Result {
    let LogCommand::Dump(args) = &args.command;
    match dump(args, &mut std::io::stdout().lock()) {
        // a reader that has seen enough
        Err(error) if is_closed_pipe(&*error) => Ok(true),
        done => done,
    }
}

fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn dump(args: &DumpArgs, out: &mut impl Write) -> Result {
    let dump = LogDump::open(existing(&args.directory)?)?;
    writeln!(
        out,
        "database {} of engine {}, incarnation {}, horizon {:?}, newest {:?}",
        dump.database_id(),
        dump.engine(),
        dump.incarnation(),
        dump.horizon(),
        dump.newest()
    )?;
    if let Some(checkpoint) = dump.checkpoint() {
        let (begin, rows) = (checkpoint.begin(), checkpoint.rows());
        writeln!(out, "checkpoint of {begin:?}: {rows} rows, {} bytes", checkpoint.bytes())?;
    }
    for segment in dump.segments() {
        writeln!(
            out,
            "{}: incarnation {}, {} groups from {}, {} bytes, cut {:?}",
            segment.file(),
            segment.incarnation(),
            segment.count(),
            segment.first_group(),
            segment.end(),
            segment.cut()
        )?;
        if args.detail == Detail::Segments {
            continue;
        }
        for group in segment.groups()? {
            let group = group?;
            writeln!(
                out,
                "  group {} at {}: {} bytes, horizon {:?}",
                group.number(),
                group.offset(),
                group.length(),
                group.horizon()
            )?;
            if args.detail == Detail::Groups {
                continue;
            }
            for block in group.blocks() {
                for transaction in block.transactions() {
                    let transaction = transaction?;
                    let ops: Vec<Op<'_>> = transaction.ops().collect::<Result<_, LogError>>()?;
                    writeln!(out, "    {:?}: {}", transaction.ts, plural(ops.len() as u64, "operation"))?;
                    if args.detail == Detail::Operations {
                        ops.iter().try_for_each(|op| write_op(out, op))?;
                    }
                }
            }
        }
    }
    Ok(true)
}

fn write_op(out: &mut impl Write, op: &Op<'_>) -> std::io::Result<()> {
    match op {
        Op::Insert { table, key, row } => {
            writeln!(out, "      insert {table} {}: {} bytes", hex(key), row.len())
        }
        Op::Update { table, key, columns } => {
            writeln!(out, "      update {table} {}: {}", hex(key), hex(columns))
        }
        Op::Delete { table, key } => writeln!(out, "      delete {table} {}", hex(key)),
        Op::Catalog { entry } => writeln!(out, "      catalog {}", String::from_utf8_lossy(entry)),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
