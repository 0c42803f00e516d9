//! Clients, messages and troubles around a cluster.

use std::collections::{HashMap, HashSet, VecDeque};

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use scaledb_occult::client::{
    Ask, Change, Changed, Commit, Conflict, Error, Event as ClientEvent, Failure, Finish, Metrics, Operation,
    Read, ReadResult, Session, Step, Target, Transaction,
};
use scaledb_occult::wire::{Command, Refused};
use scaledb_occult::{Micros, Slot, Stamp, Timestamp, TxnId, Value, slot_of};

use crate::cluster::{Broken, Cluster, Txn, Visit};
use crate::plan::Plan;
use crate::queue::Queue;
use crate::versions::{Key, Past, Writer, join};

/// When runs begin.
const START: Micros = Micros(1_700_000_000_000_000);

/// The time between beats.
const BEAT: u64 = 50_000;

/// How long clients sleep that are idle: longer than a home remembers what has ended.
const IDLE: u64 = 3 * scaledb_occult::limits::RECORD_RETENTION.0;

/// The time that is left for the end of a run, when no client begins anything new.
const REST: u64 = 30_000_000;

/// What a client does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Reads keys of one slot.
    Read(Vec<Key>),
    /// Writes a key, or deletes it.
    Write(Key, bool),
    /// Reads keys one after the other, writes some or deletes them, and commits.
    Transaction(Vec<Key>, Vec<(Key, bool)>),
    /// Reads keys in a transaction, and gives it up.
    GiveUp(Vec<Key>),
    /// Goes on in another datacenter, with a token.
    Travel(usize),
}

#[derive(Debug)]
enum Running {
    Read(Read, Vec<Key>),
    Change(Change, Key),
    InTransaction(Read, Vec<Key>),
    Commit(Box<Commit>),
}

/// A transaction that a client is in.
#[derive(Debug)]
struct Open {
    transaction: Option<Transaction>,
    past: Vec<u32>,
    reads: Vec<(Key, u32)>,
    rest: Vec<Key>,
    writes: Vec<(Key, bool)>,
    name: TxnId,
    attempt: u32,
    gives_up: bool,
}

struct Client {
    datacenter: usize,
    session: Session,
    /// What it knows, exactly.
    past: Vec<u32>,
    /// What it has read or written itself, by slot, since it was told of a loss there.
    direct: HashMap<Slot, Vec<(Key, u32)>>,
    open: Option<Open>,
    running: Option<Running>,
    /// The number of the operation; events of others are late.
    operation: u64,
    finishing: HashMap<u64, Finish>,
    last: Vec<Stamp>,
    /// The failovers of which the copy knew that has answered last.
    failovers: u64,
    /// Slots where it has committed something that a failover had lost before.
    phantoms: HashSet<Slot>,
    /// What it has read in transactions, committed or not: it may be told of its loss, and need not.
    glimpsed: Vec<(Slot, Key, u32)>,
    gone: bool,
}

#[derive(Debug)]
enum Event {
    Next(usize),
    Deliver { client: usize, operation: u64, ask: Box<Ask>, past: Past, answers: bool },
    Answer { client: usize, operation: u64, tag: usize, said: Box<Result<crate::cluster::Said, Failure>> },
    Wake { client: usize, operation: u64 },
    Replicate(usize, usize),
    Beat(usize),
    Fail,
    Promote(usize),
    Move,
    StepMove,
    StepClock,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Single operations and transactions that were begun.
    pub operations: u64,
    /// Events.
    pub events: u64,
    /// What clients have counted.
    pub metrics: Metrics,
    /// Failovers.
    pub failovers: u64,
    /// Moves of slots.
    pub moves: u64,
    /// Moves that a failover has interrupted.
    pub interrupted: u64,
    /// Clients that died.
    pub deaths: u64,
    /// Operations that failed, by the error's first word.
    pub errors: HashMap<&'static str, u64>,
    /// What must not happen, and did.
    pub broken: Vec<(Broken, String)>,
}

impl std::ops::AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.events += other.events;
        self.metrics += other.metrics;
        self.failovers += other.failovers;
        self.moves += other.moves;
        self.interrupted += other.interrupted;
        self.deaths += other.deaths;
        for (name, count) in other.errors {
            *self.errors.entry(name).or_default() += count;
        }
        self.broken.extend(other.broken);
    }
}

/// A run.
pub struct World {
    plan: Plan,
    random: SmallRng,
    queue: Queue<Event>,
    cluster: Cluster,
    clients: Vec<Client>,
    keys: Vec<Value>,
    replicating: Vec<Vec<bool>>,
    report: Report,
    /// Commands that are under way.
    in_flight: u64,
    /// What each client does, instead of what chance says.
    scripts: Option<Vec<VecDeque<Act>>>,
}

