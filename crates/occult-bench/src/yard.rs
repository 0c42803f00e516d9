//! A simulated cluster in two datacenters, in virtual time: how much a store yields, and how long it takes.
//!
//! ```text
//!  session ── half a round trip ──► queue of a server ── its cost ──► Shard ── effect, the way to the other datacenter
//!     ▲                                                     │                          │ (and more, if it is slow)
//!     └────────────────── half a round trip ◄───────────────┘                          ▼
//!                                                                           queue of the replica
//! ```
//!
//! Each server works on one command at a time, as Redis does. Clients cost nothing: they have machines of their own.

use std::collections::HashMap;

use scaledb_occult::client::{
    Ask, Change, Commit, Config, Error, Event as ClientEvent, Failure, Finish, Metrics, Operation, Read,
    Session, Step, Target, Transaction,
};
use scaledb_occult::wire::{Command, Known, Refused, Reply};
use scaledb_occult::{
    Datacenter, Effect, Entry, Micros, Server, Shape, Shard, Slot, Stamp, Value, slot_key, slot_of,
};
use scaledb_occult_sim::queue::Queue;
use scaledb_workloads::rng::Rng;

use crate::keys::group_of;
use crate::{Costs, Keys, Times, Yield};

/// When runs begin.
const START: Micros = Micros(1_700_000_000_000_000);
/// Half a round trip inside of a datacenter.
const NEAR: u64 = 50;
/// Half a round trip between the two: 39 ms there and back, as in the paper.
const FAR: u64 = 19_500;
/// How far the clocks of servers in one datacenter are apart at most.
const NEAR_SKEW: u64 = 500;
/// The size of values does not matter here: it is in the costs.
const CONTENT: &[u8] = b"content";

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Plain Redis: reads at the nearest copy, whatever it has; no timestamps.
    Eventual,
    /// Occult with timestamps of a shape.
    Occult(Shape),
}

/// What is run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The store.
    pub store: Store,
    /// Decides all that is random.
    pub seed: u64,
    /// Masters, each with a replica in the other datacenter; they stand in the two by turns.
    pub groups: usize,
    /// Sessions, half of them in each datacenter. Each does one thing after the other.
    pub sessions: usize,
    /// The keys.
    pub keys: Keys,
    /// Of 100 operations, how many write.
    pub writes: u64,
    /// Operations of a transaction; none are single ones.
    pub transaction: Option<usize>,
    /// How often a transaction tries to lock a shard.
    pub lock_retries: u32,
    /// How far the clocks of the second datacenter are ahead.
    pub skew: Micros,
    /// Between two beats of a master.
    pub beat: Micros,
    /// Groups whose replica gets everything so much later.
    pub slow: Vec<(usize, Micros)>,
    /// What commands cost.
    pub costs: Costs,
    /// How long it runs before it is measured.
    pub warmup: Micros,
    /// How long it is measured.
    pub measured: Micros,
}

impl Setup {
    /// The cluster of the paper: 40 masters and their replicas, ten million keys, 95 % reads, clocks 22 ms apart.
    pub fn paper(store: Store) -> Self {
        Self {
            store,
            seed: 1,
            groups: 40,
            sessions: 1_600,
            keys: Keys::new(10_000_000, true),
            writes: 5,
            transaction: None,
            lock_retries: Config::default().lock_retries,
            skew: Micros(22_000),
            beat: Micros(1_000),
            slow: Vec::new(),
            costs: Costs::MEASURED,
            warmup: Micros(400_000),
            measured: Micros(1_000_000),
        }
    }
}

/// A server process with one copy of each of its shards.
struct Process {
    datacenter: usize,
    server: Server,
    /// How far its clock is ahead of the first datacenter's.
    skew: u64,
    shards: HashMap<Slot, Shard>,
    keys: HashMap<Value, Entry>,
    free_at: Micros,
    /// In the measured time.
    busy: f64,
}

impl Process {
    /// Takes its turn, and works for so long: when it has done it.
    fn work(&mut self, now: Micros, cost: f64, counts: bool) -> Micros {
        let cost = cost.max(1.0);
        self.busy += if counts { cost } else { 0.0 };
        self.free_at = Micros(self.free_at.max(now).0 + cost.round() as u64);
        self.free_at
    }
}

enum Running {
    Read(Read),
    Change(Change),
    InTransaction(Read),
    Commit(Box<Commit>),
    /// The rest of a commit, which nobody waits for.
    Finish(Box<Finish>),
    /// An operation of the plain store.
    Plain,
}

