//! The phantomlet, one thread and several.
#![cfg(not(any(loom, shuttle)))]

use scaledb_base::WorkerId;
use scaledb_index::phantomlet::{CellState, Phantomlet};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::thread;

#[test]
fn a_cell_counts_posts_merges_and_owners() {
    let phantomlet = Phantomlet::new(100);
    assert_eq!(phantomlet.cells(), 128);
    assert_eq!(phantomlet.bytes(), 128 * 64);
    let (a, b) = (WorkerId(3), WorkerId(127));
    let cell = phantomlet.cell_of(42);
    assert_eq!(phantomlet.read(cell), CellState::default());
    assert_eq!(phantomlet.post(cell, a, 1), 1);
    assert_eq!(phantomlet.post(cell, b, 3), 2);
    assert_eq!(phantomlet.post(cell, a, 1), 5);
    let state = phantomlet.read(cell);
    assert_eq!((state.seq, state.count), (5, 5));
    assert_eq!(state.owners.iter().collect::<Vec<_>>(), [a, b]);
    phantomlet.unpost(cell, 1);
    phantomlet.merged(cell, 3);
    phantomlet.clear_owner(cell, b);
    let state = phantomlet.read(cell);
    assert_eq!((state.seq, state.count), (5, 1));
    assert_eq!(phantomlet.seq(cell), 5);
    assert!(state.owners.contains(a) && !state.owners.contains(b));
}

#[test]
fn consecutive_partitions_have_different_cells() {
    let phantomlet = Phantomlet::new(1 << 10);
    let mut cells: Vec<_> = (0..100).map(|part| phantomlet.cell_of(part)).collect();
    cells.sort_unstable();
    cells.dedup();
    assert_eq!(cells.len(), 100);
    assert!(cells.iter().all(|cell| (cell.0 as usize) < phantomlet.cells()));
    assert!((Phantomlet::new(1).cell_of(u64::MAX).0 as usize) < Phantomlet::new(1).cells());
}

/// What a scan relies on: with nothing merged, a seq that was read comes with at least that count, and a
/// count with its owners.
#[test]
fn who_sees_a_seq_sees_its_count_and_its_owner() {
    let phantomlet = Phantomlet::new(2);
    let cell = phantomlet.cell_of(1);
    let stop = AtomicBool::new(false);
    let posted: Vec<_> = (0..3).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..3u8)
            .map(|w| {
                let (phantomlet, posted) = (&phantomlet, &posted);
                scope.spawn(move || {
                    let mut last = 0;
                    for i in 0..if cfg!(miri) { 50 } else { 20_000 } {
                        // the list comes first
                        posted[usize::from(w)].fetch_add(1, Ordering::Relaxed);
                        let seqno = phantomlet.post(cell, WorkerId(w), 1);
                        assert!(seqno > last);
                        last = seqno;
                        if i % 7 == 0 {
                            thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let state = phantomlet.read(cell);
                assert!(state.count >= state.seq, "seq before count");
                let owners = state.owners.iter().map(|w| posted[w.index()].load(Ordering::Relaxed));
                assert!(owners.sum::<u64>() >= state.count, "count without an owner that has the items");
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    let state = phantomlet.read(cell);
    assert_eq!(state.seq, state.count);
}
