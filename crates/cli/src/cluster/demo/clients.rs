//! The clients of the demonstration: TPC-C and Retwis in SQL. They run again what met a conflict, go to another node
//! when theirs has gone, and remember what was answered.

use scaledb_sqlbench::retwis::{self, Visitor};
use scaledb_sqlbench::tpcc::{self, Terminal};
use scaledb_sqlbench::{Client as _, Failure, Rows, Wire};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::thread::{JoinHandle, sleep, spawn};
use scaledb_workloads::driver::{Attempt, Connected, micros_since_2000};
use scaledb_workloads::tpcc::{Class, Condition, Inputs, Mix, Scale};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const SEED: u64 = 1;

/// Users of Retwis.
const USERS: u32 = 10_000;

/// How long a client waits after a conflict, or before it tries the next node.
const PAUSE: Duration = Duration::from_millis(1);

/// How often a check is tried: members may change meanwhile.
const ATTEMPTS: u32 = 1_000;

/// SQLSTATEs of a connection whose node has gone, or is on its way out: 57P01, 57P03; and of a commit whose answer
/// was lost with it: 40003. 40001 is a conflict: while it connects, members change.
const GONE: [&str; 4] = ["57P01", "57P03", "40003", "40001"];

/// Where the nodes are that run.
pub(super) struct Nodes {
    at: Mutex<Vec<Option<SocketAddr>>>,
    changes: AtomicU64,
}

impl Nodes {
    pub(super) fn new(at: Vec<SocketAddr>) -> Arc<Self> {
        Arc::new(Self { at: Mutex::new(at.into_iter().map(Some).collect()), changes: AtomicU64::new(0) })
    }

    /// A node has gone, or is there again: its clients return to it.
    pub(super) fn set(&self, node: usize, at: Option<SocketAddr>) {
        self.at.lock()[node] = at;
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// The first one from here on that runs; with how many changes there have been before.
    fn from(&self, home: usize) -> Option<(u64, SocketAddr)> {
        let changes = self.changes.load(Ordering::SeqCst);
        let at = self.at.lock();
        let order = (0..at.len()).map(|i| at[(home + i) % at.len()]);
        order.flatten().next().map(|at| (changes, at))
    }

    /// All that run.
    pub(super) fn all(&self) -> Vec<SocketAddr> {
        self.at.lock().iter().copied().flatten().collect()
    }
}

/// Connects to a node.
pub(super) fn connect(at: SocketAddr) -> Result<Wire, Failure> {
    let (host, port) = (at.ip(), at.port());
    Wire::connect(&format!("host={host} port={port} user=postgres dbname=postgres connect_timeout=10"))
}

/// What all clients have done.
pub(super) struct Tally {
    begin: Instant,
    pub(super) tpcc: AtomicU64,
    pub(super) retwis: AtomicU64,
    pub(super) conflicts: AtomicU64,
    /// When the last answer came, in microseconds since the beginning.
    last: AtomicU64,
    longest: AtomicU64,
    stop: AtomicBool,
}

impl Tally {
    pub(super) fn new() -> Arc<Self> {
        let zero = || AtomicU64::new(0);
        Arc::new(Self {
            begin: Instant::now(),
            tpcc: zero(),
            retwis: zero(),
            conflicts: zero(),
            last: zero(),
            longest: zero(),
            stop: AtomicBool::new(false),
        })
    }

    fn count(&self, counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::SeqCst);
        let now = self.begin.elapsed().as_micros() as u64;
        let last = self.last.fetch_max(now, Ordering::SeqCst);
        self.longest.fetch_max(now.saturating_sub(last), Ordering::SeqCst);
    }

    /// The longest time in which no commit was answered anywhere, since this was last asked.
    pub(super) fn longest_gap(&self) -> Duration {
        Duration::from_micros(self.longest.swap(0, Ordering::SeqCst))
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }
}

/// What clients know at their ends, of one kind of transaction: `answered <= there <= answered + unknown`.
#[derive(Clone, Copy, Default)]
struct Known {
    answered: u64,
    /// Transactions whose answers never came.
    unknown: u64,
}

