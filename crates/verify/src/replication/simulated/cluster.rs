//! The cluster and its loop.

use super::super::data::{Key, Numbers, Value};
use super::super::disk::Disk;
use super::super::history::Truth;
use super::history::{Broken, Check, History, Outcome as Told, Record, Rows};
use super::host::{Handed, Host};
use super::metadata::{Entry, Metadata, Request};
use super::network::Network;
use super::plan::Plan;
use super::queue::{Micros, Queue};
use super::troubles::Mend;
use super::workload::{Session, Turn};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_scar::link::{Frame, Incarnation};
use scaledb_scar::{
    Answer, Epoch, Message, Node, NodeId, NodeSet, Out, Outcome, PartitionId, Rule, Rules, Stage, Switched,
    View, ViewNumber,
};
use std::collections::{BTreeMap, VecDeque};
use std::ops::AddAssign;
use std::sync::Arc;

/// What goes from host to host.
#[derive(Clone, Debug)]
pub(super) enum Packet {
    Frame(Frame<Message<Numbers>>),
    /// It lives.
    Beat(Incarnation),
}

/// What happens.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Packet {
        from: u8,
        to: u8,
        packet: Packet,
    },
    Tick {
        host: u8,
        life: Incarnation,
    },
    Epoch {
        host: u8,
        life: Incarnation,
    },
    Session {
        session: u32,
        generation: u32,
    },
    Ask {
        from: u8,
        request: Request,
    },
    Told {
        to: u8,
        life: Incarnation,
        entry: Entry,
    },
    Trouble,
    /// Replicas move.
    Move,
    Mend(Mend),
    Wake(u8),
    Return(u8),
    /// What a host has written down by then is on its disk.
    Synced {
        host: u8,
        life: Incarnation,
        written: u64,
    },
    CrashLeader,
    Rest,
}

/// What a run was like.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Transactions that have begun.
    pub begun: u64,
    /// Those that were answered as committed.
    pub commits: u64,
    /// Those that were answered as aborted.
    pub aborts: u64,
    /// Transactions of the replay.
    pub replayed: u64,
    /// Transactions whose client has no answer.
    pub unknown: u64,
    /// Things that happened.
    pub steps: u64,
    /// Virtual time, in microseconds.
    pub time: u64,
    /// Changes of view.
    pub changes: u64,
    /// Nodes that crashed.
    pub crashes: u64,
    /// Nodes that came back, as another life.
    pub joins: u64,
    /// Nodes that came back with their disk.
    pub resumed: u64,
    /// How often all nodes were lost together.
    pub power_cuts: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Clusters that lost more than a view may lose, and rightly stand still.
    pub blocked: u64,
    /// Views in which replicas, primaries or the lead move.
    pub moves: u64,
    /// Views in which a node is taken out.
    pub removals: u64,
    /// Transactions under snapshot isolation of the replay.
    pub isolated: u64,
    /// Transactions that their clients gave up while they waited for an answer.
    pub given_up: u64,
    /// Those that were refused as a node had no memory for more.
    pub full: u64,
    /// Nodes that were taken out just when the leader and they alone knew that an epoch is whole.
    pub ambushes: u64,
    /// What transactions that have committed have announced.
    pub announced: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.begun += other.begun;
        self.commits += other.commits;
        self.aborts += other.aborts;
        self.replayed += other.replayed;
        self.unknown += other.unknown;
        self.steps += other.steps;
        self.time += other.time;
        self.changes += other.changes;
        self.crashes += other.crashes;
        self.joins += other.joins;
        self.resumed += other.resumed;
        self.power_cuts += other.power_cuts;
        self.checkpoints += other.checkpoints;
        self.blocked += other.blocked;
        self.moves += other.moves;
        self.removals += other.removals;
        self.isolated += other.isolated;
        self.given_up += other.given_up;
        self.full += other.full;
        self.ambushes += other.ambushes;
        self.announced += other.announced;
    }
}

