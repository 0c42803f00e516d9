//! What is done for workers that run no transactions: their clean-up, the horizon, the backoff's limit.

use crate::contention::PERIOD;
use crate::gc::clean;
use crate::shared::Shared;
use scaledb_base::WorkerId;
use scaledb_memory::{IDLE, Local};
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::{Arc, thread};
use std::time::Duration;

/// The longest pause of the background thread when nothing happens.
const REST: Duration = Duration::from_millis(100);

/// The background thread looks this often for memory to give back.
const TRIM: Duration = Duration::from_secs(1);

/// The background thread of a database.
pub(crate) struct Background {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Background {
    pub(crate) fn start(shared: Arc<Shared>, local: Local) -> Self {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = stop.clone();
        let thread = thread::spawn(move || run(&shared, local, &theirs));
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// One step of the contention regulation, when it is time for it.
    pub(crate) fn regulate(&self, now: u64) {
        self.contention.climb(self.commits(), now);
    }
}

fn run(shared: &Shared, mut local: Local, (stop, wake): &(Mutex<bool>, Condvar)) {
    let (mut pause, mut seen, mut trimmed) = (PERIOD, 0, 0);
    loop {
        let guard = stop.lock();
        if *guard {
            return;
        }
        if *wake.wait_timeout(guard, pause) {
            return;
        }
        let events = shared.events();
        pause = if events == seen { (pause * 2).min(REST) } else { PERIOD };
        seen = events;
        shared.domain.check_clock();
        let now = shared.clock.now();
        shared.regulate(now);
        shared.lead(now, now);
        local.enter();
        let mut more = false;
        for (id, lane) in shared.lanes.iter().enumerate().take(shared.horizon.workers()) {
            // an owner that runs cleans by itself
            if shared.domain.active_since(WorkerId(id as u8)) == IDLE {
                more |= clean(shared, &mut local, &mut lane.lock());
            }
        }
        if more || shared.domain.is_short() {
            pause = PERIOD;
        }
        local.exit();
        local.collect();
        local.share();
        shared.domain.restore_reserve();
        if now.saturating_sub(trimmed) > shared.clock.ticks(TRIM) {
            trimmed = now;
            shared.domain.trim();
        }
    }
}
