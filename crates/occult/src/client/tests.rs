//! What a session keeps, and what it gives away.

use super::{Config, Event, Failure, Operation, Session, Step, Target, Transaction};
use crate::wire::{Command, Item, Prepared, ReadReply, Refused, Reply};
use crate::{Datacenter, Incarnation, Micros, Rule, Rules, Shape, Stamp, Timestamp, Value, slot_of};

const NOW: Micros = Micros(1_700_000_000_000_000);

fn key() -> Value {
    b"key".as_slice().into()
}

fn stamp(after: u64, life: u16) -> Stamp {
    Stamp::new(NOW.plus(Micros(after)), Incarnation::new(life))
}

fn session(config: Config) -> Session {
    Session::new(Shape::default(), config, 1)
}

/// An answer to a read: the shard is at `shardstamp`, the version has `of`.
fn answer(shardstamp: Stamp, of: Stamp, life: u16) -> Event {
    answer_in(Datacenter(0), shardstamp, of, life)
}

/// The same of a shard that belongs to a datacenter.
fn answer_in(datacenter: Datacenter, shardstamp: Stamp, of: Stamp, life: u16) -> Event {
    let mut deps = Timestamp::default();
    deps.update(datacenter, slot_of(&key()), of);
    let items = vec![Item { stamp: of, deps, value: Some(key()) }];
    let incarnation = Incarnation::new(life);
    let reply = Reply::Read(ReadReply { shardstamp, incarnation, datacenter: Some(datacenter), items });
    Event::Answer { tag: 0, from_master: false, answer: Ok(reply) }
}

fn reads(session: &mut Session, event: Event) {
    let mut read = session.read(vec![key()]);
    let _ = read.step(&mut session.view(), NOW, Event::Start);
    assert!(matches!(read.step(&mut session.view(), NOW, event), Step::Done(Ok(_))));
}

#[test]
fn an_abort_does_not_take_back_what_single_reads_have_shown() {
    for keeps in [true, false] {
        let rules = if keeps { Rules::ours() } else { Rules::ours().without(Rule::AbortKeepsSession) };
        let mut session = session(Config { rules, ..Config::default() });
        let transaction = session.begin([1; 16]);
        // (g) a single read while the transaction is open
        reads(&mut session, answer(stamp(10, 1), stamp(10, 1), 1));
        session.roll_back(transaction);
        assert_eq!(session.deps().max() == stamp(10, 1), keeps);
    }
}

#[test]
fn what_a_transaction_has_read_is_the_sessions_only_after_its_commit() {
    let mut session = session(Config::default());
    let mut transaction = session.begin([1; 16]);
    let mut read = transaction.read(vec![key()]);
    let _ = read.step(&mut session.view_of(&mut transaction), NOW, Event::Start);
    let event = answer(stamp(10, 1), stamp(10, 1), 1);
    let Step::Done(Ok(result)) = read.step(&mut session.view_of(&mut transaction), NOW, event) else {
        panic!("the read is over")
    };
    session.note(&mut transaction, read.keys(), result).unwrap();
    assert!(session.deps().is_empty());
    let mut commit = session.commit(transaction);
    assert!(matches!(commit.step(&mut session.view(), NOW, Event::Start), Step::Done(Ok(_))));
    assert_eq!(session.deps().max(), stamp(10, 1));
}

#[test]
fn a_stale_copy_is_asked_again_and_then_the_master() {
    let mut session = session(Config { local_retries: 3, ..Config::default() });
    reads(&mut session, answer(stamp(10, 1), stamp(10, 1), 1));
    let mut read = session.read(vec![key()]);
    let mut step = read.step(&mut session.view(), NOW, Event::Start);
    let (mut pauses, mut asked) = (Vec::new(), 0);
    loop {
        match &step {
            Step::Ask(asks) if asks[0].to == Target::Nearest => asked += 1,
            Step::Ask(asks) => {
                assert!(
                    matches!(&asks[0].command, Command::ReadMaster { known, .. } if known.seen == Some(stamp(10, 1)))
                );
                break;
            }
            Step::Sleep(pause) => {
                pauses.push(pause.0);
                step = read.step(&mut session.view(), NOW, Event::Wake);
                continue;
            }
            other => panic!("{other:?}"),
        }
        step = read.step(&mut session.view(), NOW, answer(stamp(5, 1), stamp(5, 1), 1));
    }
    assert_eq!((asked, pauses), (4, vec![1_000, 2_000]));
    let counted = session.metrics();
    assert_eq!((counted.stale_reads, counted.local_retries, counted.fallbacks), (1, 3, 1));
}

#[test]
fn a_lost_write_is_told_once() {
    let mut session = session(Config::default());
    reads(&mut session, answer(stamp(10, 1), stamp(10, 1), 1));
    // the next life of the shard is newer than what the session knows: its master is asked nevertheless
    let mut read = session.read(vec![key()]);
    let _ = read.step(&mut session.view(), NOW, Event::Start);
    let step = read.step(&mut session.view(), NOW, answer(stamp(20, 2), stamp(20, 2), 2));
    assert!(matches!(&step, Step::Ask(asks) if asks[0].to == Target::Master), "{step:?}");
    let slot = slot_of(&key());
    let lost = Refused::Lost { slot, seen: stamp(10, 1), incarnation: Incarnation::new(2) };
    let event = Event::Answer { tag: 0, from_master: true, answer: Err(Failure::Refused(lost)) };
    assert_eq!(read.step(&mut session.view(), NOW, event), Step::Done(Err(super::Error::LostWrite { slot })));
    reads(&mut session, answer(stamp(20, 2), stamp(20, 2), 2));
}

