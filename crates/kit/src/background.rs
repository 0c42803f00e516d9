//! The thread that works for workers that run no transactions: their clean-up, horizons, the backoff's limit.

use crate::empty::empty_some;
use crate::protocol::Protocol;
use scaledb_memory::Local;
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::{Arc, thread};
use std::time::Duration;

/// The pause of the thread while transactions run.
const PERIOD: Duration = Duration::from_millis(5);

/// The longest pause of the thread when nothing happens.
const REST: Duration = Duration::from_millis(100);

/// The thread looks this often for memory to give back.
const TRIM: Duration = Duration::from_secs(1);

/// The background thread of a database; it ends with this.
pub(crate) struct Background {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Background {
    pub(crate) fn start<P: Protocol>(shared: Arc<P>, local: Local) -> Self {
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

fn run<P: Protocol>(shared: &Arc<P>, mut local: Local, (stop, wake): &(Mutex<bool>, Condvar)) {
    let core = shared.core();
    let (mut pause, mut seen, mut trimmed) = (PERIOD, 0, 0);
    loop {
        let guard = stop.lock();
        if *guard {
            return;
        }
        if *wake.wait_timeout(guard, pause) {
            return;
        }
        let events = core.events();
        pause = if events == seen { (pause * 2).min(REST) } else { PERIOD };
        seen = events;
        core.domain.check_clock();
        let now = core.clock.now();
        core.regulate(now);
        // what of a dropped index cannot be deleted now stays for the next round
        let more = shared.tend(&mut local, now) | empty_some(shared).unwrap_or(true);
        if more || core.domain.is_short() {
            pause = PERIOD;
        }
        local.collect();
        local.share();
        core.domain.restore_reserve();
        if now.saturating_sub(trimmed) > core.clock.ticks(TRIM) {
            trimmed = now;
            core.domain.trim();
        }
    }
}
