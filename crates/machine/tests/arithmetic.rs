//! The machine gives what arithmetic says.

use scaledb_machine::{self as machine, Costs, Spec, preset};
use std::cell::Cell;
use std::rc::Rc;

/// A machine of 2 x 4 cores with round costs.
fn small() -> Spec {
    let costs = Costs {
        work: 1.0,
        same_line: 1.0,
        l2: 5.0,
        llc: 20.0,
        near: 50.0,
        far: 50.0,
        remote: 100.0,
        memory: 80.0,
        remote_memory: 150.0,
        occupancy: 25.0,
        fence: 10.0,
        rmw: 5.0,
        clock: 10.0,
        pause: 10.0,
        store_buffer: 400.0,
    };
    Spec {
        name: "small",
        source: "round numbers",
        cores_per_socket: 4,
        cores_per_llc: 4,
        l2: (256 << 10, 8),
        llc: 8 << 20,
        costs,
        sharing_is_free: false,
    }
}

/// Lines of memory that nothing else uses.
fn lines(count: usize) -> usize {
    let memory = Box::leak(vec![0_u8; (count + 1) * 64].into_boxed_slice());
    memory.as_ptr().addr().next_multiple_of(64)
}

/// Runs `step` over and over on `cores` for `nanoseconds`. Returns how often each core did.
fn count(spec: &Spec, seed: u64, cores: &[usize], nanoseconds: u64, step: impl Fn(usize)) -> Vec<u64> {
    machine::run(spec, seed, 0, || {
        let counts: Vec<_> = cores.iter().map(|_| Rc::new(Cell::new(0))).collect();
        let from = machine::now() + 20_000 + 100_000 * cores.len() as u64;
        let fibers: Vec<_> = cores
            .iter()
            .zip(&counts)
            .map(|(&core, count)| {
                machine::place_next(core);
                let step = &step;
                // SAFETY: joined below.
                unsafe {
                    machine::spawn(Box::new(move || {
                        machine::sleep_until(from);
                        while machine::now() < from + nanoseconds {
                            step(core);
                            count.set(count.get() + 1);
                        }
                    }))
                }
            })
            .collect();
        fibers.into_iter().for_each(machine::join);
        counts.iter().map(|count| count.get()).collect()
    })
}

fn sum(counts: &[u64]) -> f64 {
    counts.iter().sum::<u64>() as f64
}

fn is_about(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{value} is not {expected} within {tolerance}");
}

const TIME: u64 = 1_000_000;

#[test]
fn a_line_of_ones_own_costs_no_more_than_its_instructions() {
    let line = lines(1);
    let counts = count(&small(), 1, &[0], TIME, |_| machine::load(line));
    is_about(sum(&counts), TIME as f64, 0.01);
    // a locked instruction costs its own on top
    let counts = count(&small(), 1, &[0], TIME, |_| machine::rmw(line));
    is_about(sum(&counts), TIME as f64 / 6.0, 0.01);
}

/// Two cores that increment one word take turns: each turn is a transfer.
#[test]
fn a_line_that_two_cores_write_ping_pongs() {
    let line = lines(1);
    let near = count(&small(), 1, &[0, 1], TIME, |_| machine::rmw(line));
    // each core's turn: 50 ns for the line, 6 for the instruction; the other one's request runs meanwhile
    is_about(sum(&near), 2.0 * TIME as f64 / 56.0, 0.03);
    is_about(near[0] as f64, near[1] as f64, 0.05);
    let remote = count(&small(), 1, &[0, 4], TIME, |_| machine::rmw(line));
    is_about(sum(&remote), 2.0 * TIME as f64 / 106.0, 0.03);
}

/// With many cores the line is the limit: it is handed on every 25 ns, in turn.
#[test]
fn a_line_that_many_cores_write_is_a_fair_queue() {
    let line = lines(1);
    let counts = count(&small(), 1, &[0, 1, 2, 3, 4, 5, 6, 7], TIME, |_| machine::rmw(line));
    is_about(sum(&counts), TIME as f64 / 25.0, 0.05);
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*most as f64 / *least as f64 <= 1.2, "{counts:?}");
}

/// What the Cicada paper measured: 28 cores increment one word 55 million times per second (section 3.4).
#[test]
fn increments_of_one_word_are_as_many_as_were_measured() {
    let line = lines(1);
    let cores: Vec<_> = (0..28).collect();
    let counts = count(preset("cicada").unwrap(), 1, &cores, TIME, |_| machine::rmw(line));
    is_about(sum(&counts) / (TIME as f64 / 1e9), 55e6, 0.03);
}

/// Words of one line are no better than one word; words of different lines cost nothing.
#[test]
fn false_sharing_costs_as_much_as_sharing() {
    let line = lines(16);
    let cores = [0, 1, 2, 3];
    let shared = sum(&count(&small(), 1, &cores, TIME, |core| machine::rmw(line + core * 8)));
    let apart = sum(&count(&small(), 1, &cores, TIME, |core| machine::rmw(line + core * 64)));
    is_about(shared, TIME as f64 / 25.0, 0.05);
    is_about(apart, 4.0 * TIME as f64 / 6.0, 0.02);
    let report = machine::run(&small(), 1, 0, || {
        let fiber = |core: usize| {
            machine::place_next(core);
            // SAFETY: joined below.
            unsafe {
                machine::spawn(Box::new(move || {
                    (0..1_000).for_each(|_| machine::rmw(line + core * 8));
                }))
            }
        };
        machine::name(line, 64, 0, "counters");
        [fiber(0), fiber(1)].into_iter().for_each(machine::join);
        machine::take_report()
    });
    let hottest = &report.lines[0];
    assert_eq!((hottest.name.as_str(), hottest.cause()), ("counters", machine::Cause::FalseSharing));
}

