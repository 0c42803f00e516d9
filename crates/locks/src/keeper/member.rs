//! A member's side: what its sessions ask for and keep, and, if it is the keeper, the table.

use super::book::{Book, Letters};
use super::rules::{Rule, Rules};
use super::{Hints, Holder, Letter, LetterBody, Listed, LockView, MAX_EARLY, Name, Step};
use crate::Mode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Locks that one letter says are kept.
const PART: usize = 256;

/// What a session asks for: the first of these locks that can be had at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wanted {
    /// The locks, in order.
    pub names: Vec<Name>,
    /// How.
    pub mode: Mode,
    /// For the session; else for its transaction.
    pub keeps: bool,
    /// Others need not look out for it.
    pub quiet: bool,
    /// For the first one that cannot be had it waits.
    pub waits: bool,
}

/// What a session is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// So many of the locks are its own, in this view.
    Granted(u32, u64),
    /// It would wait for itself.
    Deadlock(Vec<Step>),
    /// Its node has too many locks.
    Full,
    /// The view has changed: it has got nothing.
    Lost,
}

/// What a call puts out.
#[derive(Default, Debug)]
pub struct Out {
    /// To other members.
    pub letters: Vec<(u8, Letter)>,
    /// To sessions, about a question.
    pub told: Vec<(u32, u64, Told)>,
    /// To whoever has asked what is locked: a part, and whether that is all. None: the view has changed.
    pub listed: Vec<(u64, Option<Vec<Listed>>, bool)>,
    /// The hints have changed.
    pub hints: bool,
}

/// A session of this member.
#[derive(Default)]
struct Asking {
    /// What it keeps.
    kept: Vec<(Name, Mode)>,
    /// Its question that has no answer yet, and what it is about.
    open: Option<(u64, Wanted)>,
}

/// Letters of another member.
#[derive(Default)]
struct Inbox {
    /// The number of the next one.
    next: u64,
    /// Those that have come before it.
    early: BTreeMap<u64, LetterBody>,
}

/// A member: its sessions, and the table if it is the keeper.
pub struct LockMember<R> {
    rules: R,
    me: u8,
    view: Option<LockView>,
    book: Option<Book>,
    sessions: BTreeMap<u32, Asking>,
    /// The number of the last question.
    questions: u64,
    /// Questions about what is locked.
    lists: Vec<u64>,
    sent: BTreeMap<u8, u64>,
    inboxes: BTreeMap<u8, Inbox>,
    /// Letters of a view that this member is not in yet.
    later: Vec<(u8, Letter)>,
    hints: Hints,
}

impl<R: Rules> LockMember<R> {
    /// A member that is in no view.
    pub fn new(rules: R, me: u8) -> Self {
        Self {
            rules,
            me,
            view: None,
            book: None,
            sessions: BTreeMap::new(),
            questions: 0,
            lists: Vec::new(),
            sent: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            later: Vec::new(),
            hints: Hints::default(),
        }
    }

    /// The number of its view; 0 if it is in none.
    pub fn view(&self) -> u64 {
        self.view.map_or(0, |view| view.number)
    }

    /// Whether it has the table.
    pub fn is_keeper(&self) -> bool {
        self.book.is_some()
    }

    /// The hints that are in force.
    pub fn hints(&self) -> &Hints {
        &self.hints
    }

    /// Whether a transaction with locks of a view may commit.
    pub fn may_commit(&self, locked_in: u64) -> bool {
        self.view() == locked_in || !self.rules.on(Rule::LostDoNotCommit)
    }

    /// What a session keeps.
    pub fn kept(&self, session: u32) -> &[(Name, Mode)] {
        self.sessions.get(&session).map_or(&[], |asking| &asking.kept)
    }

    /// All that is known here: at the keeper of all members, else of its own sessions what they keep and wait for.
    pub fn all(&self, database: Option<u32>) -> Vec<Listed> {
        if let Some(book) = &self.book {
            return book.all(database);
        }
        let of = |name: &Name| database.is_none_or(|of| name.database() == of);
        let mut all = Vec::new();
        for (&session, asking) in &self.sessions {
            let holder = Holder { node: self.me, session };
            let listed = |name: &Name, mode, granted| Listed { name: name.clone(), holder, mode, granted };
            let kept = asking.kept.iter().filter(|(name, _)| of(name));
            all.extend(kept.map(|(name, mode)| listed(name, *mode, true)));
            if let Some((_, wanted)) = asking.open.as_ref().filter(|(_, wanted)| wanted.waits) {
                let waits = wanted.names.iter().filter(|name| of(name));
                all.extend(waits.map(|name| listed(name, wanted.mode, false)));
            }
        }
        all.sort_unstable();
        all
    }

    /// Whether the table is empty, or elsewhere.
    pub fn is_empty(&self) -> bool {
        self.book.as_ref().is_none_or(Book::is_empty)
    }

