//! What transactions saw, and whether the run by (epoch, cts) explains it.
//!
//! A history of a thousand transactions and more has no room for a search. The protocol claims one order, and that is
//! replayed. Transactions of equal places go as soon as what they have read is there.

use super::super::data::{Key, Value};
use super::super::history::Truth;
use scaledb_scar::{Epoch, Range, Time, ViewNumber};
use std::collections::BTreeMap;
use std::ops::RangeBounds;

/// What can be broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Broken {
    /// The run by (epoch, cts) gives other results.
    Results,
    /// What was read under snapshot isolation is of no state of its epoch that has all that its session did before, or
    /// another has written what it writes since that state.
    Isolation,
    /// A transaction that began after another's answer has no later place.
    RealTime,
    /// A transaction of a session has a place before an earlier one's.
    Session,
    /// What was answered as committed is undone.
    Lost,
    /// What was answered as aborted stays.
    Risen,
    /// What a transaction had read when it was checked was of no state of that epoch.
    Check,
    /// Two nodes go back to different epochs.
    Split,
    /// A node hands out what was announced by nobody who has committed, not all of it, twice or in another order; or
    /// somebody has announced something at no later time than what he has seen.
    Announced,
    /// A node has been without memory for so long that all know of it, and rows come to it.
    Overfull,
    /// An epoch has a number that one had in another view, or a node is wrong about what became of it.
    Epochs,
    /// In the end replicas hold something else than the run leaves, or locks.
    Diverged,
    /// A snapshot has begun, and cannot be read to its end, though there was memory for it.
    Refused,
    /// A node comes back with less than has committed, though no disk has lost what was on it.
    Incomplete,
    /// All troubles have ended, and somebody waits for ever.
    Stuck,
}

/// What a client knows of its transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// It has no answer, and may never get one.
    Unknown,
    Committed,
    Aborted,
}

/// A range, and what was in it.
#[derive(Clone, Debug)]
pub(super) struct Scanned {
    pub partition: u16,
    pub range: Range<Key>,
    pub rows: Vec<(Key, Value)>,
}

/// A transaction.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The session and its node: a new number at each node.
    pub line: u32,
    /// The order in which commits were called.
    pub called: u64,
    /// Answers of this epoch, and of none later, had left when it began.
    pub after: Epoch,
    /// It is under snapshot isolation.
    pub isolated: bool,
    /// What it has read of others.
    pub reads: Vec<(Key, Option<Value>)>,
    pub scans: Vec<Scanned>,
    /// What it writes: the last one of a key counts.
    pub writes: Vec<(Key, Option<Value>)>,
    pub place: Option<(ViewNumber, Epoch, Time)>,
    pub outcome: Outcome,
    /// It announces something.
    pub announces: bool,
}

impl Record {
    pub(super) fn new(line: u32, after: Epoch) -> Self {
        Self {
            line,
            called: 0,
            after,
            isolated: false,
            reads: Vec::new(),
            scans: Vec::new(),
            writes: Vec::new(),
            place: None,
            outcome: Outcome::Unknown,
            announces: false,
        }
    }
}

/// The rows of the whole cluster, by key.
#[derive(Clone)]
pub(super) struct Rows {
    pub values: Vec<Option<Value>>,
    partitions: usize,
}

impl Rows {
    pub(super) fn new(values: Vec<Option<Value>>, partitions: u16) -> Self {
        Self { values, partitions: partitions.into() }
    }

    fn get(&self, key: Key) -> Option<Value> {
        self.values.get(key.0 as usize).copied().flatten()
    }

    /// The rows of a partition, in order.
    pub(super) fn of(&self, partition: u16) -> impl DoubleEndedIterator<Item = (Key, Value)> {
        let keys = (usize::from(partition)..self.values.len()).step_by(self.partitions);
        keys.map(|key| Key(key as u64)).filter_map(|key| Some((key, self.get(key)?)))
    }

    fn has(&self, scan: &Scanned) -> bool {
        let range = (scan.range.low, scan.range.high);
        let inside = self.of(scan.partition).filter(|(key, _)| range.contains(key));
        let limit = scan.range.limit as usize;
        if scan.range.backward {
            inside.rev().take(limit).eq(scan.rows.iter().copied())
        } else {
            inside.take(limit).eq(scan.rows.iter().copied())
        }
    }

