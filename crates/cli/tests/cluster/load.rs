//! Clients of a cluster whose nodes fail: they try again after a conflict, and connect to another node when theirs is
//! gone. Some transfer money, each transfer with a record of it; some append to lists and read them. Whatever else they
//! are told is a failure of the test.

use crate::process::{connect, try_connect, until};
use crate::tpcc::{Business, Terminals};
use postgres::error::SqlState;
use postgres::{Client, Error, SimpleQueryMessage};
use scaledb_verify::appends::{self, Step, Transaction};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const ACCOUNTS: i64 = 10;
const BALANCE: i64 = 100;
const LISTS: u64 = 4;

/// Ticks of all histories, and the number of the next client: what it writes is its own.
static TICKS: AtomicU64 = AtomicU64::new(0);
static CLIENTS: AtomicU64 = AtomicU64::new(1);

fn tick() -> u64 {
    TICKS.fetch_add(1, Ordering::SeqCst)
}

/// Runs it again as long as it conflicts with others, or the members change.
pub(crate) fn run(client: &mut Client, sql: &str) -> Result<(), Error> {
    loop {
        match client.batch_execute(sql) {
            Err(error) if error.code() == Some(&SqlState::T_R_SERIALIZATION_FAILURE) => {}
            done => return done,
        }
    }
}

/// The first column of what a query answers, as text; nulls are left out.
fn column(client: &mut Client, sql: &str) -> Result<Vec<String>, Error> {
    let messages = client.simple_query(sql)?;
    let value = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    };
    Ok(messages.iter().filter_map(value).collect())
}

/// The same, until it does not conflict.
pub(crate) fn look(client: &mut Client, sql: &str) -> Vec<String> {
    loop {
        match column(client, sql) {
            Ok(found) => return found,
            Err(error) => assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{error:?}"),
        }
    }
}

pub(crate) fn count(client: &mut Client, table: &str) -> i64 {
    look(client, &format!("SELECT count(*) FROM {table}"))[0].parse().unwrap()
}

/// Makes the tables.
pub(crate) fn fill(client: &mut Client) {
    run(client, "CREATE TABLE moves (id int8 PRIMARY KEY, account int4, change int4)").unwrap();
    run(client, "CREATE TABLE accounts (id int4 PRIMARY KEY, balance int4)").unwrap();
    run(client, "CREATE TABLE lists (id int4 PRIMARY KEY, elements text)").unwrap();
    let last = ACCOUNTS - 1;
    let sql = format!("INSERT INTO accounts SELECT i, {BALANCE} FROM generate_series(0, {last}) i");
    run(client, &sql).unwrap();
}

/// What a client knows of a transaction that it has tried.
enum Tried {
    Committed,
    /// Nothing of it has happened.
    Nothing,
    /// Its answer did not come.
    Unknown,
}

/// A client that has a node of its own, and goes to others when that is gone.
struct Caller {
    nodes: Nodes,
    at: usize,
    client: Option<Client>,
    /// What it may be told by a node that goes.
    allowed: &'static [SqlState],
}

/// Where the nodes listen: those that come back, elsewhere.
pub(crate) type Nodes = Arc<Mutex<Vec<SocketAddr>>>;

impl Caller {
    /// The connection; a new one, if the last is lost.
    fn client(&mut self, stop: &AtomicBool) -> Option<&mut Client> {
        while self.client.is_none() {
            if stop.load(Ordering::SeqCst) {
                return None;
            }
            let node = {
                let nodes = self.nodes.lock().unwrap();
                nodes[self.at % nodes.len()]
            };
            match try_connect(node) {
                Ok(client) => self.client = Some(client),
                Err(error) => {
                    self.judge(&error);
                    self.at += 1;
                    thread::sleep(Duration::from_millis(50));
                }
            }
        }
        self.client.as_mut()
    }

    /// What an error says of the transaction. One that no client should see ends the test.
    fn judge(&self, error: &Error) -> Tried {
        let code = error.code();
        if code == Some(&SqlState::T_R_SERIALIZATION_FAILURE) || code == Some(&SqlState::CANNOT_CONNECT_NOW) {
            return Tried::Nothing;
        }
        let ended = code == Some(&SqlState::ADMIN_SHUTDOWN);
        let allowed = code.is_none() || ended || code.is_some_and(|code| self.allowed.contains(code));
        assert!(allowed, "a client was told {error:?}");
        Tried::Unknown
    }

