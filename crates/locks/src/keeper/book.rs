//! The keeper's table of one view.

use super::member::Wanted;
use super::rules::{Rule, Rules};
use super::{
    Hint, Hints, Holder, LetterBody, Listed, LockView, MAX_BATCH, MAX_EARLY, MAX_EDGES, MAX_HINTS,
    MAX_SESSIONS, MAX_WEIGHT, Name, QUIET_TICKS, Step,
};
use crate::Mode;
use crate::entry::{Entry, cycle};
use rapidhash::fast::RandomState;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Locks that one letter lists.
const PART: usize = 256;

/// What a session has, and what it waits for.
#[derive(Default)]
struct Holdings {
    /// In the order in which they were taken.
    transaction: Vec<(Name, Mode)>,
    kept: Vec<(Name, Mode)>,
    /// Its last question, how many locks it was granted by it, and whether it keeps them.
    last: Option<(u64, usize, bool)>,
    waits: Option<Wait>,
}

struct Wait {
    question: u64,
    name: Name,
    mode: Mode,
    keeps: bool,
}

impl Holdings {
    fn is_empty(&self) -> bool {
        self.transaction.is_empty() && self.kept.is_empty() && self.waits.is_none()
    }

    fn list(&mut self, keeps: bool) -> &mut Vec<(Name, Mode)> {
        if keeps { &mut self.kept } else { &mut self.transaction }
    }
}

/// How many locks there are that a hint is about.
#[derive(Default)]
struct Watched {
    locks: usize,
    /// The number of the hints with which the members were told, if they were.
    told: Option<u64>,
    /// For how many ticks there has been no lock.
    quiet: u32,
}

/// What a member may have.
#[derive(Default, Clone, Copy)]
struct Share {
    sessions: usize,
    weight: usize,
    /// Letters that have come before all members had said what is kept.
    early: usize,
}

/// The table, who has what, and what members have been told.
pub(super) struct Book {
    view: LockView,
    entries: HashMap<Name, Entry<Holder, u64>, RandomState>,
    holders: BTreeMap<Holder, Holdings>,
    shares: BTreeMap<u8, Share>,
    /// Members that have said what their sessions keep: bits.
    reported: u64,
    /// What has come before all had.
    early: VecDeque<(u8, LetterBody)>,
    watched: BTreeMap<Hint, Watched>,
    /// The number of the last hints, and what each member has noted.
    hints: u64,
    noted: BTreeMap<u8, u64>,
    /// Grants that wait until all members have noted the hints of this number.
    held: Vec<(u64, Holder, u64, u32)>,
}

/// Letters to members, one behind the other.
pub(super) type Letters = Vec<(u8, LetterBody)>;

impl Book {
    pub(super) fn new(view: LockView) -> Self {
        Self {
            view,
            entries: HashMap::default(),
            holders: BTreeMap::new(),
            shares: BTreeMap::new(),
            reported: 0,
            early: VecDeque::new(),
            watched: BTreeMap::new(),
            hints: 0,
            noted: BTreeMap::new(),
            held: Vec::new(),
        }
    }

    /// The same table in another view: only without [`Rule::BeginAnew`].
    pub(super) fn go_on_in(&mut self, view: LockView) {
        self.view = view;
        self.reported = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.holders.is_empty() && self.held.is_empty() && self.early.is_empty()
    }

    fn is_ready(&self, rules: impl Rules) -> bool {
        self.reported & self.view.members == self.view.members || !rules.on(Rule::WaitForAll)
    }

    /// What a member has sent, or this one says by itself.
    pub(super) fn take(&mut self, from: u8, body: LetterBody, rules: impl Rules, out: &mut Letters) {
        match body {
            LetterBody::Keeps(locks, all) => self.keeps(from, locks, all, rules, out),
            _ if self.is_ready(rules) && self.share(from).early <= MAX_EARLY => {
                self.handle(from, body, rules, out);
            }
            _ => {
                let waiting = &mut self.shares.entry(from).or_default().early;
                *waiting += 1;
                // what comes behind one that is left out does not count either
                if *waiting <= MAX_EARLY {
                    self.early.push_back((from, body));
                }
            }
        }
    }