    fn explain(&self, record: &Record) -> bool {
        record.reads.iter().all(|&(key, value)| self.get(key) == value)
            && record.scans.iter().all(|scan| self.has(scan))
    }

    fn apply(&mut self, record: &Record) {
        for &(key, value) in &record.writes {
            if let Some(slot) = self.values.get_mut(key.0 as usize) {
                *slot = value;
            }
        }
    }
}

/// The states of an epoch, as far as it is replayed, for transactions under snapshot isolation: each has read one of
/// them, and nobody has written since what it writes. So no update is lost; two that each write what the other has read
/// may both commit.
struct Past {
    epoch: Epoch,
    states: Vec<Rows>,
    /// The first state with what is there now, by key.
    since: Vec<usize>,
    /// The first state with what a session has done.
    sessions: BTreeMap<u32, usize>,
}

impl Past {
    fn new() -> Self {
        Self { epoch: Epoch(0), states: Vec::new(), since: Vec::new(), sessions: BTreeMap::new() }
    }

    fn go_to(&mut self, epoch: Epoch, rows: &Rows) {
        if epoch != self.epoch {
            *self = Self { epoch, states: vec![rows.clone()], ..Self::new() };
            self.since = vec![0; rows.values.len()];
        }
    }

    fn explain(&self, record: &Record) -> bool {
        let written = record.writes.iter().filter_map(|(key, _)| self.since.get(key.0 as usize));
        let first = written.chain(self.sessions.get(&record.line)).copied().max().unwrap_or(0);
        self.states[first..].iter().any(|state| state.explain(record))
    }

    /// A transaction has left these rows.
    fn note(&mut self, record: &Record, rows: &Rows) {
        if !record.writes.is_empty() {
            self.states.push(rows.clone());
        }
        let now = self.states.len() - 1;
        for (key, _) in &record.writes {
            if let Some(since) = self.since.get_mut(key.0 as usize) {
                *since = now;
            }
        }
        self.sessions.insert(record.line, now);
    }
}

/// A transaction that was told that all it has read is of one state: at that time, in this epoch of that view.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) at: (ViewNumber, Epoch),
    pub(super) record: Record,
    /// Its client was told: it stays.
    pub(super) confirmed: bool,
}

/// The checks of an epoch, while it is replayed.
struct Checks<'a> {
    rest: std::iter::Peekable<std::vec::IntoIter<&'a Check>>,
    epoch: Epoch,
    /// Those of this epoch that no state has explained yet.
    open: Vec<&'a Check>,
}

impl<'a> Checks<'a> {
    fn new(checks: &'a [Check], truth: &Truth, until: Epoch) -> Self {
        let counts = |check: &&Check| check.at.1 <= until && !truth.undone((check.at.0, check.at.1, Time(0)));
        let mut rest: Vec<&Check> = checks.iter().filter(counts).collect();
        rest.sort_by_key(|check| check.at.1);
        Self { rest: rest.into_iter().peekable(), epoch: Epoch(0), open: Vec::new() }
    }

    /// Goes on to an epoch: those of earlier ones must have been explained, or are now.
    fn go_to(&mut self, epoch: Epoch, rows: &Rows) -> Result<(), (Broken, String)> {
        if epoch == self.epoch {
            return Ok(());
        }
        self.epoch = epoch;
        let mut early = std::iter::from_fn(|| self.rest.next_if(|check| check.at.1 < epoch));
        let wrong = early.find(|check| !rows.explain(&check.record)).or(self.open.first().copied());
        if let Some(check) = wrong {
            return Err((Broken::Check, format!("{check:?}")));
        }
        self.open.extend(std::iter::from_fn(|| self.rest.next_if(|check| check.at.1 == epoch)));
        self.state(rows);
        Ok(())
    }

    /// A state of the epoch.
    fn state(&mut self, rows: &Rows) {
        self.open.retain(|check| !rows.explain(&check.record));
    }
}

/// Epoch, cts, when its commit was called, the record's index: in the order of the replay.
type Placed = (Epoch, Time, u64, usize);

