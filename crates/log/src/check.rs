//! Checking every byte that counts, without starting anything.

use crate::backup::hold;
use crate::disk::Disk;
use crate::dump::{LogDump, SegmentDump};
use crate::error::{LogError, Result};
use crate::layout::DatabaseId;
use scaledb_base::Timestamp;
use scaledb_sync::Arc;

/// What a directory holds, and what is wrong with it.
#[derive(Debug, Clone)]
pub struct CheckReport {
    /// The random name of the database.
    pub database_id: DatabaseId,
    /// The engine that writes it.
    pub engine: String,
    /// How often it was opened.
    pub incarnation: u64,
    /// Everything that was committed before it is there.
    pub horizon: Timestamp,
    /// At or above every timestamp in the files.
    pub newest: Timestamp,
    /// The begin of the checkpoint.
    pub checkpoint: Option<Timestamp>,
    /// The files of the checkpoint.
    pub parts: u64,
    /// The rows in them.
    pub rows: u64,
    /// The bytes of them.
    pub checkpoint_bytes: u64,
    /// Segments of the log.
    pub segments: u64,
    /// Groups in them.
    pub groups: u64,
    /// Transactions in the groups, dropped ones included.
    pub transactions: u64,
    /// Operations of the transactions.
    pub ops: u64,
    /// The bytes of the groups.
    pub log_bytes: u64,
    /// What is wrong.
    pub problems: Vec<LogError>,
}

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Reads all files of a database and checks them: checksums, structure, horizon. The database may be in use;
/// its log keeps its files meanwhile.
///
/// # Errors
/// There is no database, its manifest cannot be read, or where the log ends cannot be found: then nothing can be
/// counted. Whatever else is wrong is in the report.
pub fn check(disk: &Arc<dyn Disk>) -> Result<CheckReport> {
    let _held = hold(&**disk)?;
    check_held(disk)
}

pub(crate) fn check_held(disk: &Arc<dyn Disk>) -> Result<CheckReport> {
    let dump = LogDump::open(disk.clone())?;
    let checkpoint = dump.checkpoint();
    let mut report = CheckReport {
        database_id: dump.database_id(),
        engine: dump.engine().to_owned(),
        incarnation: dump.incarnation(),
        horizon: dump.horizon(),
        newest: dump.newest(),
        checkpoint: checkpoint.as_ref().map(|checkpoint| checkpoint.begin()),
        parts: 0,
        rows: 0,
        checkpoint_bytes: 0,
        segments: 0,
        groups: 0,
        transactions: 0,
        ops: 0,
        log_bytes: 0,
        problems: Vec::new(),
    };
    if let Some(checkpoint) = checkpoint {
        report.checkpoint_bytes = checkpoint.bytes();
        for part in 0..checkpoint.parts() {
            if let Err(problem) = report.part(&checkpoint, part) {
                report.problems.push(problem);
            }
        }
    }
    let mut horizon = Timestamp::ZERO;
    for segment in dump.segments() {
        report.segments += 1;
        if let Err(problem) = report.segment(segment, &mut horizon) {
            report.problems.push(problem);
        }
    }
    Ok(report)
}

impl CheckReport {
    fn part(&mut self, checkpoint: &crate::Checkpoint, part: usize) -> Result<()> {
        let mut reader = checkpoint.part(part)?;
        let mut buffer = Vec::new();
        self.parts += 1;
        while let Some(block) = reader.next_block(&mut buffer)? {
            for row in block.rows() {
                row?;
                self.rows += 1;
            }
        }
        Ok(())
    }

    fn segment(&mut self, segment: SegmentDump<'_>, horizon: &mut Timestamp) -> Result<()> {
        for group in segment.groups()? {
            let group = group?;
            self.groups += 1;
            self.log_bytes += group.length();
            for block in group.blocks() {
                for transaction in block.transactions() {
                    let transaction = transaction?;
                    if transaction.ts < *horizon || transaction.ts > group.newest() {
                        let what = "a transaction is not between the horizons of its group";
                        return Err(transaction.place.damaged(what));
                    }
                    self.transactions += 1;
                    for op in transaction.ops() {
                        op?;
                        self.ops += 1;
                    }
                }
            }
            *horizon = group.horizon();
        }
        Ok(())
    }
}
