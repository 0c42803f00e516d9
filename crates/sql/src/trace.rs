//! Which statements transactions end with, so that the error of a conflict can name the other
//! transaction's.
//!
//! Each worker leaves the number of a statement and the timestamp of the commit in memory of its own, by plain
//! stores; only a session with a conflict reads them. Numbers stand for texts, which are noted when statements are
//! compiled.
//!
//! ```text
//!  commit   ts = 0, statement, begun + 1 ── engine ── ts = its timestamp
//!  look up  ts is there: its statement.  ts is later than all: the statement that is being committed
//! ```

use scaledb_base::limits::MAX_WORKERS;
use scaledb_base::{Timestamp, WorkerId};
use scaledb_engine::Statements;
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Commits of a worker that are remembered.
const KEPT: usize = 64;
/// Texts that are remembered; as many older ones may be, too.
const MAX_TEXTS: usize = 4_096;
/// Bytes of a text.
const MAX_TEXT: usize = 400;
/// In the place of a timestamp: the transaction did not commit.
const FAILED: u64 = u64::MAX;

/// The number of a statement; 0 is none.
pub(crate) type Number = u64;

/// What the transactions of a database have run.
pub(crate) struct Trace {
    workers: Box<[CachePadded<Commits>]>,
    texts: Mutex<Texts>,
}

/// The last commits of one worker, written by the session that has it.
struct Commits {
    begun: AtomicU64,
    last: [Commit; KEPT],
}

struct Commit {
    /// 0: under way.
    ts: AtomicU64,
    statement: AtomicU64,
}

#[derive(Default)]
struct Texts {
    last: Number,
    numbers: HashMap<Arc<str>, Number>,
    texts: HashMap<Number, Arc<str>>,
    /// The older half: the texts that were there when there were too many.
    older: HashMap<Number, Arc<str>>,
}

impl Default for Trace {
    fn default() -> Self {
        let commit = |_| Commit { ts: AtomicU64::new(FAILED), statement: AtomicU64::new(0) };
        let commits = || Commits { begun: AtomicU64::new(0), last: std::array::from_fn(commit) };
        Self { workers: (0..MAX_WORKERS).map(|_| CachePadded(commits())).collect(), texts: Mutex::default() }
    }
}

impl Trace {
    /// The number of a statement's text: the same for the same text, as long as it is remembered.
    pub(crate) fn number(&self, text: &str) -> Number {
        let text = text.trim();
        let text = &text[..text.floor_char_boundary(MAX_TEXT)];
        let mut texts = self.texts.lock();
        if let Some(&number) = texts.numbers.get(text) {
            return number;
        }
        if texts.texts.len() >= MAX_TEXTS {
            texts.older = std::mem::take(&mut texts.texts);
            texts.numbers.clear();
        }
        texts.last += 1;
        let (number, text) = (texts.last, Arc::<str>::from(text));
        texts.numbers.insert(text.clone(), number);
        texts.texts.insert(number, text);
        number
    }

    /// The text of a statement, if it is remembered.
    pub(crate) fn text(&self, number: Number) -> Option<Arc<str>> {
        let texts = self.texts.lock();
        texts.texts.get(&number).or_else(|| texts.older.get(&number)).cloned()
    }

    /// The session that has this worker is about to commit a transaction that ends with this statement.
    #[inline]
    pub(crate) fn begin(&self, worker: WorkerId, statement: Number) {
        let commits = &self.workers[worker.index()];
        // its only writer is here
        let begun = commits.begun.load(Ordering::Relaxed);
        let commit = &commits.last[begun as usize % KEPT];
        // ordered by the store behind it
        commit.ts.store(0, Ordering::Relaxed);
        // Release pairs with the Acquire in `statement`, which then sees that the old timestamp is gone
        commit.statement.store(statement, Ordering::Release);
        commits.begun.store(begun + 1, Ordering::Release);
    }

    /// The commit has ended: with its timestamp, `None` if it failed.
    #[inline]
    pub(crate) fn end(&self, worker: WorkerId, ts: Option<Timestamp>) {
        let commits = &self.workers[worker.index()];
        // its only writer is here
        let begun = commits.begun.load(Ordering::Relaxed);
        let commit = &commits.last[begun.wrapping_sub(1) as usize % KEPT];
        // Release pairs with the Acquire in `statement`, which then sees the statement of the timestamp
        commit.ts.store(ts.map_or(FAILED, Timestamp::raw), Ordering::Release);
    }

