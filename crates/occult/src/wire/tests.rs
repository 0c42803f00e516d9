//! What is said is understood, and what is not ours is refused.

use proptest::prelude::*;

use super::{
    COMMANDS, Command, Erased, Item, Known, LockInfo, Outcome, Prepare, Prepared, ReadReply, Refused, Reply,
    Written,
};
use crate::{
    Datacenter, Effect, Entry, Incarnation, Micros, Shard, Slot, Stamp, Timestamp, TxnId, Value, Write,
    slot_of,
};

fn known() -> Known {
    let mut deps = Timestamp::default();
    deps.update(Datacenter(1), Slot::new(5).unwrap(), stamp());
    Known { deps, seen: Some(stamp()), verified: Incarnation::new(7) }
}

fn stamp() -> Stamp {
    Stamp::new(Micros(1_700_000_000_000_000), Incarnation::new(3))
}

fn value(text: &str) -> Value {
    text.as_bytes().into()
}

fn commands() -> Vec<Command> {
    let (slot, txn) = (slot_of(b"t"), TxnId([9; 16]));
    let writes =
        vec![Write { key: value("{t}a"), value: Some(value("")) }, Write { key: value("{t}b"), value: None }];
    vec![
        Command::Read { keys: vec![value("{t}a"), value("{t}b")] },
        Command::ReadMaster { known: known(), keys: vec![value("{t}a")] },
        Command::Write { key: value("{t}a"), value: value("x"), known: known() },
        Command::Delete { key: value("{t}a"), known: Known::default() },
        Command::Prepare {
            prepare: Prepare { txn, home: Slot::new(1).unwrap(), lease: Micros(5), writes },
            known: known(),
        },
        Command::Commit {
            slot,
            txn,
            home: slot,
            stamp: Some(stamp()),
            deps: known().deps,
            parts: vec![slot],
        },
        Command::Commit { slot, txn, home: slot, stamp: None, deps: known().deps, parts: Vec::new() },
        Command::Abort { slot, txn },
        Command::Status { home: slot, txn },
        Command::End { home: slot, txn, parts: vec![slot, slot] },
    ]
}

#[test]
fn commands_come_back_and_fit_their_table() {
    for command in commands() {
        let args = command.to_args();
        let views: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        assert_eq!(Command::parse(&views).as_ref(), Ok(&command));
        // as the server takes any case of letters for the same command
        let mixed = [&args[0][..1], &args[0][1..].to_ascii_lowercase()].concat();
        let mixed = [&[&mixed[..]], &views[1..]].concat();
        assert_eq!(Command::parse(&mixed).as_ref(), Ok(&command));
        let name = std::str::from_utf8(&args[0]).unwrap();
        let spec = COMMANDS.iter().find(|spec| spec.name == name).unwrap();
        let count = args.len() as i64;
        assert!(if spec.arity < 0 { count >= -spec.arity } else { count == spec.arity }, "{name}");
        // the keys that a cluster sees are in one slot, the state's first
        let last = if spec.last_key < 0 { count + i64::from(spec.last_key) } else { spec.last_key.into() };
        let keys: Vec<&[u8]> = (i64::from(spec.first_key)..=last)
            .step_by(spec.key_step as usize)
            .map(|at| views[at as usize])
            .collect();
        assert_eq!(keys[0], crate::slot_key(command.slot()).as_bytes(), "{name}");
        // PREPARE's dependencies lie between
        let named = keys.iter().enumerate().filter(|(at, _)| *at != 0);
        assert!(named.map(|(_, key)| slot_of(key)).all(|slot| slot == command.slot()), "{name}");
    }
}

#[test]
fn commands_of_two_slots_are_refused() {
    let state = crate::slot_key(slot_of(b"t"));
    let parse = |args: &[&str]| {
        Command::parse(&args.iter().map(|arg| arg.as_bytes()).collect::<Vec<_>>()).unwrap_err().to_string()
    };
    assert!(parse(&["OCCULT.READ", state, "{u}a"]).contains("another slot"));
    assert!(parse(&["OCCULT.READ", "occult:{x}", "{t}a"]).contains("key of a slot"));
    assert!(parse(&["OCCULT.READ", state, state]).contains("slot's own"));
    assert!(parse(&["OCCULT.READ", state]).contains("without keys"));
    assert!(parse(&["OCCULT.NONE"]).contains("no such command"));
    assert!(parse(&["OCCULT.WRITE", state, "{t}a", "v", "junk"]).starts_with("ERR malformed"));
}