    /// The member is in a new view.
    pub fn begin_view(&mut self, view: LockView, out: &mut Out) {
        if view.number <= self.view() {
            return;
        }
        let is_member = view.has(self.me);
        self.view = is_member.then_some(view);
        self.sent.clear();
        self.inboxes.clear();
        out.hints |= self.hints != Hints::default();
        self.hints = Hints::default();
        for (&session, asking) in &mut self.sessions {
            if self.rules.on(Rule::TellWaiters)
                && let Some((question, _)) = asking.open.take()
            {
                out.told.push((session, question, Told::Lost));
            }
        }
        out.listed.extend(self.lists.drain(..).map(|question| (question, None, true)));
        self.book = match self.book.take() {
            _ if !is_member || view.keeper != self.me => None,
            Some(mut book) if !self.rules.on(Rule::BeginAnew) => {
                book.go_on_in(view);
                Some(book)
            }
            _ => Some(Book::new(view)),
        };
        self.say_what_is_kept(out);
        for (from, letter) in std::mem::take(&mut self.later) {
            self.receive(from, letter, out);
        }
    }

    fn say_what_is_kept(&mut self, out: &mut Out) {
        let mut all: Vec<(u32, Name, Mode)> = Vec::new();
        if self.rules.on(Rule::SayWhatIsKept) {
            for (&session, asking) in &self.sessions {
                all.extend(asking.kept.iter().map(|(name, mode)| (session, name.clone(), *mode)));
            }
        }
        while all.len() > PART {
            let rest = all.split_off(PART);
            self.tell_keeper(LetterBody::Keeps(std::mem::replace(&mut all, rest), false), out);
        }
        self.tell_keeper(LetterBody::Keeps(all, true), out);
    }

    /// A letter of another member.
    pub fn receive(&mut self, from: u8, letter: Letter, out: &mut Out) {
        let Some(view) = self.view.filter(|view| view.has(from) || !self.rules.on(Rule::OnlyThisView)) else {
            return self.keep_for_later(from, letter);
        };
        if letter.view != view.number && self.rules.on(Rule::OnlyThisView) {
            return self.keep_for_later(from, letter);
        }
        if !self.rules.on(Rule::InOrder) {
            return self.take(from, letter.body, out);
        }
        let inbox = self.inboxes.entry(from).or_default();
        if letter.number > inbox.next {
            if inbox.early.len() < MAX_EARLY {
                inbox.early.insert(letter.number, letter.body);
            }
            return;
        }
        if letter.number < inbox.next {
            return;
        }
        inbox.next += 1;
        self.take(from, letter.body, out);
        while let Some(inbox) = self.inboxes.get_mut(&from)
            && let Some(body) = inbox.early.remove(&inbox.next)
        {
            inbox.next += 1;
            self.take(from, body, out);
        }
    }

    /// Of a later view it counts then; of an earlier one it does not.
    fn keep_for_later(&mut self, from: u8, letter: Letter) {
        if letter.view > self.view() && self.later.len() < MAX_EARLY {
            self.later.push((from, letter));
        }
    }

    fn take(&mut self, from: u8, body: LetterBody, out: &mut Out) {
        let from_keeper = self.view.is_some_and(|view| view.keeper == from);
        match body {
            LetterBody::Granted(..)
            | LetterBody::Deadlock(..)
            | LetterBody::Full(..)
            | LetterBody::All(..)
            | LetterBody::Hints(..) => {
                if from_keeper || !self.rules.on(Rule::OnlyThisView) {
                    self.answered(body, out);
                }
            }
            body => {
                let mut letters = Letters::new();
                if let Some(book) = &mut self.book {
                    book.take(from, body, self.rules, &mut letters);
                }
                self.deliver(letters, out);
            }
        }
    }

    /// What the keeper says to this member.
    fn answered(&mut self, body: LetterBody, out: &mut Out) {
        match body {
            LetterBody::Granted(session, question, count) => {
                let view = self.view();
                if let Some(wanted) = self.close(session, question) {
                    let count = count.min(wanted.names.len() as u32);
                    if wanted.keeps
                        && let Some(asking) = self.sessions.get_mut(&session)
                    {
                        let names = wanted.names.into_iter().take(count as usize);
                        asking.kept.extend(names.map(|name| (name, wanted.mode)));
                    }
                    out.told.push((session, question, Told::Granted(count, view)));
                }
            }
            LetterBody::Deadlock(session, question, steps) => {
                let told = self.close(session, question).map(|_| (session, question, Told::Deadlock(steps)));
                out.told.extend(told);
            }
            LetterBody::Full(session, question) => {
                out.told.extend(self.close(session, question).map(|_| (session, question, Told::Full)));
            }
            LetterBody::All(question, part, all) if self.lists.contains(&question) => {
                self.lists.retain(|&open| open != question || !all);
                out.listed.push((question, Some(part), all));
            }
            LetterBody::Hints(number, hints) => {
                out.hints |= self.hints != hints;
                self.hints = hints;
                self.tell_keeper(LetterBody::Noted(number), out);
            }
            _ => {}
        }
    }