impl World {
    /// A run of a plan.
    pub fn new(plan: Plan) -> Self {
        let mut random = SmallRng::seed_from_u64(plan.seed);
        let keys: Vec<Value> = (0..plan.slots * plan.keys_per_slot)
            .map(|key| {
                format!("{{{}}}{}", key / plan.keys_per_slot, key % plan.keys_per_slot).into_bytes().into()
            })
            .collect();
        let skews: Vec<i64> = (0..plan.groups * plan.datacenters)
            .map(|_| if plan.skew == 0 { 0 } else { random.random_range(-plan.skew..plan.skew) })
            .collect();
        let cluster = Cluster::new(plan.datacenters, plan.groups, &keys, plan.shape, plan.rules, &skews);
        let replicating = vec![vec![false; plan.datacenters]; plan.groups];
        let (queue, clients, report) = (Queue::new(START), Vec::new(), Report::default());
        let mut world = Self {
            plan,
            random,
            queue,
            cluster,
            clients,
            keys,
            replicating,
            report,
            in_flight: 0,
            scripts: None,
        };
        for client in 0..world.plan.clients + world.plan.wrong_clients {
            world.add_client(client % world.plan.datacenters);
            if client >= world.plan.clients {
                world.claim_the_future(client);
            }
        }
        for group in 0..world.plan.groups {
            world.queue.after(0, Event::Beat(group));
        }
        if world.plan.failovers > 0 {
            world.queue.after(world.plan.failovers, Event::Fail);
        }
        if world.plan.clock_steps > 0 {
            world.queue.after(world.plan.clock_steps, Event::StepClock);
        }
        if world.plan.moves > 0 {
            world.queue.after(world.plan.moves, Event::Move);
        }
        world
    }

    /// What each client does one after the other, and nothing else: no beats, no troubles. For [`crate::explore`].
    pub(crate) fn scripted(plan: Plan, scripts: &[Vec<Act>]) -> Self {
        let mut world = Self::new(Plan { operations: u64::MAX, clients: scripts.len(), ..plan });
        world.scripts = Some(scripts.iter().map(|script| script.iter().cloned().collect()).collect());
        let beats: Vec<u64> = (world.queue.waiting().into_iter())
            .filter(|(_, event)| !matches!(event, Event::Next(_)))
            .map(|(number, _)| number)
            .collect();
        for number in beats {
            world.queue.take(number, Micros(0));
        }
        world
    }

    /// One step of a scripted world. What only a client notices happens at once; of the rest `choose` takes one of
    /// as many as it is told. Whether there was anything to do.
    pub(crate) fn step_chosen(&mut self, losses: &mut u32, choose: &mut dyn FnMut(usize) -> usize) -> bool {
        const PAUSE: Micros = Micros(1_000);
        let waiting = self.queue.waiting();
        let local = waiting
            .iter()
            .find(|(_, event)| matches!(event, Event::Next(_) | Event::Answer { .. } | Event::Wake { .. }));
        if let Some(&(number, _)) = local {
            if let Some(event) = self.queue.take(number, PAUSE) {
                self.happen(event);
            }
            self.start_replicas();
            return true;
        }
        let numbers: Vec<u64> = waiting.iter().map(|(number, _)| *number).collect();
        // whose answer may get lost
        let losable: Vec<u64> = (waiting.iter())
            .filter(|(_, event)| *losses > 0 && matches!(event, Event::Deliver { answers: true, .. }))
            .map(|(number, _)| *number)
            .collect();
        if numbers.is_empty() {
            return false;
        }
        let chosen = choose(numbers.len() + losable.len());
        let (number, loses) = match numbers.get(chosen) {
            Some(number) => (*number, false),
            None => (losable[chosen - numbers.len()], true),
        };
        let mut event = self.queue.take(number, PAUSE);
        if loses && let Some(Event::Deliver { client, operation, ask, answers, .. }) = &mut event {
            *losses -= 1;
            *answers = false;
            let said = Box::new(Err(Failure::Unknown));
            self.queue.after(0, Event::Answer { client: *client, operation: *operation, tag: ask.tag, said });
        }
        if let Some(event) = event {
            self.happen(event);
        }
        self.start_replicas();
        true
    }

    /// The first thing that went wrong.
    pub(crate) fn broken(&mut self) -> Option<(Broken, String)> {
        if self.cluster.broken.is_empty()
            && self.queue.waiting().is_empty()
            && self.cluster.locked_slots().is_empty()
        {
            self.cluster.check_end();
        }
        self.cluster.broken.first().cloned()
    }

