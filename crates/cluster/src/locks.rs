//! The locks of SQL that the members share (`scaledb_locks::keeper`), at one of them: its sessions wait here, its
//! letters go out and come in. The leader of a view keeps the table.
//!
//! Sessions do not wait with the lock of the protocol, and lock nothing there: what they ask for is no part of it.
//! Only a change of view comes from it, while it is locked, so that no transaction begins in a view whose locks are not
//! known here.

use super::network::{Network, Packet};
use scaledb_locks::keeper::{Hint, Letter, Listed, LockMember, LockView, Name, Ours, Out, Told, Wanted};
use scaledb_locks::{Blocked, Elsewhere, Failed, Known, Locks, Mode, NotTaken, SharedLocks, Tag, Who};
use scaledb_scar::{NodeId, View};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::lock::{Condvar, Mutex};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// How long a waiter sleeps before it looks whether it was cancelled.
const STEP: Duration = Duration::from_millis(10);

/// How long whoever lists locks waits for the keeper.
const LIST_PATIENCE: Duration = Duration::from_secs(1);

/// Locks that are listed, at most: a keeper may send more.
const MAX_LISTED: usize = 1 << 20;

/// The bytes of a letter, at most: a question names 256 locks of 4 KiB.
pub(crate) const MAX_LETTER: usize = 2 << 20;

/// The locks at a member.
pub(crate) struct LockService {
    me: NodeId,
    network: Arc<dyn Network>,
    state: Mutex<Sessions>,
    /// The number of the view that the member is in: written under the lock of the protocol.
    view: AtomicU64,
    /// A list has come, or part of it.
    listed: Condvar,
    patience: Duration,
}

struct Sessions {
    member: LockMember<Ours>,
    out: Out,
    of: BTreeMap<u32, Waiting>,
    next: u32,
    /// What has been listed so far, and whether that is all; by question.
    lists: BTreeMap<u64, (Vec<Listed>, bool)>,
    /// Who is told of hints, until the node is no member any more, or nobody else has them.
    watching: Vec<(u32, Arc<Locks>)>,
    /// The node is no member any more.
    left: bool,
}

/// A session that may wait for an answer.
struct Waiting {
    /// Its number among the sessions of the process: for `pg_locks`.
    process: u32,
    told: Option<(u64, Told)>,
    wake: Arc<Condvar>,
}

impl LockService {
    pub(crate) fn new(me: NodeId, network: Arc<dyn Network>, patience: Duration) -> Self {
        Self {
            me,
            network,
            state: Mutex::new(Sessions {
                member: LockMember::new(Ours, me.0),
                out: Out::default(),
                of: BTreeMap::new(),
                next: 1,
                lists: BTreeMap::new(),
                watching: Vec::new(),
                left: false,
            }),
            view: AtomicU64::new(0),
            listed: Condvar::new(),
            patience,
        }
    }

    /// Makes a call, sends what it has put out, and wakes those who have an answer.
    fn run<T>(&self, state: &mut Sessions, call: impl FnOnce(&mut LockMember<Ours>, &mut Out) -> T) -> T {
        let result = call(&mut state.member, &mut state.out);
        // before any letter: when the keeper hears that a hint is noted, it grants the lock that this node's statements
        // have to look out for, and they look without this lock
        if std::mem::take(&mut state.out.hints) {
            let hints = state.member.hints();
            state.watching.retain(|(_, locks)| Arc::strong_count(locks) > 1);
            for (database, locks) in &state.watching {
                locks.hint(hints.has_rows(*database), hints.has(Hint::Tables(*database)));
            }
        }
        // with the lock: letters go in the order of their numbers
        for (to, letter) in state.out.letters.drain(..) {
            self.network.send(NodeId(to), Packet::Lock(letter));
        }
        for (session, question, told) in state.out.told.drain(..) {
            if let Some(waiting) = state.of.get_mut(&session) {
                waiting.told = Some((question, told));
                waiting.wake.notify_all();
            }
        }
        if !state.out.listed.is_empty() {
            for (question, part, all) in state.out.listed.drain(..) {
                match (state.lists.get_mut(&question), part) {
                    (Some((listed, done)), Some(part)) => {
                        let room = MAX_LISTED.saturating_sub(listed.len());
                        listed.extend(part.into_iter().take(room));
                        *done = all;
                    }
                    (Some(_), None) => drop(state.lists.remove(&question)),
                    (None, _) => {}
                }
            }
            self.listed.notify_all();
        }
        result
    }

