//! The growing hash index against a map, and under threads.
#![cfg(not(any(loom, shuttle)))]

use proptest::prelude::*;
use scaledb_index::hash::HashIndex;
use scaledb_index::indexlet::Inserted;
use scaledb_memory::{Domain, Local};
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::clock::{Clock, Source};
use scaledb_sync::{Arc, thread};
use std::collections::{HashMap, HashSet};

fn domain() -> Arc<Domain> {
    let source = if cfg!(miri) { Source::Counter } else { Source::Monotonic };
    Domain::new(Arc::new(Clock::with_source(source, 0)), u64::MAX)
}

fn active(domain: &Arc<Domain>) -> Local {
    let mut local = domain.register().unwrap();
    local.enter();
    local
}

fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 32).wrapping_mul(0x9fb2_1c65_1e98_df25);
    let x = (x ^ x >> 29).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

/// Random leading bits and tags, but only three homes: a segment overflows after some hundred keys.
fn crowded(key: u64) -> u64 {
    (mix(key) & !0xffff_ffff) | ((key % 3) * (9 << 20))
}

fn value(key: u64, generation: u64) -> u64 {
    1 + key + (generation << 32)
}

fn key_of(value: u64) -> u64 {
    (value - 1) & 0xffff_ffff
}

fn agrees_with_a_map(ops: &[(u8, u64)], hash: impl Fn(u64) -> u64) -> u64 {
    let local = &mut active(&domain());
    let index = HashIndex::new(local).unwrap();
    let mut map = HashMap::new();
    for (i, &(op, key)) in ops.iter().enumerate() {
        let eq = |v| key_of(v) == key;
        match op {
            0..5 => {
                let new = value(key, i as u64 & 0xfff);
                match index.insert(local, hash(key), new, eq).unwrap() {
                    Inserted::New => assert_eq!(map.insert(key, new), None),
                    Inserted::Existing(old) => assert_eq!(map.get(&key), Some(&old)),
                    Inserted::Full => panic!("these hashes can be told apart"),
                }
            }
            5..7 => {
                let old = map.remove(&key);
                assert_eq!(index.remove(local, hash(key), old.unwrap_or(1)), old.is_some());
            }
            _ => assert_eq!(index.get(local, hash(key), eq), map.get(&key).copied()),
        }
    }
    assert_eq!(index.is_empty(local), map.is_empty());
    let mut seen = HashSet::new();
    index.for_each(local, |v| assert!(seen.insert(v), "seen twice"));
    assert_eq!(seen, map.values().copied().collect());
    for (&key, &old) in &map {
        assert_eq!(index.get(local, hash(key), |v| key_of(v) == key), Some(old));
        assert!(index.remove(local, hash(key), old));
        assert_eq!(index.get(local, hash(key), |v| key_of(v) == key), None);
    }
    assert!(index.is_empty(local));
    index.segments()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 100 }))]

    #[test]
    fn crowded_hashes_agree_with_a_map(
        ops in prop::collection::vec((0u8..10, 0u64..1500), 0..if cfg!(miri) { 300 } else { 4000 })
    ) {
        agrees_with_a_map(&ops, crowded);
    }

    #[test]
    fn random_hashes_agree_with_a_map(
        ops in prop::collection::vec((0u8..10, 0u64..3000), 0..if cfg!(miri) { 100 } else { 4000 })
    ) {
        agrees_with_a_map(&ops, mix);
    }
}

#[test]
fn the_map_test_splits() {
    let keys = if cfg!(miri) { 200 } else { 4000 };
    let ops: Vec<_> = (0..keys).map(|key| (0, key)).collect();
    assert!(agrees_with_a_map(&ops, crowded) >= 2);
}

/// Also of one that pauses, and goes on when there are more segments.
#[test]
fn a_walk_sees_every_entry_that_stays() {
    let local = &mut active(&domain());
    let index = HashIndex::new(local).unwrap();
    let insert = |local: &mut Local, key| {
        let inserted = index.insert(local, mix(key), value(key, 0), |v| key_of(v) == key);
        assert_eq!(inserted.unwrap(), Inserted::New);
    };
    let keys = if cfg!(miri) { 2_000 } else { 40_000 };
    (0..keys).for_each(|key| insert(local, key));
    let mut more = keys..;
    for news in [0, 200] {
        let (mut seen, mut from, before) = (Vec::new(), Some(0), index.segments());
        while let Some(start) = from {
            from = index.walk(local, start, |v| seen.push(key_of(v)));
            assert!(from.is_none_or(|next| next > start), "{from:?} after {start}");
            more.by_ref().take(news).for_each(|key| insert(local, key));
        }
        if news == 0 {
            assert_eq!(seen.len() as u64, keys, "each once");
        } else {
            assert!(index.segments() > before || cfg!(miri));
        }
        let seen: HashSet<u64> = seen.into_iter().collect();
        assert!((0..keys).all(|key| seen.contains(&key)));
    }
}

