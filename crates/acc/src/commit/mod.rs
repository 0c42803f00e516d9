//! The commit, step by step as in the design.
//!
//! ```text
//!  C1 pin         snapshots and clean-up stay before this commit                  lane.rs
//!  C2 lock        what is updated or deleted, then what is inserted               lock.rs, claim.rs
//!  C3 post        new keys that are in no tree: on the pending list, counted      post.rs
//!  C4 timestamp   after all that was read, and after all that C2 and C3 show      timestamp.rs
//!  C5 validate    reads and scans are unchanged                                   validate.rs
//!  C6 publish     rows, then unlock by storing the timestamp                      publish.rs
//!     or abort    posts, then placeholders and locks are taken back               abort.rs
//! ```
//!
//! Others see each step as soon as it is done; [`Commit`] has the state between two steps, so that tests can stop
//! there.

mod abort;
mod claim;
mod lock;
mod post;
mod publish;
mod steps;
mod timestamp;
mod validate;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use crate::lane::LaneGuard;
use crate::redo;
use crate::rules::Rule;
use crate::txn::{Held, Op};
use crate::worker::Ctx;
use scaledb_base::{Result, Timestamp};
use scaledb_kit::{PRESENT, Transaction};
use scaledb_memory::Purpose;
use scaledb_sync::atomic::Ordering;
use steps::Step;

/// A commit in flight: a transaction that writes, its lane, and the results of the steps so far.
struct Commit<'c, 'w> {
    ctx: &'c mut Ctx<'w>,
    /// Locked, so that helpers do not take the pin away while this commit is in flight.
    lane: LaneGuard<'w>,
    /// When it began.
    now: u64,
    /// Whether the rows that are overwritten are kept for snapshots.
    retain: bool,
    /// The latest snapshot boundary announced when C2 began, for a test.
    announced: Timestamp,
    /// The place in the serial order; zero before C4.
    ts: Timestamp,
}

impl Commit<'_, '_> {
    /// All steps.
    ///
    /// # Errors
    /// A conflict, or out of memory: what has been done is to be taken back.
    fn run(&mut self) -> Result<Timestamp> {
        if let Some(steps) = steps::in_another_order(self.ctx.shared.config.rules) {
            return steps.iter().try_for_each(|&step| self.step(step)).map(|()| self.ts);
        }
        self.pin();
        self.lock()?;
        self.post()?;
        self.take_timestamp();
        self.validate()?;
        self.publish()?;
        Ok(self.ts)
    }

    /// Runs one step; the steps before it have run.
    fn step(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Pin => {
                // a test that reorders the steps may run this one late
                self.now = self.ctx.shared.clock.now();
                self.pin();
            }
            Step::Lock => self.lock()?,
            Step::Post => self.post()?,
            Step::Timestamp => self.take_timestamp(),
            Step::Validate => self.validate()?,
            Step::Publish => self.publish()?,
        }
        Ok(())
    }

    /// C1. The generation and the clock are read before the pin is published.
    #[inline]
    fn pin(&mut self) {
        self.lane.pin(self.ctx.shared.generation.load(Ordering::SeqCst), self.now);
    }

    /// C2. Existing rows first: a reader of one of them waits for the new row, instead of failing validation later. (No
    /// order of locks is needed: waits are bounded.)
    #[inline]
    fn lock(&mut self) -> Result<()> {
        // read after the pin is published; pairs with the wait in `start_retaining`
        self.retain = self.ctx.shared.snapshots.is_retaining();
        if self.ctx.skips(Rule::TimestampBeforeBoundaries) {
            self.announced = self.ctx.shared.snapshots.boundaries.announced();
        }
        // a transaction whose reads have changed fails before it has claimed anything
        self.ctx.shared.definitions_hold(self.ctx.txn, PRESENT)?;
        self.ctx.writes_are_unchanged()?;
        let writes = self.ctx.txn.writes.len();
        self.ctx.txn.held.resize_with(writes, Held::default);
        for number in 0..writes {
            if !matches!(self.ctx.txn.writes[number].op, Op::Insert | Op::Nothing) {
                self.ctx.lock(number, self.retain)?;
            }
        }
        for number in 0..writes {
            // some are locked already, before their index entries
            let write = &self.ctx.txn.writes[number];
            if write.op == Op::Insert && write.record.is_none() {
                self.ctx.lock_insert(&self.lane, number)?;
            }
        }
        Ok(())
    }

    /// C3.
    #[inline]
    fn post(&mut self) -> Result<()> {
        self.ctx.post(&self.lane, self.now)
    }

    /// C4.
    #[inline]
    fn take_timestamp(&mut self) {
        self.ts = self.ctx.timestamp();
    }

    /// C5.
    #[inline]
    fn validate(&mut self) -> Result<()> {
        self.ctx.validate()
    }

    /// C6. The rows that are overwritten are kept first, if a snapshot may need them: that may fail, the rest not.
    #[inline]
    fn publish(&mut self) -> Result<()> {
        if self.retain {
            // read when the timestamp is taken: every boundary up to it is announced by then
            let announced = match self.ctx.skips(Rule::TimestampBeforeBoundaries) {
                true => self.announced,
                false => self.ctx.shared.snapshots.boundaries.announced(),
            };
            self.ctx.retain(&mut self.lane, self.ts, announced)?;
        }
        self.ctx.publish(&mut self.lane, self.ts);
        self.ctx.leave_tick(self.ts);
        Ok(())
    }
}