    fn keeps(
        &mut self,
        from: u8,
        locks: Vec<(u32, Name, Mode)>,
        all: bool,
        rules: impl Rules,
        out: &mut Letters,
    ) {
        let bit = 1_u64.checked_shl(u32::from(from)).unwrap_or(0);
        if self.reported & bit != 0 {
            return;
        }
        for (session, name, mode) in locks {
            let holder = Holder { node: from, session };
            if name.is_sane() && self.has_room(holder, [&name]) {
                self.grant(holder, name, mode, true);
            }
        }
        if all {
            self.reported |= bit;
            while self.is_ready(rules)
                && let Some((from, body)) = self.early.pop_front()
            {
                self.handle(from, body, rules, out);
            }
        }
    }

    fn handle(&mut self, from: u8, body: LetterBody, rules: impl Rules, out: &mut Letters) {
        let holder = |session| Holder { node: from, session };
        match body {
            LetterBody::Ask(session, question, wanted) => {
                self.ask(holder(session), question, wanted, rules, out);
            }
            LetterBody::Stop(session, question) => self.stop(holder(session), question, rules, out),
            LetterBody::GiveBack(session, name, mode) => {
                let holder = holder(session);
                let Some(holdings) = self.holders.get_mut(&holder) else { return };
                let at = holdings.kept.iter().rposition(|(own, held)| *own == name && *held == mode);
                if let Some(at) = at {
                    holdings.kept.remove(at);
                    self.release(holder, &name, mode, rules, out);
                    self.forget_if_empty(holder);
                }
            }
            LetterBody::ReleaseTo(session, count) => {
                let holder = holder(session);
                let Some(holdings) = self.holders.get_mut(&holder) else { return };
                let first = holdings.transaction.len().min(count as usize);
                let rest = holdings.transaction.split_off(first);
                for (name, mode) in rest.into_iter().rev() {
                    self.release(holder, &name, mode, rules, out);
                }
                self.forget_if_empty(holder);
            }
            LetterBody::Ended(session) if rules.on(Rule::EndReleases) => {
                self.ended(holder(session), rules, out)
            }
            LetterBody::List(question, database) => self.list(from, question, database, out),
            LetterBody::Noted(number) => {
                let noted = self.noted.entry(from).or_default();
                *noted = number.min(self.hints).max(*noted);
                self.grant_held(out);
            }
            // what only a keeper says, or was handled before
            _ => {}
        }
    }

    fn share(&self, node: u8) -> Share {
        self.shares.get(&node).copied().unwrap_or_default()
    }

