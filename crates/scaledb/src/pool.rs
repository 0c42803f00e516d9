//! Sessions kept for reuse by `Database::run`.

use crate::session::Core;
use scaledb_sync::CachePadded;
use scaledb_sync::lock::Mutex;

/// Threads spread over these shards, so that they rarely meet at a lock.
const SHARDS: usize = 16;

/// Idle sessions. Boxed: a session is large, and moves in and out with each use.
type Shard<W> = Mutex<Vec<Box<Core<W>>>>;

pub(crate) struct Pool<W> {
    shards: [CachePadded<Shard<W>>; SHARDS],
}

thread_local! {
    /// Its address tells threads apart.
    static HERE: u8 = const { 0 };
}

/// The shard of the calling thread.
fn shard() -> usize {
    let address = HERE.with(|here| std::ptr::from_ref(here).addr()) as u64;
    ((address >> 6).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % SHARDS
}

impl<W> Pool<W> {
    pub(crate) fn new() -> Self {
        Self { shards: std::array::from_fn(|_| CachePadded(Mutex::new(Vec::new()))) }
    }

    /// The idle session that this thread, most likely, used last.
    pub(crate) fn take(&self) -> Option<Box<Core<W>>> {
        self.shards[shard()].lock().pop()
    }

    /// An idle session, whoever used it.
    pub(crate) fn take_any(&self) -> Option<Box<Core<W>>> {
        self.shards.iter().find_map(|shard| shard.lock().pop())
    }

    /// Keeps an idle session.
    pub(crate) fn put(&self, core: Box<Core<W>>) {
        self.shards[shard()].lock().push(core);
    }
}
