//! A checker of histories that somebody else has recorded: what sessions have done at real servers, and what they saw.
//!
//! Each write has a number of its own, so that a read says which one it saw. Nothing is known of the servers, and not
//! of the order of versions either: a version is older than another one if that depends on it. What an operation
//! depends on is a vector clock of sessions:
//!
//! ```text
//!   past of an operation  = what its session did before, and the past of each write that it has read
//!   Causality:       a read sees v; its past has u of the same key, and u depends on v
//!   MissedEffects:   the same, in the past of the whole transaction
//!   CircularFlow:    an operation is in its own past
//!   AbortedRead:     a read sees what nobody has written, or what was given up
//!   IntermediateRead: a read sees what its transaction has overwritten itself
//!   LostUpdate:      two transactions have read one version of a key, and both have overwritten it
//! ```
//!
//! The simulation has checks of its own, see [`crate::versions`]: it knows all versions.

use std::collections::{HashMap, HashSet};

/// The number of a key.
pub type Key = usize;

/// The number of a write.
pub type Id = u64;

/// What has become of a write or a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has happened.
    Done,
    /// It has not.
    Aborted,
    /// The session does not know.
    Unknown,
}

/// What a session does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// A single read.
    Read {
        /// Of what.
        key: Key,
        /// The write that it saw; none if the key has no value.
        saw: Option<Id>,
    },
    /// A single write.
    Write {
        /// Of what.
        key: Key,
        /// Its number.
        id: Id,
        /// Its end.
        fate: Fate,
    },
    /// A transaction.
    Transaction {
        /// What it saw of others.
        reads: Vec<(Key, Option<Id>)>,
        /// What it wrote, in this order; only the last write of a key counts.
        writes: Vec<(Key, Id)>,
        /// Its end.
        fate: Fate,
    },
    /// The session was told that writes of these keys may be lost.
    Told {
        /// Which ones.
        keys: Vec<Key>,
    },
}

/// What must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A read saw what has not been written.
    AbortedRead,
    /// A read saw a part of a transaction that the transaction has replaced.
    IntermediateRead,
    /// An operation depends on itself.
    CircularFlow,
    /// A transaction has not seen all of what it depends on.
    MissedEffects,
    /// A session has seen less than it knew.
    Causality,
    /// Two transactions have overwritten one version.
    LostUpdate,
}

/// An anomaly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Of which kind.
    pub kind: Kind,
    /// Where.
    pub what: String,
}

/// What each session has done, in its order.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The sessions.
    pub sessions: Vec<Vec<Op>>,
}

/// Where a write stands.
#[derive(Clone, Copy, Debug)]
struct WritePlace {
    session: usize,
    index: usize,
    /// The clock's component that counts it: its session's, or one of its own if its session does not know of it.
    thread: usize,
    position: u32,
    fate: Fate,
    /// Whether it is the last write of its transaction to this key.
    last: bool,
}

type Clock = Vec<u32>;

struct Checker<'a> {
    history: &'a History,
    places: HashMap<Id, WritePlace>,
    /// By key and thread, in the order of the thread.
    writes: HashMap<Key, HashMap<usize, Vec<(u32, Id)>>>,
    /// What each write depends on, itself included.
    clocks: HashMap<Id, Clock>,
    told: HashSet<(usize, Key)>,
    found: Vec<Anomaly>,
}

impl History {
    /// All anomalies that there are; none in what Occult promises.
    pub fn check(&self) -> Vec<Anomaly> {
        let mut checker = Checker {
            history: self,
            places: HashMap::new(),
            writes: HashMap::new(),
            clocks: HashMap::new(),
            told: HashSet::new(),
            found: Vec::new(),
        };
        let threads = checker.place();
        checker.check_reads();
        checker.follow(threads);
        checker.check_updates();
        checker.found
    }
}