/// A cluster.
pub struct Cluster {
    pub(super) plan: Plan,
    pub(super) rules: Switched,
    pub(super) random: SmallRng,
    pub(super) queue: Queue<Event>,
    pub(super) hosts: Vec<Host>,
    pub(super) network: Network,
    pub(super) metadata: Metadata,
    pub(super) sessions: Vec<Session>,
    pub(super) history: History,
    /// The session of each record.
    pub(super) owners: Vec<u32>,
    start: Vec<Option<Value>>,
    pub(super) broken: Option<(Broken, String)>,
    overfull: Option<String>,
    incomplete: Option<String>,
    /// The last epoch of which an answer has left.
    pub(super) answered: Epoch,
    pub(super) answers: VecDeque<(usize, Answer<Numbers>)>,
    out: Out<Numbers>,
    pub(super) frames: Vec<Frame<Message<Numbers>>>,
    pub(super) lines: u32,
    pub(super) calls: u64,
    pub(super) values: u64,
    pub(super) commits: u64,
    pub(super) aborts: u64,
    pub(super) last_commit: Micros,
    pub(super) draining: bool,
    /// Whom the operator takes out.
    pub(super) going: Option<NodeId>,
    /// The view without it, if that is to come at the worst moment.
    pub(super) ambush: Option<Arc<View>>,
    pub(super) drained_at: Micros,
    pub(super) report: Report,
}

/// Without a commit for so long, what was planned is given up, and all come to rest.
const DROUGHT: Micros = 1_000_000;

/// All have come to rest after so long, or never will.
const PATIENCE: Micros = 4_000_000;

/// From one look at whether all rest to the next.
const REST: Micros = 5_000;

impl Cluster {
    /// A cluster at its beginning.
    pub fn new(plan: Plan, rules: Switched) -> Self {
        let mut random = SmallRng::seed_from_u64(plan.seed ^ 0x5ca1_ab1e);
        let rules = if plan.tells { rules } else { rules.without(Rule::TellExtensions) };
        let mut view = View::first(plan.nodes, plan.partitions, plan.failures);
        view.durable = plan.durable;
        if plan.everywhere {
            view = view.everywhere(PartitionId(0));
        }
        let view = Arc::new(view);
        let metadata = Metadata::new(view.clone(), 2 * plan.silence, plan.nodes, rules.on(Rule::LeaverWaits));
        let start: Vec<_> = (0..plan.keys).map(|key| (key % 2 == 0).then_some(Value(key))).collect();
        let hosts = (0..plan.nodes).map(|i| {
            let mut node = Node::new(rules, NodeId(i), view.clone());
            for (key, value) in (0..).map(Key).zip(&start) {
                if let Some(value) = value {
                    node.load(key, *value);
                }
            }
            node.limit_memory(plan.memory_of(i));
            let rate = random.random_range(plan.clocks.0..=plan.clocks.1);
            let disk = if plan.durable { Disk::of_founder(&mut node) } else { Disk::default() };
            Host::new(node, disk, &plan, rate, metadata.entry().clone())
        });
        let hosts = hosts.collect();
        let mut cluster = Self {
            network: Network::new(&plan),
            queue: Queue::new(),
            hosts,
            metadata,
            sessions: Vec::new(),
            history: History {
                records: Vec::new(),
                checks: Vec::new(),
                truth: Truth::default(),
                committed: Epoch(0),
            },
            owners: Vec::new(),
            broken: None,
            overfull: None,
            incomplete: None,
            answered: Epoch(0),
            answers: VecDeque::new(),
            out: Out::default(),
            frames: Vec::new(),
            lines: 0,
            calls: 0,
            // above the values of the start
            values: 1_000_000,
            commits: 0,
            aborts: 0,
            last_commit: 0,
            draining: false,
            going: None,
            ambush: None,
            drained_at: 0,
            report: Report::default(),
            random,
            start,
            plan,
            rules,
        };
        for host in 0..cluster.hosts.len() {
            cluster.start_timers(host);
        }
        for session in 0..cluster.plan.sessions {
            cluster.new_session(session as usize % cluster.hosts.len());
        }
        cluster.next_trouble();
        cluster.next_move();
        cluster.queue.after(REST, Event::Rest);
        cluster
    }

    pub(super) fn start_timers(&mut self, host: usize) {
        let life = self.hosts[host].life;
        let (tick, epoch) = (self.plan.tick, self.plan.epoch);
        let tick = self.random.random_range(1..=tick);
        let epoch = self.random.random_range(1..=epoch);
        self.queue.after(tick, Event::Tick { host: host as u8, life });
        self.queue.after(epoch, Event::Epoch { host: host as u8, life });
    }

