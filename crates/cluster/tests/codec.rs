//! Messages come back from their bytes; hostile bytes are refused, without a panic and without much memory.

use proptest::prelude::*;
use scaledb_cluster::codec::{self, Bytes, MAX_FRAME};
use scaledb_cluster::{Key, Rows, Value};
use scaledb_locks::Mode;
use scaledb_locks::keeper::{Hint, Hints, Holder, Letter, LetterBody, Listed, Name, Wanted as WantedLocks};
use scaledb_scar::link::{Content, Frame, Incarnation};
use scaledb_scar::{
    Body, Brought, Claim, Conflict, Copied, Epoch, Granted, Item, Lacks, Message, NodeId, PartitionId, Range,
    Report, Seen, Time, TxnId, Version, View, ViewNumber, Wanted,
};
use scaledb_sync::Arc;
use std::ops::Bound;

fn key(n: u8) -> Key {
    Key {
        partition: PartitionId(u16::from(n)),
        space: u32::MAX - u32::from(n),
        bytes: vec![n; 3].as_slice().into(),
    }
}

/// One of each kind.
fn messages() -> Vec<Message<Rows>> {
    let txn = TxnId { node: NodeId(63), number: u64::MAX };
    let item = Item::Gap(PartitionId(7), None, Some(key(9)));
    let seen = Seen { item: item.clone(), wts: Time(3), rts: Time(u64::MAX), epoch: Epoch(1) };
    let range = Range { low: Bound::Unbounded, high: Bound::Excluded(key(200)), backward: true, limit: 1000 };
    let value = Value(vec![0; 1000].as_slice().into());
    let granted = Granted { wts: Time(8), rts: Time(9), split: Some((None, Some(key(1)))) };
    let now = Version { value: Some(value.clone()), wts: Time(4), epoch: Epoch(2) };
    let before = Some(Version { value: None, ..now.clone() });
    let copied = Copied { key: key(8), now, rts: Time(5), before, gap: (Time(1), Time(2)) };
    let bodies = vec![
        Body::Read(txn, key(0), Some(Epoch(7))),
        Body::TooOld(txn),
        Body::ReadReply(txn, key(1), Some(value.clone()), seen.clone()),
        Body::Scan(txn, PartitionId(1), range.clone(), None),
        Body::Fetch(
            txn,
            5,
            Wanted { keys: vec![key(1); 3], ranges: vec![(PartitionId(2), range.clone())] },
            Some(Epoch(u64::MAX)),
        ),
        Body::FetchReply(
            txn,
            5,
            Brought {
                keys: vec![(key(1), Some(value.clone()), seen.clone()); 3],
                ranges: vec![(
                    PartitionId(2),
                    range.clone(),
                    vec![(key(2), value.clone())],
                    vec![seen.clone(); 2],
                )],
            },
        ),
        Body::ScanReply(txn, PartitionId(1), range, vec![(key(2), value.clone()); 5], vec![seen; 7]),
        Body::Claim(
            txn,
            1,
            Claim {
                reads: vec![(item.clone(), Time(1)); 2],
                until: Time(2),
                locks: vec![(key(3), None), (key(4), Some(Time(5)))],
            },
        ),
        Body::ClaimReply(txn, 2, Ok(vec![granted; 2])),
        Body::ClaimReply(txn, 3, Err((item.clone(), Conflict::Locked(txn)))),
        Body::Report(Report {
            committed: Epoch(1),
            whole: Epoch(2),
            epoch: Epoch(3),
            floor: Time(4),
            holds: Some(Epoch(5)),
        }),
        Body::Install(Epoch(2), Epoch(5), Time(4)),
        Body::Promised(vec![(item, Time(1), Time(2))]),
        Body::Write(txn, 4, vec![(key(5), Some(value)), (key(6), None)], Time(7)),
        Body::WriteAck(vec![(txn, 4); 3]),
        Body::Unlock(txn, vec![key(7); 2]),
        Body::Copy(PartitionId(3), Some(key(8))),
        Body::Chunk(PartitionId(3), None, vec![copied; 3], Some((Time(1), Time(2)))),
        Body::Close,
        Body::Prepared(Time(300), Lacks { records: true, announcements: false }, Some(Epoch(2))),
        Body::Whole(Time(300), [NodeId(1), NodeId(2)].into_iter().collect(), false, None),
        Body::WholeAck,
        Body::Committed,
        Body::Fence(Arc::new(View::first(5, 100, 2))),
        Body::Installed,
        Body::Go,
    ];
    bodies.into_iter().map(|body| Message { view: ViewNumber(2), epoch: Epoch(3), body }).collect()
}