    fn attempt(&mut self, stop: &AtomicBool, f: impl FnOnce(&mut Client) -> Result<(), Error>) -> Tried {
        let Some(client) = self.client(stop) else { return Tried::Nothing };
        let Err(error) = f(client) else { return Tried::Committed };
        let conflict = error.code() == Some(&SqlState::T_R_SERIALIZATION_FAILURE);
        let stays = conflict && client.batch_execute("ROLLBACK").is_ok();
        if !stays {
            self.client = None;
            self.at += 1;
        }
        self.judge(&error)
    }
}

/// What the clients did, and what they know of it.
#[derive(Default)]
pub(crate) struct History {
    /// Transfers that were answered, by the number of their first record.
    answered: Vec<i64>,
    /// Those whose answer did not come.
    unknown: Vec<i64>,
    lists: Vec<(Transaction, bool)>,
    /// What terminals of TPC-C know.
    pub(crate) business: Business,
}

impl History {
    /// How many transactions were answered.
    pub(crate) fn answered(&self) -> usize {
        self.answered.len() + self.lists.iter().filter(|(transaction, _)| transaction.committed).count()
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.answered.extend(more.answered);
        self.unknown.extend(more.unknown);
        self.lists.extend(more.lists);
        self.business += more.business;
    }

    /// All that was answered is there, nothing is there that cannot be, and what was seen has an order.
    pub(crate) fn check(&self, client: &mut Client) {
        self.check_bank(client);
        self.check_lists(client);
    }

    /// The transfers that the history knows to be there are; those of others are not looked at.
    pub(crate) fn check_bank(&self, client: &mut Client) {
        check_sums(client);
        let found: BTreeSet<i64> =
            look(client, "SELECT id FROM moves").iter().map(|id| id.parse().unwrap()).collect();
        for id in &self.answered {
            assert!(found.contains(id) && found.contains(&(id + 1)), "transfer {id} was answered");
        }
        for id in &self.unknown {
            assert_eq!(found.contains(id), found.contains(&(id + 1)), "transfer {id} is there by half");
        }
        let known: BTreeSet<i64> =
            self.answered.iter().chain(&self.unknown).flat_map(|id| [*id, id + 1]).collect();
        let strange: Vec<&i64> = found.iter().filter(|id| !known.contains(id)).collect();
        assert!(strange.is_empty(), "transfers that did not happen: {strange:?}");
    }

    /// What a backup has is a moment of the history: what it has stands before what it has not, for each
    /// client of the bank, and in the lists.
    pub(crate) fn check_moment(&self, client: &mut Client) {
        check_sums(client);
        let found: BTreeSet<i64> =
            look(client, "SELECT id FROM moves").iter().map(|id| id.parse().unwrap()).collect();
        let mut missing: BTreeMap<i64, i64> = BTreeMap::new();
        for &id in &self.answered {
            let number = id / 1_000_000;
            assert_eq!(found.contains(&id), found.contains(&(id + 1)), "transfer {id} is there by half");
            match missing.get(&number) {
                Some(before) => assert!(!found.contains(&id), "{id} is there, and {before} is not"),
                None if !found.contains(&id) => {
                    missing.insert(number, id);
                }
                None => {}
            }
        }
        let there: BTreeSet<u64> = all_lists(client).concat().into_iter().collect();
        let appended = |transaction: &Transaction| {
            let value = |step: &Step| match step {
                Step::Append(_, value) => Some(there.contains(value)),
                Step::Read(..) => None,
            };
            transaction.steps.iter().filter_map(value).collect::<Vec<bool>>()
        };
        let committed = self.lists.iter().map(|(transaction, _)| transaction).filter(|it| it.committed);
        let (mut last, mut first) = (0, u64::MAX);
        for transaction in committed {
            let appended = appended(transaction);
            assert!(appended.windows(2).all(|pair| pair[0] == pair[1]), "by half: {transaction:?}");
            match appended.first() {
                Some(true) => last = last.max(transaction.time.0),
                Some(false) => first = first.min(transaction.time.1),
                None => {}
            }
        }
        assert!(last <= first, "one that began at {last} is there, and one that ended at {first} is not");
    }

