//! TPC-C at a cluster whose nodes fail: terminals go to another node when theirs is gone. Afterwards the twelve
//! conditions hold, and every order and payment that was answered is there.

use crate::load::Nodes;
use crate::process::until;
use scaledb_sqlbench::tpcc::{self, Terminal};
use scaledb_sqlbench::{Client, Failure, Rows, Wire};
use scaledb_workloads::driver::{Attempt, Connected, micros_since_2000};
use scaledb_workloads::tpcc::{Class, Inputs, Mix, Scale};
use std::net::SocketAddr;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const WAREHOUSES: u16 = 2;
const SEED: u64 = 1;

/// The number of the next life of a terminal, anywhere: each has inputs of its own.
static LIVES: AtomicU64 = AtomicU64::new(0);

fn scale() -> Scale {
    Scale::tiny(WAREHOUSES)
}

/// Transactions of a kind: those that were answered, and those whose answer never came.
#[derive(Clone, Copy, Default)]
struct Known {
    answered: u64,
    unknown: u64,
}

/// What terminals know.
#[derive(Clone, Copy, Default)]
pub(crate) struct Business {
    orders: Known,
    payments: Known,
}

impl AddAssign for Business {
    fn add_assign(&mut self, other: Self) {
        for (mine, more) in [(&mut self.orders, other.orders), (&mut self.payments, other.payments)] {
            mine.answered += more.answered;
            mine.unknown += more.unknown;
        }
    }
}

fn connect(at: SocketAddr) -> Result<Wire, Failure> {
    Wire::connect(&format!(
        "host={} port={} user=postgres dbname=postgres connect_timeout=10",
        at.ip(),
        at.port()
    ))
}

/// Orders, and payments.
fn counts(client: &mut Wire) -> Result<(u64, u64), Failure> {
    let mut count = |table: &str| {
        let mut rows = Rows::default();
        client.query(&format!("SELECT count(*) FROM {table}"), &mut rows)?;
        Ok(rows.answer(0).int(0, 0)?.unsigned_abs())
    };
    Ok((count("orders")?, count("history")?))
}

/// Until it meets no conflict.
fn again<T>(client: &mut Wire, mut f: impl FnMut(&mut Wire) -> Result<T, Failure>) -> T {
    loop {
        match f(client) {
            Ok(done) => return done,
            Err(failure) => assert_eq!(failure.code(), Some("40001"), "{failure}"),
        }
        // it may be in a transaction
        client.script("ROLLBACK").unwrap();
    }
}

/// The tables.
pub(crate) struct Tables {
    loaded: (u64, u64),
}

impl Tables {
    pub(crate) fn fill(at: SocketAddr) -> Self {
        let mut clients = [connect(at).unwrap()];
        tpcc::create_in_cluster(&mut clients[0]).unwrap();
        tpcc::load(&mut clients, scale(), SEED).unwrap();
        Self { loaded: again(&mut clients[0], counts) }
    }

    /// What is there at a node is consistent, and what was answered.
    pub(crate) fn check(&self, at: SocketAddr, known: Business) {
        let mut client = connect(at).unwrap();
        for condition in again(&mut client, |client| tpcc::check(client, scale())) {
            let (says, place) = (&condition.says, condition.detail.as_deref().unwrap_or_default());
            assert_eq!(condition.failed, 0, "TPC-C, condition {}: {says}: {place}", condition.number);
        }
        let (orders, payments) = again(&mut client, counts);
        let (orders, payments) = (orders - self.loaded.0, payments - self.loaded.1);
        for (what, there, Known { answered, unknown }) in
            [("orders", orders, known.orders), ("payments", payments, known.payments)]
        {
            let may = answered..=answered + unknown;
            assert!(may.contains(&there), "{there} {what} are there; {may:?} may be");
        }
    }
}

/// Terminals at work: one at each node.
pub(crate) struct Terminals {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    threads: Vec<JoinHandle<Business>>,
}

impl Terminals {
    /// `allowed` are SQLSTATEs that a terminal may be told as its node goes.
    pub(crate) fn begin(nodes: &Nodes, allowed: Vec<String>) -> Self {
        let (stop, done) = <(Arc<AtomicBool>, Arc<AtomicU64>)>::default();
        let homes = nodes.lock().unwrap().len();
        let threads = (0..homes).map(|home| {
            let (nodes, allowed, stop, done) = (nodes.clone(), allowed.clone(), stop.clone(), done.clone());
            thread::spawn(move || work(&nodes, home, &allowed, &stop, &done))
        });
        let threads = threads.collect();
        Self { stop, done, threads }
    }

    /// Waits until so many more have committed.
    pub(crate) fn progress(&self, more: u64) {
        let target = self.done.load(Ordering::SeqCst) + more;
        until("terminals go on", || {
            let dead = self.threads.iter().any(JoinHandle::is_finished);
            assert!(!dead, "a terminal has ended: it was told what it should not be");
            self.done.load(Ordering::SeqCst) >= target
        });
    }

    pub(crate) fn end(self) -> Business {
        self.stop.store(true, Ordering::SeqCst);
        let mut all = Business::default();
        for thread in self.threads {
            all += thread.join().expect("a terminal was told what it should not be");
        }
        all
    }
}

fn work(nodes: &Nodes, home: usize, allowed: &[String], stop: &AtomicBool, done: &AtomicU64) -> Business {
    let mut business = Business::default();
    let mut at = home;
    while !stop.load(Ordering::SeqCst) {
        let node = {
            let nodes = nodes.lock().unwrap();
            nodes[at % nodes.len()]
        };
        let life = LIVES.fetch_add(1, Ordering::SeqCst) as usize;
        let inputs = Inputs::new(scale(), Mix::Full, SEED, home + life * 1_000, WAREHOUSES.into());
        let ended = connect(node)
            .and_then(|wire| Terminal::new(wire, inputs))
            .and_then(|mut terminal| run(&mut terminal, &mut business, stop, done));
        if let Err(failure) = ended {
            // 40001: the members change while it connects
            let gone = ["57P01", "57P03", "40001"];
            let fine =
                failure.code().is_none_or(|code| gone.contains(&code) || allowed.iter().any(|it| it == code));
            assert!(fine && !matches!(failure, Failure::Inconsistent(_)), "a terminal was told: {failure}");
            at += 1;
            thread::sleep(Duration::from_millis(50));
        }
    }
    business
}

fn run(
    terminal: &mut Terminal<Wire>,
    business: &mut Business,
    stop: &AtomicBool,
    done: &AtomicU64,
) -> Result<(), Failure> {
    while !stop.load(Ordering::SeqCst) {
        let class = terminal.prepare(micros_since_2000());
        let known = match class {
            class if class == Class::NewOrder as usize => &mut business.orders,
            class if class == Class::Payment as usize => &mut business.payments,
            _ => &mut Known::default(),
        };
        loop {
            match terminal.attempt() {
                Ok(Attempt::Committed) => {
                    known.answered += 1;
                    done.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                Ok(Attempt::RolledBack) => break,
                Ok(Attempt::Conflict(_)) if stop.load(Ordering::SeqCst) => return Ok(()),
                Ok(Attempt::Conflict(_)) => {}
                Err(failure) => {
                    known.unknown += 1;
                    return Err(failure);
                }
            }
        }
    }
    Ok(())
}