    /// The member is in a new view. Called with the protocol locked.
    pub(crate) fn begin_view(&self, view: &View) {
        let members = view.members.iter().fold(0, |bits, node| bits | 1_u64 << node.0);
        let view = LockView { number: view.number.0, members, keeper: view.leader.0 };
        let mut state = self.state.lock();
        // first: whoever is granted a lock of the new view is in it
        self.view.store(view.number, Ordering::SeqCst);
        self.run(&mut state, |member, out| member.begin_view(view, out));
    }

    /// A letter of another member.
    pub(crate) fn receive(&self, from: NodeId, letter: Letter) {
        self.run(&mut self.state.lock(), |member, out| member.receive(from.0, letter, out));
    }

    /// Some time has passed.
    pub(crate) fn tick(&self) {
        self.run(&mut self.state.lock(), LockMember::tick);
    }

    /// The node is no member any more: whoever waits is told.
    pub(crate) fn leave(&self) {
        let mut state = self.state.lock();
        state.left = true;
        let watching = std::mem::take(&mut state.watching);
        state.of.values().for_each(|waiting| waiting.wake.notify_all());
        self.listed.notify_all();
        drop(state);
        // they lead back to here
        drop(watching);
    }

    /// Asks for locks, and waits for the answer as long as `go_on` says so. None: it does not.
    fn ask(
        &self,
        session: u32,
        wake: &Condvar,
        wanted: Wanted,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Told>, NotTaken> {
        let mut state = self.state.lock();
        if state.left {
            return Err(NotTaken::Silent);
        }
        if let Some(waiting) = state.of.get_mut(&session) {
            waiting.told = None;
        }
        let question = self.run(&mut state, |member, out| member.ask(session, wanted, out));
        loop {
            let told = state.of.get_mut(&session).and_then(|waiting| waiting.told.take());
            if let Some((of, told)) = told
                && of == question
            {
                return Ok(Some(told));
            }
            if state.left {
                return Err(NotTaken::Silent);
            }
            state = wake.wait_timeout(state, STEP);
            let answered = state.of.get(&session).is_some_and(|waiting| waiting.told.is_some());
            if !answered {
                drop(state);
                let goes_on = go_on();
                state = self.state.lock();
                let answered = state.of.get(&session).is_some_and(|waiting| waiting.told.is_some());
                // one that was granted it meanwhile has it
                if !goes_on && !answered {
                    self.run(&mut state, |member, out| member.stop(session, question, out));
                    return Ok(None);
                }
            }
        }
    }

    /// All locks of a database, as the keeper has them; of this node's sessions what they keep and wait for, if the
    /// keeper is not heard.
    fn all(&self, database: u32) -> Vec<Known> {
        let until = Instant::now() + LIST_PATIENCE.min(self.patience);
        let mut state = self.state.lock();
        // an answer that is there at once is put into the list
        let question = {
            let next = state.member.next_question();
            state.lists.insert(next, (Vec::new(), false));
            self.run(&mut state, |member, out| member.list(database, out))
        };
        let all = loop {
            match state.lists.get(&question) {
                Some((_, true)) => break state.lists.remove(&question).map(|(listed, _)| listed),
                None => break None,
                Some((_, false)) => {}
            }
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() || state.left {
                break None;
            }
            state = self.listed.wait_timeout(state, rest.min(LIST_PATIENCE));
        };
        state.lists.remove(&question);
        state.member.forget_list(question);
        let all = all.unwrap_or_else(|| state.member.all(Some(database)));
        self.known(&state, all)
    }

    fn known(&self, state: &Sessions, mut all: Vec<Listed>) -> Vec<Known> {
        all.sort_unstable();
        let (mut known, mut number) = (Vec::with_capacity(all.len()), 0);
        let mut before: Option<&Name> = None;
        for listed in &all {
            // rows have numbers here, so that those of one row are seen to be of one
            number += u64::from(before.is_some_and(|before| *before != listed.name));
            before = Some(&listed.name);
            let owner = self.who(state, listed.holder.node, listed.holder.session);
            known.push(Known {
                tag: tag(&listed.name, number),
                owner,
                mode: listed.mode,
                granted: listed.granted,
            });
        }
        known
    }

    fn who(&self, state: &Sessions, node: u8, session: u32) -> Who {
        let here = state.of.get(&session).filter(|_| node == self.me.0);
        here.map_or(Who::Elsewhere(node), |waiting| Who::Session(waiting.process))
    }
}

fn tag(name: &Name, number: u64) -> Tag {
    match *name {
        Name::Row(_, table, _) => Tag::Row { table, record: number },
        Name::Table(_, table) => Tag::Table(table),
        Name::Advisory(_, key, pair) => Tag::Advisory { key, pair },
    }
}

/// The same, as SQL asks for it.
pub(crate) struct ClusterLocks(pub(crate) Arc<LockService>);

impl SharedLocks for ClusterLocks {
    fn session(&self, database: u32, process: u32) -> Box<dyn Elsewhere> {
        let wake = Arc::new(Condvar::new());
        let mut state = self.0.state.lock();
        let mut number = state.next;
        while state.of.contains_key(&number) {
            number = number.wrapping_add(1);
        }
        state.next = number.wrapping_add(1);
        state.of.insert(number, Waiting { process, told: None, wake: wake.clone() });
        Box::new(SessionLocks {
            service: self.0.clone(),
            session: number,
            database,
            wake,
            numbers: HashMap::new(),
            rows: Vec::new(),
            taken: 0,
            locked_in: 0,
        })
    }