    /// A client whose program, or clock, is wrong: what it writes would make others wait for years.
    fn claim_the_future(&mut self, client: usize) {
        let mut deps = Timestamp::new(self.plan.shape);
        let ahead = Stamp::new(START.plus(Micros(1 << 45)), scaledb_occult::Incarnation::new(1));
        for datacenter in 0..self.plan.datacenters {
            deps.update(scaledb_occult::Datacenter(datacenter as u8), Slot::default(), ahead);
        }
        if let Err(error) = self.clients[client].session.add_token(&deps.to_token()) {
            self.cluster.report(Broken::Causality, error.to_string());
        }
    }

    fn add_client(&mut self, datacenter: usize) {
        let mut config = self.plan.config.clone();
        config.rules = self.plan.rules;
        let session = Session::new(self.plan.shape, config, self.random.random());
        let past = self.cluster.versions.nothing();
        self.clients.push(Client {
            datacenter,
            session,
            past,
            direct: HashMap::new(),
            open: None,
            running: None,
            operation: 0,
            finishing: HashMap::new(),
            last: Vec::new(),
            failovers: 0,
            phantoms: HashSet::new(),
            glimpsed: Vec::new(),
            gone: false,
        });
        let client = self.clients.len() - 1;
        self.queue.after(1, Event::Next(client));
    }

    /// Runs to the end, or to the first violation.
    pub fn run(mut self) -> Report {
        let mut limit = None;
        while self.cluster.broken.is_empty() && !self.is_over() {
            let Some(event) = self.queue.pop() else { break };
            self.happen(event);
            self.start_replicas();
            if limit.is_none() && self.report.operations >= self.plan.operations {
                let asleep = if self.plan.idle > 0 { IDLE } else { 0 };
                limit = Some(self.queue.now().plus(Micros(REST + asleep)));
            }
            if limit.is_some_and(|limit| self.queue.now() > limit) {
                let slots = self.cluster.locked_slots();
                self.cluster
                    .report(Broken::NoEnd, format!("clients do not come to an end; locked: {slots:?}"));
            }
        }
        if self.cluster.broken.is_empty() {
            self.cluster.check_end();
        }
        let mut report = self.report;
        for client in &self.clients {
            report.metrics += *client.session.metrics();
        }
        report.events = self.queue.count();
        (report.failovers, report.moves) = (self.cluster.failovers, self.cluster.moves);
        report.interrupted = self.cluster.interrupted;
        report.broken = std::mem::take(&mut self.cluster.broken);
        report
    }

    /// No client does anything, nothing is under way, and no lock is left.
    fn is_over(&self) -> bool {
        self.report.operations >= self.plan.operations
            && self.in_flight == 0
            && self.clients.iter().all(|client| client.running.is_none() && client.finishing.is_empty())
            && self.cluster.locked_slots().is_empty()
    }

    fn start_replicas(&mut self) {
        for group in 0..self.plan.groups {
            for at in 0..self.plan.datacenters {
                if !self.replicating[group][at]
                    && self.cluster.lags(group, at)
                    && at != self.cluster.groups[group].master
                {
                    self.replicating[group][at] = true;
                    let delay = self.random.random_range(0..=self.plan.lag);
                    self.queue.after(self.plan.delay.1 + delay, Event::Replicate(group, at));
                }
            }
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Next(client) => self.next(client),
            Event::Deliver { client, operation, ask, past, answers } => {
                self.deliver(client, operation, *ask, &past, answers);
            }
            Event::Answer { client, operation, tag, said } => self.answer(client, operation, tag, *said),
            Event::Wake { client, operation } => self.step(client, operation, ClientEvent::Wake),
            Event::Replicate(group, at) => {
                self.replicating[group][at] = false;
                let count = if self.scripts.is_some() { 1 } else { self.random.random_range(1..200) };
                self.cluster.replicate(group, at, count, self.queue.now());
            }
            Event::Beat(group) => {
                self.cluster.beat(group, self.queue.now());
                self.queue.after(BEAT, Event::Beat(group));
            }
            Event::Fail | Event::Move if self.report.operations >= self.plan.operations => {}
            Event::Fail => {
                let group = self.random.random_range(0..self.plan.groups);
                if self.cluster.groups[group].up {
                    self.cluster.fail(group);
                    // a failover takes longer than clocks differ
                    let down = 4 * self.plan.skew.unsigned_abs() + self.random.random_range(1_000..500_000);
                    self.queue.after(down, Event::Promote(group));
                }
                self.queue.after(self.plan.failovers, Event::Fail);
            }
            Event::Promote(group) => {
                let at = self.random.random_range(0..self.plan.datacenters);
                let loses = self.random.random_range(0..30);
                self.cluster.promote(group, at, loses, self.queue.now());
            }
            Event::StepClock => {
                let group = self.random.random_range(0..self.plan.groups);
                let at = self.random.random_range(0..self.plan.datacenters);
                let skew = self.random.random_range(-self.plan.skew..=self.plan.skew);
                self.cluster.step_clock(group, at, skew);
                self.queue.after(self.plan.clock_steps, Event::StepClock);
            }
            Event::Move => {
                let (nth, to) =
                    (self.random.random_range(0..64), self.random.random_range(0..self.plan.groups));
                let random = &mut self.random;
                if self.cluster.begin_move(nth, to, |rest| rest.shuffle(random)) {
                    self.queue.after(0, Event::StepMove);
                }
                self.queue.after(self.plan.moves, Event::Move);
            }
            Event::StepMove => {
                if self.cluster.step_move(self.queue.now()) {
                    let pause = self.random.random_range(100..30_000);
                    self.queue.after(pause, Event::StepMove);
                }
            }
        }
    }

