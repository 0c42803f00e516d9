//! Snapshots: read-only transactions at a boundary (see `boundary.rs`) that every commit before it has reached.
//!
//! Commits keep the rows that snapshots need only while snapshots are in use: *retaining* starts with
//! the first one, which waits for the commits in flight, and ends some seconds after the last.
//!
//! ```text
//!   floor ≤ every boundary that a snapshot has, or will ever get
//!   boundary ≤ every pin (then), so that all before it is installed and merged
//! ```

use crate::lane::NONE;
use crate::lookahead::Lookahead;
use crate::record::{Presence, Record, Word};
use crate::retain::{CLOSING, OFF, ON};
use crate::rules::Rule;
use crate::scan::{mark_end, open_first, open_next, read_entries, rest_of};
use crate::shared::AccShared;
use crate::table::{AccTable, Points};
use crate::txn::RowLocation;
use crate::worker::Ctx;
use scaledb_base::{Error, Result, Timestamp};
use scaledb_engine::{Order, Range, RowId};
use scaledb_kit::Transaction;
use scaledb_row::{Projection, RowRef};
use scaledb_sync::atomic::{Ordering, fence};
use scaledb_sync::thread;
use std::ops::ControlFlow;
use std::time::Duration;

/// How many rounds in a row may fail to merge the entries that a snapshot waits for before it gives up.
const FAILURES: u32 = 1_000;

/// A snapshot that waits for others' commits and merges lets other threads run so often before it sleeps between two
/// looks: mostly they need some microseconds.
const YIELDS: u32 = 16;
/// It does so as well, instead of spinning, while its boundary is farther ahead than this.
const SPIN: Duration = Duration::from_micros(8);

impl AccShared {
    /// What the clocks of all cores and all pins have passed, in ticks.
    fn passed(&self) -> u64 {
        // the clock before the pins: a commit that pins after this has a later timestamp, on whatever core
        let now = self.clock.now_fenced().saturating_sub(self.clock.skew());
        let pins = if self.config.rules.on(Rule::BoundaryBeforePins) { self.min_pin() } else { NONE };
        pins.min(now)
    }

    /// Moves the floor up to what is reached.
    fn raise_floor(&self) {
        let snapshots = &self.snapshots;
        let passed = Timestamp::start_of(self.passed()).raw();
        // looked at behind the clock: if rows are retained only from now on, snapshots read after this time
        if snapshots.are_off() {
            snapshots.floor.fetch_max(passed, Ordering::SeqCst);
            return;
        }
        // not the latest boundary: pins may be behind that for ever
        let next = snapshots.next.load(Ordering::SeqCst);
        if next <= passed {
            snapshots.floor.fetch_max(next, Ordering::SeqCst);
            snapshots.next.fetch_max(snapshots.boundaries.confirmed(), Ordering::SeqCst);
        }
    }

    /// Moves the floor up. Returns the boundary before which no snapshot reads, or will ever read.
    pub(crate) fn advance_floor(&self) -> u64 {
        let snapshots = &self.snapshots;
        if !snapshots.are_off() {
            snapshots.boundaries.ask_for_later(&self.clock, &self.config.rules, snapshots.lag / 4);
        }
        self.raise_floor();
        let floor = snapshots.floor.load(Ordering::SeqCst);
        // pairs with the fence in `try_begin`: a snapshot that is not seen here sees this floor
        fence(Ordering::SeqCst);
        let oldest =
            self.lanes.iter().map(|lane| lane.snapshot.load(Ordering::Acquire)).fold(floor, u64::min);
        if cfg!(debug_assertions) {
            snapshots.freed.fetch_max(oldest, Ordering::SeqCst);
        }
        oldest
    }