/// A line that is read by all and hardly written stays in everybody's cache.
#[test]
fn a_line_that_is_read_is_free_until_it_is_written() {
    let line = lines(1);
    let cores = [0, 1, 2, 3, 4, 5, 6, 7];
    let read = sum(&count(&small(), 1, &cores, TIME, |_| machine::load(line)));
    is_about(read, 8.0 * TIME as f64, 0.01);
    // a write every 10 us makes each of the others fetch the line once
    let last = Cell::new(0);
    let mostly = sum(&count(&small(), 1, &cores, TIME, |core| {
        if core == 0 && machine::now() / 10_000 > last.get() {
            last.set(machine::now() / 10_000);
            machine::rmw(line);
        } else {
            machine::load(line);
        }
    }));
    let (writes, fetch) = (TIME as f64 / 10_000.0, 100.0);
    is_about(mostly, 8.0 * TIME as f64 - 8.0 * writes * fetch, 0.02);
    assert!(mostly < read);
}

/// A store is made while the core goes on; a fence waits for it.
#[test]
fn stores_wait_for_fences_only() {
    let line = lines(1);
    let time = |f: &dyn Fn()| {
        machine::run(&small(), 1, 0, || {
            let before = machine::now();
            f();
            machine::now() - before
        })
    };
    assert_eq!(time(&|| machine::store(line, false)), 1);
    assert_eq!(time(&|| machine::store(line, true)), 1 + 80 + 5);
    assert_eq!(
        time(&|| {
            machine::store(line, false);
            machine::fence();
        }),
        80 + 1 + 10
    );
}

#[test]
fn a_prefetch_runs_while_the_core_works() {
    let line = lines(1);
    let time = |work: u64| {
        machine::run(&small(), 1, 0, || {
            machine::prefetch(line);
            machine::charge(work);
            let before = machine::now();
            machine::load(line);
            machine::now() - before
        })
    };
    // 80 ns from memory, 5 from the L2 where it arrives
    assert_eq!(time(200), 1 + 5);
    assert_eq!(time(30), 80 - 30 + 5);
}

/// What a core reads was written before, by all clocks; what it writes, it writes after all who have read it.
#[test]
fn clocks_agree_with_what_cores_know_of_each_other() {
    let line = lines(8);
    for seed in 0..20 {
        let (last, cores) = (Cell::new(0), [0, 1, 2, 3, 4, 5, 6, 7]);
        count(&small(), seed, &cores, 100_000, |core| {
            machine::load(line);
            let seen = last.get();
            let now = machine::read_clock();
            assert!(now >= seen, "core {core} reads {now} after {seen}");
            if now.is_multiple_of(3) {
                machine::rmw(line);
                let now = machine::read_clock();
                assert!(now >= last.get(), "core {core} writes at {now} after {}", last.get());
                last.set(now);
                machine::store(line, true);
            }
        });
    }
}

#[test]
fn a_seed_decides_everything() {
    let line = lines(4);
    let run = |seed| {
        count(&small(), seed, &[0, 1, 5], 50_000, |core| {
            machine::rmw(line + core % 2 * 64);
            machine::store(line + 128, false);
        })
    };
    assert_eq!(run(1), run(1));
    assert!((2..10).any(|seed| run(seed) != run(1)));
}

#[test]
#[should_panic(expected = "threads wait for each other")]
fn fibers_that_wait_for_each_other_are_noticed() {
    machine::run(&small(), 1, 0, || {
        // SAFETY: borrows nothing.
        unsafe { machine::spawn(Box::new(|| assert!(machine::block(None)))) };
    });
}

#[test]
#[should_panic(expected = "of the first fiber")]
fn a_panic_is_handed_on() {
    machine::run(&small(), 1, 0, || panic!("of the first fiber"));
}

/// Ten million memory events per second of the processor's time, in optimised code; printed, not asserted.
#[test]
#[ignore = "a measurement: cargo test --release -p scaledb-machine --test arithmetic -- --ignored --nocapture"]
fn how_many_events_there_are_in_a_second() {
    let (memory, cores) = (lines(1 << 16), (0..36).collect::<Vec<_>>());
    let since = std::time::Instant::now();
    let counts = count(preset("scaledb").unwrap(), 1, &cores, 2_000_000, |core| {
        // a walk over lines of its own, and now and then a line of all
        let mut at = core * 977;
        for _ in 0..100 {
            at = (at * 1_103 + 12_345) % (1 << 10);
            machine::load(memory + (core * (1 << 10) + at) * 64);
        }
        machine::rmw(memory);
    });
    let events = counts.iter().sum::<u64>() * 101;
    println!("{:.1} million events per second", events as f64 / since.elapsed().as_secs_f64() / 1e6);
}
