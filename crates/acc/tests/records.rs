//! A record gives back what was stored, in place, in an overflow block, and in its versions.
#![cfg(not(any(loom, shuttle)))]

use scaledb_acc::record::{Overflow, Presence, Record, Stuck, Word};
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{Timestamp, WorkerId};
use scaledb_memory::{Domain, Local};
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, RowRef, Schema};
use scaledb_sync::clock::Clock;
use scaledb_sync::{Arc, thread};

fn local() -> Local {
    let mut local = Domain::new(Arc::new(Clock::new(0)), u64::MAX).register().unwrap();
    local.enter();
    local
}

fn schema() -> Schema {
    let columns = vec![
        Column::new("id", ColumnType::Int8),
        Column::new("text", ColumnType::Text(100_000)),
        Column::new("n", ColumnType::Int8).group(1),
    ];
    Schema::new(columns, &[KeyPart::asc(0)]).unwrap()
}

fn row(schema: &Schema, id: i64, text: &str, n: i64) -> RowBuf {
    RowBuf::from_values(schema, &[Datum::Int8(id), Datum::Text(text), Datum::Int8(n)]).unwrap()
}

/// Of the first worker: the earliest of its tick, where a snapshot boundary may be.
fn ts(ticks: u64) -> Timestamp {
    Timestamp::new(ticks, WorkerId(0))
}

fn release(record: Record, ticks: u64) {
    (0..2).for_each(|group| record.unlock(group, Word::live(ts(ticks))));
}

fn read(record: Record, schema: &Schema) -> Option<(i64, String, i64)> {
    try_read(record, schema).unwrap()
}

fn try_read(record: Record, schema: &Schema) -> Result<Option<(i64, String, i64)>, Stuck> {
    let (mut out, mut seen) = (Vec::new(), [Word(0); MAX_GROUPS]);
    Ok(match record.read(schema.layout(), &Projection::all(schema), &mut out, &mut seen)? {
        Presence::Absent => None,
        Presence::Live(words) => Some(columns(&RowRef::new(schema.layout(), &out[..words]))),
    })
}

fn read_at(record: Record, schema: &Schema, ticks: u64) -> Option<(i64, String, i64)> {
    let mut out = Vec::new();
    match record.read_at(Timestamp::start_of(ticks), schema.layout(), &Projection::all(schema), &mut out) {
        Presence::Absent => None,
        Presence::Live(words) => Some(columns(&RowRef::new(schema.layout(), &out[..words]))),
    }
}

fn columns(row: &RowRef<'_>) -> (i64, String, i64) {
    (row.i64(0), row.text(1).to_owned(), row.i64(2))
}

#[test]
fn a_placeholder_is_locked_and_absent_until_it_is_released() {
    let (mut local, schema) = (local(), schema());
    let record = Record::create(&mut local, 2, b"key", row(&schema, 1, "one", 10).words()).unwrap();
    assert_eq!((record.key(), record.word(0)), (&b"key"[..], Word::PLACEHOLDER));
    let (mut out, mut seen) = (Vec::new(), [Word(0); MAX_GROUPS]);
    let stuck = record.read(schema.layout(), &Projection::all(&schema), &mut out, &mut seen);
    assert!(stuck.is_err() && record.lock(0).is_err(), "others wait, but not for ever");
    release(record, 5);
    assert_eq!(read(record, &schema), Some((1, "one".into(), 10)));
    assert!(record.try_lock(1, Word::live(ts(5))) && !record.try_lock(1, Word::live(ts(5))));
    // SAFETY: nobody else knows it.
    unsafe { record.free(&mut local) };
}

#[test]
fn rows_of_every_size_are_kept_and_grow() {
    let (mut local, schema) = (local(), schema());
    for first in [0, 3, 8, 100, 20_000] {
        let record =
            Record::create(&mut local, 2, &[7; 37], row(&schema, 1, &"a".repeat(first), 1).words()).unwrap();
        release(record, 1);
        for (ticks, len) in [0, 1, 9, 64, 5_000, 3, 40_000, 40_000, 16].into_iter().enumerate() {
            let text = "b".repeat(len);
            let image = row(&schema, 1, &text, len as i64);
            let before = (0..2).map(|group| record.lock(group).unwrap()).collect::<Vec<_>>();
            assert_eq!(before[0].ts().ticks(), ticks as u64 + 1);
            if !record.fits(image.words().len()) {
                let block = Overflow::create(&mut local, image.words().len()).unwrap();
                record.move_to_overflow(&mut local, block);
            }
            record.store_columns(schema.layout(), [1, 2].into_iter().collect(), image.words());
            release(record, ticks as u64 + 2);
            assert_eq!(read(record, &schema), Some((1, text, len as i64)));
        }
        assert!(record.bytes() >= 40_000);
        // SAFETY: nobody else knows it.
        unsafe { record.retire(&mut local) };
    }
}