    fn choose(&mut self) -> Act {
        let slots = self.plan.slots;
        let per_slot = self.plan.keys_per_slot;
        let random = &mut self.random;
        let chance = |random: &mut SmallRng, of: u32| random.random_range(0..1_000) < of;
        let any = |random: &mut SmallRng| random.random_range(0..slots * per_slot);
        if chance(random, self.plan.travels) {
            return Act::Travel(random.random_range(0..self.plan.datacenters));
        }
        if chance(random, self.plan.transactions) {
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            for _ in 0..random.random_range(1..5) {
                let key = any(random);
                if chance(random, 1_000 - self.plan.writes) && !reads.contains(&key) {
                    reads.push(key);
                }
                if chance(random, 500) && !writes.iter().any(|(of, _)| *of == key) {
                    writes.push((key, chance(random, 100)));
                }
            }
            if chance(random, 30) {
                return Act::GiveUp(reads);
            }
            return Act::Transaction(reads, writes);
        }
        let key = any(random);
        if chance(random, self.plan.writes) {
            return Act::Write(key, chance(random, 100));
        }
        let first = key / per_slot * per_slot;
        let both = per_slot > 1 && chance(random, 200);
        Act::Read(if both { vec![first, first + 1] } else { vec![key] })
    }

    fn next(&mut self, client: usize) {
        if self.clients[client].gone || self.clients[client].running.is_some() {
            return;
        }
        if self.report.operations >= self.plan.operations {
            return self.sweep(client);
        }
        let act = match &mut self.scripts {
            Some(scripts) => match scripts[client].pop_front() {
                Some(act) => act,
                None => return,
            },
            None => self.choose(),
        };
        self.report.operations += 1;
        if self.random.random_range(0..1_000) < self.plan.idle {
            self.queue.after(IDLE, Event::Next(client));
            return;
        }
        self.begin(client, act);
    }

    /// At the end clients write to what is locked, and so free it.
    fn sweep(&mut self, client: usize) {
        let locked = self.cluster.locked_slots();
        if locked.is_empty() {
            self.queue.after(50_000, Event::Next(client));
            return;
        }
        let slot = locked[self.random.random_range(0..locked.len())];
        let key = self.keys.iter().position(|key| slot_of(key) == slot).unwrap_or(0);
        self.begin(client, Act::Write(key, false));
    }

    fn begin(&mut self, at: usize, act: Act) {
        let keys = |keys: &[Key]| keys.iter().map(|key| self.keys[*key].clone()).collect::<Vec<_>>();
        let client = &self.clients[at];
        let running = match act {
            Act::Read(of) => Running::Read(client.session.read(keys(&of)), of),
            Act::Write(key, deletes) => {
                let value: Option<Value> = (!deletes).then(|| b"v".as_slice().into());
                Running::Change(client.session.change(self.keys[key].clone(), value), key)
            }
            Act::Transaction(reads, writes) => {
                return self.begin_transaction(at, reads, writes, None, 0, false);
            }
            Act::GiveUp(reads) => return self.begin_transaction(at, reads, Vec::new(), None, 0, true),
            Act::Travel(datacenter) => {
                let token = client.session.token();
                self.report.metrics += *client.session.metrics();
                let config = client.session.config().clone();
                let mut session = Session::new(self.plan.shape, config, self.random.random());
                if let Err(error) = session.add_token(&token) {
                    self.cluster.report(Broken::Causality, error.to_string());
                }
                let client = &mut self.clients[at];
                (client.session, client.datacenter) = (session, datacenter);
                client.direct.clear();
                self.queue.after(1, Event::Next(at));
                return;
            }
        };
        self.start(at, running);
    }