impl Checker<'_> {
    /// Gives each write its place; the number of threads.
    fn place(&mut self) -> usize {
        let mut threads = self.history.sessions.len();
        for (session, ops) in self.history.sessions.iter().enumerate() {
            for (index, op) in ops.iter().enumerate() {
                let (writes, fate) = match op {
                    Op::Write { key, id, fate } => (vec![(*key, *id)], *fate),
                    Op::Transaction { writes, fate, .. } => (writes.clone(), *fate),
                    Op::Read { .. } | Op::Told { .. } => continue,
                };
                let own = fate == Fate::Unknown;
                let (thread, position) = if own { (threads, 1) } else { (session, index as u32 + 1) };
                threads += usize::from(own);
                for (at, &(key, id)) in writes.iter().enumerate() {
                    let last = writes[at + 1..].iter().all(|(of, _)| *of != key);
                    self.places.insert(id, WritePlace { session, index, thread, position, fate, last });
                    if last && fate != Fate::Aborted {
                        self.writes.entry(key).or_default().entry(thread).or_default().push((position, id));
                    }
                }
            }
        }
        threads
    }

    fn report(&mut self, kind: Kind, what: String) {
        self.found.push(Anomaly { kind, what });
    }

    fn check_reads(&mut self) {
        for (session, ops) in self.history.sessions.iter().enumerate() {
            for op in ops {
                for (key, saw) in reads_of(op) {
                    let Some(id) = saw else { continue };
                    let kind = match self.places.get(&id) {
                        None | Some(WritePlace { fate: Fate::Aborted, .. }) => Kind::AbortedRead,
                        Some(WritePlace { last: false, .. }) => Kind::IntermediateRead,
                        Some(_) => continue,
                    };
                    self.report(kind, format!("session {session} sees write {id} of key {key}"));
                }
            }
        }
    }

    /// What a failover may have lost, others overwrite once more: that excuses the keys of which anybody was told.
    fn check_updates(&mut self) {
        let told: HashSet<Key> = self.told.iter().map(|(_, key)| *key).collect();
        let mut updated: HashMap<(Key, Option<Id>), usize> = HashMap::new();
        for (session, ops) in self.history.sessions.iter().enumerate() {
            for op in ops {
                let Op::Transaction { reads, writes, fate: Fate::Done } = op else { continue };
                for &(key, saw) in reads {
                    if told.contains(&key) || !writes.iter().any(|(of, _)| *of == key) {
                        continue;
                    }
                    if let Some(other) = updated.insert((key, saw), session) {
                        let what =
                            format!("sessions {other} and {session} have overwritten {saw:?} of key {key}");
                        self.report(Kind::LostUpdate, what);
                    }
                }
            }
        }
    }

    /// Goes through all operations, each after what it has read.
    fn follow(&mut self, threads: usize) {
        let history = self.history;
        let mut next = vec![0; history.sessions.len()];
        let mut clocks: Vec<Clock> = vec![vec![0; threads]; history.sessions.len()];
        loop {
            let mut moved = false;
            for (session, ops) in history.sessions.iter().enumerate() {
                while let Some(op) = ops.get(next[session]) {
                    let comes_later = reads_of(op).into_iter().any(|(_, saw)| {
                        let place = saw.and_then(|id| self.places.get(&id));
                        place.is_some_and(|place| place.index >= next[place.session])
                    });
                    if comes_later {
                        break;
                    }
                    self.step(session, next[session], op, &mut clocks[session]);
                    next[session] += 1;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        for (session, ops) in history.sessions.iter().enumerate() {
            if let Some(op) = ops.get(next[session]) {
                self.report(Kind::CircularFlow, format!("session {session}: {op:?} depends on itself"));
            }
        }
    }

    fn step(&mut self, session: usize, index: usize, op: &Op, clock: &mut Clock) {
        match op {
            Op::Told { keys } => self.told.extend(keys.iter().map(|key| (session, *key))),
            Op::Read { key, saw } => {
                self.check_past(Kind::Causality, session, (*key, *saw), clock);
                self.add_past(clock, *saw);
            }
            Op::Write { id, fate, .. } => self.written(session, index, &[*id], *fate, clock.clone(), clock),
            Op::Transaction { reads, writes, fate } => {
                if *fate == Fate::Aborted {
                    return;
                }
                let mut whole = clock.clone();
                reads.iter().for_each(|(_, saw)| self.add_past(&mut whole, *saw));
                for read in reads {
                    if self.check_past(Kind::Causality, session, *read, clock) {
                        self.check_past(Kind::MissedEffects, session, *read, &whole);
                    }
                }
                let ids: Vec<Id> = writes.iter().map(|(_, id)| *id).collect();
                self.written(session, index, &ids, *fate, whole, clock);
            }
        }
    }

    fn written(
        &mut self,
        session: usize,
        index: usize,
        ids: &[Id],
        fate: Fate,
        past: Clock,
        clock: &mut Clock,
    ) {
        let mut past = past;
        match fate {
            Fate::Aborted => return,
            Fate::Done => {
                past[session] = index as u32 + 1;
                clock.clone_from(&past);
            }
            Fate::Unknown => {
                for place in ids.iter().filter_map(|id| self.places.get(id)) {
                    past[place.thread] = place.position;
                }
            }
        }
        self.clocks.extend(ids.iter().map(|id| (*id, past.clone())));
    }

    fn add_past(&self, clock: &mut Clock, saw: Option<Id>) {
        let Some(of) = saw.and_then(|id| self.clocks.get(&id)) else { return };
        for (a, b) in clock.iter_mut().zip(of) {
            *a = (*a).max(*b);
        }
    }

    /// Whether a read is not older than a past.
    fn check_past(
        &mut self,
        kind: Kind,
        session: usize,
        (key, saw): (Key, Option<Id>),
        past: &Clock,
    ) -> bool {
        if self.told.contains(&(session, key)) {
            return true;
        }
        let seen = saw.and_then(|id| self.places.get(&id));
        // of each thread the newest write of the key that is in the past
        let newest = self.writes.get(&key).into_iter().flatten().filter_map(|(thread, writes)| {
            let count = writes.partition_point(|(position, _)| *position <= past[*thread]);
            count.checked_sub(1).map(|at| writes[at].1)
        });
        let newer = newest.filter(|id| Some(*id) != saw).find(|id| match (seen, self.clocks.get(id)) {
            (Some(seen), Some(clock)) => clock[seen.thread] >= seen.position,
            (None, _) => saw.is_none(),
            (Some(_), None) => false,
        });
        if let Some(newer) = newer {
            self.report(kind, format!("session {session} sees {saw:?} of key {key}, and depends on {newer}"));
        }
        newer.is_none()
    }
}

fn reads_of(op: &Op) -> Vec<(Key, Option<Id>)> {
    match op {
        Op::Read { key, saw } => vec![(*key, *saw)],
        Op::Transaction { reads, .. } => reads.clone(),
        Op::Write { .. } | Op::Told { .. } => Vec::new(),
    }
}
