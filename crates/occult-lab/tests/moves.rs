//! Moves of slots that do not go as they should: MIGRATE inside of MULTI, and failovers in the middle of a move.
//!
//! `make test-occult` builds the module and runs this. Elsewhere the tests say that they are skipped.

mod support;

use scaledb_occult::wire::{Command, Known, Prepare, ReadReply, Refused, Reply};
use scaledb_occult::{Micros, Slot, Stamp, Timestamp, TxnId, Value, Write, slot_key, slot_of};
use scaledb_occult_lab::{Failure, Lab, Node, Options, Shape};
use support::lab;

const SLOT_TAG: &str = "moves";

fn name(i: usize) -> String {
    format!("{{{SLOT_TAG}}}{i}")
}

fn key(i: usize) -> Value {
    name(i).into_bytes().into()
}

fn slot() -> Slot {
    slot_of(SLOT_TAG.as_bytes())
}

fn write(node: &Node, i: usize, text: &str) -> Result<Stamp, Failure> {
    let command = Command::Write { key: key(i), value: text.as_bytes().into(), known: Known::default() };
    match node.occult(&command)? {
        Reply::Written(written) => Ok(written.stamp),
        other => panic!("{other:?}"),
    }
}

/// Reads at a master; `seen` is a write that the client has seen.
fn read(node: &Node, i: usize, seen: Option<Stamp>) -> Result<ReadReply, Failure> {
    let known = Known { seen, ..Known::default() };
    match node.occult(&Command::ReadMaster { known, keys: vec![key(i)] })? {
        Reply::Read(reply) => Ok(reply),
        other => panic!("{other:?}"),
    }
}

fn text(reply: &ReadReply) -> Option<&str> {
    reply.items[0].value.as_ref().map(|value| std::str::from_utf8(value).unwrap())
}

fn id(node: &Node) -> String {
    node.ask(&["CLUSTER", "MYID"]).unwrap()
}

fn set_slot(node: &Node, what: &str, of: Option<&str>) {
    let number = slot().get().to_string();
    let words = ["CLUSTER", "SETSLOT", number.as_str(), what];
    node.ask::<()>(&words.into_iter().chain(of).collect::<Vec<_>>()).unwrap();
}

fn begin_move(source: &Node, target: &Node) {
    set_slot(target, "IMPORTING", Some(&id(source)));
    set_slot(source, "MIGRATING", Some(&id(target)));
}

fn migrate(source: &Node, target: &Node, key: &str) {
    let port = target.place.announced.to_string();
    let answer = source.ask::<String>(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]).unwrap();
    assert_eq!(answer, "OK", "{key}");
}

/// A cluster with some keys in one slot: the stamps of the keys, the slot's master, and another one.
fn filled(replicas: bool) -> Option<(Lab, Vec<Stamp>, usize, usize)> {
    filled_with(Options { shape: Shape { masters: 3, replicas }, ..Options::default() })
}

fn filled_with(options: Options) -> Option<(Lab, Vec<Stamp>, usize, usize)> {
    let lab = lab(&options)?;
    let source = (0..3).find(|&i| write(&lab.nodes()[i], 0, "0").is_ok()).unwrap();
    let stamps = (0..4).map(|i| write(&lab.nodes()[source], i, &i.to_string()).unwrap()).collect();
    Some((lab, stamps, source, (source + 1) % 3))
}

/// Waits until the replica of a master has, or has not, a key.
fn wait_for_key(lab: &Lab, master: usize, key: &str, there: bool) {
    let replica = lab.replica_of(master);
    let dumped = |lab: &Lab| {
        let mut connection = lab.nodes()[replica].connect().ok()?;
        let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).ok()?;
        Some(keys.iter().any(|of| of == key))
    };
    lab.wait("the replica follows the move", |lab| dumped(lab) == Some(there)).unwrap();
}

/// The master ends, and its replica takes over: its number.
fn fail_over(lab: &mut Lab, master: usize) -> usize {
    let replica = lab.replica_of(master);
    lab.node(master).kill();
    lab.nodes()[replica].ask::<()>(&["CLUSTER", "FAILOVER", "TAKEOVER"]).unwrap();
    let is_master = |lab: &Lab| lab.nodes()[replica].info("occult_role").as_deref() == Some("master");
    lab.wait("the replica is a master", is_master).unwrap();
    // the others have to know it before a slot can move to it
    let known = |lab: &Lab| {
        let id = id(&lab.nodes()[replica]);
        lab.nodes().iter().filter(|node| node.runs()).all(|node| {
            let text: String = node.ask(&["CLUSTER", "NODES"]).unwrap_or_default();
            text.lines().any(|line| line.starts_with(&id) && line.contains("master"))
        })
    };
    lab.wait("all know the new master", known).unwrap();
    replica
}