#[test]
fn a_snapshot_reads_the_last_version_before_its_boundary() {
    let mut local = local();
    let columns = |group| {
        vec![
            Column::new("id", ColumnType::Int8),
            Column::new("text", ColumnType::Text(100_000)),
            Column::new("n", ColumnType::Int8).group(group),
        ]
    };
    // a record of one group is read in another way than one of several
    for groups in [1, 2] {
        let schema = Schema::new(columns(groups as u8 - 1), &[KeyPart::asc(0)]).unwrap();
        let release = |record: Record, word: Word| (0..groups).for_each(|group| record.unlock(group, word));
        let record = Record::create(&mut local, groups, b"k", row(&schema, 1, "ten", 10).words()).unwrap();
        assert_eq!(read_at(record, &schema, 50), None, "its insert has not committed");
        release(record, Word::live(ts(10)));
        let mut versions = Vec::new();
        for (ticks, text) in [(20, "twenty"), (30, ""), (40, "forty")] {
            let mut before = [Word(0); MAX_GROUPS];
            (0..groups).for_each(|group| before[group] = record.lock(group).unwrap());
            versions.push(record.retain(&mut local, Record::current(&before, groups)).unwrap());
            if ticks == 30 {
                release(record, Word::absent(ts(30)));
            } else {
                record.store_row(row(&schema, 1, text, ticks).words());
                release(record, Word::live(ts(ticks as u64)));
            }
        }
        let text = |ticks| read_at(record, &schema, ticks).map(|row| row.1);
        assert_eq!(text(10), None);
        assert_eq!(text(11).as_deref(), Some("ten"));
        assert_eq!(text(20).as_deref(), Some("ten"));
        assert_eq!(text(30).as_deref(), Some("twenty"));
        assert_eq!(text(31), None, "deleted at 30");
        assert_eq!(text(40), None);
        assert_eq!(text(41).as_deref(), Some("forty"));
        // the older tail may go first: no later boundary looks there
        for version in versions.drain(..2) {
            // SAFETY: from here on only boundaries above 30 are read.
            unsafe { version.free(&mut local) };
        }
        assert_eq!((text(35), text(50).as_deref()), (None, Some("forty")));
        // SAFETY: the last reads are over.
        unsafe {
            versions.remove(0).free(&mut local);
            record.free(&mut local);
        }
    }
}

#[test]
fn a_reader_never_sees_half_a_row() {
    let schema = schema();
    let domain = Domain::new(Arc::new(Clock::new(0)), u64::MAX);
    let (mut writer, mut reader) = (domain.register().unwrap(), domain.register().unwrap());
    let record = Record::create(&mut writer, 2, b"k", row(&schema, 0, "", 0).words()).unwrap();
    release(record, 1);
    let rounds = if cfg!(miri) { 20 } else { 20_000 };
    thread::scope(|scope| {
        let schema = &schema;
        scope.spawn(move || {
            reader.enter();
            for _ in 0..rounds {
                // the writer may be off its core for longer than a reader's patience, in the middle of a row
                let (id, text, n) = loop {
                    match try_read(record, schema) {
                        Ok(row) => break row.expect("it is never deleted"),
                        Err(Stuck) => thread::yield_now(),
                    }
                };
                assert_eq!((text, n), (id.to_string().repeat(id as usize % 40), id));
            }
        });
        writer.enter();
        for id in 1..=rounds {
            let image = row(schema, id, &id.to_string().repeat(id as usize % 40), id);
            (0..2).for_each(|group| _ = record.lock(group).unwrap());
            if !record.fits(image.words().len()) {
                let block = Overflow::create(&mut writer, image.words().len()).unwrap();
                record.move_to_overflow(&mut writer, block);
            }
            record.store_row(image.words());
            release(record, id as u64 + 1);
        }
    });
}
