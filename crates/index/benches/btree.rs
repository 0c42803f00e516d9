//! `cargo bench -p scaledb-index --bench btree [-- KEYS [THREADS]]`: nanoseconds per operation, the
//! best of several rounds; elapsed time, and time on a processor (which other programs disturb less).

use scaledb_index::btree::{BTree, Entry, Finger, LeafRead, Position};
use scaledb_memory::{Domain, Local};
use scaledb_sync::atomic::AtomicU64;
use scaledb_sync::clock::Clock;
use scaledb_sync::thread;
use scaledb_sync::{Arc, CachePadded};
use std::hint::black_box;
use std::time::Instant;

/// A value is the address of eight key bytes.
struct Record;

// SAFETY: the records are immutable, and live as long as the program.
unsafe impl Entry for Record {
    unsafe fn key<'a>(raw: u64) -> &'a [u8] {
        // SAFETY: the address of a record of eight bytes.
        unsafe { &*std::ptr::with_exposed_provenance::<[u8; 8]>(raw as usize) }
    }
}

type Tree = BTree<Record>;

const ROUNDS: usize = 3;
const BATCH: usize = 1000;

struct Bench {
    domain: Arc<Domain>,
    generation: Arc<CachePadded<AtomicU64>>,
    threads: usize,
}

/// Nanoseconds per value.
struct Cost {
    elapsed: f64,
    processor: f64,
}

/// What this thread has used so far; 0 where the system does not say.
fn processor_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Records of 64 bytes, as a database has them, on huge pages.
fn records(local: &mut Local, keys: impl Iterator<Item = u64>) -> Vec<u64> {
    keys.map(|key| {
        let block = local.alloc(64).expect("memory").cast::<[u8; 8]>();
        // SAFETY: the block is ours.
        unsafe { block.write(key.to_be_bytes()) };
        block.as_ptr().expose_provenance() as u64
    })
    .collect()
}

