//! A shard by hand: each command, and each way in which it is refused.

use std::collections::HashMap;

use super::Shard;
use crate::wire::{Call, Command, Known, Outcome, Prepare, ReadReply, Refused, Reply};
use crate::{
    Datacenter, Effect, Entry, Micros, Rule, Rules, Server, Shape, Slot, Stamp, Timestamp, TxnId, Value,
    Write, slot_of,
};

const START: Micros = Micros(1_700_000_000_000_000);

/// A server with one shard, and what it has sent to its replica.
struct Host {
    server: Server,
    shard: Shard,
    keys: HashMap<Value, Entry>,
    stream: Vec<Effect>,
    now: Micros,
    settled: bool,
    /// The other slots of transactions.
    parts: Vec<Slot>,
}

fn key(name: &str) -> Value {
    format!("{{tag}}{name}").into_bytes().into()
}

fn slot() -> Slot {
    slot_of(b"tag")
}

fn txn(n: u8) -> TxnId {
    TxnId([n; 16])
}

fn value(text: &str) -> Value {
    text.as_bytes().into()
}

impl Host {
    fn new(server: Server) -> Self {
        let (shard, keys, stream) = (Shard::default(), HashMap::new(), Vec::new());
        Self { server, shard, keys, stream, now: START, settled: true, parts: Vec::new() }
    }

    fn master(random: u64) -> Self {
        Self::new(Server::master(Datacenter(0), random))
    }

    fn call(&self) -> Call<'_> {
        Call { server: &self.server, slot: slot(), now: self.now, settled: self.settled }
    }

    fn apply(&mut self, effect: Option<Effect>) {
        if let Some(effect) = effect {
            let effect = Effect::from_bytes(&effect.to_bytes()).unwrap();
            self.shard.apply(slot(), &effect, &mut self.keys);
            assert_eq!(Shard::from_bytes(&self.shard.to_bytes()), Ok(self.shard.clone()));
            self.stream.push(effect);
        }
    }

    fn write(&mut self, name: &str, text: &str, known: &Known) -> Result<Stamp, Refused> {
        let planned = self.shard.plan_write(self.call(), &self.keys, known, &key(name), &value(text))?;
        self.apply(planned.effect);
        Ok(planned.reply.stamp)
    }

    fn delete(&mut self, name: &str, known: &Known) -> Result<bool, Refused> {
        let planned = self.shard.plan_delete(self.call(), &self.keys, known, &key(name))?;
        self.apply(planned.effect);
        Ok(planned.reply.existed)
    }

    fn read(&self, name: &str) -> ReadReply {
        self.shard.plan_read(self.call(), &self.keys, &[key(name)]).unwrap()
    }

    fn text(&self, name: &str) -> Option<String> {
        let value = self.read(name).items.remove(0).value?;
        Some(String::from_utf8(value.to_vec()).unwrap())
    }

    fn read_master(&mut self, name: &str, known: &Known) -> Result<ReadReply, Refused> {
        let planned = self.shard.plan_read_master(self.call(), &self.keys, known, &[key(name)])?;
        self.apply(planned.effect);
        assert!(planned.reply.shardstamp <= self.shard.shardstamp(&self.server));
        Ok(planned.reply)
    }

    fn prepare(&mut self, n: u8, name: &str, text: Option<&str>) -> Result<(Stamp, Timestamp), Refused> {
        let write = Write { key: key(name), value: text.map(value) };
        let prepare = Prepare { txn: txn(n), home: slot(), lease: Micros(1_000), writes: vec![write] };
        let planned = self.shard.plan_prepare(self.call(), &self.keys, &Known::default(), &prepare)?;
        self.apply(planned.effect);
        Ok((planned.reply.stamp, planned.reply.deps))
    }

    fn commit(&mut self, n: u8, deps: &Timestamp) -> Result<(), Refused> {
        let stamp = self.shard.lock().map(|lock| lock.stamp);
        let mut deps = deps.clone();
        deps.update(self.shard.datacenter().unwrap_or_default(), slot(), stamp.unwrap_or_default());
        self.commit_as(n, stamp, &deps)
    }

    fn commit_as(&mut self, n: u8, stamp: Option<Stamp>, deps: &Timestamp) -> Result<(), Refused> {
        let planned = self.shard.plan_commit(self.call(), txn(n), slot(), stamp, deps, &self.parts)?;
        self.apply(planned.effect);
        Ok(())
    }

    fn end(&mut self, n: u8, parts: &[Slot]) {
        let planned = self.shard.plan_end(self.call(), txn(n), parts).unwrap();
        self.apply(planned.effect);
    }

    fn status(&mut self, n: u8) -> Outcome {
        let planned = self.shard.plan_status(self.call(), txn(n)).unwrap();
        self.apply(planned.effect);
        planned.reply
    }

    /// A replica that has applied the first `count` effects.
    fn replica(&self, count: usize) -> Self {
        let mut replica = Self::new(Server::replica(Datacenter(1)));
        for effect in &self.stream[..count] {
            replica.apply(Some(effect.clone()));
        }
        replica
    }
}

fn knows(stamp: Stamp) -> Known {
    let mut deps = Timestamp::new(Shape::default());
    deps.update(Datacenter(0), slot(), stamp);
    Known { deps, ..Known::default() }
}

#[test]
fn a_write_is_stamped_above_all_that_it_depends_on() {
    let mut host = Host::master(1);
    let first = host.write("a", "1", &Known::default()).unwrap();
    host.now = Micros(START.0 - 500);
    let second = host.write("a", "2", &Known::default()).unwrap();
    assert!(second > first);
    let ahead = Stamp::new(START.plus(Micros(1_000_000)), host.server.incarnation);
    let third = host.write("a", "3", &knows(ahead)).unwrap();
    assert!(third > ahead);
    let item = &host.read("a").items[0];
    assert_eq!((item.stamp, item.deps.exact(Datacenter(0), slot())), (third, Some(third)));
}

