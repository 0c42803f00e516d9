//! What transactions saw, and whether a serial execution explains it.

use super::data::{Key, Value};
use scaledb_scar::{Data, Epoch, Node, Range, Rules, Stage, Time, ViewNumber};
use std::collections::BTreeMap;
use std::ops::RangeBounds;

/// The rows of the whole cluster.
pub type Rows = BTreeMap<Key, Value>;

/// What can be broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Property {
    /// A run in (epoch, cts) order gives the same answers, and that order respects real time and sessions.
    TimestampOrder,
    /// Some serial order that respects real time and sessions gives the same answers.
    StrictOrder,
    /// Some serial order gives the same answers.
    AnyOrder,
    /// What was answered stays.
    Lost,
    /// What was answered as aborted does not.
    Risen,
    /// In the end all replicas hold what the serial execution leaves, and no lock.
    Diverged,
    /// In the end every client at a member has its answer.
    Stuck,
    /// No epoch has a number that one had in another view, and no node is wrong about what became of one.
    Reused,
    /// Two nodes never go back to different epochs.
    Split,
    /// A node whose memory is full gets no more rows.
    Overfull,
}

/// A range of a partition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scanned {
    /// Keys with this remainder by the number of partitions: partition, number.
    pub partition: (u16, u16),
    /// What was asked for.
    pub range: Range<Key>,
    /// What was handed out.
    pub rows: Vec<(Key, Value)>,
}

impl Scanned {
    fn fits(&self, rows: &Rows) -> bool {
        let (partition, partitions) = self.partition;
        let inside = |key: Key| key.0 % u64::from(partitions) == u64::from(partition);
        let Range { low, high, backward, limit } = &self.range;
        let all = rows.iter().map(|(&key, &value)| (key, value));
        let mut now: Vec<_> = all.filter(|&(key, _)| inside(key) && (*low, *high).contains(&key)).collect();
        if *backward {
            now.reverse();
        }
        now.truncate(*limit as usize);
        now == self.rows
    }
}

/// A transaction of a client.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Record {
    /// What it has read, without what it had written before.
    pub reads: Vec<(Key, Option<Value>)>,
    /// Ranges, without what it had written.
    pub scans: Vec<Scanned>,
    /// What it writes.
    pub writes: BTreeMap<Key, Option<Value>>,
    /// Its place, once it has one.
    pub place: Option<(ViewNumber, Epoch, Time)>,
    /// Its client knows that it has committed.
    pub answered: bool,
    /// Its client knows that it has not.
    pub aborted: bool,
    /// It is under snapshot isolation: what it has read was so at one time before, and what it writes nobody else has
    /// written since.
    pub isolated: bool,
    /// It is a check: at any time of its epoch what it has read was so.
    pub check: bool,
    /// Whose answers had left before it began: a set of clients.
    pub after: u32,
    /// Whose commits its session had called before: a set of clients.
    pub session: u32,
}

impl Record {
    fn fits(&self, rows: &Rows) -> bool {
        self.reads.iter().all(|(key, value)| rows.get(key) == value.as_ref())
            && self.scans.iter().all(|scan| scan.fits(rows))
    }

    fn apply(&self, rows: &mut Rows) {
        for (&key, &value) in &self.writes {
            match value {
                Some(value) => drop(rows.insert(key, value)),
                None => drop(rows.remove(&key)),
            }
        }
    }
}

/// A change of view that a member has installed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Change {
    view: ViewNumber,
    /// The epoch that it goes back to.
    last: Epoch,
    /// A member knows that all have installed it.
    begun: bool,
}

/// Changes of view, and what they have undone.
///
/// Those that have begun count, and no others. What some members have installed decides nothing: if they are lost or
/// put out before the view begins, the others may go back to a later epoch, of which these knew nothing. If one of
/// them is a member of the next view that begins, that goes back at least as far.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Truth {
    changes: Vec<Change>,
}

impl Truth {
    /// Notes how far a node has come with its view.
    ///
    /// # Errors
    /// Another goes back to another epoch in this view.
    pub fn note<R: Rules, D: Data>(&mut self, node: &Node<R, D>) -> Result<(), String> {
        if node.stage() == Stage::Fenced {
            return Ok(());
        }
        let begun = node.stage() != Stage::Installed;
        self.note_change(Change { view: node.view().number, last: node.installed(), begun })
    }

    fn note_change(&mut self, change: Change) -> Result<(), String> {
        let Change { view, last, begun } = change;
        let Some(known) = self.changes.iter_mut().rev().find(|known| known.view == view) else {
            self.changes.push(change);
            return Ok(());
        };
        known.begun |= begun;
        // later epochs of a view that has begun have committed since
        if begun || known.last == last {
            return Ok(());
        }
        Err(format!("{view:?} goes back to {:?} and {last:?}", known.last))
    }

    /// How many views have begun.
    pub fn begun(&self) -> usize {
        self.changes.iter().filter(|change| change.begun).count()
    }

    /// Whether a transaction of this place has been undone.
    pub fn undone(&self, place: (ViewNumber, Epoch, Time)) -> bool {
        self.changes.iter().any(|change| change.begun && place.0 < change.view && place.1 > change.last)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Place,
    Strict,
    Any,
}

struct Serial<'a> {
    records: &'a [Record],
    chosen: Vec<usize>,
    order: Order,
}

