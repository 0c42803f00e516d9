//! What a node of a cluster hears of transactions at all nodes, handed to the databases whose sessions listen.

use scaledb_base::Timestamp;
use scaledb_engine::Ear;
use scaledb_notify::{CommitPlace, Hub, decode};
use scaledb_sync::lock::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The hubs of the databases in which a session has listened, by oid. The engine calls this under its own lock: nothing
/// here waits for anything but the locks of the hubs, which are held for moments.
#[derive(Default)]
pub(crate) struct Ears(Mutex<HashMap<u32, Arc<Hub>>>);

impl Ears {
    /// A session of a database is about to listen.
    pub(crate) fn add(&self, database: u32, hub: &Arc<Hub>) {
        let mut hubs = self.0.lock();
        // databases that were dropped since: nobody else has their hubs
        hubs.retain(|_, hub| Arc::strong_count(hub) > 1);
        hubs.insert(database, hub.clone());
    }
}

impl Ear for Ears {
    fn hear(&self, at: Timestamp, announcement: &[u8]) {
        let hubs = self.0.lock();
        if hubs.is_empty() {
            return;
        }
        // what cannot be read no session of this version has said
        let Some((database, said)) = decode(announcement) else { return };
        if let Some(hub) = hubs.get(&database) {
            hub.hear(CommitPlace(at.raw()), said);
        }
    }

    fn is_full(&self) -> bool {
        self.0.lock().values().any(|hub| hub.is_full())
    }
}