#[test]
fn the_clock_of_another_datacenter_pulls_nothing() {
    let mut host = Host::master(1);
    let mut known = Known::default();
    let ahead = Stamp::new(START.plus(Micros(1_000_000)), host.server.incarnation);
    known.deps.update(Datacenter(1), slot(), ahead);
    assert!(host.write("a", "1", &known).unwrap() < ahead);
}

#[test]
fn a_stamp_from_the_far_future_is_refused() {
    let mut host = Host::master(1);
    let ahead = Stamp::new(START.plus(host.server.max_ahead).plus(Micros(1)), host.server.incarnation);
    assert!(matches!(host.write("a", "1", &knows(ahead)), Err(Refused::Future { .. })));
    assert!(matches!(host.read_master("a", &knows(ahead)), Err(Refused::Future { .. })));
    host.prepare(1, "a", Some("1")).unwrap();
    assert!(matches!(host.commit(1, &knows(ahead).deps), Err(Refused::Future { .. })));
}

#[test]
fn a_replica_ends_as_its_master() {
    let mut host = Host::master(1);
    host.write("a", "1", &Known::default()).unwrap();
    host.write("b", "1", &Known::default()).unwrap();
    assert_eq!(host.delete("a", &Known::default()), Ok(true));
    assert_eq!(host.delete("a", &Known::default()), Ok(false));
    host.prepare(1, "b", Some("2")).unwrap();
    host.commit(1, &Timestamp::default()).unwrap();
    host.prepare(2, "b", None).unwrap();
    host.commit(2, &Timestamp::default()).unwrap();
    let replica = host.replica(host.stream.len());
    assert_eq!((&replica.shard, &replica.keys), (&host.shard, &host.keys));
    assert_eq!(replica.text("b"), None);
}

#[test]
fn what_a_deletion_depended_on_is_not_forgotten() {
    let mut host = Host::master(1);
    host.write("a", "1", &Known::default()).unwrap();
    let other = Slot::new(7).unwrap();
    let stamp = Stamp::new(START, host.server.incarnation);
    let mut known = Known::default();
    known.deps.update(Datacenter(1), other, stamp);
    host.delete("a", &known).unwrap();
    assert_eq!(host.read("a").items[0].deps.get(Datacenter(1), other), stamp);
}

#[test]
fn a_prepared_shard_excludes_others_and_knows_its_own() {
    let mut host = Host::master(1);
    let (stamp, _) = host.prepare(1, "a", Some("1")).unwrap();
    assert!(matches!(host.write("b", "1", &Known::default()), Err(Refused::Locked(_))));
    assert!(matches!(host.prepare(2, "b", Some("1")), Err(Refused::Locked(_))));
    // (b) a second key of the same transaction
    assert_eq!(host.prepare(1, "b", Some("2")).unwrap().0, stamp);
    assert_eq!(host.text("a"), None);
    host.commit(1, &Timestamp::default()).unwrap();
    assert_eq!((host.text("a").unwrap().as_str(), host.text("b").unwrap().as_str()), ("1", "2"));
    host.server.rules = Rules::ours().without(Rule::LockKnowsTransaction);
    host.prepare(3, "a", Some("3")).unwrap();
    assert!(matches!(host.prepare(3, "b", Some("3")), Err(Refused::Locked(_))));
}

#[test]
fn a_master_does_not_hide_that_it_is_behind() {
    let mut host = Host::master(1);
    host.write("a", "old", &Known::default()).unwrap();
    let (stamp, _) = host.prepare(1, "a", Some("new")).unwrap();
    assert!(host.read("a").shardstamp < stamp);
    // (a) who knows the transaction's stamp has seen another part of it
    assert!(matches!(host.read_master("a", &knows(stamp)), Err(Refused::Locked(_))));
    // who knows less may read what is there
    let less = Stamp::new(Micros(stamp.time().0 - 1), host.server.incarnation);
    let reply = host.read_master("a", &knows(less)).unwrap();
    assert!(reply.shardstamp >= less && reply.shardstamp < stamp);
    host.commit(1, &Timestamp::default()).unwrap();
    assert!(host.read_master("a", &knows(stamp)).unwrap().shardstamp >= stamp);
    assert_eq!(host.text("a").as_deref(), Some("new"));
}

#[test]
fn an_idle_master_speaks_for_the_time_that_is_known() {
    let mut host = Host::master(1);
    host.write("a", "1", &Known::default()).unwrap();
    let later = Stamp::new(START.plus(Micros(5_000)), host.server.incarnation);
    assert!(host.read("a").shardstamp < later);
    assert!(host.read_master("a", &knows(later)).unwrap().shardstamp >= later);
    assert!(host.write("a", "2", &Known::default()).unwrap() > later);
    // and its replica does then, too
    assert!(host.replica(2).read("a").shardstamp >= later);
}

#[test]
fn a_beat_speaks_for_idle_shards_and_stops_at_a_lock() {
    let mut host = Host::master(1);
    host.write("a", "1", &Known::default()).unwrap();
    let mut replica = host.replica(1);
    let beat = host.server.plan_beat(START.plus(Micros(9_000)));
    host.server.apply_beat(beat, Datacenter(0));
    replica.server.apply_beat(beat, Datacenter(0));
    assert_eq!((host.read("a").shardstamp, replica.read("a").shardstamp), (beat, beat));
    // the clock of the master is behind its own beat now
    let (stamp, _) = host.prepare(1, "a", Some("2")).unwrap();
    assert!(stamp > beat);
    let without = Server { rules: Rules::ours().without(Rule::StampAboveBeat), ..host.server.clone() };
    let call = Call { server: &without, ..Host::master(1).call() };
    let known = Known::default();
    let planned = Shard::default().plan_write(call, &HashMap::new(), &known, &key("a"), &value("1")).unwrap();
    assert!(planned.reply.stamp < beat);
    replica.apply(host.stream.last().cloned());
    let next = host.server.plan_beat(START.plus(Micros(99_000)));
    replica.server.apply_beat(next, Datacenter(0));
    assert!(next > stamp && replica.read("a").shardstamp < stamp);
    host.commit(1, &Timestamp::default()).unwrap();
    replica.apply(host.stream.last().cloned());
    assert_eq!(replica.read("a").shardstamp, next);
    // the beat of another life says nothing about this shard
    let mut other = Server::master(Datacenter(0), 2);
    other.apply_beat(other.plan_beat(START.plus(Micros(999_000))), Datacenter(0));
    replica.server.apply_beat(other.beat, Datacenter(0));
    assert_eq!(replica.read("a").shardstamp, stamp);
}