/// In a MULTI the server shows commands to the module when they are queued: what MIGRATE has taken must not look
/// deleted, and what DEL has removed must not look taken.
#[test]
fn migrate_in_multi_is_no_deletion() {
    let Some((lab, stamps, source, target)) = filled(false) else { return };
    let (source, target) = (&lab.nodes()[source], &lab.nodes()[target]);
    let deletions = || source.info("occult_plain_deletions");
    let port = target.place.announced.to_string();
    let mut connection = source.connect().unwrap();
    // nothing is moving yet: a key that is serialized and deleted is deleted
    redis::pipe()
        .atomic()
        .cmd("DUMP")
        .arg(name(3))
        .cmd("DEL")
        .arg(name(3))
        .query::<redis::Value>(&mut connection)
        .unwrap();
    assert_eq!(deletions().as_deref(), Some("1"));
    begin_move(source, target);
    let mut multi = redis::pipe();
    multi.atomic();
    for key in [&name(0), &name(1), slot_key(slot())] {
        multi.cmd("MIGRATE").arg("127.0.0.1").arg(&port).arg(key).arg(0).arg(5000);
    }
    multi.query::<redis::Value>(&mut connection).unwrap();
    assert_eq!(deletions().as_deref(), Some("1"), "what has moved was taken for deleted");
    migrate(source, target, &name(2));
    for node in lab.nodes() {
        set_slot(node, "NODE", Some(&id(target)));
    }
    for (i, &stamp) in stamps[..3].iter().enumerate() {
        let reply = read(target, i, Some(stamp)).unwrap();
        assert_eq!(text(&reply), Some(i.to_string().as_str()));
        assert_eq!(reply.items[0].stamp, stamp);
    }
    assert_eq!(source.ask::<i64>(&["CLUSTER", "COUNTKEYSINSLOT", &slot().get().to_string()]).unwrap(), 0);
}

/// The master that a slot leaves is killed when some keys have gone: the next one does not know that the slot was
/// moving, and must not call them deleted.
#[test]
fn a_failover_of_the_old_master_does_not_make_moved_keys_look_deleted() {
    for state_first in [false, true] {
        let Some((mut lab, stamps, source, target)) = filled(true) else { return };
        let state = slot_key(slot());
        begin_move(&lab.nodes()[source], &lab.nodes()[target]);
        let moved: &[&str] = if state_first { &[state, &name(0)] } else { &[&name(0)] };
        for key in moved {
            migrate(&lab.nodes()[source], &lab.nodes()[target], key);
            wait_for_key(&lab, source, key, false);
        }
        let promoted = fail_over(&mut lab, source);
        let (promoted, target) = (&lab.nodes()[promoted], &lab.nodes()[target]);
        for (i, &stamp) in stamps[..2].iter().enumerate() {
            let found = read(promoted, i, Some(stamp));
            // a Valkey sends on who asks for what has left, and nothing else
            let sent_on = matches!(&found, Err(Failure::Other(text)) if text.starts_with("ASK "));
            assert!(
                found == Err(Failure::Refused(Refused::Moving)) || sent_on && state_first && i == 0,
                "state first: {state_first}: {found:?}"
            );
        }
        assert_eq!(write(promoted, 1, "no"), Err(Failure::Refused(Refused::Moving)));
        // an operator takes the move back: all of it, and says so; a Valkey remembers that the slot was leaving, and
        // would send the keys away again
        set_slot(promoted, "STABLE", None);
        for key in moved {
            migrate(target, promoted, key);
        }
        set_slot(target, "STABLE", None);
        if !state_first {
            assert_eq!(read(promoted, 0, None), Err(Failure::Refused(Refused::Moving)));
        }
        assert_eq!(promoted.occult(&Command::Settle { slot: slot() }), Ok(Reply::Done));
        for i in 0..4 {
            assert_eq!(text(&read(promoted, i, None).unwrap()), Some(i.to_string().as_str()));
        }
        assert!(write(promoted, 1, "yes").is_ok());
    }
}