#[test]
fn an_index_that_is_dropped_gives_its_memory_back() {
    let domain = domain();
    let local = &mut active(&domain);
    let mut used = 0;
    for round in 0..if cfg!(miri) { 4 } else { 100 } {
        let index = HashIndex::new(local).unwrap();
        for key in 0..2_000 {
            let inserted = index.insert(local, crowded(key), value(key, 0), |v| key_of(v) == key);
            assert_eq!(inserted.unwrap(), Inserted::New);
        }
        assert!(index.segments() > 1);
        drop(index);
        local.exit();
        local.collect();
        local.enter();
        if round == 2 {
            used = domain.used();
        }
    }
    assert_eq!(domain.used(), used);
}

#[test]
fn it_grows_and_stays_well_filled() {
    let local = &mut active(&domain());
    let index = HashIndex::new(local).unwrap();
    let keys: u64 = if cfg!(miri) { 4_000 } else { 300_000 };
    let (mut lowest, mut sum, mut n) = (1.0f64, 0.0, 0);
    for key in 0..keys {
        assert_eq!(
            index.insert(local, mix(key), value(key, 0), |v| key_of(v) == key).unwrap(),
            Inserted::New
        );
        if key > 20_000 && key % 1000 == 0 {
            let load = key as f64 / index.slots() as f64;
            (lowest, sum, n) = (lowest.min(load), sum + load, n + 1);
        }
    }
    if n > 0 {
        println!("load: lowest {lowest:.2}, mean {:.2}", sum / f64::from(n));
        assert!(lowest > 0.35 && sum / f64::from(n) > 0.5);
    }
    for key in 0..keys {
        assert_eq!(index.get(local, mix(key), |v| key_of(v) == key), Some(value(key, 0)));
        assert_eq!(index.get(local, mix(key + keys), |v| key_of(v) == key + keys), None);
    }
    let estimate = index.len(local) as f64;
    assert!((estimate / keys as f64 - 1.0).abs() < 0.1, "{estimate}");
    assert!(index.bytes(local) >= keys * 8);
    local.exit();
    local.collect();
    local.enter();
}

#[test]
fn hashes_that_are_none_are_answered_with_full() {
    let local = &mut active(&domain());
    let index = HashIndex::new(local).unwrap();
    let hash = |key: u64| 0x1234_5678_0000_0000 | (key % 2);
    let mut taken = 0;
    while index.insert(local, hash(taken), value(taken, 0), |v| key_of(v) == taken).unwrap() == Inserted::New
    {
        taken += 1;
    }
    assert_eq!(taken, 56);
    for key in 0..taken {
        assert_eq!(index.get(local, hash(key), |v| key_of(v) == key), Some(value(key, 0)));
    }
    // others are not disturbed
    assert_eq!(index.insert(local, mix(1), value(1 << 20, 0), |_| false).unwrap(), Inserted::New);
    let mut n = 0;
    index.for_each(local, |_| n += 1);
    assert_eq!(n, 57);
}

#[test]
fn out_of_memory_changes_nothing() {
    let domain = Domain::new(Arc::new(Clock::with_source(Source::Counter, 0)), 2 << 20);
    let local = &mut active(&domain);
    let index = HashIndex::new(local).unwrap();
    let mut n = 0;
    let error = loop {
        match index.insert(local, mix(n), value(n, 0), |_| false) {
            Ok(inserted) => assert_eq!(inserted, Inserted::New),
            Err(error) => break error,
        }
        n += 1;
    };
    assert!(matches!(error, scaledb_base::Error::OutOfMemory { .. }));
    assert!(n > 10_000);
    for key in 0..n {
        assert_eq!(index.get(local, mix(key), |v| key_of(v) == key), Some(value(key, 0)));
    }
    assert_eq!(index.get(local, mix(n), |v| key_of(v) == n), None);
    // locks were released: the same key fails again, and one that was removed fits again
    assert!(index.insert(local, mix(n), value(n, 0), |_| false).is_err());
    assert!(index.remove(local, mix(5), value(5, 0)));
    assert_eq!(index.insert(local, mix(5), value(5, 1), |_| false).unwrap(), Inserted::New);
}