    /// Ends the retaining when no snapshot runs and none has begun for a while; at once while memory is short, for the
    /// copies of rows would not fit, and the deletes that make room would be refused with them.
    pub(crate) fn maybe_stop_retaining(&self) {
        let snapshots = &self.snapshots;
        let unused =
            self.clock.now().saturating_sub(snapshots.last_use.load(Ordering::Relaxed)) > snapshots.linger;
        if (unused || self.domain.is_short()) && snapshots.state.load(Ordering::Relaxed) == ON {
            let _gate = snapshots.gate.lock();
            if snapshots.state.load(Ordering::SeqCst) != ON {
                return;
            }
            snapshots.state.store(CLOSING, Ordering::SeqCst);
            // pairs with the fence in `try_begin`: a snapshot that has seen `ON` is seen here
            fence(Ordering::SeqCst);
            let used = self.lanes.iter().any(|lane| lane.snapshot.load(Ordering::Acquire) != NONE);
            snapshots.state.store(if used { ON } else { OFF }, Ordering::SeqCst);
        }
    }
}

impl Ctx<'_> {
    /// Begins a snapshot: at a boundary that is at most [`LAG`](crate::retain) old, or, if it is to hold all that was
    /// committed before, at one from now on.
    ///
    /// # Errors
    /// Entries that it has to wait for cannot be merged: the system has no more memory. [`Error::Stopped`].
    pub(crate) fn begin_snapshot(&mut self, deferrable: bool, go_on: &dyn Fn() -> bool) -> Result<()> {
        let shared = self.shared;
        let now = shared.clock.now_fenced();
        let boundary = loop {
            if let Some(boundary) = self.try_begin(deferrable, now, go_on)? {
                break boundary;
            }
            self.start_retaining(go_on)?;
        };
        self.txn.snapshot = Timestamp::from_raw(boundary);
        let (now, last) = (shared.clock.now(), &shared.snapshots.last_use);
        // read only by `maybe_stop_retaining`, which may see it late
        if now.saturating_sub(last.load(Ordering::Relaxed)) > shared.snapshots.linger / 16 {
            last.store(now, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Announces the snapshot, then finds its boundary. `None`: commits do not retain.
    fn try_begin(&mut self, deferrable: bool, now: u64, go_on: &dyn Fn() -> bool) -> Result<Option<u64>> {
        let shared = self.shared;
        let snapshots = &shared.snapshots;
        let at = |ticks| Timestamp::start_of(ticks).raw();
        if !deferrable && snapshots.floor.load(Ordering::SeqCst) < at(now.saturating_sub(snapshots.lag / 16))
        {
            snapshots.boundaries.ask_for_later(&shared.clock, &shared.config.rules, snapshots.lag / 16);
            shared.raise_floor();
        }
        let announced = snapshots.floor.load(Ordering::SeqCst);
        self.lane().snapshot.store(announced, Ordering::SeqCst);
        // pairs with the fences in `advance_floor` and `maybe_stop_retaining`
        fence(Ordering::SeqCst);
        if snapshots.state.load(Ordering::SeqCst) != ON {
            self.end_snapshot();
            return Ok(None);
        }
        // once more, behind the fence: who raised it before the announcement was seen may have freed what the floor
        // that was announced needs
        let floor = match shared.config.rules.on(Rule::FloorBehindAnnouncement) {
            true => snapshots.floor.load(Ordering::SeqCst),
            false => announced,
        };
        let since = snapshots.since.load(Ordering::Acquire);
        if !deferrable && floor >= since.max(at(now.saturating_sub(snapshots.lag))) {
            if floor > announced {
                self.lane().snapshot.store(floor, Ordering::Release); // the earlier one holds until it is seen
            }
            return Ok(Some(floor));
        }
        let boundary = snapshots.boundaries.ask(&shared.clock, &shared.config.rules, at(now).max(since));
        debug_assert!(floor <= boundary, "floors are confirmed boundaries, or times before `since`");
        self.wait_for_clock(boundary);
        let ticks = Timestamp::from_raw(boundary).ticks();
        self.wait_for_lanes(go_on, |shared| (shared.passed() >= ticks).then_some(()))?;
        shared.snapshots.floor.fetch_max(boundary, Ordering::SeqCst);
        self.lane().snapshot.store(boundary, Ordering::SeqCst);
        Ok(Some(boundary))
    }

    /// Waits until the clocks of all cores have passed a boundary.
    fn wait_for_clock(&self, boundary: u64) {
        let clock = &self.shared.clock;
        let ticks = Timestamp::from_raw(boundary).ticks() + clock.skew();
        let spin = clock.ticks(SPIN);
        while let Some(left) = ticks.checked_sub(clock.now()).filter(|&left| left > 0) {
            if left > spin { thread::yield_now() } else { scaledb_sync::hint::spin_loop() }
        }
    }

    pub(crate) fn end_snapshot(&mut self) {
        // pairs with the Acquire loads of those who free versions
        self.lane().snapshot.store(NONE, Ordering::Release);
    }

    /// Makes commits retain old versions, and waits for commits in flight that do not.
    #[cold]
    fn start_retaining(&mut self, go_on: &dyn Fn() -> bool) -> Result<()> {
        let shared = self.shared;
        let snapshots = &shared.snapshots;
        let gate = snapshots.gate.lock();
        if snapshots.state.load(Ordering::SeqCst) == ON {
            return Ok(());
        }
        snapshots.last_use.store(shared.clock.now(), Ordering::Relaxed); // read only by `maybe_stop_retaining`
        snapshots.since.store(NONE, Ordering::SeqCst);
        // pairs with the load in `is_retaining`: a commit that has read `OFF` has pinned before this time, as the clock
        // of its core tells it
        snapshots.state.store(CLOSING, Ordering::SeqCst);
        let started = shared.clock.now_fenced() + shared.clock.skew();
        let waited = self.wait_for_lanes(go_on, |shared| (shared.min_pin() > started).then_some(()));
        if waited.is_err() {
            snapshots.state.store(OFF, Ordering::SeqCst);
            return waited;
        }
        // behind all that other cores' clocks have read while it was off: those are floors, and no boundaries
        let now = Timestamp::start_of(shared.clock.now_fenced() + shared.clock.skew());
        let since = snapshots.boundaries.ask(&shared.clock, &shared.config.rules, now.raw());
        snapshots.since.store(since, Ordering::SeqCst);
        snapshots.state.store(ON, Ordering::SeqCst);
        drop(gate);
        Ok(())
    }

    /// Waits until `done` says so, merging this worker's own lane and those of idle ones meanwhile.
    fn wait_for_lanes<R>(
        &mut self,
        go_on: &dyn Fn() -> bool,
        done: impl Fn(&AccShared) -> Option<R>,
    ) -> Result<R> {
        let shared = self.shared;
        if let Some(result) = done(shared) {
            return Ok(result);
        }
        shared.snapshots.waiting.fetch_add(1, Ordering::Relaxed); // a hint
        let (mut failures, mut rounds) = (0, 0);
        let result = loop {
            // repeated, because an entry may have to wait for a transaction that inserts its key at commit
            let merged = self.merge_old_lists(true);
            if let Some(result) = done(shared) {
                break Ok(result);
            }
            match merged.and(crate::background::merge_idle_lanes(shared, self.local, true)) {
                Err(error) if failures == FAILURES => break Err(error),
                Err(_) => failures += 1,
                Ok(()) => failures = 0,
            }
            if let Some(result) = done(shared) {
                break Ok(result);
            }
            if !go_on() {
                break Err(Error::Stopped);
            }
            rounds += 1;
            if rounds <= YIELDS { thread::yield_now() } else { thread::sleep(Duration::from_micros(50)) }
        };
        shared.snapshots.waiting.fetch_sub(1, Ordering::Relaxed); // a hint
        result
    }

    /// `get` of a snapshot: no read is remembered, nothing can conflict.
    pub(crate) fn get_at<R>(
        &mut self,
        table: &AccTable,
        key: &[u8],
        cols: &Projection,
        f: impl FnOnce(RowId, RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let shared = self.shared;
        let hash = shared.hasher.hash(key);
        let record = loop {
            let Some(record) = table.find(self.local, hash, key, &mut self.txn.finger).record else {
                return Ok(None);
            };
            let word = record.word(0);
            if word == Word::PLACEHOLDER && matches!(table.points, Points::Indexlet(_)) {
                // an insert in flight, which commits behind the boundary or not at all. It may hide, for a moment, a
                // record in the tree that its owner has not seen yet; whatever the snapshot sees is merged
                match table.find_in_tree(self.local, key, &mut self.txn.finger).record {
                    Some(merged) => break merged,
                    None => return Ok(None),
                }
            }
            if word.is_obsolete() && shared.config.rules.on(Rule::LookAgain) {
                continue; // it left the indexes before it was marked so
            }
            break record;
        };
        let base = table.index_of.as_ref().map(|of| self.shared.tables.get(of.base)).transpose()?;
        Ok(self.read_at(table, base, record, cols).map(|(place, words)| {
            let home = base.unwrap_or(table);
            let row = RowRef::new(home.schema.layout(), &self.txn.row[..words]);
            f(self.txn.row_id(home.id, place), row)
        }))
    }

    /// Reads a record, or the base row of an index entry, at the snapshot. Returns where the row is, and
    /// its length.
    fn read_at(
        &mut self,
        table: &AccTable,
        base: Option<&AccTable>,
        record: Record,
        cols: &Projection,
    ) -> Option<(RowLocation, usize)> {
        let boundary = self.txn.snapshot;
        let mut record = record;
        if base.is_some() {
            let entry = record.read_at(boundary, table.schema.layout(), &table.all, &mut self.txn.row);
            let Presence::Live(_) = entry else { return None };
            // SAFETY: the entry was live at the boundary, and so was its base record, which is kept as long as
            // a snapshot can see it.
            record = unsafe { Record::from_raw(self.txn.row[0]) };
        }
        let home = base.unwrap_or(table);
        let row = record.read_at(boundary, home.schema.layout(), cols, &mut self.txn.row);
        debug_assert!(
            self.shared.snapshots.freed.load(Ordering::SeqCst) <= boundary.raw(),
            "what a running snapshot needs was given to clean-up"
        );
        match row {
            Presence::Live(words) => Some((RowLocation::Record(record), words)),
            Presence::Absent => None,
        }
    }

    /// `scan` of a snapshot: the tree holds the keys of all commits that it can see.
    pub(crate) fn scan_at(
        &mut self,
        table: &AccTable,
        range: Range<'_>,
        order: Order,
        cols: &Projection,
        mut f: impl FnMut(RowId, &[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let tree = table.tree()?;
        if range.end.is_some_and(|end| end <= range.start) {
            return Ok(());
        }
        let base = table.index_of.as_ref().map(|of| self.shared.tables.get(of.base)).transpose()?;
        let home = base.unwrap_or(table);
        let mut leaf = std::mem::take(&mut self.txn.leaf);
        open_first(self.local, tree, range, order, &mut leaf);
        let mut mark = Vec::new();
        let ahead = Lookahead::new(table, base, cols);
        'leaves: loop {
            let rest = rest_of(range, order, &mark);
            if !read_entries(self.local, tree, rest, &mut leaf) {
                open_first(self.local, tree, rest, order, &mut leaf);
                continue;
            }
            let count = leaf.values().len();
            for i in 0..count {
                let at = |i: usize| leaf.values()[if order == Order::Forward { i } else { count - 1 - i }];
                // SAFETY: the tree held it in this activity.
                let record = |i: usize| unsafe { Record::from_raw(at(i)) };
                ahead.reach(i, |place| (place < count).then(|| record(place)));
                let record = record(i);
                if let Some((place, words)) = self.read_at(table, base, record, cols) {
                    let row = RowRef::new(home.schema.layout(), &self.txn.row[..words]);
                    if f(self.txn.row_id(home.id, place), record.key(), row).is_break() {
                        break 'leaves;
                    }
                }
            }
            mark_end(order, &leaf, &mut mark);
            if !open_next(self.local, tree, range, order, &mut leaf) {
                break;
            }
        }
        self.txn.leaf = leaf;
        Ok(())
    }
}