/// The master to which a slot moves is killed before it owns it: of what had come, some may be lost, and who has seen
/// it is told.
#[test]
fn a_failover_of_the_new_master_tells_what_it_may_have_lost() {
    let Some((mut lab, stamps, source, target)) = filled(true) else { return };
    begin_move(&lab.nodes()[source], &lab.nodes()[target]);
    for key in [slot_key(slot()), &name(0)] {
        migrate(&lab.nodes()[source], &lab.nodes()[target], key);
        wait_for_key(&lab, target, key, true);
    }
    let promoted = fail_over(&mut lab, target);
    // an operator goes on with the move
    let (source, promoted) = (&lab.nodes()[source], &lab.nodes()[promoted]);
    begin_move(source, promoted);
    for i in 1..4 {
        migrate(source, promoted, &name(i));
    }
    let masters =
        lab.nodes().iter().filter(|node| node.runs() && node.info("role").as_deref() == Some("master"));
    for node in masters {
        set_slot(node, "NODE", Some(&id(promoted)));
    }
    for (i, &stamp) in stamps.iter().enumerate() {
        let found = read(promoted, i, Some(stamp));
        assert!(matches!(found, Err(Failure::Refused(Refused::Lost { .. }))), "{found:?}");
        assert_eq!(text(&read(promoted, i, None).unwrap()), Some(i.to_string().as_str()));
    }
    let new = write(promoted, 0, "new").unwrap();
    assert_eq!(text(&read(promoted, 0, Some(new)).unwrap()), Some("new"));
}

/// The state of a slot has left a master, which then forgets all but its file: it must not take the slot for a new one.
#[test]
fn a_restart_after_the_state_has_left_does_not_make_the_slot_look_new() {
    let Some((mut lab, stamps, source, target)) = filled(false) else { return };
    let state = slot_key(slot());
    begin_move(&lab.nodes()[source], &lab.nodes()[target]);
    for key in [state, &name(0)] {
        migrate(&lab.nodes()[source], &lab.nodes()[target], key);
    }
    lab.nodes()[source].ask::<()>(&["SAVE"]).unwrap();
    lab.node(source).kill();
    lab.node(source).restart().unwrap();
    lab.wait_until_whole().unwrap();
    // the target has failed beyond repair, the operator gives the move up
    let source = &lab.nodes()[source];
    set_slot(source, "STABLE", None);
    for (i, &stamp) in stamps.iter().enumerate() {
        for seen in [None, Some(stamp)] {
            assert_eq!(read(source, i, seen), Err(Failure::Refused(Refused::Moving)), "{i}");
        }
    }
    assert_eq!(source.occult(&Command::Settle { slot: slot() }), Ok(Reply::Done));
    for (i, &stamp) in stamps.iter().enumerate() {
        let found = read(source, i, Some(stamp));
        assert!(matches!(found, Err(Failure::Refused(Refused::Lost { .. }))), "{found:?}");
    }
    assert_eq!(text(&read(source, 0, None).unwrap()), None);
    assert_eq!(text(&read(source, 1, None).unwrap()), Some("1"));
    let new = write(source, 0, "new").unwrap();
    assert_eq!(text(&read(source, 0, Some(new)).unwrap()), Some("new"));
}

/// A move is given up by a master that has lived on, while keys are elsewhere: it must not call them deleted, and who
/// has seen them in the same life of it is told.
#[test]
fn a_move_that_is_given_up_is_settled_before_it_is_trusted() {
    for state_first in [false, true] {
        let Some((lab, stamps, source, target)) = filled(false) else { return };
        let (source, target) = (&lab.nodes()[source], &lab.nodes()[target]);
        begin_move(source, target);
        let moved: &[&str] = if state_first { &[slot_key(slot()), &name(0)] } else { &[&name(0)] };
        moved.iter().for_each(|key| migrate(source, target, key));
        set_slot(source, "STABLE", None);
        for (i, &stamp) in stamps.iter().enumerate() {
            assert_eq!(read(source, i, Some(stamp)), Err(Failure::Refused(Refused::Moving)), "{i}");
        }
        assert_eq!(source.occult(&Command::Settle { slot: slot() }), Ok(Reply::Done));
        let found = read(source, 0, Some(stamps[0]));
        assert!(matches!(found, Err(Failure::Refused(Refused::Lost { .. }))), "{found:?}");
        let new = write(source, 0, "new").unwrap();
        assert_eq!(text(&read(source, 0, Some(new)).unwrap()), Some("new"));
    }
}