    fn watch(&self, database: u32, locks: &Arc<Locks>) {
        let mut state = self.0.state.lock();
        let hints = state.member.hints();
        locks.hint(hints.has_rows(database), hints.has(Hint::Tables(database)));
        if !state.left {
            state.watching.push((database, locks.clone()));
        }
    }

    fn has_rows_of(&self, database: u32, table: u32) -> bool {
        self.0.state.lock().member.hints().has(Hint::Rows(database, table))
    }

    fn all(&self, database: u32) -> Vec<Known> {
        self.0.all(database)
    }
}

/// The locks of a session.
struct SessionLocks {
    service: Arc<LockService>,
    session: u32,
    database: u32,
    wake: Arc<Condvar>,
    /// Rows have numbers in the session's tags: these, until its transaction ends.
    numbers: HashMap<(u32, Box<[u8]>), u64>,
    rows: Vec<(u32, Box<[u8]>)>,
    /// How many locks the transaction has, and of which view they are.
    taken: usize,
    locked_in: u64,
}

impl SessionLocks {
    /// None for a row that has no number: its transaction has ended.
    fn name(&self, tag: Tag) -> Option<Name> {
        Some(match tag {
            Tag::Row { table, record } => {
                let (of, key) = self.rows.get(usize::try_from(record).ok()?)?;
                debug_assert_eq!(*of, table, "the number of another row");
                Name::Row(self.database, *of, key.clone())
            }
            Tag::Table(table) => Name::Table(self.database, table),
            Tag::Advisory { key, pair } => Name::Advisory(self.database, key, pair),
        })
    }

    fn view(&self) -> u64 {
        self.service.view.load(Ordering::SeqCst)
    }