    fn begin_transaction(
        &mut self,
        at: usize,
        reads: Vec<Key>,
        writes: Vec<(Key, bool)>,
        floor: Option<&Timestamp>,
        attempt: u32,
        gives_up: bool,
    ) {
        let name: [u8; 16] = self.random.random();
        let client = &mut self.clients[at];
        let transaction = match floor {
            Some(floor) => client.session.begin_again(name, floor),
            None => client.session.begin(name),
        };
        let mut rest = reads;
        rest.reverse();
        client.open = Some(Open {
            transaction: Some(transaction),
            past: client.past.clone(),
            reads: Vec::new(),
            rest,
            writes,
            name: TxnId(name),
            attempt,
            gives_up,
        });
        self.go_on(at);
    }

    /// The next read of a transaction, or its commit.
    fn go_on(&mut self, at: usize) {
        let client = &mut self.clients[at];
        let Some(open) = &mut client.open else { return };
        let Some(transaction) = &mut open.transaction else { return };
        if !open.rest.is_empty() && self.random.random_range(0..1_000) < self.plan.asides {
            let key = self.random.random_range(0..self.keys.len());
            let read = client.session.read(vec![self.keys[key].clone()]);
            return self.start(at, Running::Read(read, vec![key]));
        }
        if let Some(key) = open.rest.pop() {
            let read = transaction.read(vec![self.keys[key].clone()]);
            return self.start(at, Running::InTransaction(read, vec![key]));
        }
        for (key, deletes) in &open.writes {
            let value: Option<Value> = (!deletes).then(|| b"t".as_slice().into());
            transaction.write(self.keys[*key].clone(), value);
        }
        let Some(transaction) = open.transaction.take() else { return };
        if open.gives_up {
            client.session.roll_back(transaction);
            client.open = None;
            self.queue.after(1, Event::Next(at));
            return;
        }
        let writes = open.writes.iter().map(|(key, _)| *key).collect();
        let txn = Txn::new(open.past.clone(), open.reads.clone(), writes);
        self.cluster.txns.insert(open.name, txn);
        let commit = client.session.commit(transaction);
        self.start(at, Running::Commit(Box::new(commit)));
    }

    fn start(&mut self, at: usize, running: Running) {
        let client = &mut self.clients[at];
        client.operation += 1;
        client.running = Some(running);
        let operation = client.operation;
        self.step(at, operation, ClientEvent::Start);
    }

    fn dies(&mut self, at: usize) -> bool {
        if !self.random.random_bool(f64::from(self.plan.deaths) / 10_000.0) {
            return false;
        }
        self.report.deaths += 1;
        let client = &mut self.clients[at];
        self.report.metrics += *client.session.metrics();
        let datacenter = client.datacenter;
        client.gone = true;
        client.running = None;
        client.finishing.clear();
        client.session = Session::new(self.plan.shape, client.session.config().clone(), 1);
        self.add_client(datacenter);
        true
    }

    fn step(&mut self, at: usize, operation: u64, event: ClientEvent) {
        let now = self.queue.now();
        let client = &mut self.clients[at];
        if client.gone && !client.finishing.contains_key(&operation) {
            return;
        }
        if let Some(mut finish) = client.finishing.remove(&operation) {
            let step = finish.step(&mut client.session.view(), now, event);
            if self.go(at, operation, step).is_none() {
                self.clients[at].finishing.insert(operation, finish);
            }
            return;
        }
        if operation != client.operation || client.running.is_none() || self.dies(at) {
            return;
        }
        let client = &mut self.clients[at];
        match client.running.take() {
            Some(Running::Read(mut read, keys)) => {
                let step = read.step(&mut client.session.view(), now, event);
                match self.go(at, operation, step) {
                    None => self.clients[at].running = Some(Running::Read(read, keys)),
                    Some(result) => self.has_read(at, &keys, result),
                }
            }
            Some(Running::Change(mut change, key)) => {
                let step = change.step(&mut client.session.view(), now, event);
                match self.go(at, operation, step) {
                    None => self.clients[at].running = Some(Running::Change(change, key)),
                    Some(result) => self.has_changed(at, key, result),
                }
            }
            Some(Running::InTransaction(mut read, keys)) => {
                let step = match client.open.as_mut().and_then(|open| open.transaction.as_mut()) {
                    Some(transaction) => read.step(&mut client.session.view_of(transaction), now, event),
                    None => return,
                };
                match self.go(at, operation, step) {
                    None => self.clients[at].running = Some(Running::InTransaction(read, keys)),
                    Some(result) => self.has_read_in_transaction(at, read.keys(), &keys, result),
                }
            }
            Some(Running::Commit(mut commit)) => {
                let step = commit.step(&mut client.session.view(), now, event);
                match self.go(at, operation, step) {
                    None => self.clients[at].running = Some(Running::Commit(commit)),
                    Some(result) => self.has_committed(at, operation, result),
                }
            }
            None => {}
        }
    }