/// Keys have left without their state, and the master reads of it in its append-only file, which names no life. The
/// lock has stayed: when an operator has settled the slot, the commit that comes late has its effect.
#[test]
fn a_lock_outlives_keys_that_left_before_a_restart() {
    let lines = ["save \"\"", "appendonly yes", "appendfsync always"].map(str::to_owned).to_vec();
    let shape = Shape { masters: 3, replicas: false };
    let Some((mut lab, _, source, target)) = filled_with(Options { shape, lines, ..Options::default() })
    else {
        return;
    };
    let (txn, home) = (TxnId([7; 16]), slot_of(b"elsewhere"));
    assert_ne!(home, slot());
    let writes = vec![Write { key: key(0), value: Some(b"new".as_slice().into()) }];
    let prepare = Prepare { txn, home, lease: Micros(1_000_000), writes };
    let prepare = Command::Prepare { prepare, known: Known::default() };
    let Reply::Prepared(prepared) = lab.nodes()[source].occult(&prepare).unwrap() else {
        panic!("not prepared")
    };
    begin_move(&lab.nodes()[source], &lab.nodes()[target]);
    migrate(&lab.nodes()[source], &lab.nodes()[target], &name(1));
    lab.node(source).kill();
    lab.node(source).restart().unwrap();
    lab.wait_until_whole().unwrap();
    let (source, target) = (&lab.nodes()[source], &lab.nodes()[target]);
    // an operator takes the move back
    set_slot(source, "STABLE", None);
    migrate(target, source, &name(1));
    set_slot(target, "STABLE", None);
    assert_eq!(read(source, 0, None), Err(Failure::Refused(Refused::Moving)));
    assert_eq!(source.occult(&Command::Settle { slot: slot() }), Ok(Reply::Done));
    let mut deps = Timestamp::default();
    deps.update(prepared.datacenter, slot(), prepared.stamp);
    let stamp = Some(prepared.stamp);
    let late = Command::Commit { slot: slot(), txn, home, stamp, deps, parts: Vec::new() };
    assert_eq!(source.occult(&late), Ok(Reply::Done));
    let reply = read(source, 0, None).unwrap();
    assert_eq!((text(&reply), reply.items[0].stamp), (Some("new"), prepared.stamp));
    assert_eq!(text(&read(source, 1, None).unwrap()), Some("1"));
}

/// Outside of a move MIGRATE is a deletion: who has seen the key sees that it is gone, and the slot goes on.
#[test]
fn migrate_outside_of_a_move_is_a_deletion() {
    let Some((lab, stamps, source, target)) = filled(false) else { return };
    let (source, target) = (&lab.nodes()[source], &lab.nodes()[target]);
    set_slot(target, "IMPORTING", Some(&id(source)));
    migrate(source, target, &name(0));
    let reply = read(source, 0, Some(stamps[0])).unwrap();
    assert_eq!(text(&reply), None);
    assert!(reply.shardstamp > stamps[3], "the deletion has a stamp");
    assert!(write(source, 1, "more").is_ok());
}

/// The state of a slot that a failover has left without some keys moves on: it keeps its stamps, and the file of the
/// next master can be read.
#[test]
fn an_interrupted_state_that_moves_on_keeps_its_stamps() {
    let Some((mut lab, stamps, source, target)) = filled(true) else { return };
    let state = slot_key(slot());
    begin_move(&lab.nodes()[source], &lab.nodes()[target]);
    migrate(&lab.nodes()[source], &lab.nodes()[target], &name(0));
    wait_for_key(&lab, source, &name(0), false);
    let promoted = fail_over(&mut lab, source);
    {
        let (promoted, target) = (&lab.nodes()[promoted], &lab.nodes()[target]);
        begin_move(promoted, target);
        for key in [&name(1), state, &name(2), &name(3)] {
            migrate(promoted, target, key);
        }
        let masters =
            lab.nodes().iter().filter(|node| node.runs() && node.info("role").as_deref() == Some("master"));
        for node in masters {
            set_slot(node, "NODE", Some(&id(target)));
        }
        for &stamp in &stamps {
            let found = read(target, 1, Some(stamp));
            assert!(matches!(found, Err(Failure::Refused(Refused::Lost { .. }))), "{found:?}");
        }
        assert!(read(target, 1, None).unwrap().shardstamp >= stamps[3]);
        assert!(write(target, 1, "new").unwrap() > stamps[3]);
        target.ask::<()>(&["SAVE"]).unwrap();
    }
    lab.node(target).kill();
    lab.node(target).restart().unwrap();
    lab.wait("the file is read", |lab| read(&lab.nodes()[target], 1, None).is_ok()).unwrap();
    assert_eq!(text(&read(&lab.nodes()[target], 1, None).unwrap()), Some("new"));
}