#[test]
fn the_home_decides_once() {
    let mut host = Host::master(1);
    host.prepare(1, "a", Some("1")).unwrap();
    assert_eq!(host.status(1), Outcome::Pending { lease_left: Micros(1_000) });
    let deps = knows(Stamp::new(START, host.server.incarnation)).deps;
    host.commit(1, &deps).unwrap();
    host.commit(1, &deps).unwrap();
    assert!(matches!(host.status(1), Outcome::Committed(_)));
    host.prepare(2, "a", Some("2")).unwrap();
    host.now = START.plus(Micros(1_000));
    assert_eq!(host.status(2), Outcome::Aborted);
    // (d) the decision of a client that has slept too long
    assert_eq!(host.commit(2, &deps), Err(Refused::NotPrepared));
    assert_eq!(host.status(2), Outcome::Aborted);
    assert_eq!(host.text("a").as_deref(), Some("1"));
    // a lease that is over is no reason to refuse while nobody has asked
    host.prepare(3, "a", Some("3")).unwrap();
    host.now = host.now.plus(Micros(5_000));
    host.commit(3, &deps).unwrap();
    assert_eq!(host.text("a").as_deref(), Some("3"));
    // records are forgotten after their time
    host.now = host.now.plus(Micros(2 * crate::limits::RECORD_RETENTION.0 + 1));
    host.prepare(4, "a", Some("4")).unwrap();
    host.commit(4, &deps).unwrap();
    assert_eq!(host.shard.records(), 1);
}

#[test]
fn a_prepare_that_comes_late_is_not_decided_upon() {
    let mut host = Host::master(1);
    let (stamp, _) = host.prepare(1, "a", Some("1")).unwrap();
    host.now = START.plus(Micros(1_000));
    assert_eq!(host.status(1), Outcome::Aborted);
    // the same PREPARE again, from a connection that has broken; then the commit of the first
    host.now = START;
    assert!(host.prepare(1, "a", Some("1")).unwrap().0 > stamp);
    assert_eq!(host.commit_as(1, Some(stamp), &Timestamp::default()), Err(Refused::NotPrepared));
    assert_eq!(host.commit_as(1, None, &Timestamp::default()), Err(Refused::NotPrepared));
    host.commit(1, &Timestamp::default()).unwrap();
    assert_eq!(host.prepare(1, "a", Some("1")), Err(Refused::Ended));
    // the home speaks of it for a while, and remembers it longer
    host.now = START.plus(crate::limits::RECORD_RETENTION).plus(Micros(1));
    assert_eq!(host.status(1), Outcome::Aborted);
    assert_eq!(host.prepare(1, "a", Some("1")), Err(Refused::Ended));
}

#[test]
fn a_commit_takes_the_stamp_that_it_was_prepared_with() {
    let mut host = Host::master(1);
    let (stamp, _) = host.prepare(1, "a", Some("1")).unwrap();
    let mut deps = Timestamp::default();
    let ahead = Stamp::new(START.plus(Micros(3_000_000)), host.server.incarnation);
    deps.update(Datacenter(1), Slot::new(3).unwrap(), ahead);
    host.commit(1, &deps).unwrap();
    assert_eq!(host.read("a").shardstamp, stamp);
    assert_eq!(host.read("a").items[0].deps.get(Datacenter(0), slot()), stamp);
}

#[test]
fn who_has_seen_a_lost_write_is_told() {
    let mut host = Host::master(1);
    let kept = host.write("a", "kept", &Known::default()).unwrap();
    let lost = host.write("a", "lost", &Known::default()).unwrap();
    let mut promoted = host.replica(1);
    promoted.server.promote(2, START);
    let seen = |stamp| Known { seen: Some(stamp), ..Known::default() };
    assert!(promoted.read_master("a", &seen(kept)).is_ok());
    assert!(matches!(promoted.read_master("a", &seen(lost)), Err(Refused::Lost { .. })));
    // also when the stamps of the new life have passed the lost one
    promoted.now = START.plus(Micros(1_000_000));
    let new = promoted.write("a", "new", &Known::default()).unwrap();
    assert!(new > lost);
    assert!(promoted.read_master("a", &seen(kept)).is_ok());
    assert!(promoted.read_master("a", &seen(new)).is_ok());
    assert!(matches!(promoted.write("a", "2", &seen(lost)), Err(Refused::Lost { .. })));
    // and after the next failover
    let mut third = promoted.replica(promoted.stream.len());
    third.server.promote(3, START);
    assert!(third.read_master("a", &seen(new)).is_ok());
    assert!(matches!(third.read_master("a", &seen(lost)), Err(Refused::Lost { .. })));
}