    /// What a session's open question is about, which has its answer by now.
    fn close(&mut self, session: u32, question: u64) -> Option<Wanted> {
        let asking = self.sessions.get_mut(&session)?;
        let counts = !self.rules.on(Rule::OnlyWhatWasAsked);
        let (_, wanted) = asking.open.take_if(|(open, _)| *open == question || counts)?;
        Some(wanted)
    }

    /// Sends to the keeper, or tells this member's own table.
    fn tell_keeper(&mut self, body: LetterBody, out: &mut Out) {
        let Some(view) = self.view else { return };
        match &mut self.book {
            Some(book) => {
                let mut letters = Letters::new();
                book.take(self.me, body, self.rules, &mut letters);
                self.deliver(letters, out);
            }
            None => self.send(view, view.keeper, body, out),
        }
    }

    /// Sends what the table says.
    fn deliver(&mut self, letters: Letters, out: &mut Out) {
        let Some(view) = self.view else { return };
        // first: what this member answers to its own table comes behind it
        let (own, others): (Letters, Letters) = letters.into_iter().partition(|(to, _)| *to == self.me);
        others.into_iter().for_each(|(to, body)| self.send(view, to, body, out));
        own.into_iter().for_each(|(_, body)| self.answered(body, out));
    }

    fn send(&mut self, view: LockView, to: u8, body: LetterBody, out: &mut Out) {
        let sent = self.sent.entry(to).or_default();
        let number = *sent;
        *sent += 1;
        out.letters.push((to, Letter { view: view.number, number, body }));
    }

    /// A session asks for locks; it has no other question open. The number of the question, by which it is told.
    pub fn ask(&mut self, session: u32, wanted: Wanted, out: &mut Out) -> u64 {
        self.questions += 1;
        let question = self.questions;
        if self.view.is_none() {
            out.told.push((session, question, Told::Lost));
            return question;
        }
        self.sessions.entry(session).or_default().open = Some((question, wanted.clone()));
        self.tell_keeper(LetterBody::Ask(session, question, wanted), out);
        question
    }

    /// A session does not wait for the answer any more, and gets nothing by that question.
    pub fn stop(&mut self, session: u32, question: u64, out: &mut Out) {
        let Some(asking) = self.sessions.get_mut(&session) else { return };
        if asking.open.take_if(|(open, _)| *open == question).is_some() {
            self.tell_keeper(LetterBody::Stop(session, question), out);
        }
    }

    /// A session releases the locks of its transaction but the first so many, which were granted in a view.
    pub fn release_to(&mut self, session: u32, locked_in: u64, count: u32, out: &mut Out) {
        // those of an earlier view are gone
        if locked_in == self.view() {
            self.tell_keeper(LetterBody::ReleaseTo(session, count), out);
        }
    }

    /// A session gives back, once, what it keeps. False if it keeps no such lock.
    pub fn give_back(&mut self, session: u32, name: &Name, mode: Mode, out: &mut Out) -> bool {
        let Some(asking) = self.sessions.get_mut(&session) else { return false };
        let Some(at) = asking.kept.iter().rposition(|(own, held)| own == name && *held == mode) else {
            return false;
        };
        let (name, mode) = asking.kept.remove(at);
        self.tell_keeper(LetterBody::GiveBack(session, name, mode), out);
        true
    }

    /// A session has ended.
    pub fn end_session(&mut self, session: u32, out: &mut Out) {
        // without having asked for anything it has nothing anywhere
        if self.sessions.remove(&session).is_some() {
            self.tell_keeper(LetterBody::Ended(session), out);
        }
    }

    /// The number that the next question will have.
    pub fn next_question(&self) -> u64 {
        self.questions + 1
    }

    /// Asks the keeper what is locked in a database. The number of the question.
    pub fn list(&mut self, database: u32, out: &mut Out) -> u64 {
        self.questions += 1;
        let question = self.questions;
        if self.view.is_none() {
            out.listed.push((question, None, true));
            return question;
        }
        self.lists.push(question);
        self.tell_keeper(LetterBody::List(question, database), out);
        question
    }

    /// Nobody waits for the answer any more.
    pub fn forget_list(&mut self, question: u64) {
        self.lists.retain(|&open| open != question);
    }

    /// Some time has passed.
    pub fn tick(&mut self, out: &mut Out) {
        let mut letters = Letters::new();
        if let Some(book) = &mut self.book {
            book.tick(&mut letters);
        }
        self.deliver(letters, out);
    }
}