    /// Does what a step asks for; its result, if it is the last.
    fn go<T>(&mut self, at: usize, operation: u64, step: Step<T>) -> Option<Result<T, Error>> {
        match step {
            Step::Ask(asks) => {
                for ask in asks {
                    self.ask(at, operation, ask);
                }
                None
            }
            Step::Wait => None,
            Step::Sleep(pause) => {
                self.queue.after(pause.0, Event::Wake { client: at, operation });
                None
            }
            Step::Done(result) => Some(result),
        }
    }

    fn delay(&mut self, far: bool) -> u64 {
        let longest = if far { self.plan.delay.1 } else { self.plan.delay.0 };
        self.random.random_range(longest / 2..=longest)
    }

    fn ask(&mut self, at: usize, operation: u64, ask: Ask) {
        let far = ask.to == Target::Master;
        let delay = self.delay(far);
        let fate = self.random.random_range(0..1_000_u32);
        let failure =
            |tag, failure| Event::Answer { client: at, operation, tag, said: Box::new(Err(failure)) };
        if fate < self.plan.not_sent {
            self.queue.after(delay, failure(ask.tag, Failure::NotSent));
            return;
        }
        let past: Past = self.clients[at].past.clone().into();
        let answers = fate >= self.plan.not_sent + self.plan.unanswered;
        self.in_flight += 1;
        if !answers {
            // it is executed before the client gives up waiting, or long afterwards
            let (longest, timeout) = (self.random.random_range(1_000..1_500_000), 300_000);
            self.queue.after(timeout, failure(ask.tag, Failure::Unknown));
            let event = Event::Deliver { client: at, operation, ask: Box::new(ask), past, answers };
            self.queue.after(longest, event);
            return;
        }
        self.queue.after(delay, Event::Deliver { client: at, operation, ask: Box::new(ask), past, answers });
    }

    fn deliver(&mut self, at: usize, operation: u64, ask: Ask, past: &Past, answers: bool) {
        self.in_flight -= 1;
        let writer = Writer::Single(self.queue.count());
        let (datacenter, now) = (self.clients[at].datacenter, self.queue.now());
        let Ask { tag, to, command } = ask;
        let said = self.cluster.visit(&Visit { datacenter, to, command: &command, writer, past, now });
        if let Some(Err(Refused::Locked(lock))) = said.as_ref().map(|said| &said.reply)
            && let Command::Prepare { prepare, .. } = &command
            && lock.txn == prepare.txn
        {
            self.cluster.report(Broken::OwnLock, format!("{} meets its own lock", lock.txn));
        }
        if answers {
            let said = Box::new(said.ok_or(Failure::NotSent));
            let delay = self.delay(to == Target::Master);
            self.queue.after(delay, Event::Answer { client: at, operation, tag, said });
        }
    }

    fn answer(&mut self, at: usize, operation: u64, tag: usize, said: Result<crate::cluster::Said, Failure>) {
        let client = &mut self.clients[at];
        let (from_master, answer) = match said {
            Err(failure) => (false, Err(failure)),
            Ok(said) => {
                if operation == client.operation && !said.stamps.is_empty() {
                    client.last = said.stamps;
                }
                if operation == client.operation {
                    client.failovers = said.failovers;
                }
                (said.from_master, said.reply.map_err(Failure::Refused))
            }
        };
        self.step(at, operation, ClientEvent::Answer { tag, from_master, answer });
    }