impl Serial<'_> {
    /// Whether a transaction explains what it has read by a state of before, the last of `past` being that of now: one
    /// that has all that must come before it, and the last versions of what it writes.
    fn fits(&self, i: usize, past: &[(usize, Rows)]) -> bool {
        let record = &self.records[i];
        let Some((now, earlier)) = past.split_last() else { return false };
        if !record.isolated {
            return record.fits(&now.1);
        }
        let place = |record: &Record| record.place.unwrap_or_default().1;
        let bound = |&(other, _): &(usize, Rows)| {
            let Some(before) = self.records.get(other) else { return false };
            (record.after | record.session) & (1 << other) != 0
                || before.writes.keys().any(|key| record.writes.contains_key(key))
                || (self.order == Order::Place && place(before) < place(record))
        };
        let first = past.iter().rposition(bound).unwrap_or(0);
        record.fits(&now.1) || earlier.iter().skip(first).any(|(_, rows)| record.fits(rows))
    }

    /// Puts the rest of the transactions in some order; the rows that it leaves.
    fn complete(&self, placed: u32, past: &mut Vec<(usize, Rows)>) -> Option<Rows> {
        let rows = past.last()?.1.clone();
        let left: Vec<usize> = self.chosen.iter().copied().filter(|&i| placed & (1 << i) == 0).collect();
        if left.is_empty() {
            return Some(rows);
        }
        let rank = |i: usize| {
            let (_, epoch, cts) = self.records[i].place.unwrap_or_default();
            (epoch, if self.records[i].check { Time(u64::MAX) } else { cts })
        };
        let first = left.iter().map(|&i| rank(i)).min()?;
        let in_turn = |i: usize| rank(i) == first || (self.records[i].check && rank(i).0 == first.0);
        left.iter().copied().find_map(|i| {
            let record = &self.records[i];
            let before = record.after | record.session;
            let waits = self.order != Order::Any && left.iter().any(|&other| before & (1 << other) != 0);
            if waits || (self.order == Order::Place && !in_turn(i)) || !self.fits(i, past) {
                return None;
            }
            let mut rows = rows.clone();
            record.apply(&mut rows);
            past.push((i, rows));
            let complete = self.complete(placed | 1 << i, past);
            past.pop();
            complete
        })
    }
}

/// The transactions that count: with a place that was not undone, in an epoch up to this one.
fn chosen(records: &[Record], truth: &Truth, until: Epoch) -> Vec<usize> {
    let counts = |record: &Record| record.place.is_some_and(|p| p.1 <= until && !truth.undone(p));
    (0..records.len()).filter(|&i| counts(&records[i])).collect()
}

/// Whether each epoch is of one view.
///
/// # Errors
/// One is of two.
pub fn check_epochs(records: &[Record]) -> Result<(), (Property, String)> {
    let places = || records.iter().filter_map(|record| record.place);
    match places().find(|place| places().any(|other| other.1 == place.1 && other.0 != place.0)) {
        Some((_, epoch, _)) => Err((Property::Reused, format!("{epoch:?} is of two views"))),
        None => Ok(()),
    }
}

/// What the transactions leave, run in the order of their places.
///
/// # Errors
/// No such run gives their answers.
pub fn check(
    records: &[Record],
    truth: &Truth,
    start: &Rows,
    until: Epoch,
) -> Result<Rows, (Property, String)> {
    let lost = |record: &&Record| record.answered && record.place.is_some_and(|place| truth.undone(place));
    if let Some(record) = records.iter().find(lost) {
        return Err((Property::Lost, format!("answered, and undone: {record:?}")));
    }
    let mut serial = Serial { records, chosen: chosen(records, truth, until), order: Order::Place };
    if let Some(rows) = serial.complete(0, &mut vec![(usize::MAX, start.clone())]) {
        return Ok(rows);
    }
    let what = || format!("no serial order up to {until:?}");
    for (order, weaker) in [(Order::Strict, Property::TimestampOrder), (Order::Any, Property::StrictOrder)] {
        serial.order = order;
        if serial.complete(0, &mut vec![(usize::MAX, start.clone())]).is_some() {
            return Err((weaker, what()));
        }
    }
    Err((Property::AnyOrder, what()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(view: u64, last: u64, begun: bool) -> Change {
        Change { view: ViewNumber(view), last: Epoch(last), begun }
    }

    fn truth_of(changes: &[Change]) -> Truth {
        let mut truth = Truth::default();
        changes.iter().for_each(|&change| truth.note_change(change).unwrap());
        truth
    }

    const PLACE: (ViewNumber, Epoch, Time) = (ViewNumber(15), Epoch(14), Time(80));

    #[test]
    fn a_view_that_some_have_installed_and_that_never_begins_undoes_nothing() {
        // whoever had installed 17 was lost or put out; the other has the epoch as a whole
        let changes = [change(15, 0, true), change(17, 0, false), change(20, 14, true)];
        assert!(!truth_of(&changes).undone(PLACE));
    }

    #[test]
    fn a_view_that_has_begun_undoes_what_is_later_than_it_goes_back_to_whatever_comes_behind_it() {
        let changes = [change(15, 0, true), change(17, 0, false), change(17, 0, true), change(20, 14, true)];
        assert!(truth_of(&changes).undone(PLACE));
        // one of those who had installed 17 is a member of the next one
        let changes = [change(15, 0, true), change(17, 0, false), change(20, 0, true)];
        assert!(truth_of(&changes).undone(PLACE));
        assert!(!truth_of(&changes).undone((ViewNumber(20), Epoch(17), Time(1))));
    }

    #[test]
    fn two_who_go_back_to_different_epochs_in_one_view_are_noticed_and_epochs_of_the_view_are_not() {
        let mut truth = truth_of(&[change(17, 3, false)]);
        assert!(truth.note_change(change(17, 4, false)).is_err());
        assert_eq!(truth.note_change(change(17, 9, true)), Ok(()));
        assert!(!truth.undone((ViewNumber(17), Epoch(9), Time(1))));
    }
}
