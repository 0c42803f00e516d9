//! What transactions have read and written, and whether that can be.
//!
//! A transaction depends on another if it has read (wr) or overwritten (ww) what that has written, or if that has
//! overwritten what it has read (rw; then it comes before). A history is serializable if no transaction comes before
//! itself. Under snapshot isolation a cycle must have more than one rw, under read committed at least one; and nobody
//! ever reads what was not committed.

use super::data::Key;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A transaction that has its place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Done {
    /// Its name in what it has written.
    pub writer: u64,
    /// Keys, and who had written what was read.
    pub reads: Vec<(Key, u64)>,
    /// What it has written.
    pub writes: Vec<Key>,
    /// Its epoch and its time: of the writes of a key the later has the larger.
    pub place: (u64, u64),
    /// Where there are no times, the version of each write.
    pub versions: Vec<(Key, u64)>,
}

/// Where a version stands among those of its key, and whose it is.
type Version = ((u64, u64), usize);

/// What all clients have done.
#[derive(Clone, Debug, Default)]
pub struct History(pub Vec<Done>);

/// What must not be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Anomaly {
    /// Somebody has read what nobody has committed.
    Uncommitted(Key, u64),
    /// A cycle through this transaction, with so many rw at least.
    Cycle(u64, u32),
    /// Two have written the same version.
    SameVersion(Key),
}

/// Checks a history; a cycle is allowed if it has more than so many rw: none is for serializability.
///
/// # Errors
/// The first anomaly that it finds.
pub fn check(history: &History, least: Option<u32>) -> Result<(), Anomaly> {
    let index: HashMap<u64, usize> = history.0.iter().enumerate().map(|(i, done)| (done.writer, i)).collect();
    let mut versions: BTreeMap<Key, Vec<Version>> = BTreeMap::new();
    for (i, done) in history.0.iter().enumerate() {
        for key in &done.writes {
            let version = done.versions.iter().find(|(of, _)| of == key);
            let place = version.map_or(done.place, |&(_, version)| (0, version));
            versions.entry(*key).or_default().push((place, i));
        }
    }
    let mut edges: Vec<Vec<(usize, bool)>> = vec![Vec::new(); history.0.len()];
    for (key, writers) in &mut versions {
        writers.sort_unstable();
        for pair in writers.windows(2) {
            if pair[0].0 == pair[1].0 {
                return Err(Anomaly::SameVersion(*key));
            }
            edges[pair[0].1].push((pair[1].1, false));
        }
    }
    for (i, done) in history.0.iter().enumerate() {
        for &(key, writer) in &done.reads {
            let writers = versions.get(&key).map_or(&[][..], Vec::as_slice);
            let next = match writer {
                0 => 0,
                _ => {
                    let known =
                        index.get(&writer).and_then(|w| writers.iter().position(|(_, other)| other == w));
                    let Some(at) = known else { return Err(Anomaly::Uncommitted(key, writer)) };
                    edges[writers[at].1].push((i, false));
                    at + 1
                }
            };
            if let Some(&(_, over)) = writers.get(next)
                && over != i
            {
                edges[i].push((over, true));
            }
        }
    }
    match least {
        None => no_cycle(history, &edges, |_| true, 0),
        Some(rw) => {
            no_cycle(history, &edges, |is_rw| !is_rw, 0)?;
            if rw > 0 { no_single(history, &edges) } else { Ok(()) }
        }
    }
}

/// No cycle of the edges that count.
fn no_cycle(
    history: &History,
    edges: &[Vec<(usize, bool)>],
    counts: impl Fn(bool) -> bool,
    rw: u32,
) -> Result<(), Anomaly> {
    let mut incoming = vec![0_usize; edges.len()];
    for &(to, is_rw) in edges.iter().flatten() {
        incoming[to] += usize::from(counts(is_rw));
    }
    let mut free: Vec<usize> = (0..edges.len()).filter(|&i| incoming[i] == 0).collect();
    while let Some(i) = free.pop() {
        for &(to, _) in edges[i].iter().filter(|&&(_, is_rw)| counts(is_rw)) {
            incoming[to] -= 1;
            if incoming[to] == 0 {
                free.push(to);
            }
        }
    }
    match incoming.iter().position(|&left| left > 0) {
        Some(i) => Err(Anomaly::Cycle(history.0[i].writer, rw)),
        None => Ok(()),
    }
}

/// No cycle with a single rw: from where it leads there is no way back without another.
fn no_single(history: &History, edges: &[Vec<(usize, bool)>]) -> Result<(), Anomaly> {
    for (from, outgoing) in edges.iter().enumerate() {
        let mut seen = vec![false; edges.len()];
        let mut ways: VecDeque<usize> = outgoing.iter().filter(|edge| edge.1).map(|edge| edge.0).collect();
        while let Some(i) = ways.pop_front() {
            if i == from {
                return Err(Anomaly::Cycle(history.0[i].writer, 1));
            }
            if !std::mem::replace(&mut seen[i], true) {
                ways.extend(edges[i].iter().filter(|edge| !edge.1).map(|edge| edge.0));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Key = Key { partition: 0, number: 0 };
    const Y: Key = Key { partition: 0, number: 1 };

    fn done(writer: u64, reads: &[(Key, u64)], writes: &[Key]) -> Done {
        let (reads, writes) = (reads.to_vec(), writes.to_vec());
        Done { writer, reads, writes, place: (1, writer), versions: Vec::new() }
    }

    #[test]
    fn write_skew_is_a_cycle_of_two_rw() {
        let skew = History(vec![done(1, &[(X, 0), (Y, 0)], &[X]), done(2, &[(X, 0), (Y, 0)], &[Y])]);
        assert!(matches!(check(&skew, None), Err(Anomaly::Cycle(..))));
        assert_eq!(check(&skew, Some(1)), Ok(()), "snapshot isolation allows it");
    }

    #[test]
    fn a_lost_update_is_a_cycle_of_one_rw() {
        let lost = History(vec![done(1, &[(X, 0)], &[X]), done(2, &[(X, 0)], &[X])]);
        assert!(check(&lost, None).is_err());
        assert!(check(&lost, Some(1)).is_err());
        assert_eq!(check(&lost, Some(0)), Ok(()), "read committed allows it");
    }

    #[test]
    fn what_nobody_has_committed_is_not_read() {
        let dirty = History(vec![done(1, &[(X, 9)], &[])]);
        assert_eq!(check(&dirty, Some(0)), Err(Anomaly::Uncommitted(X, 9)));
    }
}