    /// Calls a node, then sends what it puts out. Its answers reach their clients later.
    pub(super) fn call<T>(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut Node<Switched, Numbers>, &mut Out<Numbers>) -> T,
    ) -> Option<T> {
        let mut out = std::mem::take(&mut self.out);
        let host = &mut self.hosts[at];
        let result = host.node.as_mut().map(|node| act(node, &mut out));
        if let Some(node) = &host.node {
            let view = node.view().number;
            if host.fullness.note(node) {
                self.overfull = Some(format!("{:?} has no memory, and gets records", node.id()));
            }
            if node.incomplete().count() > 0 {
                self.incomplete = Some(format!("{:?} in {:?}", node.incomplete(), node.view()));
            }
            let history = &mut self.history;
            history.committed = history.committed.max(node.committed());
            if let Err(split) = history.truth.note(node) {
                self.broken = Some((Broken::Split, split));
            }
            let epoch = node.epoch();
            for answer in out.answers.drain(..) {
                // the place and what is known of it are of this moment, whenever the client hears of it
                let (Answer::Decided(txn, ..) | Answer::Checked(txn, _) | Answer::Confirmed(txn, _)) = answer
                else {
                    self.answers.push_back((at, answer));
                    continue;
                };
                let Some(record) = history.records.get_mut(host.record_of(txn)) else { continue };
                match answer {
                    Answer::Decided(_, epoch, cts) => record.place = Some((view, epoch, cts)),
                    Answer::Checked(_, true) => {
                        history.checks.push(Check {
                            at: (view, epoch),
                            record: record.clone(),
                            confirmed: false,
                        });
                        self.answers.push_back((at, answer));
                    }
                    Answer::Confirmed(_, epoch) => {
                        history.checks.push(Check {
                            at: (view, epoch),
                            record: record.clone(),
                            confirmed: true,
                        });
                        self.answers.push_back((at, answer));
                    }
                    answer => self.answers.push_back((at, answer)),
                }
            }
        }
        let announced = out.announced.drain(..).map(|it| (it.epoch, it.cts, it.key));
        self.hosts[at].announced.extend(announced);
        self.write_down(at, out.journal.drain(..));
        for (to, message) in out.messages.drain(..) {
            self.post(at, to, message);
        }
        self.out = out;
        result
    }

    /// Asks the metadata store.
    pub(super) fn ask(&mut self, from: usize, request: Request) {
        let delay = self.random.random_range(200..2_000);
        self.queue.after(delay, Event::Ask { from: from as u8, request });
    }

    fn asked(&mut self, from: usize, request: Request) {
        let now = self.queue.now();
        if self.metadata.away_until > now {
            return;
        }
        let leaves = matches!(request, Request::Leave(_));
        let (entry, changed) = self.metadata.ask(now, NodeId(from as u8), request);
        if leaves && changed && self.plan.store_ambushes && !self.draining {
            self.ambush_store();
        }
        for to in 0..self.hosts.len() {
            if changed || to == from {
                let (life, entry) = (self.hosts[to].life, entry.clone());
                let delay = self.random.random_range(200..2_000);
                self.queue.after(delay, Event::Told { to: to as u8, life, entry });
            }
        }
    }

    /// Whose turn it is; it waits while its host is paused.
    fn host_of(&self, event: &Event) -> Option<usize> {
        match *event {
            Event::Packet { to, .. } | Event::Told { to, .. } => Some(to.into()),
            Event::Tick { host, .. } | Event::Synced { host, .. } | Event::Epoch { host, .. } => {
                Some(host.into())
            }
            Event::Session { session, .. } => Some(self.sessions[session as usize].host),
            _ => None,
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Packet { from, to, packet } => self.packet(from.into(), to.into(), packet),
            Event::Tick { host, life } => {
                let at = usize::from(host);
                if self.hosts[at].life == life && self.hosts[at].up {
                    self.host_tick(at);
                    let next = self.hosts[at].by_own_clock(self.plan.tick);
                    self.queue.after(next, Event::Tick { host, life });
                }
            }
            Event::Epoch { host, life } => {
                let at = usize::from(host);
                if self.hosts[at].life == life && self.hosts[at].up {
                    self.call(at, |node, out| node.tick(out));
                    let next = self.hosts[at].by_own_clock(self.plan.epoch);
                    self.queue.after(next, Event::Epoch { host, life });
                }
            }
            Event::Session { session, generation } => self.wakes(session as usize, generation),
            Event::Ask { from, request } => self.asked(from.into(), request),
            Event::Told { to, life, entry } => {
                if self.hosts[usize::from(to)].life == life {
                    self.told(to.into(), entry);
                }
            }
            Event::Trouble => self.trouble(),
            Event::Move => self.move_something(),
            Event::Mend(mend) => self.mend(mend),
            Event::Wake(host) => self.wake(host.into()),
            Event::CrashLeader => self.crash(self.metadata.entry().view.leader.0.into()),
            Event::Synced { host, life, written } => self.synced(host.into(), life, written),
            Event::Return(host) => self.come_back(host.into()),
            Event::Rest => self.queue.after(REST, Event::Rest),
        }
        while let Some((host, answer)) = self.answers.pop_front() {
            self.answered(host, answer);
        }
    }

    /// Runs the cluster until all rest.
    ///
    /// # Errors
    /// What is broken, in words.
    pub fn run(mut self) -> Result<Report, (Broken, String)> {
        while let Some(event) = self.queue.pop() {
            let now = self.queue.now();
            if let Some(host) = self.host_of(&event)
                && self.hosts[host].paused_until > now
            {
                let rest = self.hosts[host].paused_until - now;
                self.queue.after(rest, event);
                continue;
            }
            let looks = matches!(event, Event::Rest);
            self.happen(event);
            if let Some(broken) = self.broken.take() {
                return Err(broken);
            }
            if let Some(incomplete) = self.incomplete.take() {
                return Err((Broken::Incomplete, incomplete));
            }
            if let Some(overfull) = self.overfull.take() {
                return Err((Broken::Overfull, overfull));
            }
            if !looks {
                continue;
            }
            let dry = now > self.last_commit + DROUGHT;
            if !self.draining && (self.history.records.len() >= self.plan.transactions as usize || dry) {
                self.drain();
            }
            if self.draining && (self.rests() || now > self.drained_at + PATIENCE) {
                break;
            }
        }
        self.finish()
    }

    fn live_members(&self) -> impl Iterator<Item = &Node<Switched, Numbers>> {
        let members = self.metadata.entry().view.members;
        let hosts = members.iter().filter_map(|id| self.hosts.get(usize::from(id.0)));
        hosts.filter_map(|host| host.node.as_ref())
    }

    /// Whether nothing is left to do.
    fn rests(&self) -> bool {
        let entry = self.metadata.entry();
        let clients = self.sessions.iter().filter(|session| self.hosts[session.host].node.is_some());
        let nodes = self.hosts.iter().filter(|host| host.node.is_some()).count();
        let all = self.plan.returns == 0 || nodes == self.hosts.len();
        let learns = entry.view.members.iter().any(|id| entry.view.is_learner(id));
        entry.is_settled()
            && all
            && !learns
            && self.live_members().count() == entry.view.members.count()
            && self.live_members().all(|node| {
                node.view().number == entry.view.number
                    && node.transactions() == 0
                    && !node.has_locks()
                    && !matches!(node.stage(), Stage::Fenced | Stage::Installed)
            })
            && clients.clone().all(|session| matches!(session.turn, Turn::Idle) && session.outstanding == 0)
    }

    fn show(&self) -> String {
        let mut lines = vec![format!("{:?}", self.metadata.entry())];
        for host in &self.hosts {
            if let Some(node) = &host.node {
                lines.push(format!(
                    "{:?} {:?} {:?} {:?} transactions {} locks {} failed {:?}",
                    node.id(),
                    node.view().number,
                    node.epoch(),
                    node.stage(),
                    node.transactions(),
                    node.has_locks(),
                    host.failed
                ));
            }
        }
        lines.extend(self.sessions.iter().map(|session| format!("{session:?}")));
        lines.join("\n")
    }

    /// Nodes have handed out what was announced: each, while it lived, all that has committed, in one order. Returns
    /// how much that was.
    fn check_announced(
        &self,
        epochs: &BTreeMap<Epoch, (ViewNumber, bool)>,
        rested: bool,
    ) -> Result<u64, (Broken, String)> {
        let records = &self.history.records;
        let counts = |epoch: &Epoch| epochs.get(epoch).is_some_and(|&(_, counts)| counts);
        let place = |record: &Record| record.place.map(|(_, epoch, cts)| (epoch, cts));
        let mut all: Vec<Handed> = (0..)
            .zip(records)
            .filter(|(_, record)| record.announces)
            .filter_map(|(number, record)| Some((place(record)?, Key::of_announcement(number))))
            .filter(|((epoch, _), _)| counts(epoch))
            .map(|((epoch, cts), key)| (epoch, cts, key))
            .collect();
        all.sort_unstable();
        let broken = |what: String| Err((Broken::Announced, what));
        for host in &self.hosts {
            for of_life in host.announced_before.iter().chain([&host.announced]) {
                let from = of_life.first().map_or(Ok(0), |first| all.binary_search(first));
                let expected = from.ok().and_then(|from| all.get(from..from + of_life.len()));
                if expected != Some(&of_life[..]) {
                    return broken(format!("{:?}: {of_life:?}, not {all:?}", host.life));
                }
            }
        }
        for node in self.live_members().filter(|_| rested) {
            let knows = |(epoch, ..): &&Handed| {
                *epoch <= node.committed() && node.outcome(*epoch) != Outcome::Unknown
            };
            let expected: Vec<&Handed> = all.iter().filter(knows).collect();
            let handed_out = &self.hosts[usize::from(node.id().0)].announced;
            if !handed_out.iter().eq(expected.iter().copied()) {
                return broken(format!("{:?} has {handed_out:?}, not {expected:?}", node.id()));
            }
        }
        let writes = records.iter().flat_map(|record| record.writes.iter().map(move |write| (write, record)));
        let writers: BTreeMap<Value, &Record> =
            writes.filter_map(|(&(_, value), record)| Some((value?, record))).collect();
        for record in records.iter().filter(|record| record.announces) {
            let Some(at) = place(record).filter(|(epoch, _)| counts(epoch)) else { continue };
            let read = record.reads.iter().filter_map(|&(_, value)| value);
            let scanned = record.scans.iter().flat_map(|scan| scan.rows.iter().map(|&(_, value)| value));
            let seen = read.chain(scanned).filter_map(|value| writers.get(&value)).copied();
            if let Some(seen) =
                seen.filter(|seen| !std::ptr::eq(*seen, record)).find(|seen| place(seen) >= Some(at))
            {
                return broken(format!("{record:?} has seen {seen:?}"));
            }
        }
        Ok(all.len() as u64)
    }

    /// Nodes know what became of the epochs in which they took part.
    fn check_outcomes(&self, epochs: &BTreeMap<Epoch, (ViewNumber, bool)>) -> Result<(), (Broken, String)> {
        for node in self.live_members() {
            for (&epoch, &(_, counts)) in epochs {
                let expected = if counts { Outcome::Committed } else { Outcome::Undone };
                // the news may still be on its way
                let open = counts && epoch == node.epoch();
                // it was not there then
                let joined = self.hosts[usize::from(node.id().0)].life > Incarnation(1);
                let unknown = joined && node.outcome(epoch) == Outcome::Unknown;
                if node.outcome(epoch) != expected && !open && !unknown {
                    let what = format!("{:?}: {epoch:?} is {:?}", node.id(), node.outcome(epoch));
                    return Err((Broken::Epochs, what));
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Report, (Broken, String)> {
        let rested = self.rests();
        let entry = self.metadata.entry();
        // whoever is there with its disk comes back
        let returns = |id: &NodeId| {
            let host = &self.hosts[usize::from(id.0)];
            self.plan.durable && host.up && host.claims.contains(&entry.lives[usize::from(id.0)])
        };
        let dead: NodeSet = self.gone(entry).iter().filter(|id| !returns(id)).collect();
        let blocked = dead.count() > 0 && entry.without(dead).is_none();
        if !rested && !blocked {
            return Err((Broken::Stuck, self.show()));
        }
        let mut rows = Rows::new(self.start.clone(), self.plan.partitions);
        let replayed = self.history.replay(&mut rows)?;
        let epochs = self.history.epochs()?;
        self.report.announced = self.check_announced(&epochs, rested)?;
        if rested {
            self.check_outcomes(&epochs)?;
            for partition in (0..self.plan.partitions).map(PartitionId) {
                let mut gaps = self.live_members().filter_map(|node| node.gaps(partition));
                let first = gaps.next();
                if gaps.any(|other| first.as_ref() != Some(&other)) {
                    return Err((Broken::Diverged, format!("gaps of {partition:?} differ")));
                }
            }
            for node in self.live_members() {
                for partition in 0..self.plan.partitions {
                    let Some(found) = node.rows(PartitionId(partition)) else { continue };
                    let expected: Vec<_> = rows.of(partition).collect();
                    if found != expected {
                        let what = format!("{:?} has {found:?} in p{partition}, not {expected:?}", node.id());
                        return Err((Broken::Diverged, what));
                    }
                }
            }
        }
        let report = &mut self.report;
        report.blocked = u64::from(blocked);
        (report.commits, report.aborts, report.begun) =
            (self.commits, self.aborts, self.history.records.len() as u64);
        report.unknown = report.begun - report.commits - report.aborts;
        (report.steps, report.time) = (self.queue.count(), self.queue.now());
        report.replayed = replayed as u64;
        let isolated = self.history.records.iter().filter(|record| record.isolated);
        report.isolated = isolated.filter(|record| record.outcome == Told::Committed).count() as u64;
        report.changes = self.metadata.entry().view.number.0 - 1;
        Ok(self.report)
    }
}
