//! What the shards of one server process share.

use crate::limits::DEFAULT_MAX_AHEAD;
use crate::{Datacenter, Incarnation, Micros, Rule, Rules, Shape, Stamp};

/// Which copy of its shards a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It accepts writes.
    Master,
    /// It applies what its master sends.
    Replica,
}

/// A server process: its place, its life and its beat.
///
/// A *beat* is a stamp that a master sends in its stream every few milliseconds. It promises that all stamps that the
/// master gives afterwards, for any of its shards, are greater. So a replica that has applied the beat has all writes
/// up to it, also of shards that nobody writes to; without beats those would look stale for ever.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    /// Where it is.
    pub datacenter: Datacenter,
    /// The datacenter whose stamps new shards have: that of the group's first master. Beats tell it to the replicas, so
    /// that it stays when one of them is promoted.
    pub home: Datacenter,
    /// Master or replica.
    pub role: Role,
    /// The life of this master: another one after each start and each promotion, and when its stamps have to be told
    /// from those before for the sake of a slot that has moved.
    pub incarnation: Incarnation,
    /// The term of this master: the life with which it has begun, at its start or its promotion. Within a term it loses
    /// nothing, however many lives it begins.
    pub term: Incarnation,
    /// When this term has begun, by its clock.
    pub begun: Micros,
    /// The last beat that it has sent or applied. It carries the incarnation of its master.
    pub beat: Stamp,
    /// How far before the own clock stamps are accepted.
    pub max_ahead: Micros,
    /// How timestamps are compressed.
    pub shape: Shape,
    /// The rules in force: all but in tests.
    pub rules: Rules,
}

impl Server {
    /// The datacenter that a shard without any write belongs to. It must not change with the master: clients look for
    /// what they know of a slot in the vector of its datacenter, and a copy that has what a failover has lost would
    /// send them to another one.
    pub fn datacenter_of_new(&self) -> Datacenter {
        if self.rules.on(Rule::GroupKeepsDatacenter) { self.home } else { self.datacenter }
    }

    /// A master that begins. `random` is any random number.
    pub fn master(datacenter: Datacenter, random: u64) -> Self {
        let incarnation = Incarnation::from_random(random);
        Self {
            datacenter,
            home: datacenter,
            role: Role::Master,
            incarnation,
            term: incarnation,
            begun: Micros(0),
            beat: Stamp::ZERO,
            max_ahead: DEFAULT_MAX_AHEAD,
            shape: Shape::default(),
            rules: Rules::ours(),
        }
    }

    /// A replica that has applied nothing yet.
    pub fn replica(datacenter: Datacenter) -> Self {
        let none = Incarnation::NONE;
        Self { role: Role::Replica, incarnation: none, term: none, ..Self::master(datacenter, 0) }
    }

    /// Becomes a master: after a promotion, or after a start from files. `random` is any random number.
    pub fn promote(&mut self, random: u64, now: Micros) {
        self.role = Role::Master;
        self.begun = now;
        self.begin_life(random);
        self.term = self.incarnation;
    }

    /// Begins another life of a master, of the same term. `random` is any random number.
    pub fn begin_life(&mut self, random: u64) {
        let before = self.incarnation;
        self.incarnation = Incarnation::from_random(random);
        if self.incarnation == before || self.incarnation == self.beat.incarnation() {
            self.incarnation = Incarnation::from_random(random.wrapping_add(1));
        }
    }

    /// Becomes a replica of another master. What it had may be replaced.
    pub fn demote(&mut self) {
        self.role = Role::Replica;
        self.incarnation = Incarnation::NONE;
        self.term = Incarnation::NONE;
        self.beat = Stamp::ZERO;
    }

    /// The next beat of a master: to be sent in the stream, and applied here by [`apply_beat`](Self::apply_beat).
    pub fn plan_beat(&self, now: Micros) -> Stamp {
        Stamp::new(now.max(self.beat.next_time()), self.incarnation)
    }

    /// Notes a beat, the own or the master's, and the master's [`home`](Self::home).
    pub fn apply_beat(&mut self, beat: Stamp, home: Datacenter) {
        self.home = home;
        // another master's clock may be behind: what counts is whose stream this is
        if beat.incarnation() != self.beat.incarnation() || beat > self.beat {
            self.beat = beat;
        }
    }
}