#[test]
fn replies_come_back() {
    let deps = known().deps;
    let written = Written { stamp: stamp(), datacenter: Datacenter(2) };
    let item = Item { stamp: stamp(), deps: deps.clone(), value: Some(value("v")) };
    let absent = Item { stamp: Stamp::ZERO, deps: Timestamp::default(), value: None };
    let read = |datacenter| ReadReply {
        shardstamp: stamp(),
        incarnation: Incarnation::new(3),
        datacenter,
        items: vec![item.clone(), absent.clone()],
    };
    for reply in [
        Reply::Read(read(None)),
        Reply::Read(read(Some(Datacenter(1)))),
        Reply::Written(written),
        Reply::Erased(Erased { written, existed: true }),
        Reply::Prepared(Prepared { stamp: stamp(), datacenter: Datacenter(0), deps: deps.clone() }),
        Reply::Done,
        Reply::Outcome(Outcome::Pending { lease_left: Micros(7) }),
        Reply::Outcome(Outcome::Committed(deps.clone())),
        Reply::Outcome(Outcome::Aborted),
    ] {
        assert_eq!(Reply::from_bytes(&reply.to_bytes()), Ok(reply));
    }
}

#[test]
fn refusals_come_back_as_redis_errors() {
    let slot = Slot::new(16_383).unwrap();
    for refused in [
        Refused::Locked(LockInfo { txn: TxnId([0xab; 16]), home: slot, lease_left: Micros(12) }),
        Refused::Lost { slot, seen: stamp(), incarnation: Incarnation::new(4_095) },
        Refused::Forgotten { slot, seen: stamp() },
        Refused::Future { ahead: Micros(3), limit: Micros(2) },
        Refused::NotPrepared,
        Refused::Ended,
        Refused::Moving,
        Refused::NotMaster,
        Refused::Full,
        Refused::WrongType,
        Refused::OutOfMemory,
        Refused::NotPermitted,
    ] {
        let text = refused.to_string();
        assert_eq!(text.parse(), Ok(refused));
        assert!(Refused::PREFIXES.iter().any(|prefix| text.starts_with(&format!("{prefix} "))), "{text}");
        assert!(!text.contains(['\r', '\n']));
    }
    for text in ["", "LOCKED", "LOCKED x y z", "LOST 99999 1 1", "MOVED 1 1.2.3.4:5", "TOOLARGE"] {
        assert!(text.parse::<Refused>().is_err(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn hostile_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..120), kind in 0..8_u8) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        if let Ok(reply) = Reply::from_bytes(&bytes) {
            prop_assert_eq!(Reply::from_bytes(&reply.to_bytes()), Ok(reply));
        }
        if let Ok(shard) = Shard::from_bytes(&bytes) {
            prop_assert_eq!(Shard::from_bytes(&shard.to_bytes()), Ok(shard));
        }
        if let Ok(effect) = Effect::from_bytes(&bytes) {
            prop_assert_eq!(Effect::from_bytes(&effect.to_bytes()), Ok(effect));
        }
        let _ = Entry::from_bytes(&bytes);
        let _ = Known::from_bytes(&bytes);
        let _ = String::from_utf8_lossy(&bytes).parse::<Refused>();
    }

    #[test]
    fn arguments_that_are_changed_are_refused_or_understood(
        which in 0..9_usize, at in any::<prop::sample::Index>(), with in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut args = commands()[which].to_args();
        let at = at.index(args.len());
        args[at] = with;
        let views: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        if let Ok(command) = Command::parse(&views) {
            let again = command.to_args();
            let views: Vec<&[u8]> = again.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(Command::parse(&views), Ok(command));
        }
    }

    #[test]
    fn bytes_that_are_changed_do_no_harm(at in any::<prop::sample::Index>(), to in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let deps = known().deps;
        let entry = Entry { stamp: stamp(), deps, value: value("some value") };
        let mut bytes = entry.to_bytes();
        let at = at.index(bytes.len());
        bytes[at] = to;
        let _ = Entry::from_bytes(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        let _ = Entry::from_bytes(&bytes);
    }
}

#[test]
fn a_read_is_parsed_without_copies_as_it_is_with_them() {
    for command in commands() {
        let args = command.to_args();
        let views: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let read = Command::parse_read(&views).unwrap();
        match &command {
            Command::Read { keys } => {
                let read = read.unwrap();
                assert_eq!(read.slot, command.slot());
                assert!(keys.iter().map(|key| &key[..]).eq(read.keys.iter().copied()));
            }
            _ => assert_eq!(read, None),
        }
    }
    let slot = crate::slot_key(slot_of(b"t")).as_bytes();
    let (long, many) = (vec![b'k'; 70_000], vec![b"{t}".as_slice(); 1_025]);
    for args in [
        &[b"OCCULT.READ".as_slice(), slot][..],
        &[b"occult.read", slot, slot],
        &[b"OCCULT.READ", slot, b"elsewhere"],
        &[b"OCCULT.READ", b"{t}", b"{t}"],
        &[b"OCCULT.READ", slot, &long],
        &[&[b"OCCULT.READ".as_slice(), slot], &many[..]].concat(),
    ] {
        let both = (Command::parse(args), Command::parse_read(args));
        let (Err(copied), Err(borrowed)) = both else { panic!("{both:?}") };
        assert_eq!(copied, borrowed);
    }
    assert_eq!(Command::parse_read(&[b"OCCULT.READ"]), Ok(None));
}