    fn error(&mut self, at: usize, error: &Error) {
        let name = match error {
            Error::Stale { .. } => "stale",
            Error::Locked { .. } => "locked",
            Error::Unreachable { .. } => "unreachable",
            Error::Unknown { .. } => "unknown",
            Error::CommitUnknown { .. } => "commit unknown",
            Error::LostWrite { .. } => "lost write",
            Error::LossUnknown { .. } => "loss unknown",
            Error::Conflict { .. } => "conflict",
            Error::Refused(_) => "refused",
            Error::Nonsense { .. } => "nonsense",
        };
        *self.report.errors.entry(name).or_default() += 1;
        if let Error::LostWrite { slot } | Error::LossUnknown { slot } = error {
            let certain = matches!(error, Error::LostWrite { .. }) && !self.cluster.shaken.contains(slot);
            let direct = self.clients[at].direct.remove(slot).unwrap_or_default();
            let client = &mut self.clients[at];
            let glimpsed =
                client.glimpsed.extract_if(.., |(of, ..)| of == slot).map(|(_, key, number)| (key, number));
            let direct: Vec<(Key, u32)> = direct.into_iter().chain(glimpsed).collect();
            let phantom = self.clients[at].phantoms.remove(slot);
            if certain
                && !phantom
                && !direct.iter().any(|(key, number)| self.cluster.versions.get(*key, *number).lost.is_some())
            {
                let seen: Vec<_> = direct
                    .iter()
                    .map(|(key, number)| (key, number, self.cluster.versions.get(*key, *number).stamp))
                    .collect();
                let what = format!(
                    "client {at} was told of a loss in {slot:?}: {error:?}, {seen:?}, {}",
                    self.cluster.describe(*slot)
                );
                self.cluster.report(Broken::FalseAlarm, what);
            }
        }
    }

    /// The session has an answer of a shard that has gone through all failovers so far.
    fn check_losses(&mut self, at: usize, slot: Slot) {
        let client = &self.clients[at];
        let lost = |(key, number): &&(Key, u32)| {
            self.cluster.versions.get(*key, *number).lost.is_some_and(|failover| failover <= client.failovers)
        };
        let lost = client.direct.get(&slot).into_iter().flatten().find(lost).copied();
        if let Some((key, number)) = lost {
            let seen: Vec<_> = client
                .direct
                .get(&slot)
                .into_iter()
                .flatten()
                .map(|(key, number)| (key, number, self.cluster.versions.get(*key, *number).stamp))
                .collect();
            let what = format!(
                "client {at} has seen version {number} of key {key}, which is lost, and goes on in {slot:?}: {seen:?} {}",
                self.cluster.describe(slot)
            );
            self.cluster.report(Broken::SilentLoss, what);
        }
    }

    fn see(&mut self, at: usize, slot: Slot, key: Key, number: u32) {
        let direct = self.clients[at].direct.entry(slot).or_default();
        match direct.iter_mut().find(|(of, _)| *of == key) {
            Some(seen) => seen.1 = seen.1.max(number),
            None => direct.push((key, number)),
        }
    }

    /// The versions that a read has found; checked against a past.
    fn found(
        &mut self,
        at: usize,
        keys: &[Key],
        result: &ReadResult,
        past: &[u32],
        in_transaction: bool,
    ) -> Vec<(Key, u32)> {
        let slot = result.slot;
        self.check_losses(at, slot);
        let stamps = std::mem::take(&mut self.clients[at].last);
        let mut found = Vec::new();
        for ((&key, &stamp), item) in keys.iter().zip(&stamps).zip(&result.items) {
            let Some(number) = self.cluster.versions.of(key, stamp) else {
                self.cluster.report(Broken::AbortedRead, format!("client {at} reads {stamp:?} of key {key}"));
                continue;
            };
            if !self.cluster.versions.may_read(past, key, number) {
                let knows = past[key];
                let what = format!("client {at} reads version {number} of key {key}, and knows {knows}");
                self.cluster.report(Broken::Causality, what);
            }
            // a session does not know which deletion it sees; what an aborted transaction has seen is not the session's
            if item.value.is_some() {
                self.clients[at].glimpsed.push((slot, key, number));
                if !in_transaction {
                    self.see(at, slot, key, number);
                }
            }
            found.push((key, number));
        }
        found
    }

    fn has_read(&mut self, at: usize, keys: &[Key], result: Result<ReadResult, Error>) {
        match result {
            Ok(result) => {
                let past = self.clients[at].past.clone();
                for (key, number) in self.found(at, keys, &result, &past, false) {
                    join(&mut self.clients[at].past, &self.cluster.versions.get(key, number).past);
                }
            }
            Err(error) => self.error(at, &error),
        }
        if self.clients[at].open.is_some() {
            return self.go_on(at);
        }
        self.queue.after(1, Event::Next(at));
    }

    fn has_changed(&mut self, at: usize, key: Key, result: Result<Changed, Error>) {
        let slot = slot_of(&self.keys[key]);
        match result {
            Ok(changed) => {
                self.check_losses(at, slot);
                match self.cluster.versions.of(key, changed.stamp) {
                    Some(number) => {
                        self.clients[at].past[key] = self.clients[at].past[key].max(number);
                        self.see(at, slot, key, number);
                    }
                    None => self
                        .cluster
                        .report(Broken::WrongOutcome, format!("a write of key {key} is not there")),
                }
            }
            Err(error) => self.error(at, &error),
        }
        self.queue.after(1, Event::Next(at));
    }

