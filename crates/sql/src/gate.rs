//! The gate between commits and changes of the catalog, and the bars before single tables.
//!
//! A transaction works with plans that were made from one version of the catalog. A change of the catalog
//! must not commit in the midst of such a commit, or its writes would go to tables that are no longer
//! used. So each session raises a flag while it commits, and looks whether the gate is closed behind it;
//! a change of the catalog closes the gate, and waits for the flags. Both write before they read, in one total
//! order (SeqCst): at least one of the two sees the other.
//!
//! The gate is closed for an instant. A change that reads all rows of a table, to copy or to check them, takes
//! longer, and would never end if others wrote to the table meanwhile. It puts a bar before the table: commits that
//! wrote to it wait until the change has committed or given up. One session at a time has bars, and its own do not hold
//! it up: it may have gone back to before the change, and commit without one.

use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use scaledb_sync::lock::{Condvar, Mutex, MutexGuard};
use scaledb_types::Result;
use std::sync::Arc;
use std::time::Duration;

const OPEN: u32 = 0;
/// The gate is closed: no transaction commits.
const CLOSED: u32 = 1;
/// There are bars before tables: no other session commits a write to them.
const BARRED: u32 = 2;

/// How often a waiting session checks whether it has been cancelled.
const LOOK: Duration = Duration::from_millis(10);

/// A session's flag: it is committing.
#[derive(Debug, Default)]
pub(crate) struct Flag(CachePadded<AtomicBool>);

/// The gate of a database.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// `CLOSED` and `BARRED`, or `OPEN`.
    state: AtomicU32,
    /// Held by the session that changes the catalog.
    turn: Mutex<()>,
    bars: Mutex<Bars>,
    /// The gate has opened, or the bars have gone.
    changed: Condvar,
    flags: Mutex<Vec<Arc<Flag>>>,
}

/// The bars: `state` has `BARRED` if, and only if, there is a holder.
#[derive(Debug, Default)]
struct Bars {
    /// The session that has put them up.
    holder: Option<u32>,
    /// Oids.
    tables: Vec<u32>,
}

impl Bars {
    /// Whether a session that writes to the tables that `writes` says has to wait: not for itself.
    fn hold_up(&self, session: u32, writes: impl Fn(u32) -> bool) -> bool {
        self.holder != Some(session) && self.tables.iter().any(|&table| writes(table))
    }
}

/// A raised flag; it goes down when this is dropped.
pub(crate) struct Raised<'a>(&'a Flag);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        // pairs with the loads in `settle`: a session that sees it down sees the commit
        self.0.0.store(false, Ordering::Release);
    }
}

/// The closed gate; it opens when this is dropped.
pub(crate) struct Closed<'a> {
    gate: &'a Gate,
    _turn: MutexGuard<'a, ()>,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.gate.state.fetch_and(!CLOSED, Ordering::SeqCst);
        drop(self.gate.bars.lock());
        self.gate.changed.notify_all();
    }
}

impl Gate {
    /// A flag for a new session.
    pub(crate) fn flag(&self) -> Arc<Flag> {
        let flag = Arc::new(Flag::default());
        let mut flags = self.flags.lock();
        flags.retain(|flag| Arc::strong_count(flag) > 1);
        flags.push(flag.clone());
        flag
    }

    /// Raises the flag of a transaction that has written to the tables that `writes` says. `None`: the gate is closed,
    /// or a bar is before one of them. [`wait`](Self::wait) then.
    #[inline]
    pub(crate) fn raise<'a>(
        &self,
        session: u32,
        flag: &'a Flag,
        writes: impl Fn(u32) -> bool,
    ) -> Option<Raised<'a>> {
        flag.0.store(true, Ordering::SeqCst);
        if self.state.load(Ordering::SeqCst) == OPEN || !self.is_in_the_way(session, writes) {
            return Some(Raised(flag));
        }
        flag.0.store(false, Ordering::SeqCst);
        None
    }

    /// Whether a transaction that writes to the tables that `writes` says would have to wait. A hint.
    #[inline]
    pub(crate) fn is_barred(&self, session: u32, writes: impl Fn(u32) -> bool) -> bool {
        // a hint: the commit looks again
        self.state.load(Ordering::Relaxed) & BARRED != 0 && self.is_in_the_way(session, writes)
    }

    #[cold]
    fn is_in_the_way(&self, session: u32, writes: impl Fn(u32) -> bool) -> bool {
        let bars = self.bars.lock();
        self.state.load(Ordering::SeqCst) & CLOSED != 0 || bars.hold_up(session, writes)
    }

    /// Whether no session changes the catalog at this instant. All of a change whose commit the caller has seen is in
    /// force if so: it opens the gate behind that.
    pub(crate) fn is_open(&self) -> bool {
        self.state.load(Ordering::SeqCst) & CLOSED == 0
    }

    /// Waits until nothing is in the way, as long as `go_on` says so.
    ///
    /// # Errors
    /// What `go_on` returns.
    #[cold]
    pub(crate) fn wait(
        &self,
        session: u32,
        writes: impl Fn(u32) -> bool,
        mut go_on: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let mut bars = self.bars.lock();
        while self.state.load(Ordering::SeqCst) & CLOSED != 0 || bars.hold_up(session, &writes) {
            go_on()?;
            bars = self.changed.wait_timeout(bars, LOOK);
        }
        Ok(())
    }

    /// Puts bars before tables, and waits until commits that have not seen them are done. First waits, as long as
    /// `go_on` says so, until no other session has any.
    ///
    /// # Errors
    /// What `go_on` returns.
    pub(crate) fn bar(&self, session: u32, tables: &[u32], go_on: impl FnMut() -> Result<()>) -> Result<()> {
        let mut bars = self.without_others(session, go_on)?;
        bars.holder = Some(session);
        for table in tables {
            if !bars.tables.contains(table) {
                bars.tables.push(*table);
            }
        }
        self.state.fetch_or(BARRED, Ordering::SeqCst);
        drop(bars);
        self.settle();
        Ok(())
    }

    /// Waits until no other session has bars.
    ///
    /// # Errors
    /// What `go_on` returns.
    pub(crate) fn wait_for_others(&self, session: u32, go_on: impl FnMut() -> Result<()>) -> Result<()> {
        self.without_others(session, go_on).map(|_| ())
    }

    fn without_others(
        &self,
        session: u32,
        mut go_on: impl FnMut() -> Result<()>,
    ) -> Result<MutexGuard<'_, Bars>> {
        let mut bars = self.bars.lock();
        while bars.holder.is_some_and(|holder| holder != session) {
            go_on()?;
            bars = self.changed.wait_timeout(bars, LOOK);
        }
        Ok(bars)
    }

    /// Takes the bars of a session away.
    pub(crate) fn unbar(&self, session: u32) {
        let mut bars = self.bars.lock();
        if bars.holder == Some(session) {
            *bars = Bars::default();
            self.state.fetch_and(!BARRED, Ordering::SeqCst);
            drop(bars);
            self.changed.notify_all();
        }
    }

    /// Closes the gate and waits until no flag is raised.
    pub(crate) fn close(&self) -> Closed<'_> {
        let turn = self.turn.lock();
        self.state.fetch_or(CLOSED, Ordering::SeqCst);
        let closed = Closed { gate: self, _turn: turn };
        self.settle();
        closed
    }

    /// Waits until each flag was down once.
    fn settle(&self) {
        let flags = self.flags.lock().clone();
        for flag in flags {
            let mut wait = scaledb_sync::hint::Backoff::new();
            while flag.0.load(Ordering::SeqCst) {
                wait.wait_forever();
            }
        }
    }
}