impl Bench {
    /// Runs `f` on each part of `values`, on as many threads.
    fn run(&self, values: &[u64], f: impl Fn(&mut Local, &[u64]) + Sync) -> Cost {
        let start = Instant::now();
        let processor: u64 = thread::scope(|scope| {
            let parts = values.chunks(values.len().div_ceil(self.threads));
            let workers: Vec<_> = parts
                .map(|part| {
                    let (f, domain) = (&f, &self.domain);
                    scope.spawn(move || {
                        f(&mut domain.register().expect("a worker"), part);
                        processor_time()
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().expect("no panic")).sum()
        });
        let (elapsed, count) = (start.elapsed().as_nanos() as f64, values.len() as f64);
        Cost { elapsed: elapsed / count, processor: processor as f64 / count }
    }

    fn report(&self, what: &str, rounds: usize, mut round: impl FnMut() -> Cost) {
        let costs: Vec<Cost> = (0..rounds).map(|_| round()).collect();
        let best = |cost: fn(&Cost) -> f64| costs.iter().map(cost).fold(f64::INFINITY, f64::min);
        let (elapsed, processor) = (best(|c| c.elapsed), best(|c| c.processor));
        println!(
            "{:2} threads  {what:<40} {elapsed:8.1} ns elapsed {processor:8.1} ns processor",
            self.threads
        );
    }

    fn tree(&self) -> Tree {
        let mut local = self.domain.register().expect("a worker");
        Tree::new(&mut local, self.generation.clone()).expect("memory")
    }

    fn free(&self, tree: Tree) {
        let mut local = self.domain.register().expect("a worker");
        local.enter();
        // SAFETY: the threads have ended.
        unsafe { tree.free_all(&mut local) };
        local.exit();
    }

    /// Fills a new tree in each round.
    fn fill(&self, what: &str, values: &[u64], f: impl Fn(&Tree, &mut Local, &[u64]) + Sync) {
        self.report(what, ROUNDS, || {
            let tree = self.tree();
            let time = self.run(values, |local, part| f(&tree, local, part));
            self.free(tree);
            time
        });
    }
}

fn insert_each(tree: &Tree, local: &mut Local, part: &[u64]) {
    for values in part.chunks(100) {
        local.enter();
        for &value in values {
            // SAFETY: records live for ever.
            black_box(unsafe { tree.insert(local, u64::MAX, value) }.expect("memory"));
        }
        local.exit();
        local.collect();
    }
}

fn insert_batches(tree: &Tree, local: &mut Local, part: &[u64]) {
    let mut sorted = Vec::with_capacity(BATCH);
    for values in part.chunks(BATCH) {
        sorted.clear();
        sorted.extend_from_slice(values);
        // SAFETY: records live for ever.
        sorted.sort_unstable_by_key(|&value| unsafe { Record::key(value) });
        local.enter();
        // SAFETY: as above.
        unsafe { tree.insert_batch(local, u64::MAX, &sorted, |_, _| {}) }.expect("memory");
        local.exit();
        local.collect();
    }
}

fn main() {
    let args: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let count = args.first().copied().unwrap_or(5_000_000);
    let all_threads = args.get(1).map_or(vec![1, 2], |&n| vec![n]);
    for threads in all_threads {
        let bench = Bench {
            domain: Domain::new(Arc::new(Clock::new(0)), u64::MAX),
            generation: Arc::new(CachePadded(AtomicU64::new(0))),
            threads,
        };
        let mut local = bench.domain.register().expect("a worker");
        let random = records(&mut local, (0..count as u64).map(mix));
        let ordered = records(&mut local, 0..count as u64);

        bench.fill("insert, random", &random, insert_each);
        bench.fill("insert, sequential", &ordered, insert_each);
        bench.fill("insert, random, sorted batches of 1000", &random, insert_batches);
        bench.fill("insert, sequential, batches of 1000", &ordered, insert_batches);
        bench.fill("bulk load", &ordered, |tree, local, part| {
            local.enter();
            // SAFETY: records live for ever.
            unsafe { tree.bulk_load(local, part.iter().copied()) }.expect("memory");
            local.exit();
        });

        let tree = bench.tree();
        bench.run(&random, |local, part| insert_each(&tree, local, part));
        let mut probes = random.clone();
        for i in (1..probes.len()).rev() {
            probes.swap(i, (mix(i as u64) % (i as u64 + 1)) as usize);
        }
        let keys: Vec<[u8; 8]> =
            // SAFETY: records live for ever.
            probes.iter().map(|&value| unsafe { Record::key(value) }.try_into().expect("eight bytes")).collect();
        let probes: Vec<u64> = keys.iter().map(|key| key.as_ptr().expose_provenance() as u64).collect();
        bench.report("lookup, random", ROUNDS, || {
            bench.run(&probes, |local, part| {
                local.enter();
                for &probe in part {
                    // SAFETY: the address of eight bytes of `keys`.
                    assert!(tree.get(local, unsafe { Record::key(probe) }).is_some());
                }
                local.exit();
            })
        });
        bench.report("find with finger, random", ROUNDS, || {
            bench.run(&probes, |local, part| {
                local.enter();
                let mut finger = Finger::default();
                for &probe in part {
                    // SAFETY: as above.
                    assert!(tree.find(local, unsafe { Record::key(probe) }, &mut finger).value.is_some());
                }
                local.exit();
            })
        });
        bench.report("full scan, per entry", ROUNDS, || {
            bench.run(&probes, |local, _| {
                local.enter();
                let (mut read, mut seen) = (LeafRead::new(), 0);
                tree.open_leaf(local, Position::First, &mut read);
                loop {
                    assert!(tree.read_entries(local, &mut read));
                    seen += read.values().len();
                    if !tree.open_next(local, &mut read) {
                        break;
                    }
                }
                assert_eq!(seen, count);
                local.exit();
            })
        });
        local.enter();
        println!("{:?}", tree.stats(&local));
        local.exit();
        bench.report("remove, random (once)", 1, || {
            bench.run(&probes.iter().zip(0..).map(|(_, i)| i).collect::<Vec<u64>>(), |local, part| {
                for chunk in part.chunks(100) {
                    local.enter();
                    for &i in chunk {
                        let key = &keys[i as usize];
                        let value = tree.get(local, key).expect("not removed yet");
                        assert!(tree.remove(local, u64::MAX, key, value));
                    }
                    local.exit();
                    local.collect();
                }
            })
        });
        bench.free(tree);
    }
}
