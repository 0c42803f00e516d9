//! The seqlock of a record under every interleaving and every order of memory that loom knows.
#![cfg(loom)]

use scaledb_acc::record::{Presence, Record, Word};
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{Timestamp, WorkerId};
use scaledb_memory::Domain;
use scaledb_row::{Column, ColumnType, KeyPart, Projection, RowRef, Schema};
use scaledb_sync::clock::Clock;
use scaledb_sync::{Arc, thread};

fn live(ticks: u64) -> Word {
    Word::live(Timestamp::new(ticks, WorkerId(0)))
}

#[test]
fn a_row_belongs_to_the_word_that_was_read_with_it() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let columns = vec![Column::new("a", ColumnType::Int8), Column::new("b", ColumnType::Int8)];
        let schema = Arc::new(Schema::new(columns, &[KeyPart::asc(0)]).unwrap());
        let domain = Domain::new(Arc::new(Clock::new(0)), u64::MAX);
        let (mut writer, mut reader) = (domain.register().unwrap(), domain.register().unwrap());
        writer.enter();
        let record = Record::create(&mut writer, 1, b"k", &[1, 1]).unwrap();
        record.unlock(0, live(1));
        let theirs = schema.clone();
        let thread = thread::spawn(move || {
            reader.enter();
            let (mut out, mut seen) = (Vec::new(), [Word(0); MAX_GROUPS]);
            let read = record.read(theirs.layout(), &Projection::all(&theirs), &mut out, &mut seen);
            if let Ok(Presence::Live(words)) = read {
                let row = RowRef::new(theirs.layout(), &out[..words]);
                let ticks = seen[0].ts().ticks() as i64;
                assert_eq!((row.i64(0), row.i64(1)), (ticks, ticks));
            }
        });
        // the writer is the main thread: loom forgets reads that come before a store of the same thread
        assert!(record.try_lock(0, live(1)));
        record.store_row(&[2, 2]);
        record.unlock(0, live(2));
        thread.join().unwrap();
    });
}

/// A snapshot has the row of its boundary, as a whole: the one in place, or the version that was kept.
#[test]
fn a_snapshot_has_the_row_of_its_boundary() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let columns = vec![Column::new("a", ColumnType::Int8), Column::new("b", ColumnType::Int8)];
        let schema = Arc::new(Schema::new(columns, &[KeyPart::asc(0)]).unwrap());
        let domain = Domain::new(Arc::new(Clock::new(0)), u64::MAX);
        let (mut writer, mut reader) = (domain.register().unwrap(), domain.register().unwrap());
        writer.enter();
        let record = Record::create(&mut writer, 1, b"k", &[1, 1]).unwrap();
        record.unlock(0, live(1));
        let theirs = schema.clone();
        let thread = thread::spawn(move || {
            reader.enter();
            let mut out = Vec::new();
            let all = Projection::all(&theirs);
            let read = record.read_at(Timestamp::start_of(2), theirs.layout(), &all, &mut out);
            let Presence::Live(words) = read else { panic!("the row was there at the boundary") };
            let row = RowRef::new(theirs.layout(), &out[..words]);
            assert_eq!((row.i64(0), row.i64(1)), (1, 1));
        });
        assert!(record.try_lock(0, live(1)));
        record.retain(&mut writer, live(1)).unwrap();
        record.store_row(&[2, 2]);
        record.unlock(0, live(2));
        thread.join().unwrap();
    });
}
