//! Ctrl-C: cancels the statement that runs, and leaves the shell alive.

use super::connection::Canceller;
use crate::Result;
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::thread;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;

/// The status of a process that an interrupt has ended: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// What an interrupt does at the moment.
#[derive(Clone)]
pub(crate) struct Interrupt {
    running: Arc<Mutex<Option<Canceller>>>,
    /// Whether one came since the last line was read.
    came: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes SIGINT over. A shell that reads a script ends by it when no statement runs.
    pub(crate) fn install(interactive: bool) -> Result<Self> {
        let interrupt = Self { running: Arc::new(Mutex::new(None)), came: Arc::new(AtomicBool::new(false)) };
        let mut signals = Signals::new([SIGINT])?;
        let shared = interrupt.clone();
        // it waits for signals as long as the process lives
        let _ = thread::try_spawn("interrupt", move || {
            for _ in signals.forever() {
                shared.came.store(true, Ordering::SeqCst);
                // held while cancelling: the statement cannot end and the next one begin in between
                let running = shared.running.lock();
                match &*running {
                    Some(cancel) => cancel(),
                    None if interactive => {}
                    None => std::process::exit(INTERRUPTED),
                }
            }
        })?;
        Ok(interrupt)
    }

    /// From now on an interrupt cancels a statement; one that came before it began does so, too.
    pub(crate) fn arm(&self, canceller: Canceller) {
        let mut running = self.running.lock();
        // noted before the lock is taken: an interrupt either finds the statement, or is found here
        if self.came() {
            canceller();
        }
        *running = Some(canceller);
    }

    /// The statement has ended.
    pub(crate) fn disarm(&self) {
        *self.running.lock() = None;
    }

    /// Whether an interrupt came since the line that runs was read.
    pub(crate) fn came(&self) -> bool {
        self.came.load(Ordering::SeqCst)
    }

    /// A new line was read: earlier interrupts are not about it.
    pub(crate) fn forget(&self) {
        self.came.store(false, Ordering::SeqCst);
    }
}