/// What a session used last.
#[derive(Clone, Copy)]
enum Used {
    NearMaster,
    Replica,
    FarMaster,
}

struct Client {
    datacenter: usize,
    session: Session,
    random: Rng,
    running: HashMap<u64, Running>,
    next: u64,
    transaction: Option<Transaction>,
    /// Keys that the transaction still has to use, and whether it writes them.
    rest: Vec<(Value, bool)>,
    begun: Micros,
    transaction_begun: Micros,
    used: Option<Used>,
    /// The one before: what had changed its timestamp when it read.
    used_before: Option<Used>,
    stale_before: u64,
}

enum What {
    Next(usize),
    Arrive { client: usize, operation: u64, process: usize, ask: Box<Ask> },
    Plain { client: usize, operation: u64, process: usize, writes: bool },
    Answer { client: usize, operation: u64, event: Box<ClientEvent> },
    PlainAnswer { client: usize, operation: u64, wrote: bool },
    Wake { client: usize, operation: u64 },
    Applied { process: usize, slot: Slot, effect: Box<Effect> },
    PlainApplied { process: usize },
    Beat(usize),
    Beaten { process: usize, beat: Stamp, home: Datacenter },
}

/// A run.
pub struct Yard {
    setup: Setup,
    queue: Queue<What>,
    processes: Vec<Process>,
    clients: Vec<Client>,
    done: u64,
    yielded: Yield,
    stale: [u64; 2],
    reads: [u64; 2],
    before_stale: [u64; 3],
    counted_before: Metrics,
}

impl Yard {
    /// Builds the cluster.
    pub fn new(setup: Setup) -> Self {
        let mut random = Rng::new(setup.seed, 0);
        let mut queue = Queue::new(START);
        let shape = match setup.store {
            Store::Occult(shape) => shape,
            Store::Eventual => Shape::default(),
        };
        // copies of group g: process 2 g is its master
        let processes = (0..2 * setup.groups).map(|at| {
            let (group, is_master) = (at / 2, at % 2 == 0);
            let home = group % 2;
            let datacenter = if is_master { home } else { 1 - home };
            let of = Datacenter(datacenter as u8);
            let server = if is_master { Server::master(of, at as u64 + 1) } else { Server::replica(of) };
            let skew = random.below(NEAR_SKEW) + if datacenter == 1 { setup.skew.0 } else { 0 };
            Process {
                datacenter,
                server: Server { shape, home: Datacenter(home as u8), ..server },
                skew,
                shards: HashMap::new(),
                keys: HashMap::new(),
                free_at: START,
                busy: 0.0,
            }
        });
        let mut processes: Vec<Process> = processes.collect();
        if setup.store != Store::Eventual {
            load(&mut processes, setup.groups);
            (0..setup.groups).for_each(|group| queue.after(random.below(setup.beat.0), What::Beat(group)));
        }
        let config = Config { lock_retries: setup.lock_retries, ..Config::default() };
        let clients = (0..setup.sessions).map(|at| Client {
            datacenter: at % 2,
            session: Session::new(shape, config.clone(), at as u64 + 1),
            random: Rng::new(setup.seed, at as u64 + 1),
            running: HashMap::new(),
            next: 0,
            transaction: None,
            rest: Vec::new(),
            begun: START,
            transaction_begun: START,
            used: None,
            used_before: None,
            stale_before: 0,
        });
        let clients: Vec<Client> = clients.collect();
        (0..clients.len()).for_each(|client| queue.after(random.below(2_000), What::Next(client)));
        Self {
            setup,
            queue,
            processes,
            clients,
            done: 0,
            yielded: Yield::default(),
            stale: [0; 2],
            reads: [0; 2],
            before_stale: [0; 3],
            counted_before: Metrics::default(),
        }
    }

    /// Runs it.
    pub fn run(mut self) -> Yield {
        let begin = START.plus(self.setup.warmup);
        let end = begin.plus(self.setup.measured);
        let mut warm = false;
        while let Some(what) = self.queue.pop() {
            let now = self.queue.now();
            if now >= end {
                break;
            }
            if !warm && now >= begin {
                warm = true;
                self.counted_before = self.counted();
            }
            self.happen(what);
        }
        let measured = self.setup.measured.0 as f64;
        let busy = |process: &Process| process.busy / measured;
        let mut yielded = std::mem::take(&mut self.yielded);
        yielded.busiest = self.processes.iter().map(busy).fold(0.0, f64::max);
        yielded.goodput = self.done as f64 * 1e6 / measured;
        for at in 0..2 {
            yielded.stale[at] = self.stale[at] as f64 / self.reads[at].max(1) as f64;
        }
        let stale: u64 = self.before_stale.iter().sum();
        yielded.before_stale = self.before_stale.map(|count| count as f64 / stale.max(1) as f64);
        yielded.counted = since(self.counted(), self.counted_before);
        yielded
    }

