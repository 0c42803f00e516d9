//! Tables in the log.

use crate::error::failed;
use scaledb_base::{Result, Timestamp, WorkerId};
use scaledb_engine::CatalogEntry;
use scaledb_log::Log;
use scaledb_sync::clock::Clock;

/// Logs a new table, with the timestamp of now. `worker` is one that the caller has registered for it.
///
/// # Errors
/// [`Error::LogFailed`](scaledb_base::Error::LogFailed).
pub fn log_table(log: &Log, clock: &Clock, worker: WorkerId, entry: &CatalogEntry) -> Result<Timestamp> {
    let bytes = entry.to_bytes();
    let mut writer = log.writer(worker);
    writer.reserve(bytes.len()).map_err(failed)?;
    writer.begin(clock.now());
    let ts = Timestamp::new(clock.now_fenced(), worker);
    let mut append = writer.append(ts);
    append.catalog(&bytes);
    append.finish();
    writer.end();
    Ok(ts)
}