    /// Asks for locks. How many it has been granted; none if `go_on` says so before there is an answer.
    fn ask(&mut self, wanted: Wanted, go_on: &mut dyn FnMut() -> bool) -> Result<Option<usize>, Failed<()>> {
        let keeps = wanted.keeps;
        if !keeps && self.is_lost() {
            return Err(Failed::Not(NotTaken::Lost));
        }
        let told = self.service.ask(self.session, &self.wake, wanted, go_on).map_err(Failed::Not)?;
        match told {
            None => Ok(None),
            Some(Told::Full) => Err(Failed::Not(NotTaken::Full)),
            Some(Told::Lost) => Err(Failed::Not(NotTaken::Lost)),
            Some(Told::Deadlock(steps)) => {
                let state = self.service.state.lock();
                let blocked = steps.into_iter().map(|(holder, name, mode, by)| Blocked {
                    owner: self.service.who(&state, holder.node, holder.session),
                    tag: tag(&name, 0),
                    mode,
                    by: self.service.who(&state, by.node, by.session),
                });
                Err(Failed::Deadlock(blocked.collect()))
            }
            Some(Told::Granted(count, view)) => {
                let count = count as usize;
                if keeps || count == 0 {
                    return Ok(Some(count));
                }
                if self.taken > 0 && self.locked_in != view {
                    // those before are gone, and the transaction with them: it has no use for this one
                    self.release_in(view, 0);
                    return Err(Failed::Not(NotTaken::Lost));
                }
                self.taken += count;
                self.locked_in = view;
                Ok(Some(count))
            }
        }
    }

    fn release_in(&self, view: u64, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let mut state = self.service.state.lock();
        self.service.run(&mut state, |member, out| member.release_to(self.session, view, count, out));
    }
}

impl Elsewhere for SessionLocks {
    fn number_of(&mut self, table: u32, key: &[u8]) -> u64 {
        let row = (table, Box::<[u8]>::from(key));
        if let Some(&number) = self.numbers.get(&row) {
            return number;
        }
        let number = self.rows.len() as u64;
        self.rows.push(row.clone());
        self.numbers.insert(row, number);
        number
    }

    fn try_take(&mut self, tags: &[Tag], mode: Mode, keeps: bool, quiet: bool) -> Result<usize, NotTaken> {
        let names: Option<Vec<Name>> = tags.iter().map(|&tag| self.name(tag)).collect();
        let Some(names) = names else { return Err(NotTaken::Lost) };
        let until = Instant::now() + self.service.patience;
        let wanted = Wanted { names, mode, keeps, quiet, waits: false };
        match self.ask(wanted, &mut || Instant::now() < until) {
            Ok(Some(count)) => Ok(count),
            Err(Failed::Not(why)) => Err(why),
            // a deadlock is nothing that one who does not wait is told
            Ok(None) | Err(Failed::Deadlock(_) | Failed::Stopped(())) => Err(NotTaken::Silent),
        }
    }

    fn take(
        &mut self,
        tag: Tag,
        mode: Mode,
        keeps: bool,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), Failed<()>> {
        let Some(name) = self.name(tag) else { return Err(Failed::Not(NotTaken::Lost)) };
        // whoever waits has asked before, and others look out since
        let wanted = Wanted { names: vec![name], mode, keeps, quiet: true, waits: true };
        match self.ask(wanted, go_on)? {
            Some(1..) => Ok(()),
            Some(0) => Err(Failed::Not(NotTaken::Silent)),
            None => Err(Failed::Stopped(())),
        }
    }

    fn release_to(&mut self, count: usize) {
        if self.taken > count {
            self.release_in(self.locked_in, count);
            self.taken = count;
        }
        if count == 0 && !self.rows.is_empty() {
            (self.rows, self.numbers) = (Vec::new(), HashMap::new());
        }
    }

    fn give_back(&mut self, tag: Tag, mode: Mode) {
        let Some(name) = self.name(tag) else { return };
        let mut state = self.service.state.lock();
        self.service.run(&mut state, |member, out| member.give_back(self.session, &name, mode, out));
    }

    fn is_lost(&self) -> bool {
        self.taken > 0 && self.locked_in != self.view()
    }
}

impl Drop for SessionLocks {
    fn drop(&mut self) {
        let mut state = self.service.state.lock();
        state.of.remove(&self.session);
        self.service.run(&mut state, |member, out| member.end_session(self.session, out));
    }
}