    fn counted(&self) -> Metrics {
        let mut all = Metrics::default();
        self.clients.iter().for_each(|client| all += *client.session.metrics());
        all
    }

    /// Whether what ends now counts.
    fn counts(&self) -> bool {
        self.queue.now() >= START.plus(self.setup.warmup)
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Next(client) => self.next(client),
            What::Arrive { client, operation, process, ask } => self.arrive(client, operation, process, *ask),
            What::Plain { client, operation, process, writes } => {
                let cost = if writes { self.setup.costs.set } else { self.setup.costs.get };
                let done = self.work(process, cost);
                if writes {
                    let delay = self.to_replica(process / 2);
                    self.queue.after(done + delay, What::PlainApplied { process: process + 1 });
                }
                let way = self.way(client, process);
                self.queue.after(done + way, What::PlainAnswer { client, operation, wrote: writes });
            }
            What::Answer { client, operation, event } => self.step(client, operation, *event),
            What::PlainAnswer { client, operation, wrote } => {
                self.clients[client].running.remove(&operation);
                self.ended(client, wrote);
                self.next(client);
            }
            What::Wake { client, operation } => self.step(client, operation, ClientEvent::Wake),
            What::Applied { process, slot, effect } => {
                let cost = self.setup.costs.of_effect(&effect.action);
                self.work(process, cost);
                let Process { shards, keys, .. } = &mut self.processes[process];
                shards.entry(slot).or_default().apply(slot, &effect, keys);
            }
            What::PlainApplied { process } => {
                let cost = self.setup.costs.set_applied;
                self.work(process, cost);
            }
            What::Beat(group) => {
                let now = self.queue.now();
                let master = &mut self.processes[2 * group];
                // after what it is working on
                let at = master.free_at.max(now);
                let beat = master.server.plan_beat(at.plus(Micros(master.skew)));
                master.server.apply_beat(beat, master.server.home);
                let home = master.server.home;
                let delay = at.since(now).0 + self.to_replica(group);
                self.queue.after(delay, What::Beaten { process: 2 * group + 1, beat, home });
                self.queue.after(self.setup.beat.0, What::Beat(group));
            }
            What::Beaten { process, beat, home } => self.processes[process].server.apply_beat(beat, home),
        }
    }

    /// Lets a server work; after how long it has done it.
    fn work(&mut self, process: usize, cost: f64) -> u64 {
        let (now, counts) = (self.queue.now(), self.counts());
        self.processes[process].work(now, cost, counts).since(now).0
    }

    fn to_replica(&self, group: usize) -> u64 {
        let slow = self.setup.slow.iter().find(|(slow, _)| *slow == group);
        FAR + slow.map_or(0, |(_, delay)| delay.0)
    }

    fn way(&self, client: usize, process: usize) -> u64 {
        let near = self.clients[client].datacenter == self.processes[process].datacenter;
        if near { NEAR } else { FAR }
    }

    fn process(&self, client: usize, slot: Slot, to: Target) -> usize {
        let group = group_of(slot, self.setup.groups);
        let master_is_near = self.clients[client].datacenter == group % 2;
        2 * group + usize::from(to == Target::Nearest && !master_is_near)
    }

    fn next(&mut self, at: usize) {
        let now = self.queue.now();
        let (writes, size) = (self.setup.writes, self.setup.transaction);
        let client = &mut self.clients[at];
        client.begun = now;
        if let Some(size) = size {
            client.transaction_begun = now;
            client.rest = (0..size)
                .map(|_| (self.setup.keys.draw(&mut client.random), client.random.below(100) < writes))
                .collect();
            let name = [client.random.bits().to_ne_bytes(), client.random.bits().to_ne_bytes()].concat();
            let name = name.try_into().unwrap_or_default();
            client.transaction = Some(client.session.begin(name));
            return self.go_on(at);
        }
        let key = self.setup.keys.draw(&mut client.random);
        let write = client.random.below(100) < writes;
        if self.setup.store == Store::Eventual {
            let to = if write { Target::Master } else { Target::Nearest };
            let process = self.process(at, slot_of(&key), to);
            let client = &mut self.clients[at];
            client.next += 1;
            let operation = client.next;
            client.running.insert(operation, Running::Plain);
            let way = self.way(at, process);
            self.queue.after(way, What::Plain { client: at, operation, process, writes: write });
            return;
        }
        let running = match write {
            true => Running::Change(client.session.change(key, Some(CONTENT.into()))),
            false => Running::Read(client.session.read(vec![key])),
        };
        self.start(at, running);
    }

    /// The next operation of a transaction, or its commit.
    fn go_on(&mut self, at: usize) {
        let client = &mut self.clients[at];
        let Some(transaction) = &mut client.transaction else { return };
        while let Some((key, writes)) = client.rest.pop() {
            if writes {
                transaction.write(key, Some(CONTENT.into()));
            } else if transaction.get(&key).is_none() {
                let read = transaction.read(vec![key]);
                return self.start(at, Running::InTransaction(read));
            }
        }
        let Some(transaction) = client.transaction.take() else { return };
        let commit = client.session.commit(transaction);
        self.start(at, Running::Commit(Box::new(commit)));
    }

    fn start(&mut self, at: usize, running: Running) {
        let client = &mut self.clients[at];
        client.next += 1;
        let operation = client.next;
        client.stale_before = client.session.metrics().stale_reads;
        client.running.insert(operation, running);
        self.step(at, operation, ClientEvent::Start);
    }

    fn step(&mut self, at: usize, operation: u64, event: ClientEvent) {
        let now = self.queue.now();
        let client = &mut self.clients[at];
        let Some(running) = client.running.remove(&operation) else { return };
        match running {
            Running::Read(mut read) => {
                let step = read.step(&mut client.session.view(), now, event);
                if let Some(result) = self.go(at, operation, step) {
                    let stale = self.note_stale(at);
                    return self.single(at, result.map(|_| ()), false, stale);
                }
                self.clients[at].running.insert(operation, Running::Read(read));
            }
            Running::Change(mut change) => {
                let step = change.step(&mut client.session.view(), now, event);
                if let Some(result) = self.go(at, operation, step) {
                    return self.single(at, result.map(|_| ()), true, false);
                }
                self.clients[at].running.insert(operation, Running::Change(change));
            }
            Running::InTransaction(mut read) => {
                let Some(mut transaction) = client.transaction.take() else { return };
                let step = read.step(&mut client.session.view_of(&mut transaction), now, event);
                let result = self.go(at, operation, step);
                let client = &mut self.clients[at];
                match result {
                    None => {
                        client.running.insert(operation, Running::InTransaction(read));
                        client.transaction = Some(transaction);
                    }
                    Some(Ok(found)) => match client.session.note(&mut transaction, read.keys(), found) {
                        Ok(()) => {
                            client.transaction = Some(transaction);
                            self.go_on(at);
                        }
                        Err(_) => self.gives_up(at, Some(transaction)),
                    },
                    Some(Err(_)) => self.gives_up(at, Some(transaction)),
                }
            }
            Running::Commit(mut commit) => {
                let step = commit.step(&mut client.session.view(), now, event);
                match self.go(at, operation, step) {
                    None => {
                        self.clients[at].running.insert(operation, Running::Commit(commit));
                    }
                    Some(Ok(finish)) => self.committed(at, finish),
                    Some(Err(_)) => self.gives_up(at, None),
                }
            }
            Running::Finish(mut finish) => {
                let step = finish.step(&mut client.session.view(), now, event);
                if self.go(at, operation, step).is_none() {
                    self.clients[at].running.insert(operation, Running::Finish(finish));
                }
            }
            Running::Plain => {}
        }
    }

    /// Whether the read that has ended was stale at first.
    fn note_stale(&mut self, at: usize) -> bool {
        let counts = self.counts();
        let client = &mut self.clients[at];
        let stale = client.session.metrics().stale_reads > client.stale_before;
        if counts {
            self.reads[client.datacenter] += 1;
            self.stale[client.datacenter] += u64::from(stale);
            if let (true, Some(used)) = (stale, client.used_before) {
                self.before_stale[used as usize] += 1;
            }
        }
        stale
    }

    fn single(&mut self, at: usize, result: Result<(), Error>, wrote: bool, _stale: bool) {
        if result.is_ok() {
            self.ended(at, wrote);
        }
        let client = &mut self.clients[at];
        client.used_before = client.used;
        self.next(at);
    }

    fn ended(&mut self, at: usize, wrote: bool) {
        if self.counts() {
            self.done += 1;
            let took = self.queue.now().since(self.clients[at].begun).0;
            let times: &mut Times = if wrote { &mut self.yielded.writes } else { &mut self.yielded.reads };
            times.add(took);
        }
    }

    fn committed(&mut self, at: usize, finish: Finish) {
        if self.counts() {
            self.done += self.setup.transaction.unwrap_or(0) as u64;
            let took = self.queue.now().since(self.clients[at].transaction_begun).0;
            self.yielded.transactions.add(took);
        }
        if !finish.is_finished() {
            self.start(at, Running::Finish(Box::new(finish)));
        }
        self.next(at);
    }

    fn gives_up(&mut self, at: usize, transaction: Option<Transaction>) {
        if let Some(transaction) = transaction {
            self.clients[at].session.roll_back(transaction);
        }
        self.next(at);
    }

    fn go<T>(&mut self, at: usize, operation: u64, step: Step<T>) -> Option<Result<T, Error>> {
        match step {
            Step::Ask(asks) => {
                for ask in asks {
                    let process = self.process(at, ask.command.slot(), ask.to);
                    let way = self.way(at, process);
                    let ask = Box::new(ask);
                    self.queue.after(way, What::Arrive { client: at, operation, process, ask });
                }
                None
            }
            Step::Wait => None,
            Step::Sleep(pause) => {
                self.queue.after(pause.0, What::Wake { client: at, operation });
                None
            }
            Step::Done(result) => Some(result),
        }
    }

    fn arrive(&mut self, client: usize, operation: u64, process: usize, ask: Ask) {
        let Ask { tag, command, .. } = ask;
        let done = self.work(process, self.setup.costs.of(&command));
        let now = self.queue.now().plus(Micros(done));
        let (answer, effect) = self.execute(process, &command, now);
        let slot = command.slot();
        if let Some(effect) = effect {
            let delay = done + self.to_replica(process / 2);
            let effect = Box::new(effect);
            self.queue.after(delay, What::Applied { process: process + 1, slot, effect });
        }
        let from_master = process.is_multiple_of(2);
        let near = self.clients[client].datacenter == self.processes[process].datacenter;
        self.clients[client].used = Some(match (from_master, near) {
            (true, true) => Used::NearMaster,
            (true, false) => Used::FarMaster,
            _ => Used::Replica,
        });
        let way = self.way(client, process);
        let event = ClientEvent::Answer { tag, from_master, answer: answer.map_err(Failure::Refused) };
        self.queue.after(done + way, What::Answer { client, operation, event: Box::new(event) });
    }

    fn execute(
        &mut self,
        process: usize,
        command: &Command,
        now: Micros,
    ) -> (Result<Reply, Refused>, Option<Effect>) {
        let Process { server, skew, shards, keys, .. } = &mut self.processes[process];
        let shard = shards.entry(command.slot()).or_default();
        let planned = match command.run(shard, server, now.plus(Micros(*skew)), true, keys) {
            Ok(planned) => planned,
            Err(refused) => return (Err(refused), None),
        };
        if let Some(effect) = &planned.effect {
            shard.apply(command.slot(), effect, keys);
        }
        (Ok(planned.reply), planned.effect)
    }
}

