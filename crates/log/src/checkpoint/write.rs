//! Writing a checkpoint, and putting it in force.

use super::format::{BLOCK_BYTES, BLOCK_HEADER, BlockHeader, FOOTER, PART_HEADER, Seed, encode_header};
use crate::disk::File;
use crate::error::{IoContext, LogError, Result};
use crate::housekeeping::remove_checkpoints;
use crate::log::LogShared;
use crate::manifest::{Catalog, CheckpointEntry, Manifest, PartEntry};
use crate::name;
use crate::rules::Rule;
use scaledb_base::limits::{MAX_GROUPS, MAX_KEY_BYTES};
use scaledb_base::{TableId, Timestamp};
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::lock::Mutex;

/// A checkpoint that is being written. Dropped unfinished, it leaves nothing.
#[derive(Debug)]
pub struct CheckpointWriter {
    shared: Arc<LogShared>,
    id: u64,
    begin: Timestamp,
    /// By part; `None` while it is being written.
    parts: Arc<Mutex<Vec<Option<PartEntry>>>>,
    installed: bool,
}

/// One file of a checkpoint. Each thread that writes rows has its own.
#[derive(Debug)]
pub struct PartWriter {
    shared: Arc<LogShared>,
    parts: Arc<Mutex<Vec<Option<PartEntry>>>>,
    part: u16,
    name: String,
    file: Box<dyn File>,
    seed: Seed,
    /// The header of the block, and its rows so far.
    block: Vec<u8>,
    table: TableId,
    rows_in_block: u32,
    rows: u64,
    offset: u64,
    synced: u64,
    /// Over the checksums of the blocks.
    crc: u32,
}

impl CheckpointWriter {
    pub(crate) fn begin(shared: Arc<LogShared>, begin: Timestamp) -> Result<Self> {
        shared.stopped()?;
        // Acquire: pairs with the Release of the drop of the one before
        if shared.checkpointing.swap(true, Ordering::Acquire) {
            return Err(LogError::CheckpointRunning);
        }
        let mut manifest = shared.manifest.lock();
        let id = manifest.next_checkpoint;
        // written with the next manifest; a number that a failed checkpoint had is not used again
        manifest.next_checkpoint += 1;
        drop(manifest);
        Ok(Self { shared, id, begin, parts: Arc::new(Mutex::new(Vec::new())), installed: false })
    }

    /// A new file for rows.
    ///
    /// # Errors
    /// [`LogError::Io`]; the log is closed, or has failed.
    pub fn part(&self) -> Result<PartWriter> {
        self.shared.stopped()?;
        let mut parts = self.parts.lock();
        let part = u16::try_from(parts.len()).expect("a part for each thread");
        let name = name::checkpoint(self.id, part);
        let file = self.shared.disk.create(&name).context("create", &name)?;
        parts.push(None);
        drop(parts);
        let database = self.shared.database;
        file.write_at(&encode_header(database, self.id, part), 0).context("write", &name)?;
        Ok(PartWriter {
            shared: self.shared.clone(),
            parts: self.parts.clone(),
            part,
            name,
            file,
            seed: Seed::new(database, self.id, part),
            block: vec![0; BLOCK_HEADER],
            table: TableId(0),
            rows_in_block: 0,
            rows: 0,
            offset: PART_HEADER as u64,
            synced: 0,
            crc: 0,
        })
    }

    /// Puts the checkpoint in force, when the log is durable beyond `newest`, the largest timestamp of the
    /// rows. Then removes what it makes superfluous: the checkpoint before, and segments. `catalog` is the
    /// engine's, as of `begin` or later.
    ///
    /// # Errors
    /// [`LogError::UnfinishedParts`]; [`LogError::Io`]; the log has failed, or is closed. The checkpoint
    /// before stays in force, or this one is in force: both are whole.
    pub fn finish(mut self, catalog: &[u8], newest: Timestamp) -> Result<()> {
        let parts = self.parts.lock().clone();
        let unfinished = parts.iter().filter(|part| part.is_none()).count();
        if unfinished > 0 {
            return Err(LogError::UnfinishedParts(unfinished));
        }
        let newest = newest.max(self.begin);
        let shared = self.shared.clone();
        let disk = &*shared.disk;
        disk.sync_names().context("sync the names of", &disk.describe())?;
        if Rule::WaitForRows.holds() {
            shared.wait(newest)?;
        }
        let last_group_in = shared.flusher.lock().last_group_in();
        // held to the end, so that the log is not closed meanwhile
        let mut manifest = shared.manifest.lock();
        shared.stopped()?;
        let first_segment = shared.segments.first_needed(self.begin, last_group_in);
        let next = Manifest {
            first_segment,
            required: shared.durable(),
            checkpoint: Some(CheckpointEntry {
                id: self.id,
                begin: self.begin,
                newest,
                parts: parts.into_iter().flatten().collect(),
                catalog: Catalog::new(catalog),
            }),
            ..manifest.clone()
        };
        // if this fails, either manifest may be in force: the files of both stay
        self.installed = true;
        next.install(disk)?;
        *manifest = next;
        // what cannot be removed is tried again after the next checkpoint, and at the next opening
        let _ = shared.segments.remove_before(disk, first_segment);
        let _ = remove_checkpoints(disk, Some(self.id));
        Ok(())
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        if !self.installed && self.shared.stopped().is_ok() {
            for part in 0..self.parts.lock().len() {
                // if it stays, the next opening removes it
                let _ = self.shared.disk.remove(&name::checkpoint(self.id, part as u16));
            }
        }
        // Release: pairs with the Acquire of the next one
        self.shared.checkpointing.store(false, Ordering::Release);
    }
}

