//! Two workers claim one key, one in the indexlet and one in the tree, and then each looks in the other place
//! (`acc`'s commits: a collected insert against one at commit). One of them must see the other.
#![cfg(loom)]

use scaledb_index::btree::{BTree, Entry, Finger};
use scaledb_index::claims::{look_in_indexlet, look_in_tree};
use scaledb_index::indexlet::{Indexlet, Inserted};
use scaledb_memory::Domain;
use scaledb_sync::atomic::AtomicU64;
use scaledb_sync::clock::{Clock, Source};
use scaledb_sync::{Arc, CachePadded, thread};

struct Number;

// SAFETY: a value is its own key; the one key of this test is leaked.
unsafe impl Entry for Number {
    unsafe fn key<'a>(_: u64) -> &'a [u8] {
        b"key"
    }
}

/// `engine`: with the engine's own looks, else with plain ones; `stamped`: one of them with the leaf of an earlier
/// look.
fn claims(engine: bool, stamped: bool) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 100_000;
    builder.check(move || {
        let domain = Domain::new(Arc::new(Clock::with_source(Source::Counter, 0)), u64::MAX);
        let (mut mine, mut theirs) = (domain.register().unwrap(), domain.register().unwrap());
        // SAFETY: nothing is reused here.
        unsafe {
            mine.enter_at(1);
            theirs.enter_at(1);
        }
        let generation = Arc::new(CachePadded(AtomicU64::new(0)));
        let tree = Arc::new(BTree::<Number, 4, 4>::new(&mut mine, generation).unwrap());
        let indexlet = Arc::new(Indexlet::new(&mut mine, 1).unwrap());
        let had_not = stamped.then(|| tree.find(&mine, b"key", &mut Finger::default()).leaf);
        let other = {
            let (tree, indexlet) = (tree.clone(), indexlet.clone());
            thread::spawn(move || {
                // SAFETY: a key that lives for ever.
                unsafe { tree.insert(&mut theirs, 0, 16).unwrap() };
                let saw = if engine {
                    look_in_indexlet(&indexlet, &theirs, 1, |_| true).is_some()
                } else {
                    indexlet.get(&theirs, 1, |_| true).is_some()
                };
                std::mem::forget(theirs); // nobody needs its slot; fewer steps to interleave
                saw
            })
        };
        assert_eq!(indexlet.insert(&mine, 1, 32, |_| true), Inserted::New);
        let finger = &mut Finger::default();
        let saw = match had_not {
            _ if !engine => tree.find(&mine, b"key", finger).value.is_some(),
            stamp => look_in_tree(&*tree, &mine, b"key", stamp, finger).is_some_and(|f| f.value.is_some()),
        };
        let other_saw = other.join().unwrap();
        std::mem::forget(mine);
        assert!(saw || other_saw, "both claimed the key");
    });
}

#[test]
fn one_of_two_claims_sees_the_other() {
    claims(true, false);
    claims(true, true);
}

#[test]
#[should_panic(expected = "both claimed the key")]
fn without_fences_neither_may() {
    claims(false, false);
}
