//! What waits for clean-up (section 3.8): `gc.rs` says how it is cleaned.

use crate::record::Record;
use crate::version::Version;
use scaledb_base::TableId;
use std::collections::VecDeque;

/// The epoch of an item that has none yet.
pub(crate) const UNSTAMPED: u64 = u64::MAX;

/// A version that superseded others, or an insert over an absent row that was aborted.
pub(crate) struct Item {
    pub(crate) record: Record,
    pub(crate) table: TableId,
    /// The version, if it counts; valid unless the record was cut behind a later one.
    pub(crate) version: Option<Version>,
    /// The version's timestamp.
    pub(crate) wts: u64,
    /// An epoch that was not over when the version was settled.
    pub(crate) epoch: u64,
}

pub(crate) type Queue = VecDeque<Item>;