impl PartWriter {
    /// Adds a row: its key, the timestamps of its conflict groups (1 to 4), and what `write` appends.
    ///
    /// # Errors
    /// [`LogError::Io`]; the log is closed, or has failed.
    pub fn row(
        &mut self,
        table: TableId,
        key: &[u8],
        stamps: &[u64],
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<()> {
        assert!(key.len() <= MAX_KEY_BYTES, "a key of {} bytes", key.len());
        assert!((1..=MAX_GROUPS).contains(&stamps.len()), "a row with {} timestamps", stamps.len());
        if self.rows_in_block > 0 && (table != self.table || self.block.len() > BLOCK_BYTES) {
            self.write_block()?;
        }
        self.table = table;
        let block = &mut self.block;
        block.extend_from_slice(&(key.len() as u16).to_le_bytes());
        block.push(stamps.len() as u8);
        let len_at = block.len();
        block.extend_from_slice(&[0; 4]);
        stamps.iter().for_each(|stamp| block.extend_from_slice(&stamp.to_le_bytes()));
        block.extend_from_slice(key);
        let start = block.len();
        write(block);
        let len = u32::try_from(block.len() - start).expect("a row is far shorter than 4 GiB");
        block[len_at..len_at + 4].copy_from_slice(&len.to_le_bytes());
        self.rows_in_block += 1;
        Ok(())
    }

    fn write_block(&mut self) -> Result<()> {
        /// So that the end does not come with a long sync.
        const SYNC_EVERY: u64 = 32 << 20;
        self.shared.stopped()?;
        let length = (self.block.len() - BLOCK_HEADER) as u32;
        let header = BlockHeader { length, table: self.table.0, rows: self.rows_in_block }.encode();
        let crc = self.seed.block(self.offset, &header, &self.block[BLOCK_HEADER..]);
        self.block[..BLOCK_HEADER].copy_from_slice(&header);
        self.block[..4].copy_from_slice(&crc.to_le_bytes());
        self.file.write_at(&self.block, self.offset).context("write", &self.name)?;
        self.crc = crc32c::crc32c_append(self.crc, &crc.to_le_bytes());
        self.offset += self.block.len() as u64;
        self.rows += u64::from(self.rows_in_block);
        self.rows_in_block = 0;
        self.block.truncate(BLOCK_HEADER);
        if self.offset - self.synced > SYNC_EVERY {
            self.file.sync().context("sync", &self.name)?;
            self.synced = self.offset;
        }
        Ok(())
    }

    /// Writes and syncs the rest. Returns the length of the part, in bytes.
    ///
    /// # Errors
    /// [`LogError::Io`]; the log is closed, or has failed.
    pub fn finish(mut self) -> Result<u64> {
        if self.rows_in_block > 0 {
            self.write_block()?;
        }
        self.shared.stopped()?;
        let header = BlockHeader { length: FOOTER, table: 0, rows: 0 }.encode();
        let mut body = self.rows.to_le_bytes().to_vec();
        body.extend_from_slice(&self.crc.to_le_bytes());
        body.extend_from_slice(&[0; 4]);
        let crc = self.seed.block(self.offset, &header, &body);
        let mut footer = header.to_vec();
        footer[..4].copy_from_slice(&crc.to_le_bytes());
        footer.extend_from_slice(&body);
        self.file.write_and_sync(&footer, self.offset).context("write", &self.name)?;
        let bytes = self.offset + footer.len() as u64;
        let entry = PartEntry { bytes, rows: self.rows, crc32c: self.crc };
        if let Some(place) = self.parts.lock().get_mut(usize::from(self.part)) {
            *place = Some(entry);
        }
        Ok(bytes)
    }
}
