//! Real servers on this machine: plain ones and ones with the module, measured by turns.
//!
//! ```text
//!  datacenter 0                                datacenter 1
//!  master 0, replica of 1, half of the clients ── 39 ms there and back ── master 1, replica of 0, the others
//! ```
//!
//! What counts is the processor time of the servers, which other work on the machine disturbs less than a clock. It is
//! taken while many sessions keep them busy, and without beats, which are so many in a second whether there is
//! something to do or not: at a tenth of the load they would be most of what is measured. What they take of a processor
//! is measured by itself, and so is how many reads are repeated.

mod crowd;

use std::io::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use redis::Connection;
use scaledb_occult::client::{Config, Event, Failure, Operation, Session, Step, Target};
use scaledb_occult::wire::{Command, Known, Prepare};
use scaledb_occult::{Micros, Shape, Slot, TxnId, Value, Write, slot_of};
use scaledb_occult_lab::{Failure as LabFailure, Lab, Node, Options, Weather, occult};
use scaledb_sync::thread;
use scaledb_workloads::rng::Rng;

use crate::keys::group_of;
use crate::{Costs, Keys, Times};
use crowd::Kind;

/// Half a round trip between the datacenters, as in the paper.
const FAR: Duration = Duration::from_micros(19_500);
/// Masters: one in each datacenter.
const MASTERS: u16 = 2;
/// Masters and replicas.
const SERVERS: f64 = 4.0;
/// The size of values.
const VALUE: usize = 1_024;
/// How long replicas may take to have what their masters have.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why nothing is measured.
#[derive(Debug, thiserror::Error)]
pub enum Unmeasured {
    /// There is no server, or no module.
    #[error("{0}")]
    Missing(&'static str),
    /// Something has failed.
    #[error("{0}")]
    Failed(String),
}

impl From<Error> for Unmeasured {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<redis::RedisError> for Unmeasured {
    fn from(error: redis::RedisError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds of each store, by turns; the median counts.
    pub rounds: usize,
    /// Operations of each client in a round.
    pub operations: usize,
    /// Sessions in each datacenter.
    pub clients: usize,
    /// Keys.
    pub keys: u64,
    /// Decides which keys are used.
    pub seed: u64,
}

/// Occult with four entries, as multiples of plain Redis.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ratios {
    /// Operations that servers do in the same time if they are busy for all of it, beats included; 95 % reads.
    pub goodput_95: f64,
    /// The same with 75 % reads.
    pub goodput_75: f64,
    /// How much longer the median read takes, in microseconds; 95 % reads.
    pub read_more: f64,
    /// What the servers have sent, to clients and replicas.
    pub sent: f64,
    /// What they have received.
    pub received: f64,
    /// What a key with its value takes in memory.
    pub memory: f64,
    /// Which part of a processor a server takes that has nothing to do.
    pub idle: f64,
    /// Of 100 reads, how many were stale at first; 95 % reads.
    pub stale: f64,
}

/// The module, if real servers can be measured.
///
/// # Errors
/// A sentence that says what is missing.
pub fn module() -> Result<PathBuf, Unmeasured> {
    if scaledb_occult_lab::server().is_none() {
        return Err(Unmeasured::Missing(
            "real servers are measured, and there is no redis-server on the path",
        ));
    }
    scaledb_occult_lab::module().ok_or(Unmeasured::Missing(
        "real servers are measured, and SCALEDB_OCCULT_MODULE does not name the module ('make occult-module' builds it)",
    ))
}

fn start(module: Option<PathBuf>, settings: &str) -> Result<Lab, Unmeasured> {
    let shape = scaledb_occult_lab::Shape { masters: MASTERS, replicas: true };
    let weather = Weather { one_way: FAR, cut: false };
    let settings = settings.to_owned();
    Ok(Lab::start(&Options { shape, module, weather, settings, ..Options::default() })?)
}

/// Measures both stores by turns.
///
/// # Errors
/// Without a server, or without the module; and what fails.
pub fn compare(effort: Effort) -> Result<Ratios, Unmeasured> {
    let module = module()?;
    let labs = [start(None, "")?, start(Some(module.clone()), "")?];
    let without_beats = start(Some(module), "beat-ms 0")?;
    load(&without_beats, true, effort)?;
    let memory: Vec<f64> =
        labs.iter().enumerate().map(|(at, lab)| load(lab, at == 1, effort)).collect::<Result<_, _>>()?;
    let mut rounds = Vec::new();
    for round in 0..effort.rounds {
        for writes in [5, 25] {
            // who begins changes from round to round
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            let mut of = [Round::default(), Round::default()];
            for at in order {
                of[at] = run(&labs[at], [Kind::Plain, Kind::Checked][at], effort, writes, round)?;
                if at == 1 {
                    of[1].processor = run(&without_beats, Kind::Unchecked, effort, writes, round)?.processor;
                }
            }
            rounds.push((writes, of));
        }
    }
    let ratio = |writes: u64, of: &dyn Fn(&Round) -> f64| {
        let each = rounds.iter().filter(|(mix, _)| *mix == writes);
        median(each.map(|(_, [plain, ours])| of(ours) / of(plain)).collect())
    };
    let each = || rounds.iter().filter(|(mix, _)| *mix == 5).map(|(_, of)| of);
    let mut more = Vec::new();
    for round in 0..effort.rounds {
        let [plain, ours] = [calm(&labs[0], false, effort, round)?, calm(&labs[1], true, effort, round)?];
        more.push(ours - plain);
    }
    Ok(Ratios {
        goodput_95: ratio(5, &Round::rate),
        goodput_75: ratio(25, &Round::rate),
        read_more: median(more),
        sent: ratio(5, &|round| round.sent),
        received: ratio(5, &|round| round.received),
        memory: memory[1] / memory[0],
        idle: median(each().map(|[_, ours]| ours.idle / SERVERS).collect()),
        stale: median(each().map(|[_, ours]| 100.0 * ours.stale).collect()),
    })
}

/// What one round of one store took, for each operation.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    processor: f64,
    /// That, of all servers together, as parts of a processor.
    idle: f64,
    sent: f64,
    received: f64,
    stale: f64,
    /// Reads that are repeated.
    repeated: f64,
}

impl Round {
    /// Operations in a microsecond of servers that are never idle. A read that is repeated is taken for any operation.
    fn rate(&self) -> f64 {
        (1.0 - self.idle / SERVERS) / (self.processor * (1.0 + self.repeated))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// A number of a server's `INFO`.
fn number(node: &Node, field: &str) -> Result<f64, Unmeasured> {
    let value = node.info(field).and_then(|text| text.parse().ok());
    value.ok_or_else(|| Unmeasured::Failed(format!("INFO says no {field}")))
}

/// Microseconds that a server has worked.
fn processor(node: &Node) -> Result<f64, Unmeasured> {
    Ok(1e6 * (number(node, "used_cpu_user_main_thread")? + number(node, "used_cpu_sys_main_thread")?))
}

/// How long servers are watched that have nothing to do.
const IDLE: Duration = Duration::from_millis(500);

/// Which part of a processor servers take that have nothing to do: beats, and what the cluster says.
fn idle(lab: &Lab, nodes: &[usize]) -> Result<Vec<f64>, Unmeasured> {
    let all = || nodes.iter().map(|&at| processor(&lab.nodes()[at])).collect::<Result<Vec<_>, _>>();
    let (before, began) = (all()?, Instant::now());
    thread::sleep(IDLE);
    let (after, took) = (all()?, began.elapsed().as_micros() as f64);
    Ok(after.iter().zip(before).map(|(after, before)| (after - before) / took).collect())
}

fn of_all(lab: &Lab, of: impl Fn(&Node) -> Result<f64, Unmeasured>) -> Result<f64, Unmeasured> {
    lab.nodes().iter().map(of).sum()
}

/// Connections of a client in one datacenter, to each server.
struct Client {
    datacenter: usize,
    connections: Vec<Connection>,
}

impl Client {
    fn connect(lab: &Lab, datacenter: usize) -> Result<Self, Unmeasured> {
        let connect = |node: &Node| -> Result<Connection, Unmeasured> {
            let near = usize::from(node.datacenter) == datacenter;
            let at: SocketAddr = if near { node.address() } else { node.announced() };
            let mut connection = redis::Client::open(format!("redis://{at}/"))?.get_connection()?;
            if node.info("role").as_deref() == Some("slave") {
                redis::cmd("READONLY").exec(&mut connection)?;
            }
            Ok(connection)
        };
        let connections = lab.nodes().iter().map(connect).collect::<Result<_, _>>()?;
        Ok(Self { datacenter, connections })
    }

    /// The server of a slot: the masters come first, then their replicas.
    fn of(&mut self, slot: Slot, to: Target) -> (bool, &mut Connection) {
        let masters = usize::from(MASTERS);
        let group = group_of(slot, masters);
        let is_master = to == Target::Master || group % 2 == self.datacenter;
        (is_master, &mut self.connections[group + if is_master { 0 } else { masters }])
    }

    /// Runs an operation to its end.
    fn drive<O: Operation>(
        &mut self,
        session: &mut Session,
        mut operation: O,
    ) -> Result<O::Output, Unmeasured> {
        let failed = |what: String| Unmeasured::Failed(what);
        let mut event = Event::Start;
        loop {
            event = match operation.step(&mut session.view(), now(), event) {
                Step::Done(result) => return result.map_err(|error| failed(error.to_string())),
                Step::Wait => return Err(failed("an operation waits for nothing".to_owned())),
                Step::Sleep(pause) => {
                    thread::sleep(Duration::from_micros(pause.0));
                    Event::Wake
                }
                Step::Ask(asks) => {
                    // single operations ask one at a time
                    let [ask] = &asks[..] else { return Err(failed("several questions".to_owned())) };
                    let (from_master, connection) = self.of(ask.command.slot(), ask.to);
                    let answer = match occult(connection, &ask.command) {
                        Ok(reply) => Ok(reply),
                        Err(LabFailure::Refused(refused)) => Err(Failure::Refused(refused)),
                        Err(LabFailure::Other(text)) => return Err(failed(text)),
                    };
                    Event::Answer { tag: ask.tag, from_master, answer }
                }
            };
        }
    }
}

fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

fn content() -> Value {
    vec![b'v'; VALUE].into()
}

/// A session with four entries.
fn session(random: u64) -> Session {
    Session::new(Shape::Isolated(2), Config::default(), random)
}

/// A key; there are a hundred in each slot: with fewer, the states of slots would be much of what is stored, as they
/// are not in a store of millions.
fn key(rank: u64, count: u64) -> Value {
    let slots = (count / 100).max(2);
    format!("{{{}}}user{rank}", rank % slots).into_bytes().into()
}

/// Writes each key once: the bytes that one takes at its master.
fn load(lab: &Lab, with_module: bool, effort: Effort) -> Result<f64, Unmeasured> {
    let masters = &lab.nodes()[..usize::from(MASTERS)];
    let used = || masters.iter().map(|node| number(node, "used_memory_dataset")).sum::<Result<f64, _>>();
    let mut before = 0.0;
    let mut clients = [0, 1].map(|datacenter| Client::connect(lab, datacenter));
    let mut sessions = [session(1), session(2)];
    let keys: Vec<Value> = (0..effort.keys).map(|rank| key(rank, effort.keys)).collect();
    // what each server has once, however many keys there are, comes with the first ones
    let first = keys.len() / 10;
    for (nth, key) in keys.iter().enumerate() {
        if nth == first {
            catch_up(lab)?;
            before = used()?;
        }
        // from where its master is, so that nothing waits for the other datacenter
        let at = group_of(slot_of(key), usize::from(MASTERS));
        let client = clients[at].as_mut().map_err(|error| Unmeasured::Failed(error.to_string()))?;
        if with_module {
            let change = sessions[at].change(key.clone(), Some(content()));
            client.drive(&mut sessions[at], change)?;
        } else {
            let (_, connection) = client.of(slot_of(key), Target::Master);
            redis::cmd("SET").arg(&key[..]).arg(&content()[..]).exec(connection)?;
        }
    }
    catch_up(lab)?;
    Ok((used()? - before) / (keys.len() - first) as f64)
}

/// Waits until the replicas have all that there is now.
fn catch_up(lab: &Lab) -> Result<(), Unmeasured> {
    let end = Instant::now() + PATIENCE;
    for group in 0..usize::from(MASTERS) {
        let wanted = number(&lab.nodes()[group], "master_repl_offset")?;
        while number(&lab.nodes()[group + usize::from(MASTERS)], "slave_repl_offset")? < wanted {
            if Instant::now() > end {
                return Err(Unmeasured::Failed("a replica does not catch up".to_owned()));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(())
}

fn run(lab: &Lab, kind: Kind, effort: Effort, writes: u64, round: usize) -> Result<Round, Unmeasured> {
    let fields = ["total_net_output_bytes", "total_net_input_bytes"];
    let idle: f64 = idle(lab, &[0, 1, 2, 3])?.iter().sum();
    let sessions = 2 * effort.clients;
    let reached = |datacenter: u8| {
        let of = |node: &Node| if node.datacenter == datacenter { node.address() } else { node.announced() };
        lab.nodes().iter().map(of).collect::<Vec<_>>()
    };
    let plan = crowd::Plan {
        addresses: [reached(0), reached(1)],
        kind,
        operations: effort.operations,
        keys: effort.keys,
        writes,
        seed: effort.seed + round as u64,
    };
    let begin = of_all(lab, processor)?;
    let traffic = |field: &str| of_all(lab, |node| number(node, field));
    let [sent, received] = [traffic(fields[0])?, traffic(fields[1])?];
    let counted = crowd::run(plan, sessions)?;
    catch_up(lab)?;
    let operations = (sessions * effort.operations) as f64;
    Ok(Round {
        processor: (of_all(lab, processor)? - begin) / operations,
        idle,
        sent: (traffic(fields[0])? - sent) / operations,
        received: (traffic(fields[1])? - received) / operations,
        stale: counted.stale as f64 / counted.reads.max(1) as f64,
        repeated: counted.repeated as f64 / operations,
    })
}

/// The median read of one session in each datacenter, at servers that have nothing else to do; 95 % reads.
fn calm(lab: &Lab, with_module: bool, effort: Effort, round: usize) -> Result<f64, Unmeasured> {
    let keys = Keys::new(effort.keys, true);
    let work = |at: usize| -> Result<Times, Unmeasured> {
        let mut random = Rng::new(effort.seed + round as u64, at as u64);
        let mut client = Client::connect(lab, at)?;
        let mut session = session(at as u64 + 1);
        let mut reads = Times::default();
        for _ in 0..effort.operations {
            let key = key(keys.rank(&mut random), effort.keys);
            let slot = slot_of(&key);
            let write = random.below(100) < 5;
            let began = Instant::now();
            match (with_module, write) {
                (true, true) => {
                    let change = session.change(key, Some(content()));
                    client.drive(&mut session, change)?;
                }
                (true, false) => {
                    let read = session.read(vec![key]);
                    client.drive(&mut session, read)?;
                }
                (false, true) => {
                    let (_, connection) = client.of(slot, Target::Master);
                    redis::cmd("SET").arg(&key[..]).arg(&content()[..]).exec(connection)?;
                }
                (false, false) => {
                    let (_, connection) = client.of(slot, Target::Nearest);
                    let _: Option<Vec<u8>> = redis::cmd("GET").arg(&key[..]).query(connection)?;
                }
            }
            if !write {
                reads.add(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX));
            }
        }
        Ok(reads)
    };
    let done: Vec<_> = thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = (0..2).map(|at| scope.spawn(move || work(at))).collect();
        running.into_iter().map(|one| one.join().expect("it does not panic")).collect()
    });
    let mut medians = Vec::new();
    for one in done {
        medians.push(one?.quantile(0.5));
    }
    Ok(median(medians))
}

/// What a server takes for each kind of command: the costs of the simulation. `count` commands of each.
///
/// # Errors
/// As [`compare`].
pub fn costs(count: usize) -> Result<Costs, Unmeasured> {
    // beats would be counted as what commands take
    let labs = [start(None, "")?, start(Some(module()?), "beat-ms 0")?];
    let of_slot = |i: usize| -> Value { format!("{{cost}}{}", i % 100).into_bytes().into() };
    let group = group_of(slot_of(&of_slot(0)), usize::from(MASTERS));
    let replica = group + usize::from(MASTERS);
    // microseconds at the master and at the replica for each of `count` commands
    let timed = |lab: &Lab, ask: &mut dyn FnMut(&mut Connection, usize) -> Result<(), Unmeasured>| {
        let idle = idle(lab, &[group, replica])?;
        let (master, replica) = (&lab.nodes()[group], &lab.nodes()[replica]);
        let mut connection = master.connect()?;
        catch_up(lab)?;
        let (before, began) = ((processor(master)?, processor(replica)?), Instant::now());
        for i in 0..count {
            ask(&mut connection, i)?;
        }
        catch_up(lab)?;
        let took = began.elapsed().as_micros() as f64;
        let each = |now: f64, before: f64, idle: f64| (now - before - idle * took) / count as f64;
        let of_master = each(processor(master)?, before.0, idle[0]);
        Ok::<_, Unmeasured>((of_master, each(processor(replica)?, before.1, idle[1])))
    };
    let (set, set_applied) = timed(&labs[0], &mut |connection, i| {
        Ok(redis::cmd("SET").arg(&of_slot(i)[..]).arg(&content()[..]).exec(connection)?)
    })?;
    let (get, _) = timed(&labs[0], &mut |connection, i| {
        let _: Vec<u8> = redis::cmd("GET").arg(&of_slot(i)[..]).query(connection)?;
        Ok(())
    })?;
    // what a session knows that has used several slots
    let mut warm = session(1);
    let mut client = Client::connect(&labs[1], group % 2)?;
    for i in 0..20 {
        let change = warm.change(format!("warm{i}").into_bytes().into(), Some(content()));
        client.drive(&mut warm, change)?;
    }
    let known = || Known { deps: warm.deps().clone(), ..Known::default() };
    let ask = |connection: &mut Connection, command: &Command| match occult(connection, command) {
        Ok(_) => Ok(()),
        Err(failure) => Err(Unmeasured::Failed(format!("{failure:?}"))),
    };
    let (write, applied) = timed(&labs[1], &mut |connection, i| {
        ask(connection, &Command::Write { key: of_slot(i), value: content(), known: known() })
    })?;
    let (read, _) =
        timed(&labs[1], &mut |connection, i| ask(connection, &Command::Read { keys: vec![of_slot(i)] }))?;
    let home = slot_of(&of_slot(0));
    let txn = |i: usize| TxnId((i as u128 + 1).to_be_bytes());
    let (both, _) = timed(&labs[1], &mut |connection, i| {
        let writes = vec![Write { key: of_slot(i), value: Some(content()) }];
        let prepare = Prepare { txn: txn(i), home, lease: Micros(1_000_000), writes };
        ask(connection, &Command::Prepare { prepare, known: known() })?;
        ask(connection, &Command::Abort { slot: home, txn: txn(i) })
    })?;
    let (small, _) =
        timed(&labs[1], &mut |connection, i| ask(connection, &Command::Status { home, txn: txn(i) }))?;
    Ok(Costs { get, set, set_applied, read, write, applied, prepare: (both - small).max(write), small })
}