/// Writes something in each slot a second before the begin, as a store has it that was loaded.
fn load(processes: &mut [Process], groups: usize) {
    let loaded = Micros(START.0 - 1_000_000);
    for slot in (0..Slot::COUNT).filter_map(Slot::new) {
        let name = slot_key(slot);
        let key: Value = format!("loaded{}", &name[name.find('{').unwrap_or(0)..]).into_bytes().into();
        let command = Command::Write { key, value: CONTENT.into(), known: Known::default() };
        let master = 2 * group_of(slot, groups);
        let Process { server, keys, .. } = &processes[master];
        let Ok(planned) = command.run(&Shard::default(), server, loaded, true, keys) else { continue };
        for process in &mut processes[master..=master + 1] {
            let Process { shards, keys, .. } = process;
            planned
                .effect
                .iter()
                .for_each(|effect| shards.entry(slot).or_default().apply(slot, effect, keys));
        }
    }
}

/// What has been counted since.
fn since(now: Metrics, before: Metrics) -> Metrics {
    let mut counted = now;
    counted.commits -= before.commits;
    counted.aborts_reads -= before.aborts_reads;
    counted.aborts_overwrites -= before.aborts_overwrites;
    counted.aborts_locked -= before.aborts_locked;
    counted.aborts_lease -= before.aborts_lease;
    counted.stale_reads -= before.stale_reads;
    counted.reads -= before.reads;
    counted.fallbacks -= before.fallbacks;
    counted.local_retries -= before.local_retries;
    counted
}