impl<'w> Ctx<'w> {
    /// Whether a test has switched a rule off.
    #[inline(always)]
    fn skips(&self, rule: Rule) -> bool {
        !self.shared.config.rules.on(rule)
    }

    pub(crate) fn commit(&mut self) -> Result<Timestamp> {
        if self.txn.kind.is_snapshot() {
            // it has read from before the boundary
            self.txn.depends_on = Timestamp::from_raw(self.txn.snapshot.raw().saturating_sub(1));
            return Ok(self.txn.snapshot);
        }
        if self.txn.is_read_only() {
            self.txn.depends_on =
                if self.skips(Rule::DependOnReads) { Timestamp::ZERO } else { self.txn.latest };
            return self.commit_read_only();
        }
        self.commit_writes()
    }

    /// A transaction that wrote nothing does C4 and C5. One that read a single record needs neither: the
    /// record was as it was read at the moment of the read.
    fn commit_read_only(&mut self) -> Result<Timestamp> {
        let txn = &self.txn;
        if txn.ranges.is_empty() && txn.absents.is_empty() && txn.reads.len() <= 1 {
            return Ok(txn.latest);
        }
        let commit_ts = self.timestamp();
        self.validate()?;
        Ok(commit_ts)
    }

    fn commit_writes(&mut self) -> Result<Timestamp> {
        let shared = self.shared;
        if let Some(log) = self.log.as_mut() {
            // before anything is locked: may wait for the disk, and fails if the log has
            log.reserve(redo::about(self.txn)).map_err(scaledb_durability::failed)?;
        }
        if !self.state.privileged {
            shared.contention.give_way(&shared.clock);
        }
        let lane = shared.lanes[self.local.id().index()].lock();
        let now = shared.clock.now();
        if let Some(log) = self.log.as_mut() {
            // keeps the durable horizon before the timestamp that C4 will take
            log.begin(now);
        }
        if shared.domain.is_short() {
            self.local.set_purpose(self.purpose());
        }
        let mut commit =
            Commit { ctx: self, lane, now, retain: false, announced: Timestamp::ZERO, ts: Timestamp::ZERO };
        let result = commit.run();
        let Commit { lane, .. } = commit;
        self.local.set_purpose(Purpose::Growth);
        match &result {
            Ok(commit_ts) => self.txn.depends_on = *commit_ts,
            Err(_) => self.abort(),
        }
        if let Some(log) = self.log.as_mut() {
            if let Ok(commit_ts) = &result {
                redo::append(log, shared, self.txn, *commit_ts);
            }
            log.end();
        }
        lane.end_flight();
        self.merge_full_lists(shared, &lane);
        self.merge_late_lists(&lane, now);
        if lane.is_clean() || self.skips(Rule::PinUntilMerged) {
            lane.unpin();
        }
        result
    }

    /// The purpose of this commit's allocations: some of the budget is reserved for deletes.
    #[cold]
    fn purpose(&self) -> Purpose {
        let words = |op: Op| self.txn.writes.iter().filter(move |w| w.op == op).map(|w| w.image.len() + 8);
        let deleted = words(Op::Delete).count();
        Purpose::of_commit(
            words(Op::Insert).sum(),
            words(Op::Update).chain(words(Op::Replace)).sum(),
            deleted,
        )
    }

    /// Whether the reads of the running transaction are still valid: else an error that follows from them must not be
    /// reported.
    pub(crate) fn check_so_far(&mut self) -> Result<()> {
        self.writes_are_unchanged()?;
        self.validate()
    }
}