#[test]
fn a_token_carries_what_the_session_knows() {
    let mut here = session(Config::default());
    reads(&mut here, answer(stamp(10, 1), stamp(10, 1), 1));
    let mut there = session(Config::default());
    there.add_token(&here.token()).unwrap();
    assert_eq!(there.deps(), here.deps());
    assert!(there.add_token("oc1.junk").is_err());
}

/// Whether the nearest copy, which has answered this to a read, is believed.
fn believed(session: &mut Session, transaction: Option<&mut Transaction>, event: Event) -> bool {
    let mut read = session.read(vec![key()]);
    let view = &mut match transaction {
        Some(transaction) => session.view_of(transaction),
        None => session.view(),
    };
    let _ = read.step(view, NOW, Event::Start);
    matches!(read.step(view, NOW, event), Step::Done(Ok(_)))
}

#[test]
fn a_copy_that_belongs_to_another_datacenter_than_before_is_not_believed() {
    for asks in [true, false] {
        let without = Rules::ours().without(Rule::OtherDatacentersCount);
        let rules = if asks { Rules::ours() } else { without };
        let mut session = session(Config { rules, ..Config::default() });
        reads(&mut session, answer_in(Datacenter(1), stamp(10, 1), stamp(10, 1), 1));
        let event = answer_in(Datacenter(0), stamp(20, 1), stamp(5, 1), 1);
        assert_eq!(believed(&mut session, None, event.clone()), !asks, "who was told where the slot belongs");
        // who goes on with a token has not been told, but knows a write of the slot
        let mut there = Session::new(Shape::default(), session.config().clone(), 1);
        there.add_token(&session.token()).unwrap();
        assert!(believed(&mut there, None, event), "it has all that is known");
        there.add_token(&session.token()).unwrap();
        let event = answer_in(Datacenter(0), stamp(9, 1), stamp(5, 1), 1);
        assert_eq!(believed(&mut there, None, event), !asks, "it is behind what is known");
    }
}

#[test]
fn a_transaction_does_not_overwrite_what_has_begun_anew_in_another_datacenter() {
    for aborts in [true, false] {
        let without = Rules::ours().without(Rule::OtherDatacentersCount);
        let rules = if aborts { Rules::ours() } else { without };
        let mut session = session(Config { rules, ..Config::default() });
        let mut transaction = session.begin([1; 16]);
        let mut read = transaction.read(vec![key()]);
        let _ = read.step(&mut session.view_of(&mut transaction), NOW, Event::Start);
        let event = answer(stamp(10, 1), stamp(10, 1), 1);
        let Step::Done(Ok(result)) = read.step(&mut session.view_of(&mut transaction), NOW, event) else {
            panic!("the read is over")
        };
        session.note(&mut transaction, read.keys(), result).unwrap();
        transaction.write(key(), None);
        let mut commit = session.commit(transaction);
        let _ = commit.step(&mut session.view(), NOW, Event::Start);
        let (stamp, datacenter, deps) = (stamp(20, 2), Datacenter(1), Timestamp::default());
        let prepared = Prepared { stamp, datacenter, deps };
        let event = Event::Answer { tag: 0, from_master: true, answer: Ok(Reply::Prepared(prepared)) };
        let Step::Ask(asks) = commit.step(&mut session.view(), NOW, event) else {
            panic!("there is more to do")
        };
        assert_eq!(matches!(asks[0].command, Command::Abort { .. }), aborts, "{asks:?}");
        // so the next attempt does not believe the old copy
        let event = answer(stamp, stamp, 1);
        assert_eq!(believed(&mut session, None, event), !aborts);
    }
}

#[test]
fn a_transaction_that_began_before_hears_of_what_the_session_has_seen() {
    for asks in [true, false] {
        let rules = if asks { Rules::ours() } else { Rules::ours().without(Rule::SeenCounts) };
        let mut session = session(Config { rules, ..Config::default() });
        let mut transaction = session.begin([1; 16]);
        reads(&mut session, answer(stamp(10, 1), stamp(10, 1), 1));
        // a failover has lost it; its next life has not reached this copy yet
        let event = answer(stamp(5, 1), stamp(5, 1), 1);
        assert_eq!(believed(&mut session, Some(&mut transaction), event), !asks);
    }
}

#[test]
fn a_commit_whose_decision_may_be_lost_has_no_known_outcome() {
    for asked_before in [true, false] {
        let mut session = session(Config::default());
        let mut transaction = session.begin([1; 16]);
        transaction.write(key(), None);
        let mut commit = session.commit(transaction);
        let _ = commit.step(&mut session.view(), NOW, Event::Start);
        let (stamp, datacenter, deps) = (stamp(20, 1), Datacenter(0), Timestamp::default());
        let prepared = Reply::Prepared(Prepared { stamp, datacenter, deps });
        let answer = |answer| Event::Answer { tag: 0, from_master: true, answer };
        let _ = commit.step(&mut session.view(), NOW, answer(Ok(prepared)));
        if asked_before {
            assert!(matches!(
                commit.step(&mut session.view(), NOW, answer(Err(Failure::Unknown))),
                Step::Sleep(_)
            ));
            let _ = commit.step(&mut session.view(), NOW, Event::Wake);
        }
        let slot = slot_of(&key());
        let lost = Refused::Lost { slot, seen: stamp, incarnation: Incarnation::new(2) };
        let step = commit.step(&mut session.view(), NOW, answer(Err(Failure::Refused(lost))));
        let unknown = matches!(step, Step::Done(Err(super::Error::CommitUnknown { .. })));
        assert_eq!(unknown, asked_before, "{step:?}");
        // who has not been asked before has not decided: the locks are freed
        assert_eq!(matches!(step, Step::Ask(_)), !asked_before);
    }
}