/// What happened.
pub(super) struct History {
    pub(super) records: Vec<Record>,
    pub(super) checks: Vec<Check>,
    pub(super) truth: Truth,
    /// The last epoch that any node knows to have committed.
    pub(super) committed: Epoch,
}

impl History {
    /// Whether a transaction is part of what remains.
    fn counts(&self, place: (ViewNumber, Epoch, Time)) -> bool {
        place.1 <= self.committed && !self.truth.undone(place)
    }

    /// The transactions that count, in their order.
    fn order(&self) -> Result<Vec<Placed>, (Broken, String)> {
        let mut order = Vec::new();
        for (i, record) in self.records.iter().enumerate() {
            let Some(place) = record.place else {
                match record.outcome {
                    Outcome::Committed => return Err((Broken::Lost, format!("it has no place: {record:?}"))),
                    _ => continue,
                }
            };
            let counts = self.counts(place);
            match record.outcome {
                Outcome::Committed if !counts => return Err((Broken::Lost, format!("{record:?}"))),
                Outcome::Aborted if counts => return Err((Broken::Risen, format!("{record:?}"))),
                _ if counts => order.push((place.1, place.2, record.called, i)),
                _ => {}
            }
        }
        order.sort_unstable();
        Ok(order)
    }

    /// The view of each epoch in which a transaction has a place, and whether that counts.
    pub(super) fn epochs(&self) -> Result<BTreeMap<Epoch, (ViewNumber, bool)>, (Broken, String)> {
        let mut epochs = BTreeMap::new();
        for place in self.records.iter().filter_map(|record| record.place) {
            let known = *epochs.entry(place.1).or_insert((place.0, self.counts(place)));
            if known.0 != place.0 {
                return Err((Broken::Epochs, format!("{:?} is of {:?} and {:?}", place.1, known.0, place.0)));
            }
        }
        Ok(epochs)
    }

    /// What a transaction has read otherwise than it is, and who wrote that and this.
    fn differs(&self, record: &Record, rows: &Rows) -> String {
        let mut lines = vec![format!("{record:?}")];
        let wrote = |key, value: Option<Value>| {
            let writes = |other: &&Record| other.writes.contains(&(key, value));
            value.and_then(|_| self.records.iter().find(writes))
        };
        let mut compare = |key: Key, read: Option<Value>| {
            let now = rows.get(key);
            if read != now {
                lines.push(format!("  {key:?} was {read:?}, of {:?}", wrote(key, read)));
                lines.push(format!("  {key:?} is {now:?}, of {:?}", wrote(key, now)));
            }
        };
        for &(key, value) in &record.reads {
            compare(key, value);
        }
        for scan in record.scans.iter().filter(|scan| !rows.has(scan)) {
            for (key, _) in rows.of(scan.partition) {
                compare(key, scan.rows.iter().find(|row| row.0 == key).map(|row| row.1));
            }
            for &(key, value) in &scan.rows {
                compare(key, Some(value));
            }
        }
        lines.join("\n")
    }