#[test]
fn the_stamp_of_a_lock_outlives_a_failover() {
    for commits in [true, false] {
        let mut host = Host::master(1);
        host.write("a", "old", &Known::default()).unwrap();
        let (stamp, _) = host.prepare(1, "a", Some("new")).unwrap();
        let mut promoted = host.replica(2);
        promoted.server.promote(2, START);
        promoted.now = START.plus(Micros(2_000));
        let seen = Known { seen: Some(stamp), ..Known::default() };
        if commits {
            // as the home it does not decide any more; as another shard it follows the decision
            assert!(matches!(promoted.commit(1, &Timestamp::default()), Err(Refused::Lost { .. })));
            let deps = knows(stamp).deps;
            let home = Slot::new(1).unwrap();
            let planned =
                promoted.shard.plan_commit(promoted.call(), txn(1), home, None, &deps, &[]).unwrap();
            promoted.apply(planned.effect);
            assert!(promoted.read_master("a", &seen).is_ok());
        } else {
            assert_eq!(promoted.status(1), Outcome::Aborted);
            assert!(matches!(promoted.read_master("a", &seen), Err(Refused::Lost { .. })));
        }
    }
}

#[test]
fn a_slot_that_moves_is_not_trusted_before_all_of_it_is_there() {
    let mut host = Host::master(1);
    let stamp = host.write("a", "1", &Known::default()).unwrap();
    host.write("b", "1", &Known::default()).unwrap();
    let mut target = Host::master(2);
    target.shard = host.shard.clone();
    target.shard.arrive(target.server.incarnation, target.server.begun, None);
    target.settled = false;
    assert_eq!(target.read("a").shardstamp, Stamp::ZERO);
    assert_eq!(target.write("a", "2", &Known::default()), Err(Refused::Moving));
    assert_eq!(target.read_master("a", &Known::default()), Err(Refused::Moving));
    target.keys = host.keys.clone();
    target.settled = true;
    let seen = Known { seen: Some(stamp), ..knows(stamp) };
    assert!(target.read_master("a", &seen).unwrap().shardstamp >= stamp);
    assert!(!target.shard.is_partial());
    assert!(target.read("b").shardstamp >= stamp);
}

#[test]
fn a_replica_that_misses_what_has_left_is_not_trusted() {
    let mut host = Host::master(1);
    let stamp = host.write("a", "1", &Known::default()).unwrap();
    host.write("b", "1", &Known::default()).unwrap();
    let mut replica = host.replica(2);
    for keys in [&mut host.keys, &mut replica.keys] {
        keys.remove(&key("a"));
    }
    host.shard.leave(host.server.incarnation, host.now);
    replica.shard.leave(host.server.incarnation, host.now);
    assert_eq!(replica.read("a").shardstamp, Stamp::ZERO);
    // the master still has other keys, and writes to them change nothing about that
    host.settled = false;
    host.write("b", "2", &Known::default()).unwrap();
    replica.apply(host.stream.last().cloned());
    assert_eq!(replica.read("a").shardstamp, Stamp::ZERO);
    // the move is given up, and somebody says what has become of the keys
    host.settled = true;
    assert_eq!(host.write("b", "3", &Known::default()), Err(Refused::Moving));
    host.server.begin_life(5);
    let settled = host.shard.plan_settle(host.call()).unwrap().effect;
    host.apply(settled.clone());
    replica.apply(settled);
    host.write("b", "3", &Known::default()).unwrap();
    replica.apply(host.stream.last().cloned());
    assert!(replica.read("b").shardstamp > stamp);
}

#[test]
fn a_replica_changes_nothing() {
    let mut host = Host::master(1);
    host.write("a", "1", &Known::default()).unwrap();
    let mut replica = host.replica(1);
    assert_eq!(replica.write("a", "2", &Known::default()), Err(Refused::NotMaster));
    assert_eq!(replica.read_master("a", &Known::default()), Err(Refused::NotMaster));
    assert_eq!(replica.prepare(1, "a", None), Err(Refused::NotMaster));
    assert_eq!(replica.commit(1, &Timestamp::default()), Err(Refused::NotMaster));
}

#[test]
fn a_home_remembers_a_transaction_that_may_hold_locks_elsewhere() {
    for rules in [Rules::ours(), Rules::ours().without(Rule::OpenRecordsStay)] {
        let mut home = Host::master(1);
        home.server.rules = rules;
        let (one, two) = (Slot::new(1).unwrap(), Slot::new(2).unwrap());
        home.parts = vec![one, two];
        home.prepare(1, "a", Some("x")).unwrap();
        home.commit(1, &Timestamp::default()).unwrap();
        home.parts.clear();
        // nobody has come by for an hour, but many others have committed here
        for n in 2..9 {
            home.now = home.now.plus(Micros(600_000_000));
            home.prepare(n, "a", Some("y")).unwrap();
            home.commit(n, &Timestamp::default()).unwrap();
        }
        home.end(1, &[two]);
        let kept = matches!(home.status(1), Outcome::Committed(_));
        assert_eq!(kept, rules == Rules::ours());
        home.end(1, &[one]);
        assert!(matches!(home.status(1), Outcome::Aborted));
        assert_eq!(home.shard.records(), 1);
    }
}

/// Without this rule a clock that is behind gives stamps below what its clients know, and their own writes look stale
/// to them wherever the timestamp is compressed.
#[test]
fn a_slow_clock_is_pulled_forward_by_what_a_client_knows() {
    for rules in [Rules::ours(), Rules::ours().without(Rule::StampAboveDeps)] {
        let mut host = Host::master(1);
        host.server.rules = rules;
        let ahead = Stamp::new(START.plus(Micros(5_000_000)), crate::Incarnation::new(9));
        let mut known = Known { deps: Timestamp::new(Shape::Temporal(1)), ..Known::default() };
        known.deps.update(Datacenter(0), Slot::new(1).unwrap(), ahead);
        let stamp = host.write("a", "x", &known).unwrap();
        known.deps.update(Datacenter(0), slot(), stamp);
        let fresh = host.shard.shardstamp(&host.server) >= known.deps.get(Datacenter(0), slot());
        assert_eq!(fresh, rules == Rules::ours());
    }
}