    /// All that was answered is there.
    pub(crate) fn check_there(&self, client: &mut Client) {
        let found: BTreeSet<i64> =
            look(client, "SELECT id FROM moves").iter().map(|id| id.parse().unwrap()).collect();
        assert!(self.answered.iter().all(|id| found.contains(id)), "a transfer from before is not there");
        let lists = all_lists(client);
        for step in self.lists.iter().filter(|(it, _)| it.committed).flat_map(|(it, _)| &it.steps) {
            if let Step::Append(list, value) = step {
                assert!(lists[*list as usize].contains(value), "{value} of list {list} is not there");
            }
        }
    }

    fn check_lists(&self, client: &mut Client) {
        let begin = tick();
        let last: Vec<Step> =
            (0..).zip(all_lists(client)).map(|(list, values)| Step::Read(list, values)).collect();
        let seen: BTreeSet<u64> = last.iter().flat_map(|step| values(step).iter().copied()).collect();
        let end = tick();
        let mut history: Vec<Transaction> = Vec::new();
        for (transaction, unknown) in &self.lists {
            let mut transaction = transaction.clone();
            if *unknown {
                // it has happened if what it appended is there, and nobody knows when
                let there = |step: &Step| matches!(step, Step::Append(_, value) if seen.contains(value));
                transaction.committed = transaction.steps.iter().any(there);
                transaction.time.1 = end;
            }
            if !transaction.committed {
                transaction.steps.retain(|step| matches!(step, Step::Append(..)));
            }
            history.push(transaction);
        }
        history.push(Transaction { steps: last, time: (begin, end), committed: true });
        if let Err(anomaly) = appends::check(&history) {
            let of = |number: &usize| format!("{number}: {:?}\n", history[*number]);
            let all: String = match &anomaly {
                appends::Anomaly::G0(all)
                | appends::Anomaly::G1c(all)
                | appends::Anomaly::GSingle(all)
                | appends::Anomaly::G2(all)
                | appends::Anomaly::RealTime(all) => all.iter().map(of).collect(),
                _ => String::new(),
            };
            panic!("{anomaly:?}\n{all}");
        }
    }
}

/// Accounts are what the transfers make of them.
pub(crate) fn check_sums(client: &mut Client) {
    let sum: i64 = look(client, "SELECT sum(balance) FROM accounts")[0].parse().unwrap();
    assert_eq!(sum, ACCOUNTS * BALANCE);
    let wrong = format!(
        "SELECT a.id FROM accounts a WHERE balance <> {BALANCE} + \
         (SELECT coalesce(sum(change), 0) FROM moves m WHERE m.account = a.id)"
    );
    assert_eq!(look(client, &wrong), Vec::<String>::new());
}

fn values(step: &Step) -> &[u64] {
    match step {
        Step::Read(_, values) => values,
        Step::Append(..) => &[],
    }
}

fn read(mut query: impl FnMut(&str) -> Result<Vec<String>, Error>, list: u64) -> Result<Vec<u64>, Error> {
    let found = query(&format!("SELECT elements FROM lists WHERE id = {list}"))?;
    Ok(found.iter().flat_map(|text| text.split(',')).map(|value| value.parse().unwrap()).collect())
}

fn all_lists(client: &mut Client) -> Vec<Vec<u64>> {
    (0..LISTS).map(|list| read(|sql| Ok(look(client, sql)), list).unwrap()).collect()
}

/// Clients at work.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    transfers: Arc<AtomicU64>,
    appends: Arc<AtomicU64>,
    threads: Vec<JoinHandle<History>>,
    terminals: Option<Terminals>,
}

