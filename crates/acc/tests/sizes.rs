//! Where the parts of a record lie, how many bytes it takes, and that it gives all of them back.
#![cfg(not(any(loom, shuttle)))]

use scaledb_acc::record::{Overflow, Record, Word};
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{Timestamp, WorkerId};
use scaledb_memory::{Domain, Local};
use scaledb_row::{Column, ColumnType, KeyPart, Projection, Schema};
use scaledb_sync::Arc;
use scaledb_sync::clock::Clock;

/// Rows of more words than this have a block of their own.
const INLINE: usize = 2_048;

fn local() -> Local {
    let mut local = Domain::new(Arc::new(Clock::new(0)), u64::MAX).register().unwrap();
    local.enter();
    local
}

fn image(words: usize) -> Vec<u64> {
    (1..=words as u64).collect()
}

fn row_of(record: Record) -> Vec<u64> {
    let mut out = Vec::new();
    record.copy_locked(&mut out);
    out
}

/// Shape, a word for each group, the chain; the key in whole words; the row.
fn expected(groups: usize, key: usize, row: usize) -> usize {
    let words = 1 + groups + 1 + key.div_ceil(8);
    8 * if row <= INLINE { words + row.max(1) } else { words + 1 + 1 + row }
}

#[test]
fn a_record_takes_what_its_parts_take_and_they_do_not_touch() {
    let mut local = local();
    for groups in 1..=MAX_GROUPS {
        for key in [0, 1, 7, 8, 9, 100] {
            for row in [0, 1, 5, INLINE, INLINE + 1] {
                let (key, row) = (vec![0xAB; key], image(row));
                let record = Record::create(&mut local, groups, &key, &row).unwrap();
                assert_eq!(
                    record.bytes(),
                    expected(groups, key.len(), row.len()),
                    "{groups} {} {}",
                    key.len(),
                    row.len()
                );
                for group in 0..groups {
                    record.set_word(group, Word::live(Timestamp::new(group as u64 + 1, WorkerId(1))));
                }
                record.store_row(&row);
                assert_eq!((record.key(), row_of(record)), (&key[..], row));
                for group in 0..groups {
                    assert_eq!(record.word(group).ts().ticks(), group as u64 + 1);
                }
                // SAFETY: it was made above, and is not freed before the end.
                assert_eq!(unsafe { Record::from_raw(record.raw()) }, record);
                // SAFETY: nobody else knows it.
                unsafe { record.free(&mut local) };
            }
        }
    }
}

#[test]
fn a_record_stands_in_one_list_and_its_row_does_not_notice() {
    let mut local = local();
    for words in [3, INLINE + 1] {
        let record = Record::create(&mut local, 2, b"key", &image(words)).unwrap();
        for _ in 0..2 {
            assert!(record.enlist());
            assert!(!record.enlist(), "a second list would free it a second time");
            assert_eq!((record.key(), row_of(record)), (&b"key"[..], image(words)));
            record.delist();
            assert_eq!((record.bytes(), row_of(record)), (expected(2, 3, words), image(words)));
        }
        // SAFETY: nobody else knows it.
        unsafe { record.free(&mut local) };
    }
}

#[test]
fn blocks_that_are_discarded_are_there_again() {
    let mut local = local();
    let words = 1 << 20;
    let block = Overflow::create(&mut local, words).unwrap();
    let with = local.domain().used();
    assert!(with >= 8 << 20);
    block.discard(&mut local);
    assert!(
        local.domain().used() <= with - (8 << 20),
        "{} of {with} bytes are in use",
        local.domain().used()
    );
    let record = Record::create(&mut local, 1, b"", &image(words)).unwrap();
    let with = local.domain().used();
    // SAFETY: nobody else knows it.
    unsafe { record.free(&mut local) };
    assert!(
        local.domain().used() <= with - (8 << 20),
        "{} of {with} bytes are in use",
        local.domain().used()
    );
}

/// The lines that are asked for ahead are those that hold the header and the columns.
#[test]
fn the_lines_of_columns_are_those_that_hold_their_words() {
    let mut columns = vec![Column::new("id", ColumnType::Int8)];
    columns
        .extend((0..40).map(|n| Column::new(&format!("c{n}"), ColumnType::Int8).group(n % MAX_GROUPS as u8)));
    let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
    for groups in 1..=MAX_GROUPS {
        for key in [0, 1, 8, 9, 64] {
            for wanted in
                [vec![], vec![0], vec![1], vec![7], vec![3, 4, 5, 6], vec![0, 20, 40], (0..41).collect()]
            {
                let cols = Projection::new(&schema, wanted.iter().copied());
                let row = expected(groups, key, 0) / 8 - 1;
                let words = cols.spans().iter().flat_map(|span| span.start..span.start + span.words);
                let lines = words.fold(1u64, |lines, word| lines | 1 << ((row + word as usize) * 8 / 64));
                assert_eq!(
                    Record::lines(groups, key, &cols),
                    lines,
                    "{groups} groups, key of {key}, {wanted:?}"
                );
            }
        }
    }
}