/// The old group of a slot fails in the middle of a move: its next master does not know that keys have left.
#[test]
fn a_key_that_has_left_does_not_look_deleted_after_a_failover() {
    for rules in [Rules::ours(), Rules::ours().without(Rule::MovesEndInOneTerm)] {
        let mut host = Host::master(1);
        host.server.rules = rules;
        let stamp = host.write("a", "1", &Known::default()).unwrap();
        host.write("b", "1", &Known::default()).unwrap();
        let mut promoted = host.replica(2);
        promoted.keys.remove(&key("a"));
        promoted.shard.leave(host.server.incarnation, host.now);
        promoted.server.rules = rules;
        promoted.server.promote(2, START);
        let seen = Known { seen: Some(stamp), ..knows(stamp) };
        let read = promoted.read_master("a", &seen);
        assert_eq!(read.is_ok_and(|reply| reply.items[0].value.is_none()), rules != Rules::ours());
        if rules != Rules::ours() {
            continue;
        }
        assert_eq!(promoted.write("b", "2", &Known::default()), Err(Refused::Moving));
        assert_eq!(promoted.read("b").shardstamp, Stamp::ZERO);
        // an operator has looked: the key has not come back
        promoted.settled = false;
        assert_eq!(promoted.shard.plan_settle(promoted.call()), Err(Refused::Moving));
        promoted.settled = true;
        let settled = promoted.shard.plan_settle(promoted.call()).unwrap();
        promoted.apply(settled.effect);
        assert!(matches!(promoted.read_master("a", &seen), Err(Refused::Lost { .. })));
        let new = promoted.write("b", "2", &Known::default()).unwrap();
        assert!(promoted.read_master("b", &Known { seen: Some(new), ..knows(new) }).is_ok());
        assert_eq!(promoted.shard.plan_settle(promoted.call()).unwrap().effect, None);
    }
}

/// The new group of a slot fails before its master has adopted what has come: keys that came last may be lost.
#[test]
fn what_has_arrived_is_not_claimed_after_a_failover() {
    for rules in [Rules::ours(), Rules::ours().without(Rule::MovesEndInOneTerm)] {
        let mut host = Host::master(1);
        let stamp = host.write("a", "1", &Known::default()).unwrap();
        host.write("b", "1", &Known::default()).unwrap();
        let mut promoted = Host::new(Server::replica(Datacenter(1)));
        promoted.server.rules = rules;
        promoted.shard = host.shard.clone();
        promoted.shard.arrive(crate::Incarnation::new(2), Micros(0), None);
        promoted.server.promote(3, START);
        let seen = Known { seen: Some(stamp), ..knows(stamp) };
        let read = promoted.read_master("a", &seen);
        assert_eq!(matches!(read, Err(Refused::Lost { .. })), rules == Rules::ours());
        let new = promoted.write("b", "2", &Known::default()).unwrap();
        let read = promoted.read_master("a", &seen);
        assert_eq!(matches!(read, Err(Refused::Lost { .. })), rules == Rules::ours());
        assert!(promoted.read_master("b", &Known { seen: Some(new), ..knows(new) }).is_ok());
    }
}

/// The same, if keys had come before the state: they may be lost without a trace.
#[test]
fn what_has_come_before_the_state_is_not_claimed_after_a_failover() {
    for begun in [START.plus(Micros(1)), Micros(START.0 - 1)] {
        let mut host = Host::master(1);
        let stamp = host.write("a", "1", &Known::default()).unwrap();
        host.write("b", "1", &Known::default()).unwrap();
        host.shard.leave(host.server.incarnation, host.now);
        let mut target = Host::master(3);
        target.server.begun = begun;
        target.shard = Shard::from_bytes(&host.shard.to_bytes_moving(&host.server)).unwrap();
        target.shard.arrive(target.server.incarnation, begun, None);
        let read = target.read_master("a", &Known { seen: Some(stamp), ..knows(stamp) });
        assert_eq!(matches!(read, Err(Refused::Lost { .. })), begun > START);
    }
}

/// More failovers than a shard remembers: it does not know any more what became of an old write, and says so.
#[test]
fn a_session_that_has_missed_too_many_failovers_is_told() {
    let mut host = Host::master(1);
    let old = host.write("a", "1", &Known::default()).unwrap();
    let mut last = host.server.incarnation;
    for life in 2..=crate::limits::MAX_INCARNATIONS as u64 + 2 {
        host.server.promote(life, START);
        host.now = host.now.plus(Micros(1_000));
        host.write("b", "1", &Known::default()).unwrap();
        if life < 10 {
            last = host.server.incarnation;
        }
    }
    let seen = |verified| Known { seen: Some(old), verified, ..Known::default() };
    let first = crate::Incarnation::from_random(1);
    assert_eq!(host.read_master("a", &seen(first)), Err(Refused::Forgotten { slot: slot(), seen: old }));
    assert_eq!(host.write("a", "2", &seen(first)), Err(Refused::Forgotten { slot: slot(), seen: old }));
    // who has asked a master since that is remembered knows that it was there then, and so it is
    assert!(host.read_master("a", &seen(last)).is_ok());
    assert!(host.read_master("a", &Known::default()).is_ok());
}

/// A state whose keys have left before a failover moves on: its bytes must have its stamp, and must be readable.
#[test]
fn a_state_that_moves_on_after_a_failover_keeps_its_stamp() {
    let mut host = Host::master(1);
    host.write("a", "1", &Known::default()).unwrap();
    host.server.promote(2, START);
    host.now = host.now.plus(Micros(1_000));
    let stamp = host.write("b", "1", &Known::default()).unwrap();
    host.shard.leave(host.server.incarnation, host.now);
    host.server.promote(3, START);
    for bytes in [host.shard.to_bytes_moving(&host.server), host.shard.to_bytes_of(&host.server)] {
        let shard = Shard::from_bytes(&bytes).unwrap();
        assert!(shard.stamp >= stamp);
    }
    // nobody knows which keys have got there: it claims nothing
    let mut target = Host::master(4);
    target.shard = Shard::from_bytes(&host.shard.to_bytes_moving(&host.server)).unwrap();
    target.shard.arrive(target.server.incarnation, Micros(0), None);
    let read = target.read_master("b", &Known { seen: Some(stamp), ..knows(stamp) });
    assert!(matches!(read, Err(Refused::Lost { .. })), "{read:?}");
    assert!(target.write("b", "2", &Known::default()).unwrap() > stamp);
}