    /// The statement that the transaction with this timestamp ended with, if that is remembered.
    pub(crate) fn statement(&self, ts: Timestamp) -> Option<Arc<str>> {
        let commits = self.workers.get(ts.worker().index())?;
        // Acquire in this function pairs with the Release in `begin` and `end`
        let begun = commits.begun.load(Ordering::Acquire);
        let mut is_last = true;
        for commit in &commits.last {
            let found = commit.ts.load(Ordering::Acquire);
            if found == ts.raw() {
                let statement = commit.statement.load(Ordering::Acquire);
                // else it was overwritten meanwhile; ordered by the load before it
                let same = commit.ts.load(Ordering::Relaxed) == found;
                return if same { self.text(statement) } else { None };
            }
            is_last &= found == FAILED || found < ts.raw();
        }
        if !is_last {
            return None;
        }
        // it has not come to the end of its commit, where it leaves its timestamp; Acquire pairs with `begin`
        let commit = &commits.last[begun.wrapping_sub(1) as usize % KEPT];
        let statement = commit.statement.load(Ordering::Acquire);
        let state = commit.ts.load(Ordering::Acquire);
        let same = commits.begun.load(Ordering::Acquire) == begun;
        if same && (state == 0 || state == ts.raw()) { self.text(statement) } else { None }
    }
}

impl Statements for Trace {
    fn last(&self, worker: WorkerId) -> Option<Arc<str>> {
        let commits = self.workers.get(worker.index())?;
        // Acquire pairs with the Release in `begin`
        let begun = commits.begun.load(Ordering::Acquire);
        let commit = &commits.last[begun.checked_sub(1)? as usize % KEPT];
        self.text(commit.statement.load(Ordering::Acquire))
    }

    fn at(&self, ts: Timestamp) -> Vec<Arc<str>> {
        let commits = self.workers.iter().flat_map(|commits| &commits.last);
        let found = commits.filter_map(|commit| {
            // Acquire pairs with the Release in `begin` and `end`
            if commit.ts.load(Ordering::Acquire) != ts.raw() {
                return None;
            }
            let statement = commit.statement.load(Ordering::Acquire);
            // else it was overwritten meanwhile; ordered by the load before it
            let same = commit.ts.load(Ordering::Relaxed) == ts.raw();
            same.then(|| self.text(statement)).flatten()
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKER: WorkerId = WorkerId(3);

    fn at(ticks: u64) -> Timestamp {
        Timestamp::new(ticks, WORKER)
    }

    #[test]
    fn the_statement_of_a_commit_is_found_before_and_after_its_end() {
        let trace = Trace::default();
        assert_eq!(trace.statement(at(1)), None);
        let (one, two) = (trace.number("one"), trace.number(" two "));
        trace.begin(WORKER, one);
        assert_eq!(trace.statement(at(5)).as_deref(), Some("one"));
        trace.end(WORKER, Some(at(5)));
        trace.begin(WORKER, two);
        assert_eq!(trace.statement(at(5)).as_deref(), Some("one"));
        assert_eq!(trace.statement(at(6)).as_deref(), Some("two"));
        trace.end(WORKER, None);
        assert_eq!(trace.statement(at(6)), None);
        assert_eq!(trace.statement(Timestamp::new(5, WorkerId(4))), None);
    }

    #[test]
    fn what_is_too_old_is_forgotten_and_never_taken_for_another() {
        let trace = Trace::default();
        for ticks in 1..=1_000 {
            let number = trace.number(&format!("statement {ticks}"));
            trace.begin(WORKER, number);
            trace.end(WORKER, Some(at(ticks)));
        }
        assert_eq!(trace.statement(at(1)), None);
        assert_eq!(trace.statement(at(1_000)).as_deref(), Some("statement 1000"));
        trace.begin(WORKER, trace.number("the next"));
        assert_eq!(trace.statement(at(1)), None);
        for _ in 0..1_000 {
            trace.begin(WORKER, 1);
            trace.end(WORKER, None);
        }
        assert_eq!(trace.statement(at(1_000)), None);
    }

    #[test]
    fn texts_have_a_limit() {
        let trace = Trace::default();
        let long = "ä".repeat(MAX_TEXT);
        assert_eq!(trace.text(trace.number(&long)).map(|text| text.len()), Some(MAX_TEXT));
        let first = trace.number("first");
        assert_eq!(trace.number("first"), first);
        for number in 0..3 * MAX_TEXTS {
            trace.number(&number.to_string());
        }
        assert_eq!(trace.text(first), None);
        let texts = trace.texts.lock();
        assert!(texts.texts.len() + texts.older.len() <= 2 * MAX_TEXTS && texts.numbers.len() <= MAX_TEXTS);
    }
}