    /// Whether a node may have more locks.
    fn has_room<'n>(&self, holder: Holder, names: impl IntoIterator<Item = &'n Name>) -> bool {
        let share = self.share(holder.node);
        let more: usize = names.into_iter().map(Name::weight).sum();
        let known = self.holders.contains_key(&holder);
        share.weight + more <= MAX_WEIGHT && (known || share.sessions < MAX_SESSIONS)
    }

    fn holdings(&mut self, holder: Holder) -> &mut Holdings {
        if !self.holders.contains_key(&holder) {
            self.shares.entry(holder.node).or_default().sessions += 1;
        }
        self.holders.entry(holder).or_default()
    }

    fn forget_if_empty(&mut self, holder: Holder) {
        if self.holders.get(&holder).is_some_and(Holdings::is_empty) {
            self.holders.remove(&holder);
            if let Some(share) = self.shares.get_mut(&holder.node) {
                share.sessions = share.sessions.saturating_sub(1);
            }
        }
    }

    fn grant(&mut self, holder: Holder, name: Name, mode: Mode, keeps: bool) {
        self.entries.entry(name.clone()).or_default().grant(holder, mode);
        self.note_granted(holder, name, mode, keeps);
    }

    /// The lock is the holder's.
    fn note_granted(&mut self, holder: Holder, name: Name, mode: Mode, keeps: bool) {
        self.shares.entry(holder.node).or_default().weight += name.weight();
        if let Some(hint) = name.hint(mode) {
            let watched = self.watched.entry(hint).or_default();
            (watched.locks, watched.quiet) = (watched.locks + 1, 0);
        }
        self.holdings(holder).list(keeps).push((name, mode));
    }

    /// Releases a lock that has been taken out of the holder's list.
    fn release(&mut self, holder: Holder, name: &Name, mode: Mode, rules: impl Rules, out: &mut Letters) {
        if let Some(share) = self.shares.get_mut(&holder.node) {
            share.weight = share.weight.saturating_sub(name.weight());
        }
        if let Some(hint) = name.hint(mode)
            && let Some(watched) = self.watched.get_mut(&hint)
        {
            watched.locks = watched.locks.saturating_sub(1);
            if watched.locks == 0 && watched.told.is_none() {
                self.watched.remove(&hint);
            }
        }
        let Some(entry) = self.entries.get_mut(name) else { return };
        if entry.release(holder, mode) == Some(true) {
            self.advance(name, rules, out);
        }
    }

    /// Grants what waiters can have by now.
    fn advance(&mut self, name: &Name, rules: impl Rules, out: &mut Letters) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let woken = entry.advance();
        if entry.is_empty() {
            self.entries.remove(name);
        }
        for waiter in woken {
            let holder = waiter.owner;
            let waits = self.holders.get_mut(&holder).and_then(|holdings| holdings.waits.take());
            let keeps = waits.is_some_and(|waits| waits.keeps);
            self.note_granted(holder, name.clone(), waiter.mode, keeps);
            self.holdings(holder).last = Some((waiter.wake, 1, keeps));
            let needs = self.needs(name, waiter.mode);
            self.answer(holder, waiter.wake, 1, needs, rules, out);
        }
    }

    fn ask(&mut self, holder: Holder, question: u64, wanted: Wanted, rules: impl Rules, out: &mut Letters) {
        let Wanted { names, mode, keeps, quiet, waits } = wanted;
        let sane = names.len() <= MAX_BATCH && names.iter().all(Name::is_sane);
        // one that waits asks for nothing else
        let idle = self.holders.get(&holder).is_none_or(|holdings| holdings.waits.is_none());
        if !sane || !idle || !self.has_room(holder, &names) {
            out.push((holder.node, LetterBody::Full(holder.session, question)));
            return;
        }
        let mut needs = 0;
        let mut taken = 0;
        for name in &names {
            if !quiet {
                self.raise(name, mode, out);
            }
            needs = needs.max(self.needs(name, mode));
            if !self.entries.get(name).is_none_or(|entry| entry.admits(holder, mode)) {
                break;
            }
            self.grant(holder, name.clone(), mode, keeps);
            taken += 1;
        }
        match names.into_iter().nth(taken) {
            Some(name) if waits => self.wait(holder, question, (name, mode, keeps), rules, out),
            _ => {
                if taken > 0 {
                    self.holdings(holder).last = Some((question, taken, keeps));
                }
                self.answer(holder, question, taken as u32, needs, rules, out);
            }
        }
    }

    fn wait(
        &mut self,
        holder: Holder,
        question: u64,
        (name, mode, keeps): (Name, Mode, bool),
        rules: impl Rules,
        out: &mut Letters,
    ) {
        self.entries.entry(name.clone()).or_default().wait(holder, mode, question);
        self.holdings(holder).waits = Some(Wait { question, name, mode, keeps });
        if !rules.on(Rule::FindCycles) {
            return;
        }
        if let Some(mut steps) = cycle(holder, |holder| self.steps(holder)) {
            self.leave(holder, rules, out);
            steps.truncate(MAX_EDGES);
            out.push((holder.node, LetterBody::Deadlock(holder.session, question, steps)));
        }
    }

    /// Those whom a session waits for.
    fn steps(&self, holder: Holder) -> Vec<Step> {
        let Some(wait) = self.holders.get(&holder).and_then(|holdings| holdings.waits.as_ref()) else {
            return Vec::new();
        };
        let blockers = self.entries.get(&wait.name).map(|entry| entry.blockers(holder)).unwrap_or_default();
        blockers.into_iter().map(|(mode, by)| (holder, wait.name.clone(), mode, by)).collect()
    }

    /// A session waits no more.
    fn leave(&mut self, holder: Holder, rules: impl Rules, out: &mut Letters) {
        let Some(wait) = self.holders.get_mut(&holder).and_then(|holdings| holdings.waits.take()) else {
            return;
        };
        if let Some(entry) = self.entries.get_mut(&wait.name) {
            entry.leave(|other| other.owner == holder && other.mode == wait.mode);
            // those behind may have waited for this one only
            self.advance(&wait.name, rules, out);
        }
        self.forget_if_empty(holder);
    }

    fn stop(&mut self, holder: Holder, question: u64, rules: impl Rules, out: &mut Letters) {
        let Some(holdings) = self.holders.get_mut(&holder) else { return };
        if holdings.waits.as_ref().is_some_and(|wait| wait.question == question) {
            return self.leave(holder, rules, out);
        }
        if !rules.on(Rule::StopGivesBack) {
            return;
        }
        let Some((_, count, keeps)) = holdings.last.take_if(|(last, ..)| *last == question) else { return };
        // it has asked for nothing since: these are its last ones
        let list = holdings.list(keeps);
        let taken = list.split_off(list.len().saturating_sub(count));
        self.held.retain(|(_, held, of, _)| (*held, *of) != (holder, question));
        for (name, mode) in taken.into_iter().rev() {
            self.release(holder, &name, mode, rules, out);
        }
        self.forget_if_empty(holder);
    }

    fn ended(&mut self, holder: Holder, rules: impl Rules, out: &mut Letters) {
        self.leave(holder, rules, out);
        self.held.retain(|(_, held, ..)| *held != holder);
        let Some(holdings) = self.holders.get_mut(&holder) else { return };
        let mut all = std::mem::take(&mut holdings.transaction);
        all.append(&mut holdings.kept);
        for (name, mode) in all {
            self.release(holder, &name, mode, rules, out);
        }
        self.forget_if_empty(holder);
    }

    /// Tells a session how many locks it has been granted, when all members have noted what they need to.
    fn answer(
        &mut self,
        holder: Holder,
        question: u64,
        count: u32,
        needs: u64,
        rules: impl Rules,
        out: &mut Letters,
    ) {
        if count > 0 && needs > self.noted_by_all() && rules.on(Rule::HintsFirst) {
            self.held.push((needs, holder, question, count));
        } else {
            out.push((holder.node, LetterBody::Granted(holder.session, question, count)));
        }
    }

    fn noted_by_all(&self) -> u64 {
        self.view.nodes().map(|node| self.noted.get(&node).copied().unwrap_or(0)).min().unwrap_or(0)
    }

    fn grant_held(&mut self, out: &mut Letters) {
        let noted = self.noted_by_all();
        self.held.retain(|&(needs, holder, question, count)| {
            if needs <= noted {
                out.push((holder.node, LetterBody::Granted(holder.session, question, count)));
            }
            needs > noted
        });
    }

    /// The number of the hints that all members must have noted before such a lock is granted.
    fn needs(&self, name: &Name, mode: Mode) -> u64 {
        let watched = name.hint(mode).and_then(|hint| self.watched.get(&hint));
        watched.and_then(|watched| watched.told).unwrap_or(0)
    }

    /// Others must look out for such a lock.
    fn raise(&mut self, name: &Name, mode: Mode, out: &mut Letters) {
        let Some(hint) = name.hint(mode) else { return };
        let next = self.hints + 1;
        let watched = self.watched.entry(hint).or_default();
        watched.quiet = 0;
        if watched.told.is_none() {
            watched.told = Some(next);
            self.tell_hints(out);
        }
    }

    fn tell_hints(&mut self, out: &mut Letters) {
        self.hints += 1;
        let told = self.watched.iter().filter(|(_, watched)| watched.told.is_some());
        let mut some: Vec<Hint> = told.map(|(&hint, _)| hint).collect();
        let all = some.len() > MAX_HINTS;
        if all {
            some.clear();
        }
        let hints = Hints { all, some };
        out.extend(self.view.nodes().map(|node| (node, LetterBody::Hints(self.hints, hints.clone()))));
    }

    /// Ends hints about what has not been locked for a while.
    pub(super) fn tick(&mut self, out: &mut Letters) {
        let before = self.watched.len();
        self.watched.retain(|_, watched| {
            watched.quiet = if watched.locks == 0 { watched.quiet + 1 } else { 0 };
            watched.locks > 0 || watched.quiet < QUIET_TICKS
        });
        if self.watched.len() < before {
            self.tell_hints(out);
        }
    }

    fn list(&self, to: u8, question: u64, database: u32, out: &mut Letters) {
        let mut all = self.all(Some(database));
        while all.len() > PART {
            let rest = all.split_off(PART);
            out.push((to, LetterBody::All(question, std::mem::replace(&mut all, rest), false)));
        }
        out.push((to, LetterBody::All(question, all, true)));
    }

    /// All that is locked and waited for, in order.
    pub(super) fn all(&self, database: Option<u32>) -> Vec<Listed> {
        let of = self.entries.iter().filter(|(name, _)| database.is_none_or(|of| name.database() == of));
        let mut all: Vec<Listed> = of
            .flat_map(|(name, entry)| {
                let listed = |(holder, mode, granted)| Listed { name: name.clone(), holder, mode, granted };
                entry.all().map(listed)
            })
            .collect();
        all.sort_unstable();
        all
    }
}