/// A failover of the old master has lost that the state had left, and what was written before: it comes again, older
/// than what is here.
#[test]
fn an_older_state_that_arrives_over_a_newer_one_claims_nothing() {
    let mut host = Host::master(1);
    host.write("a", "1", &Known::default()).unwrap();
    let older = host.shard.clone();
    let stamp = host.write("a", "2", &Known::default()).unwrap();
    let mut target = Host::master(3);
    let arrives = |shard: &Shard, before: Option<&Shard>| {
        let mut shard = Shard::from_bytes(&shard.to_bytes_moving(&host.server)).unwrap();
        shard.arrive(target.server.incarnation, Micros(0), before);
        shard
    };
    let first = arrives(&host.shard, None);
    let (again, second) = (arrives(&host.shard, Some(&first)), arrives(&older, Some(&first)));
    let seen = Known { seen: Some(stamp), ..knows(stamp) };
    target.shard = again;
    assert!(target.read_master("a", &seen).is_ok());
    target.shard = second;
    assert!(matches!(target.read_master("a", &seen), Err(Refused::Lost { .. })));
    assert!(target.write("a", "3", &Known::default()).unwrap() > stamp);
}

/// The state has left, and the slot is here again without it: it may be lost, and somebody has to say so.
#[test]
fn a_slot_whose_state_has_left_is_refused_until_it_is_settled() {
    let mut host = Host::master(1);
    let stamp = host.write("a", "1", &Known::default()).unwrap();
    host.shard.leave_whole(host.now);
    let seen = Known { seen: Some(stamp), ..knows(stamp) };
    assert_eq!(host.read_master("a", &seen), Err(Refused::Moving));
    assert_eq!(host.write("a", "2", &Known::default()), Err(Refused::Moving));
    assert_eq!(host.read("a").shardstamp, Stamp::ZERO);
    let settle = Command::Settle { slot: slot() };
    assert!(settle.begins_life(host.shard.is_partial(), true));
    host.server.begin_life(2);
    let settled = host.shard.plan_settle(host.call()).unwrap();
    host.apply(settled.effect);
    assert!(!settle.begins_life(host.shard.is_partial(), true));
    assert!(matches!(host.read_master("a", &seen), Err(Refused::Lost { .. })));
    let new = host.write("a", "2", &Known::default()).unwrap();
    assert!(host.read_master("a", &Known { seen: Some(new), ..knows(new) }).is_ok());
}

/// Who reads, after an operator has settled a slot, what was there before, is not told that it may be lost.
#[test]
fn what_is_read_in_a_settled_slot_may_be_written_again() {
    let mut host = Host::master(1);
    let old = host.write("a", "1", &Known::default()).unwrap();
    host.shard.leave_whole(host.now);
    host.server.begin_life(2);
    let settled = host.shard.plan_settle(host.call()).unwrap();
    host.apply(settled.effect);
    let seen = |verified| Known { seen: Some(old), verified, ..knows(old) };
    assert!(matches!(
        host.read_master("a", &seen(crate::Incarnation::from_random(1))),
        Err(Refused::Lost { .. })
    ));
    let now = host.read("a").incarnation;
    assert!(host.write("b", "1", &seen(now)).is_ok());
    // and the next life has all that this one began with
    host.server.promote(3, host.now);
    host.now = host.now.plus(Micros(1_000));
    assert!(host.write("a", "2", &seen(now)).is_ok());
}

/// A slot returns to a master that has had it before, and something was lost meanwhile: the master says so by another
/// life, since sessions ask only when they see one.
#[test]
fn a_slot_that_returns_with_another_history_is_of_another_life() {
    for (fails, rule) in [(true, true), (false, true), (true, false)] {
        let rules = Rules::ours();
        let rules = if rule { rules } else { rules.without(Rule::ReturnsInAnotherLife) };
        let mut here = Host::master(1);
        here.server.rules = rules;
        let lost = here.write("a", "1", &Known::default()).unwrap();
        let first = here.server.incarnation;
        let mut there = Host::master(2);
        there.shard = Shard::from_bytes(&here.shard.to_bytes_moving(&here.server)).unwrap();
        there.shard.arrive_at_master(&mut there.server, 7, None);
        assert_eq!(there.server.incarnation, crate::Incarnation::from_random(2));
        here.shard.leave_whole(here.now);
        if fails {
            there.server.promote(3, there.now);
        }
        there.now = there.now.plus(Micros(1_000));
        there.write("b", "1", &Known::default()).unwrap();
        let aside = std::mem::take(&mut here.shard);
        here.shard = Shard::from_bytes(&there.shard.to_bytes_moving(&there.server)).unwrap();
        here.shard.arrive_at_master(&mut here.server, 4, Some(&aside));
        here.now = there.now.plus(Micros(1_000));
        assert_eq!(here.read("a").incarnation == first, !fails || !rule);
        let told = here.read_master("a", &Known { seen: Some(lost), verified: first, ..knows(lost) });
        assert_eq!(matches!(told, Err(Refused::Lost { .. })), fails && rule, "{told:?}");
        assert!(!here.shard.begins_anew(&here.server));
    }
}