/// One of each kind of what is said about locks.
fn letters() -> Vec<Letter> {
    let row = Name::Row(5, 1 << 20, vec![3; 40].into());
    let names = vec![row.clone(), Name::Table(5, 7), Name::Advisory(5, u64::MAX, true)];
    let holder = |session| Holder { node: 63, session };
    let wanted = WantedLocks { names, mode: Mode::AccessExclusive, keeps: true, quiet: false, waits: true };
    let listed = Listed { name: row.clone(), holder: holder(1), mode: Mode::RowShare, granted: true };
    let hints = Hints { all: false, some: vec![Hint::Rows(5, 7), Hint::Tables(9)] };
    let bodies = [
        LetterBody::Keeps(vec![(9, Name::Advisory(5, 1, false), Mode::Share); 3], true),
        LetterBody::Ask(u32::MAX, 7, wanted),
        LetterBody::Stop(1, 7),
        LetterBody::GiveBack(1, row.clone(), Mode::Exclusive),
        LetterBody::ReleaseTo(1, 3),
        LetterBody::Ended(1),
        LetterBody::List(3, 5),
        LetterBody::Noted(u64::MAX),
        LetterBody::Granted(1, 7, 2),
        LetterBody::Deadlock(1, 7, vec![(holder(1), row, Mode::Exclusive, holder(2)); 2]),
        LetterBody::Full(1, 7),
        LetterBody::All(3, vec![listed; 4], false),
        LetterBody::Hints(8, hints),
    ];
    bodies.into_iter().map(|body| Letter { view: 3, number: 1 << 40, body }).collect()
}

#[test]
fn letters_about_locks_come_back() {
    for letter in letters() {
        let bytes = codec::encode(&letter).unwrap();
        assert_eq!(codec::decode::<Letter>(&bytes).unwrap(), letter);
        for len in 0..bytes.len() {
            assert!(codec::decode::<Letter>(&bytes[..len]).is_err(), "{letter:?} cut to {len}");
            let mut hostile = bytes[..len].to_vec();
            hostile.extend([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]);
            // a length that is not believed
            let _ = codec::decode::<Letter>(&hostile);
        }
    }
}

#[test]
fn messages_come_back() {
    for message in messages() {
        let bytes = codec::encode(&message).unwrap();
        assert_eq!(codec::decode::<Message<Rows>>(&bytes).unwrap(), message);
        for len in 0..bytes.len() {
            assert!(codec::decode::<Message<Rows>>(&bytes[..len]).is_err(), "{message:?} cut to {len}");
        }
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert!(codec::decode::<Message<Rows>>(&longer).is_err());
        let frame = Frame {
            from: Incarnation(1),
            to: None,
            acknowledged: 7,
            content: Content::Message(8, Bytes(bytes.as_slice().into())),
        };
        let frame_bytes = codec::encode(&frame).unwrap();
        assert_eq!(codec::decode::<Frame<Bytes>>(&frame_bytes).unwrap(), frame);
    }
}

/// A list says how long it is before it is there: that is not believed.
#[test]
fn a_length_is_not_allocated() {
    let message = &messages()[3];
    let bytes = codec::encode(message).unwrap();
    for at in 0..bytes.len().min(60) {
        let mut hostile = bytes[..at].to_vec();
        hostile.extend([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]);
        let _ = codec::decode::<Message<Rows>>(&hostile);
    }
    let mut buffer = Vec::new();
    let mut short: &[u8] = &[0xFF, 0xFF, 0xFF, 0x03, 1, 2, 3];
    assert!(codec::read_frame(&mut short, MAX_FRAME, &mut buffer).is_err());
    assert!(buffer.capacity() < 1 << 20);
    let mut huge: &[u8] = &[0xFF; 100];
    assert!(codec::read_frame(&mut huge, MAX_FRAME, &mut buffer).is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(message) = codec::decode::<Message<Rows>>(&bytes) {
            // what is read can be written, and is the same again
            let again = codec::encode(&message).unwrap();
            prop_assert_eq!(codec::decode::<Message<Rows>>(&again).unwrap(), message);
        }
        if let Ok(letter) = codec::decode::<Letter>(&bytes) {
            let again = codec::encode(&letter).unwrap();
            prop_assert_eq!(codec::decode::<Letter>(&again).unwrap(), letter);
        }
        let _ = codec::decode::<Frame<Bytes>>(&bytes);
    }

    #[test]
    fn a_message_with_other_bytes_in_it_is_one_or_refused(
        which in 0usize..22,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = codec::encode(&messages()[which]).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = codec::decode::<Message<Rows>>(&bytes);
    }
}
