//! Checkpoints of a member: a walk over its replicas beside everything else, so that the log does not grow for ever.

use super::journal::Journal;
use crate::codec;
use crate::rows::Rows;
use crate::state::Core;
use scaledb_base::TableId;
use scaledb_log::{LogError, PartWriter};
use scaledb_scar::{Checkpointing, Piece};
use scaledb_sync::thread;
use std::time::{Duration, Instant};

/// How often it is looked whether the log is long enough, and how far the walk may go.
const LOOK: Duration = Duration::from_millis(20);

/// The walk rests for so many times as long as it works: it holds the member's lock.
const REST: u32 = 4;

/// After a checkpoint that could not be written.
const PAUSE: Duration = Duration::from_secs(10);

/// The thread that makes checkpoints.
pub(crate) fn run(core: &Core, journal: &Journal) {
    let mut last = 0;
    while !core.stopping() {
        thread::sleep(LOOK);
        // a checkpoint may take as much as the log in front of it
        if journal.bytes() < core.settings.checkpoint_bytes.max(last) {
            continue;
        }
        match make(core, journal) {
            Ok(Some(bytes)) => {
                core.counters.note_checkpoint();
                last = bytes;
            }
            Ok(None) => {}
            Err(_) => {
                // a disk that is full stops the log as well; if it does not, there will be another time
                let begin = Instant::now();
                while begin.elapsed() < PAUSE && !core.stopping() {
                    thread::sleep(LOOK);
                }
            }
        }
        core.lock().node.end_checkpoint();
    }
}

/// Makes one, and returns how large it is; none if the view has changed meanwhile.
fn make(core: &Core, journal: &Journal) -> Result<Option<u64>, LogError> {
    core.run(&mut core.lock(), |node, out| node.begin_checkpoint(out));
    // it begins with the next epoch
    while core.lock().node.checkpointing() == Checkpointing::Waiting {
        if core.stopping() {
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
    let Some((catalog, writer)) = journal.begin_checkpoint()? else { return Ok(None) };
    let mut part = writer.part()?;
    let mut number = 0_u64;
    loop {
        let begin = Instant::now();
        let Some(piece) = core.lock().node.checkpoint_piece() else { break };
        write_piece(&mut part, number, journal, &piece)?;
        number += 1;
        thread::sleep(begin.elapsed() * REST);
        if core.stopping() {
            return Ok(None);
        }
    }
    let bytes = part.finish()?;
    if core.lock().node.checkpointing() != Checkpointing::Ready {
        return Ok(None);
    }
    let catalog = catalog.encode().map_err(|_| LogError::Closed)?;
    writer.finish(&catalog, journal.last())?;
    Ok(Some(bytes))
}

fn write_piece(
    part: &mut PartWriter,
    number: u64,
    journal: &Journal,
    piece: &Piece<Rows>,
) -> Result<(), LogError> {
    let table = TableId(u32::from(piece.partition.0));
    let bytes = codec::encode(piece).map_err(|error| LogError::Io {
        what: "write",
        file: "a checkpoint".to_owned(),
        error: scaledb_sync::Arc::new(std::io::Error::other(error.to_string())),
    })?;
    part.row(table, &number.to_be_bytes(), &[journal.last().raw()], |out| out.extend_from_slice(&bytes))
}

/// Makes the checkpoint of a member that is not running, whose log ends where the checkpoint begins.
pub(super) fn make_at_rest<'a>(
    journal: &Journal,
    pieces: impl Iterator<Item = &'a Piece<Rows>>,
) -> Result<u64, LogError> {
    let Some((catalog, writer)) = journal.begin_checkpoint()? else { return Err(LogError::Closed) };
    let mut part = writer.part()?;
    for (number, piece) in (0..).zip(pieces) {
        write_piece(&mut part, number, journal, piece)?;
    }
    let bytes = part.finish()?;
    writer.finish(&catalog.encode().map_err(|_| LogError::Closed)?, journal.last())?;
    Ok(bytes)
}