/// Threads insert, look up and remove keys of their own while segments split under them.
fn own_keys(hash: impl Fn(u64) -> u64 + Sync, keys: u64) {
    let domain = domain();
    let index = HashIndex::new(&mut active(&domain)).unwrap();
    let threads = 4;
    thread::scope(|scope| {
        for t in 0..threads {
            let (domain, index, hash) = (&domain, &index, &hash);
            scope.spawn(move || {
                let mut local = domain.register().unwrap();
                for i in 0..keys {
                    local.enter();
                    let key = i * threads + t;
                    let eq = |v| key_of(v) == key;
                    assert_eq!(index.get(&local, hash(key), eq), None);
                    let new = index.insert(&mut local, hash(key), value(key, 1), eq).unwrap();
                    assert_eq!(new, Inserted::New);
                    assert_eq!(index.get(&local, hash(key), eq), Some(value(key, 1)));
                    if i % 3 == 0 {
                        assert!(index.remove(&local, hash(key), value(key, 1)));
                        assert_eq!(index.get(&local, hash(key), eq), None);
                    }
                    let old = mix(i) % (i + 1);
                    let key = old * threads + t;
                    let found = index.get(&local, hash(key), |v| key_of(v) == key);
                    assert_eq!(found.is_some(), !old.is_multiple_of(3), "an older key");
                    local.exit();
                    local.collect();
                }
            });
        }
    });
    let local = active(&domain);
    let mut n = 0;
    index.for_each(&local, |_| n += 1);
    assert_eq!(n, threads * (keys - keys.div_ceil(3)));
    println!("{} segments", index.segments());
}

#[test]
fn own_keys_are_found_and_gone_while_it_grows() {
    own_keys(mix, if cfg!(miri) { 30 } else { 50_000 });
}

#[test]
fn own_keys_are_found_and_gone_while_it_splits_all_the_time() {
    own_keys(crowded, if cfg!(miri) { 40 } else { 5_000 });
}

/// All threads insert the same keys while the index grows: one of them is told New.
#[test]
fn of_many_inserts_of_a_key_one_is_new() {
    let domain = domain();
    let index = HashIndex::new(&mut active(&domain)).unwrap();
    let keys = if cfg!(miri) { 60 } else { 20_000 };
    let wins: Vec<_> = (0..keys).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for t in 0..4u64 {
            let (domain, index, wins) = (&domain, &index, &wins);
            scope.spawn(move || {
                let mut local = active(domain);
                for key in 0..keys {
                    match index.insert(&mut local, crowded(key), value(key, t), |v| key_of(v) == key).unwrap()
                    {
                        Inserted::New => {
                            wins[key as usize].fetch_add(1, Ordering::SeqCst);
                        }
                        Inserted::Existing(other) => assert_eq!(key_of(other), key),
                        Inserted::Full => panic!("there is room"),
                    }
                }
            });
        }
    });
    assert!(wins.iter().all(|w| w.load(Ordering::SeqCst) == 1));
}

/// Keys that are there from the beginning are found at any time, and seen once by every scan.
#[test]
fn residents_are_never_missed_while_it_grows() {
    let domain = domain();
    let index = HashIndex::new(&mut active(&domain)).unwrap();
    let residents = if cfg!(miri) { 50 } else { 2_000 };
    let growth = if cfg!(miri) { 100 } else { 100_000 };
    {
        let mut local = active(&domain);
        for key in 0..residents {
            let new = index.insert(&mut local, mix(key), value(key, 0), |_| false).unwrap();
            assert_eq!(new, Inserted::New);
        }
    }
    thread::scope(|scope| {
        let writers: Vec<_> = (1..3u64)
            .map(|t| {
                let (domain, index) = (&domain, &index);
                scope.spawn(move || {
                    let mut local = domain.register().unwrap();
                    for i in 0..growth {
                        local.enter();
                        let key = t << 24 | i;
                        let new = index.insert(&mut local, mix(key), value(key, 0), |v| key_of(v) == key);
                        assert_eq!(new.unwrap(), Inserted::New);
                        local.exit();
                        local.collect();
                    }
                })
            })
            .collect();
        let (domain, index) = (&domain, &index);
        scope.spawn(move || {
            let mut local = domain.register().unwrap();
            while writers.iter().any(|w| !w.is_finished()) {
                local.enter();
                for key in 0..residents {
                    assert_eq!(index.get(&local, mix(key), |v| key_of(v) == key), Some(value(key, 0)));
                }
                let mut seen = 0;
                index.for_each(&local, |v| seen += u64::from(key_of(v) < residents));
                assert_eq!(seen, residents);
                local.exit();
            }
        });
    });
}