impl Load {
    /// Two clients of each node: one transfers, one appends; and a terminal of TPC-C, if its tables are there.
    pub(crate) fn begin(nodes: &Nodes, allowed: &'static [SqlState], tpcc: bool) -> Self {
        let (stop, transfers, appends) = <(Arc<AtomicBool>, Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let mut threads = Vec::new();
        let homes = nodes.lock().unwrap().len();
        for at in 0..homes {
            for (done, work) in [(&transfers, bank as Work), (&appends, lists as Work)] {
                let caller = Caller { nodes: nodes.clone(), at, client: None, allowed };
                let (done, stop) = (done.clone(), stop.clone());
                let number = CLIENTS.fetch_add(1, Ordering::SeqCst);
                threads.push(thread::spawn(move || work(caller, number, &stop, &done)));
            }
        }
        let codes = || allowed.iter().map(|code| code.code().to_owned()).collect();
        let terminals = tpcc.then(|| Terminals::begin(nodes, codes()));
        Self { stop, transfers, appends, threads, terminals }
    }

    /// How many have committed.
    pub(crate) fn answered(&self) -> u64 {
        self.transfers.load(Ordering::SeqCst) + self.appends.load(Ordering::SeqCst)
    }

    /// Waits until so many more of each kind have committed.
    pub(crate) fn progress(&self, more: u64) {
        let of = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        let (transfers, appends) = (of(&self.transfers) + more, of(&self.appends) + more);
        let dead = || self.threads.iter().any(JoinHandle::is_finished);
        until("transactions go on", || {
            assert!(!dead(), "a client has ended: it was told what it should not be");
            of(&self.transfers) >= transfers && of(&self.appends) >= appends
        });
        if let Some(terminals) = &self.terminals {
            terminals.progress(more);
        }
    }

    /// Ends the clients: what they know.
    pub(crate) fn end(self) -> History {
        self.stop.store(true, Ordering::SeqCst);
        let mut all = History::default();
        if let Some(terminals) = self.terminals {
            all.business = terminals.end();
        }
        for thread in self.threads {
            all.extend(thread.join().expect("a client was told what it should not be"));
        }
        all
    }
}

type Work = fn(Caller, u64, &AtomicBool, &AtomicU64) -> History;

fn bank(mut caller: Caller, number: u64, stop: &AtomicBool, done: &AtomicU64) -> History {
    let mut history = History::default();
    let number = number as i64;
    for n in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let id = number * 1_000_000 + 2 * n;
        let (from, to) = ((number + n) % ACCOUNTS, (number + 3 * n + 1) % ACCOUNTS);
        // in the order of their numbers: two clients of a node do not wait for each other
        let change = |id: i64| i64::from(id == to) - i64::from(id == from);
        let (low, high) = (from.min(to), from.max(to));
        let sql = format!(
            "BEGIN; UPDATE accounts SET balance = balance + {} WHERE id = {low}; \
             UPDATE accounts SET balance = balance + {} WHERE id = {high}; \
             INSERT INTO moves VALUES ({id}, {from}, -1), ({}, {to}, 1); COMMIT",
            change(low),
            change(high),
            id + 1
        );
        match caller.attempt(stop, |client| client.batch_execute(&sql)) {
            Tried::Committed => {
                history.answered.push(id);
                done.fetch_add(1, Ordering::SeqCst);
            }
            Tried::Nothing => {}
            Tried::Unknown => history.unknown.push(id),
        }
    }
    history
}

fn lists(mut caller: Caller, number: u64, stop: &AtomicBool, done: &AtomicU64) -> History {
    let mut history = History::default();
    let mut dice = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |n: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice >> 11) % n
    };
    let mut value = number * 1_000_000;
    while !stop.load(Ordering::SeqCst) {
        let mut plan: Vec<(u64, bool)> = (0..1 + below(4)).map(|_| (below(LISTS), below(2) == 0)).collect();
        // two clients of a node do not wait for each other
        plan.sort_unstable();
        let mut steps = Vec::new();
        let begin = tick();
        let tried = caller.attempt(stop, |client| {
            client.batch_execute("BEGIN")?;
            for (list, reads) in plan {
                if reads {
                    let found = read(|sql| column(client, sql), list)?;
                    steps.push(Step::Read(list as u32, found));
                    continue;
                }
                value += 1;
                // from here on it may be there, whatever the answer is
                steps.push(Step::Append(list as u32, value));
                client.batch_execute(&format!(
                    "INSERT INTO lists VALUES ({list}, '{value}') ON CONFLICT (id) DO UPDATE \
                     SET elements = lists.elements || ',' || excluded.elements"
                ))?;
            }
            client.batch_execute("COMMIT")
        });
        let committed = matches!(tried, Tried::Committed);
        if committed {
            done.fetch_add(1, Ordering::SeqCst);
        }
        let transaction = Transaction { steps, time: (begin, tick()), committed };
        history.lists.push((transaction, matches!(tried, Tried::Unknown)));
    }
    history
}

/// Connects to a node of the list.
pub(crate) fn client_of(nodes: &Nodes, at: usize) -> Client {
    let node = nodes.lock().unwrap()[at];
    connect(node)
}