/// What a beat has promised holds when the master has begun another life since, because of another slot: the next
/// master, whose clock is behind, gives no stamp below. What a failover has lost stays lost.
#[test]
fn what_a_beat_has_promised_moves_after_another_life() {
    let mut host = Host::master(1);
    let stamp = host.write("a", "1", &Known::default()).unwrap();
    host.now = host.now.plus(Micros(1_000_000));
    host.server.apply_beat(host.server.plan_beat(host.now), Datacenter(0));
    let promised = host.read("a").shardstamp;
    assert_eq!(promised, host.server.beat);
    host.server.begin_life(2);
    let arrives = |host: &Host| {
        let mut target = Host::master(3);
        target.shard = Shard::from_bytes(&host.shard.to_bytes_moving(&host.server)).unwrap();
        target.shard.arrive_at_master(&mut target.server, 7, None);
        target
    };
    // before the first beat of that life, and after it
    for _ in 0..2 {
        let mut target = arrives(&host);
        assert!(target.write("a", "2", &Known::default()).unwrap() > promised);
        host.server.apply_beat(host.server.plan_beat(host.now), Datacenter(0));
    }
    // the same after a failover
    let mut promoted = host.replica(1);
    promoted.server.promote(5, host.now);
    promoted.server.apply_beat(promoted.server.plan_beat(host.now), Datacenter(0));
    let lost = Stamp::new(stamp.next_time(), stamp.incarnation());
    for (of, there) in [(stamp, true), (lost, false)] {
        let read = arrives(&promoted).read_master("a", &Known { seen: Some(of), ..knows(of) });
        assert_eq!(read.is_ok(), there, "{read:?}");
    }
}

/// One slot makes a master begin another life, while others are coming and going: nothing of those is lost.
#[test]
fn another_life_of_a_master_interrupts_no_move() {
    for rules in [Rules::ours(), Rules::ours().without(Rule::MovesOutliveLives)] {
        let ours = rules == Rules::ours();
        let mut host = Host::master(1);
        host.server.rules = rules;
        let stamp = host.write("a", "1", &Known::default()).unwrap();
        host.write("b", "1", &Known::default()).unwrap();
        let seen = Known { seen: Some(stamp), ..knows(stamp) };
        let mut target = Host::master(2);
        target.server.rules = rules;
        target.shard = Shard::from_bytes(&host.shard.to_bytes_moving(&host.server)).unwrap();
        target.shard.arrive_at_master(&mut target.server, 7, None);
        target.keys = host.keys.clone();
        target.server.begin_life(8);
        target.now = target.now.plus(Micros(1_000));
        // what a file says of the term is of none that is to come
        for bytes in [target.shard.to_bytes_of(&target.server), target.shard.to_bytes_moving(&target.server)]
        {
            assert!(Shard::from_bytes(&bytes).unwrap().begins_anew(&target.server));
        }
        let read = target.read_master("a", &seen);
        assert_eq!(read.is_ok(), ours, "{read:?}");
        assert_eq!(matches!(read, Err(Refused::Lost { .. })), !ours);
        // a key leaves the old master, which still answers for the others
        host.keys.remove(&key("a"));
        host.shard.leave(super::term(&host.server), host.now);
        host.settled = false;
        host.server.begin_life(9);
        host.now = host.now.plus(Micros(1_000));
        assert_eq!(host.shard.is_leaving(&host.server), ours);
        assert_eq!(host.read_master("b", &seen).is_ok(), ours);
        let moved = Shard::from_bytes(&host.shard.to_bytes_moving(&host.server)).unwrap();
        assert_eq!(moved.incarnation() != crate::Incarnation::NONE, ours);
        // a failover is another term
        host.server.promote(3, host.now);
        assert_eq!(host.read_master("b", &seen), Err(Refused::Moving));
    }
}

/// The lock of a transaction that has ended where the state has gone is here still, in the copy that stays.
#[test]
fn a_lock_that_has_left_with_the_state_does_not_come_back() {
    for rule in [true, false] {
        let mut host = Host::master(1);
        if !rule {
            host.server.rules = Rules::ours().without(Rule::LockLeavesWithState);
        }
        let home = Slot::new(1).unwrap();
        let writes = vec![Write { key: key("a"), value: Some(value("older")) }];
        let prepare = Prepare { txn: txn(1), home, lease: Micros(1_000), writes };
        let planned = host.shard.plan_prepare(host.call(), &host.keys, &Known::default(), &prepare).unwrap();
        host.apply(planned.effect);
        let stamp = planned.reply.stamp;
        host.shard.leave_whole(host.now);
        // the key has been written again there, and the state was lost on its way back
        let mut deps = Timestamp::default();
        let newer = Stamp::new(host.now.plus(Micros(500)), crate::Incarnation::new(9));
        deps.update(Datacenter(0), slot(), newer);
        host.keys.insert(key("a"), Entry { stamp: newer, deps, value: value("newer") });
        host.server.begin_life(2);
        let settled = host.shard.plan_settle(host.call()).unwrap();
        host.apply(settled.effect);
        let mut deps = Timestamp::default();
        deps.update(Datacenter(0), slot(), stamp);
        let late = host.shard.plan_commit(host.call(), txn(1), home, None, &deps, &[]).unwrap();
        host.apply(late.effect);
        assert_eq!(host.read("a").items[0].stamp == newer, rule);
        assert!(host.shard.stamp >= stamp && host.shard.lock().is_none());
    }
}

/// A server that reads its files does not know in which life keys have left; their slot's lock has not left with them.
#[test]
fn a_lock_stays_if_only_keys_have_left() {
    let mut host = Host::new(Server::master(Datacenter(0), 1));
    let home = Slot::new(1).unwrap();
    let writes = vec![Write { key: key("a"), value: Some(value("new")) }];
    let prepare = Prepare { txn: txn(1), home, lease: Micros(1_000), writes };
    let planned = host.shard.plan_prepare(host.call(), &host.keys, &Known::default(), &prepare).unwrap();
    host.apply(planned.effect);
    host.shard.leave(crate::Incarnation::NONE, host.now);
    host.shard = Shard::from_bytes(&host.shard.to_bytes()).unwrap();
    host.server.begin_life(2);
    let settled = host.shard.plan_settle(host.call()).unwrap();
    host.apply(settled.effect);
    assert_eq!(host.shard.lock().map(|lock| lock.txn), Some(txn(1)));
    // so the decision that comes late has its effect
    let mut deps = Timestamp::default();
    deps.update(Datacenter(0), slot(), planned.reply.stamp);
    let late = host.shard.plan_commit(host.call(), txn(1), home, None, &deps, &[]).unwrap();
    host.apply(late.effect);
    assert_eq!(host.read("a").items[0].stamp, planned.reply.stamp);
}