    fn has_read_in_transaction(
        &mut self,
        at: usize,
        names: &[Value],
        keys: &[Key],
        result: Result<ReadResult, Error>,
    ) {
        let Some(past) = self.clients[at].open.as_ref().map(|open| open.past.clone()) else { return };
        let result = match result {
            Ok(result) => result,
            Err(error) => return self.fails(at, error),
        };
        for (key, number) in self.found(at, keys, &result, &past, true) {
            let Some(open) = &mut self.clients[at].open else { return };
            join(&mut open.past, &self.cluster.versions.get(key, number).past);
            open.reads.push((key, number));
        }
        let client = &mut self.clients[at];
        let Some(open) = &mut client.open else { return };
        let Some(transaction) = &mut open.transaction else { return };
        match client.session.note(transaction, names, result) {
            Ok(()) => self.go_on(at),
            Err(error) => self.fails(at, error),
        }
    }

    /// A transaction has failed: it is tried again some times if it met a conflict.
    fn fails(&mut self, at: usize, error: Error) {
        self.error(at, &error);
        let Some(open) = self.clients[at].open.take() else { return };
        if let Some(transaction) = open.transaction {
            self.clients[at].session.roll_back(transaction);
        }
        if let Error::Conflict { conflict, floor } = &error
            && open.attempt < 3
        {
            let mut reads: Vec<Key> = open.reads.iter().map(|(key, _)| *key).collect();
            reads.extend(open.rest.iter().rev().copied());
            reads.dedup();
            let floor = (*conflict != Conflict::LeaseExpired).then_some(&**floor);
            return self.begin_transaction(at, reads, open.writes, floor, open.attempt + 1, open.gives_up);
        }
        self.queue.after(1, Event::Next(at));
    }

    fn has_committed(&mut self, at: usize, operation: u64, result: Result<Finish, Error>) {
        let Some(name) = self.clients[at].open.as_ref().map(|open| open.name) else { return };
        let decided = self.cluster.is_decided(name);
        match result {
            Ok(finish) => {
                let Some(open) = self.clients[at].open.take() else { return };
                let mut past = open.past;
                for (slot, key, number) in self.clients[at].glimpsed.clone() {
                    if open.reads.contains(&(key, number)) {
                        self.see(at, slot, key, number);
                    }
                }
                if open.writes.is_empty() {
                    self.check_read_only(name, &past, &open.reads);
                } else if !decided && !self.cluster.is_excused(name) {
                    self.cluster.report(Broken::WrongOutcome, format!("{name} is said to have committed"));
                }
                for (key, _) in &open.writes {
                    let number = finish.stamps().iter().find_map(|(slot, _, stamp)| {
                        let same = slot_of(&self.keys[*key]) == *slot;
                        same.then(|| self.cluster.versions.of(*key, *stamp)).flatten()
                    });
                    let slot = slot_of(&self.keys[*key]);
                    if let Some(number) = number {
                        join(&mut past, &self.cluster.versions.get(*key, number).past);
                        self.see(at, slot, *key, number);
                    } else {
                        self.clients[at].phantoms.insert(slot);
                    }
                }
                let client = &mut self.clients[at];
                join(&mut client.past, &past);
                if !finish.is_finished() {
                    let mut finish = finish;
                    let step = finish.step(&mut client.session.view(), self.queue.now(), ClientEvent::Start);
                    // its answers come under the operation's number, which is not used again
                    client.operation += 1;
                    if self.go(at, operation, step).is_none() {
                        self.clients[at].finishing.insert(operation, finish);
                    }
                }
                self.queue.after(1, Event::Next(at));
            }
            Err(error) => {
                let unknown = matches!(error, Error::CommitUnknown { .. } | Error::Nonsense { .. });
                if decided && !unknown && !self.cluster.is_excused(name) {
                    self.cluster
                        .report(Broken::WrongOutcome, format!("{name} is said to have aborted: {error}"));
                }
                self.fails(at, error);
            }
        }
    }

    fn check_read_only(&mut self, name: TxnId, past: &[u32], reads: &[(Key, u32)]) {
        for &(key, number) in reads {
            if !self.cluster.versions.may_read(past, key, number) {
                let what = self.cluster.describe_miss(name, past, (key, number));
                self.cluster.report(Broken::MissedEffects, what);
            }
        }
    }
}