impl Known {
    fn allows(self, there: u64) -> bool {
        (self.answered..=self.answered + self.unknown).contains(&there)
    }

    fn and(self, other: Self) -> Self {
        Self { answered: self.answered + other.answered, unknown: self.unknown + other.unknown }
    }
}

/// A client at its end.
pub(super) struct Finished {
    /// By the numbers of the classes; a visitor's after those of terminals.
    known: [Known; 5],
    /// The number of a client of Retwis.
    visitor: Option<i64>,
    /// A failure that no client should see.
    wrong: Option<Failure>,
}

/// The tables.
pub(super) struct Work {
    scale: Scale,
    /// Rows of orders and of the history at the beginning.
    loaded: (u64, u64),
}

/// A client of a node.
struct Caller {
    home: usize,
    nodes: Arc<Nodes>,
    tally: Arc<Tally>,
}

impl Work {
    /// Creates and fills the tables.
    pub(super) fn found(at: SocketAddr, warehouses: u16) -> Result<Self, Failure> {
        let scale = crate::args::scale(Some(warehouses), 1, true);
        let mut clients = [connect(at)?];
        tpcc::create_in_cluster(&mut clients[0])?;
        tpcc::load(&mut clients, scale, SEED)?;
        retwis::create_in_cluster(&mut clients[0], USERS)?;
        let loaded = counts(&mut clients[0])?;
        Ok(Self { scale, loaded })
    }

    /// Starts clients of each node: half of them run TPC-C, half Retwis.
    pub(super) fn start(
        &self,
        nodes: &Arc<Nodes>,
        clients: u16,
        tally: &Arc<Tally>,
    ) -> Vec<JoinHandle<Finished>> {
        let homes = nodes.all().len();
        let client = |number: usize| {
            let caller = Caller { home: number % homes, nodes: nodes.clone(), tally: tally.clone() };
            let (scale, of) = (self.scale, usize::from(self.scale.warehouses));
            let pair = number / homes;
            spawn(move || match pair % 2 {
                0 => caller.run(
                    |tally| &tally.tpcc,
                    None,
                    |wire, life| {
                        // another life has other inputs, for the same warehouse
                        let terminal = number + life * of * usize::from(u16::MAX);
                        Terminal::new(wire, Inputs::new(scale, Mix::Full, SEED, terminal, of))
                    },
                ),
                _ => caller.run(
                    |tally| &tally.retwis,
                    Some(number as i64),
                    |wire, life| {
                        let stream = ((life as u64) << 32) + number as u64;
                        Visitor::new(wire, USERS, number as i64, SEED, stream)
                    },
                ),
            })
        };
        (0..homes * usize::from(clients)).map(client).collect()
    }

    /// What is wrong at a node afterwards, if anything is: the conditions must hold, and all that was answered be
    /// there.
    pub(super) fn wrong_at(&self, at: SocketAddr, clients: &[Finished]) -> Result<Option<String>, Failure> {
        let mut client = connect(at)?;
        let client = &mut client;
        let failed = |workload: &str, conditions: Vec<Condition>| {
            let failed = conditions.into_iter().find(|condition| condition.failed > 0)?;
            let place = failed.detail.unwrap_or_default();
            Some(format!("{workload}: {} does not hold: {place}", failed.says))
        };
        let conditions = again(client, |client| tpcc::check(client, self.scale))?;
        let others = again(client, retwis::check)?;
        if let Some(wrong) = failed("TPC-C", conditions).or_else(|| failed("Retwis", others)) {
            return Ok(Some(wrong));
        }
        let (orders, payments) = again(client, counts)?;
        let sum = |class: Class| {
            let terminals = clients.iter().filter(|client| client.visitor.is_none());
            terminals.map(|client| client.known[class as usize]).fold(Known::default(), Known::and)
        };
        let mut found = vec![
            ("New-Orders".to_owned(), orders - self.loaded.0, sum(Class::NewOrder)),
            ("Payments".to_owned(), payments - self.loaded.1, sum(Class::Payment)),
        ];
        let posts = again(client, retwis::posts)?;
        for client in clients {
            let Some(number) = client.visitor else { continue };
            let there = posts.iter().find(|(of, _)| *of == number).map_or(0, |(_, posts)| *posts);
            found.push((format!("posts of client {number}"), there, client.known[retwis::POST]));
        }
        let wrong = found.into_iter().find(|(_, there, known)| !known.allows(*there));
        Ok(wrong.map(|(what, there, Known { answered, unknown })| {
            format!("{there} {what} are there; {answered} were answered, and of {unknown} nobody has heard")
        }))
    }
}