/// What the home answers to a COMMIT after its failover depends on what that has lost.
#[test]
fn a_home_says_whether_it_knows_that_nothing_was_decided() {
    for rule in [true, false] {
        for lock_is_lost in [true, false] {
            let mut host = Host::new(Server::master(Datacenter(0), 1));
            if !rule {
                host.server.rules = Rules::ours().without(Rule::LostDecisionsTell);
            }
            // a write, so that the shard has begun its life
            let before =
                host.shard.plan_write(host.call(), &host.keys, &Known::default(), &key("b"), &value("b"));
            host.apply(before.unwrap().effect);
            let writes = vec![Write { key: key("a"), value: Some(value("new")) }];
            let prepare = Prepare { txn: txn(1), home: slot(), lease: Micros(1_000), writes };
            let planned =
                host.shard.plan_prepare(host.call(), &host.keys, &Known::default(), &prepare).unwrap();
            if !lock_is_lost {
                host.apply(planned.effect);
            }
            host.server.begin_life(2);
            let mut deps = Timestamp::default();
            deps.update(Datacenter(0), slot(), planned.reply.stamp);
            let stamp = Some(planned.reply.stamp);
            let answer = host.shard.plan_commit(host.call(), txn(1), slot(), stamp, &deps, &[]).unwrap_err();
            assert_eq!(matches!(answer, Refused::Lost { .. }), rule, "{answer:?}");
        }
        // in the same life it knows
        let host = Host::new(Server::master(Datacenter(0), 1));
        let stamp = Some(Stamp::new(host.now, host.server.incarnation));
        let answer = host.shard.plan_commit(host.call(), txn(1), slot(), stamp, &Timestamp::default(), &[]);
        assert_eq!(answer.unwrap_err(), Refused::NotPrepared);
    }
}

#[test]
fn bytes_of_versions_are_answered_and_stored_as_they_are() {
    let mut host = Host::master(1);
    let stamp = host.write("a", "one", &Known::default()).unwrap();
    let known = Known { deps: host.read("a").items[0].deps.clone(), ..Known::default() };
    host.write("empty", "", &known).unwrap();
    host.delete("gone", &known).unwrap();
    for names in [&["a"][..], &["a", "empty", "gone", "never"]] {
        let keys: Vec<Value> = names.iter().map(|name| key(name)).collect();
        let views: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut bytes = Vec::new();
        host.shard.encode_read(host.call(), &host.keys, &views, &mut bytes).unwrap();
        let reply = host.shard.plan_read(host.call(), &host.keys, &keys).unwrap();
        assert_eq!(bytes, Reply::Read(reply).to_bytes());
    }
    // every effect has the same effect by its bytes
    host.prepare(1, "b", Some("two")).unwrap();
    host.commit(1, &known.deps).unwrap();
    host.prepare(2, "b", None).unwrap();
    host.write("a", "late", &known).unwrap_err();
    let (mut shard, mut keys) = (Shard::default(), HashMap::new());
    let (mut other, mut their_keys) = (Shard::default(), HashMap::new());
    for effect in &host.stream {
        let bytes = effect.to_bytes();
        shard.apply_bytes(slot(), &bytes, &mut keys).unwrap();
        other.apply_encoded(slot(), effect, &bytes, &mut their_keys);
    }
    assert_eq!((&other, &their_keys), (&shard, &keys));
    assert_eq!((&shard, &keys), (&host.shard, &host.keys));
    assert!(shard.stamp > stamp && shard.lock.is_some());
    // a version ends a lock, as it is put after it only if the lock is gone at the master
    let put = host.stream[0].to_bytes();
    shard.apply_bytes(slot(), &put, &mut keys).unwrap();
    assert!(shard.lock.is_none());
    // what is cut short changes nothing; a value may end anywhere
    let before = (shard.clone(), keys.clone());
    for length in 0..put.len() - b"one".len() {
        assert!(shard.apply_bytes(slot(), &put[..length], &mut keys).is_err(), "{length}");
    }
    assert_eq!((shard, keys), before);
}

#[test]
fn no_bytes_name_the_state_of_a_slot_as_a_key() {
    let name = crate::slot_key(slot());
    // of the same length, behind the tag
    let text = "x".repeat(name.len() - key("").len());
    let twin = key(&text);
    let renamed = |mut bytes: Vec<u8>| {
        let at = bytes.windows(twin.len()).position(|part| part == &twin[..]).unwrap();
        bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
        bytes
    };
    let mut host = Host::master(1);
    host.write(&text, "one", &Known::default()).unwrap();
    host.delete(&text, &Known::default()).unwrap();
    host.prepare(1, &text, Some("two")).unwrap();
    assert_eq!(host.stream.len(), 3);
    for effect in &host.stream {
        let bytes = renamed(effect.to_bytes());
        assert!(Effect::from_bytes(&bytes).is_err(), "{effect:?}");
        let (mut shard, mut keys) = (Shard::default(), HashMap::new());
        assert!(shard.apply_bytes(slot(), &bytes, &mut keys).is_err(), "{effect:?}");
        assert!(shard.is_new() && keys.is_empty());
    }
    assert!(Shard::from_bytes(&renamed(host.shard.to_bytes())).is_err());
}