    /// Replays the transactions that count: those with a place in a committed epoch that was not undone. They leave
    /// `rows`.
    ///
    /// # Errors
    /// What is broken, in words.
    pub(super) fn replay(&self, rows: &mut Rows) -> Result<usize, (Broken, String)> {
        let order = self.order()?;
        let records = &self.records;
        let lines = records.iter().map(|record| record.line as usize + 1).max().unwrap_or(0);
        let mut last_called = vec![0; lines];
        let isolates = records.iter().any(|record| record.isolated);
        for check in self.checks.iter().filter(|check| check.confirmed) {
            let Check { at: (view, epoch), record, .. } = check;
            if record.reads.is_empty() && record.scans.is_empty() {
                continue;
            }
            if !self.counts((*view, *epoch, Time(0))) {
                return Err((Broken::Lost, format!("confirmed: {check:?}")));
            }
            if record.after >= *epoch {
                return Err((Broken::RealTime, format!("confirmed: {check:?}")));
            }
        }
        let mut past = Past::new();
        let mut checks = Checks::new(&self.checks, &self.truth, self.committed);
        for group in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            checks.go_to(group[0].0, rows)?;
            if isolates {
                past.go_to(group[0].0, rows);
            }
            let mut left: Vec<usize> = group.iter().map(|entry| entry.3).collect();
            while !left.is_empty() {
                let first_of_session = |at: usize| {
                    let line = records[left[at]].line;
                    left[..at].iter().all(|&other| records[other].line != line)
                };
                let explained = |record: &Record| match record.isolated {
                    false => rows.explain(record),
                    true => past.explain(record),
                };
                let next = (0..left.len()).find(|&at| first_of_session(at) && explained(&records[left[at]]));
                let Some(next) = next else {
                    let place = (group[0].0, group[0].1);
                    let about: Vec<String> = left.iter().map(|&i| self.differs(&records[i], rows)).collect();
                    let isolated = left.iter().all(|&i| records[i].isolated);
                    let broken = if isolated { Broken::Isolation } else { Broken::Results };
                    return Err((broken, format!("at {place:?}:\n{}", about.join("\n"))));
                };
                let record = &records[left.remove(next)];
                if record.after >= group[0].0 {
                    return Err((Broken::RealTime, format!("{record:?}")));
                }
                let last = &mut last_called[record.line as usize];
                if *last > record.called {
                    return Err((Broken::Session, format!("{record:?}")));
                }
                *last = record.called;
                rows.apply(record);
                if isolates {
                    past.note(record, rows);
                }
                checks.state(rows);
            }
        }
        checks.go_to(Epoch(u64::MAX), rows)?;
        Ok(order.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transaction of the first epoch: when, what it has read, and which keys it writes; its values are its time.
    fn transaction(cts: u64, reads: &[(u64, u64)], writes: &[u64]) -> Record {
        Record {
            isolated: true,
            called: cts,
            reads: reads.iter().map(|&(key, value)| (Key(key), Some(Value(value)))).collect(),
            writes: writes.iter().map(|&key| (Key(key), Some(Value(cts)))).collect(),
            place: Some((ViewNumber(1), Epoch(1), Time(cts))),
            outcome: Outcome::Committed,
            ..Record::new(cts as u32, Epoch(0))
        }
    }

    /// Rows 0 to 2 are there, with value 0.
    fn check(records: Vec<Record>) -> Result<usize, Broken> {
        let truth = Truth::default();
        let history = History { records, checks: Vec::new(), truth, committed: Epoch(1) };
        let mut rows = Rows::new(vec![Some(Value(0)); 3], 1);
        history.replay(&mut rows).map_err(|(broken, _)| broken)
    }

    #[test]
    fn under_snapshot_isolation_write_skew_passes_and_nothing_worse_does() {
        let skew = || vec![transaction(1, &[(0, 0), (1, 0)], &[0]), transaction(2, &[(0, 0), (1, 0)], &[1])];
        assert_eq!(check(skew()), Ok(2));
        let mut serializable = skew();
        serializable.iter_mut().for_each(|record| record.isolated = false);
        assert_eq!(check(serializable), Err(Broken::Results));

        let lost_update = vec![transaction(1, &[(0, 0)], &[0]), transaction(2, &[(0, 0)], &[0])];
        assert_eq!(check(lost_update), Err(Broken::Isolation));
        let second_committer = vec![transaction(1, &[], &[0, 1]), transaction(2, &[(1, 0)], &[0])];
        assert_eq!(check(second_committer), Err(Broken::Isolation), "it has not read what it overwrites");
        let two_snapshots = vec![transaction(1, &[], &[0, 1]), transaction(2, &[(0, 1), (1, 0)], &[2])];
        assert_eq!(check(two_snapshots), Err(Broken::Isolation));
        let of_nobody = vec![transaction(1, &[(0, 7)], &[])];
        assert_eq!(check(of_nobody), Err(Broken::Isolation));
    }

    #[test]
    fn a_snapshot_has_what_its_session_did_before_and_may_miss_what_others_did() {
        let records = || vec![transaction(1, &[], &[0]), transaction(2, &[(0, 0)], &[1])];
        assert_eq!(check(records()), Ok(2));
        let mut of_one_session = records();
        of_one_session[1].line = 1;
        assert_eq!(check(of_one_session), Err(Broken::Isolation));
    }
}