/// How many writing transactions of all clients were answered, TPC-C's and Retwis'; and what one was told and should
/// not be.
pub(super) fn answered(clients: &[Finished]) -> (u64, u64, Option<&Failure>) {
    let of = |visitors: bool, classes: &[usize]| {
        let clients = clients.iter().filter(|client| client.visitor.is_some() == visitors);
        let known = clients.flat_map(|client| classes.iter().map(|&class| client.known[class].answered));
        known.sum::<u64>()
    };
    let wrong = clients.iter().find_map(|client| client.wrong.as_ref());
    (of(false, &[Class::NewOrder as usize, Class::Payment as usize]), of(true, &[retwis::POST]), wrong)
}

impl Caller {
    /// Runs transactions until it is told to stop. `open` makes a terminal of a connection, and is told how many
    /// there were before.
    fn run<T: Connected<Error = Failure>>(
        &self,
        counter: fn(&Tally) -> &AtomicU64,
        visitor: Option<i64>,
        open: impl Fn(Wire, usize) -> Result<T, Failure>,
    ) -> Finished {
        let mut finished = Finished { known: Default::default(), visitor, wrong: None };
        let mut life = 0;
        while self.tally.goes_on() {
            let Some((changes, at)) = self.nodes.from(self.home) else { continue };
            let ended = connect(at).and_then(|wire| open(wire, life));
            life += 1;
            let ended = ended.and_then(|mut terminal| {
                self.work(&mut terminal, changes, counter(&self.tally), &mut finished.known)
            });
            match ended {
                Err(failure) if !is_gone(&failure) => {
                    finished.wrong = Some(failure);
                    break;
                }
                _ => sleep(PAUSE),
            }
        }
        finished
    }

    /// Until it is told to stop, nodes have come or gone, or the connection fails.
    fn work<T: Connected<Error = Failure>>(
        &self,
        terminal: &mut T,
        changes: u64,
        counter: &AtomicU64,
        known: &mut [Known; 5],
    ) -> Result<(), Failure> {
        while self.tally.goes_on() && self.nodes.changes.load(Ordering::SeqCst) == changes {
            let class = terminal.prepare(micros_since_2000());
            while self.tally.goes_on() {
                match terminal.attempt() {
                    Ok(Attempt::Committed) => {
                        known[class].answered += 1;
                        self.tally.count(counter);
                        break;
                    }
                    Ok(Attempt::RolledBack) => break,
                    Ok(Attempt::Conflict(_)) => {
                        self.tally.conflicts.fetch_add(1, Ordering::SeqCst);
                        sleep(PAUSE);
                    }
                    Err(failure) => {
                        known[class].unknown += 1;
                        return Err(failure);
                    }
                }
            }
        }
        Ok(())
    }
}

fn is_gone(failure: &Failure) -> bool {
    matches!(failure, Failure::Connection(_)) || failure.code().is_some_and(|code| GONE.contains(&code))
}

/// Rows of orders, and of the history.
fn counts(client: &mut Wire) -> Result<(u64, u64), Failure> {
    let mut count = |table: &str| {
        let mut rows = Rows::default();
        client.query(&format!("SELECT count(*) FROM {table}"), &mut rows)?;
        Ok(rows.answer(0).int(0, 0)?.unsigned_abs())
    };
    Ok((count("orders")?, count("history")?))
}

/// Tries again what meets a conflict.
fn again<T>(client: &mut Wire, mut f: impl FnMut(&mut Wire) -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 1..ATTEMPTS {
        match f(client) {
            Err(failure) if failure.code() == Some("40001") => {
                // it may be in a transaction
                client.script("ROLLBACK")?;
                sleep(PAUSE);
            }
            done => return done,
        }
    }
    f(client)
}
