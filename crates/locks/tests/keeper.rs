//! The keeper's protocol in random orders: letters that overtake each other and come twice, members that fail, are cut
//! off, join, and learn of views at different times; sessions that ask, wait, stop and end. Each rule is needed: with
//! one switched off, something is found.

use scaledb_locks::Mode;
use scaledb_locks::keeper::{
    Hint, Holder, Letter, LetterBody, LockMember, LockView, MAX_SESSIONS, MAX_WEIGHT, Name, Out, Rule, Rules,
    Told, Wanted,
};
use std::collections::{BTreeMap, VecDeque};

const NODES: u8 = 3;
const SESSIONS: u32 = 2;
const STEPS: u32 = 250;
/// Seeds for all rules, and the most that it may take to miss one.
const SEEDS: u64 = 10_000;
const FINDS: u64 = 60_000;

/// All rules but one.
#[derive(Clone, Copy)]
struct Without(Option<Rule>);

impl Rules for Without {
    fn on(self, rule: Rule) -> bool {
        self.0 != Some(rule)
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(most.max(1))) as u32
    }

    fn one_in(&mut self, most: u32) -> bool {
        self.below(most) == 0
    }
}

/// A session as its client sees it.
#[derive(Default)]
struct Client {
    /// Its transaction's locks, and the view that they are of.
    transaction: Vec<(Name, Mode)>,
    locked_in: u64,
    kept: Vec<(Name, Mode)>,
    open: Option<(u64, Wanted)>,
}

struct Node {
    member: LockMember<Without>,
    clients: BTreeMap<u32, Client>,
    next: u32,
}

struct World {
    rules: Without,
    random: Random,
    newest: LockView,
    nodes: BTreeMap<u8, Node>,
    links: BTreeMap<(u8, u8), VecDeque<Letter>>,
    /// What cannot be.
    wrong: Option<String>,
}

fn names() -> [(Name, [Mode; 3]); 4] {
    let row = |key: &[u8]| Name::Row(1, 7, key.into());
    let rows = [Mode::RowShare, Mode::Exclusive, Mode::AccessExclusive];
    [
        (row(b"a"), rows),
        (row(b"b"), rows),
        (Name::Advisory(1, 5, false), [Mode::Share, Mode::Exclusive, Mode::Exclusive]),
        (Name::Table(1, 8), [Mode::RowExclusive, Mode::Share, Mode::AccessExclusive]),
    ]
}

impl World {
    fn new(seed: u64, rules: Without) -> Self {
        let newest = LockView { number: 1, members: (1 << NODES) - 1, keeper: 0 };
        let mut world = Self {
            rules,
            random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1),
            newest,
            nodes: BTreeMap::new(),
            links: BTreeMap::new(),
            wrong: None,
        };
        for node in 0..NODES {
            world.start(node);
        }
        world
    }

    fn start(&mut self, node: u8) {
        let member = LockMember::new(self.rules, node);
        let clients = (0..SESSIONS).map(|session| (session, Client::default())).collect();
        self.nodes.insert(node, Node { member, clients, next: SESSIONS });
        self.with(node, |node, newest, out| node.member.begin_view(newest, out));
    }

    /// Makes a call at a node, and does what it has put out.
    fn with(&mut self, at: u8, call: impl FnOnce(&mut Node, LockView, &mut Out)) {
        let Some(node) = self.nodes.get_mut(&at) else { return };
        let mut out = Out::default();
        call(node, self.newest, &mut out);
        for (to, letter) in out.letters {
            self.links.entry((at, to)).or_default().push_back(letter);
        }
        for (session, question, told) in out.told {
            self.told(at, session, question, told);
        }
    }

    fn told(&mut self, at: u8, session: u32, question: u64, told: Told) {
        let Some(node) = self.nodes.get_mut(&at) else { return };
        let view = node.member.view();
        let Some(client) = node.clients.get_mut(&session) else { return };
        let Some((open, wanted)) = client.open.take() else {
            self.wrong = Some(format!("an answer to no question: {told:?}"));
            return;
        };
        if open != question {
            self.wrong = Some(format!("an answer to question {question}, the open one is {open}"));
        }
        if let Told::Granted(count, of) = told {
            if of != view {
                self.wrong = Some(format!("a grant of view {of} in view {view}"));
            }
            let granted = wanted.names.into_iter().take(count as usize).map(|name| (name, wanted.mode));
            if wanted.keeps {
                client.kept.extend(granted);
            } else if count > 0 {
                client.locked_in = of;
                client.transaction.extend(granted.clone());
                if !wanted.quiet && granted.clone().any(|(name, _)| matches!(name, Name::Row(..))) {
                    self.all_look_out(of);
                }
            }
        }
    }

    /// Members that are in the view look out for rows of the table.
    fn all_look_out(&mut self, view: u64) {
        for (number, node) in &self.nodes {
            if node.member.view() == view && !node.member.hints().has(Hint::Rows(1, 7)) {
                self.wrong = Some(format!("node {number} does not know that rows are locked"));
            }
        }
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0 => self.change_members(),
            1..=4 => {
                let at = self.random.below(u32::from(NODES)) as u8;
                self.with(at, |node, newest, out| {
                    if newest.has(at) {
                        node.member.begin_view(newest, out);
                    }
                });
            }
            5..=6 => {
                let at = self.random.below(u32::from(NODES)) as u8;
                self.with(at, |node, _, out| node.member.tick(out));
            }
            7..=60 => self.arrive(),
            _ => self.session_does(),
        }
    }

    /// A member fails, or is cut off without knowing; one that was comes back with nothing.
    fn change_members(&mut self) {
        let node = self.random.below(u32::from(NODES)) as u8;
        let (is_member, left) = (self.newest.has(node), self.newest.members & !(1 << node));
        if is_member && left != 0 {
            self.newest = LockView {
                number: self.newest.number + 1,
                members: left,
                keeper: if self.newest.keeper == node {
                    left.trailing_zeros() as u8
                } else {
                    self.newest.keeper
                },
            };
            if self.random.one_in(2) {
                self.fail(node);
            }
        } else if !is_member {
            self.fail(node);
            let members = self.newest.members | 1 << node;
            self.newest = LockView { number: self.newest.number + 1, members, ..self.newest };
            self.start(node);
        }
    }

    /// What it has sent may arrive still.
    fn fail(&mut self, node: u8) {
        self.nodes.remove(&node);
        self.links.retain(|(_, to), _| *to != node);
    }

    /// A letter arrives: not always the first, and perhaps again.
    fn arrive(&mut self) {
        let links: Vec<(u8, u8)> =
            self.links.iter().filter(|(_, letters)| !letters.is_empty()).map(|(link, _)| *link).collect();
        if links.is_empty() {
            return;
        }
        let link = links[self.random.below(links.len() as u32) as usize];
        let (second, again) = (self.random.one_in(10), self.random.one_in(10));
        let Some(letters) = self.links.get_mut(&link) else { return };
        let at = usize::from(second && letters.len() > 1);
        let letter = if again { letters.get(at).cloned() } else { letters.remove(at) };
        if let Some(letter) = letter {
            self.with(link.1, |node, _, out| node.member.receive(link.0, letter, out));
        }
    }

    fn session_does(&mut self) {
        let at = self.random.below(u32::from(NODES)) as u8;
        let Some(node) = self.nodes.get(&at) else { return };
        let nth = self.random.below(node.clients.len() as u32) as usize;
        let Some(&session) = node.clients.keys().nth(nth) else { return };
        let choice = self.random.below(12);
        if node.clients[&session].open.is_some() {
            if choice < 2 {
                self.stop(at, session);
            }
            return;
        }
        match choice {
            0..=1 => self.end_transaction(at, session),
            2 => self.release_some(at, session),
            3..=4 => self.give_back(at, session),
            5 if self.random.one_in(3) => {
                self.end_session(at, session);
                if let Some(node) = self.nodes.get_mut(&at) {
                    node.clients.insert(node.next, Client::default());
                    node.next += 1;
                }
            }
            _ => self.ask(at, session),
        }
    }

    fn ask(&mut self, at: u8, session: u32) {
        let (which, how) = (self.random.below(4) as usize, self.random.below(3) as usize);
        let (name, modes) = names()[which].clone();
        let mut wanted = Wanted {
            names: vec![name.clone()],
            mode: modes[how],
            keeps: matches!(name, Name::Advisory(..)) && self.random.one_in(2),
            quiet: self.random.one_in(4),
            waits: self.random.one_in(2),
        };
        if matches!(name, Name::Row(..)) && !wanted.waits && self.random.one_in(2) {
            wanted.names = vec![names()[0].0.clone(), names()[1].0.clone()];
        }
        self.with(at, |node, _, out| {
            let view = node.member.view();
            let Some(client) = node.clients.get_mut(&session) else { return };
            // with locks that are gone it can only end
            if !client.transaction.is_empty() && client.locked_in != view {
                return;
            }
            let question = node.member.ask(session, wanted.clone(), out);
            client.open = Some((question, wanted));
        });
    }

    fn stop(&mut self, at: u8, session: u32) {
        self.with(at, |node, _, out| {
            let Some(client) = node.clients.get_mut(&session) else { return };
            if let Some((question, _)) = client.open.take() {
                node.member.stop(session, question, out);
            }
        });
    }

    fn end_transaction(&mut self, at: u8, session: u32) {
        self.release_to(at, session, 0);
    }

    fn release_some(&mut self, at: u8, session: u32) {
        let count = self.random.below(2) as usize;
        self.release_to(at, session, count);
    }

    fn release_to(&mut self, at: u8, session: u32, count: usize) {
        self.with(at, |node, _, out| {
            let Some(client) = node.clients.get_mut(&session) else { return };
            if client.transaction.len() > count {
                client.transaction.truncate(count);
                node.member.release_to(session, client.locked_in, count as u32, out);
            }
        });
    }

    fn give_back(&mut self, at: u8, session: u32) {
        self.with(at, |node, _, out| {
            let Some((name, mode)) = node.clients.get_mut(&session).and_then(|client| client.kept.pop())
            else {
                return;
            };
            assert!(node.member.give_back(session, &name, mode, out), "it is kept");
        });
    }

    fn end_session(&mut self, at: u8, session: u32) {
        self.with(at, |node, _, out| {
            node.clients.remove(&session);
            node.member.end_session(session, out);
        });
    }

    /// What sessions of members believe to have, and may act upon.
    fn held(&self) -> Vec<(Name, Holder, Mode)> {
        let mut held = Vec::new();
        for (&number, node) in self.nodes.iter().filter(|(node, _)| self.newest.has(**node)) {
            for (&session, client) in &node.clients {
                let holder = Holder { node: number, session };
                let counts = node.member.may_commit(client.locked_in);
                let transaction = client.transaction.iter().filter(|_| counts);
                held.extend(
                    transaction.chain(&client.kept).map(|(name, mode)| (name.clone(), holder, *mode)),
                );
            }
        }
        held.sort_unstable();
        held
    }

    /// No two sessions have what excludes the other.
    fn check(&self) -> Result<(), String> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        let held = self.held();
        for (at, (name, holder, mode)) in held.iter().enumerate() {
            for (other_name, other, other_mode) in &held[at + 1..] {
                if name == other_name && holder != other && mode.excludes(*other_mode) {
                    return Err(format!("{holder:?} has {name:?} as {mode:?}, {other:?} as {other_mode:?}"));
                }
            }
        }
        Ok(())
    }

    /// All that is on its way arrives, and all members are in the newest view.
    fn settle(&mut self) -> Result<(), String> {
        for node in 0..NODES {
            if !self.newest.has(node) {
                self.fail(node);
            }
            self.with(node, |node, newest, out| node.member.begin_view(newest, out));
        }
        while let Some(link) =
            self.links.iter().find(|(_, letters)| !letters.is_empty()).map(|(link, _)| *link)
        {
            let letter = self.links.get_mut(&link).and_then(VecDeque::pop_front);
            if let Some(letter) = letter {
                self.with(link.1, |node, _, out| node.member.receive(link.0, letter, out));
            }
            self.check()?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), String> {
        for _ in 0..STEPS {
            self.step();
            self.check()?;
        }
        self.settle()?;
        let Some(keeper) = self.nodes.get(&self.newest.keeper) else { return Err("no keeper".to_owned()) };
        let granted = keeper.member.all(None).into_iter().filter(|listed| listed.granted);
        let mut known: Vec<_> = granted.map(|listed| (listed.name, listed.holder, listed.mode)).collect();
        let (mut held, lost) = (self.held(), self.rules.0 == Some(Rule::LostDoNotCommit));
        held.dedup();
        known.dedup();
        if known != held && !lost {
            return Err(format!("the keeper knows {known:?}, the sessions have {held:?}"));
        }
        // all end what they do, as long as they do not wait
        for _ in 0..20 {
            let sessions: Vec<(u8, u32)> = self
                .nodes
                .iter()
                .flat_map(|(&node, of)| of.clients.keys().map(move |&session| (node, session)))
                .collect();
            for (node, session) in sessions {
                let is_waiting = |world: &Self| {
                    let client = world.nodes.get(&node).and_then(|node| node.clients.get(&session));
                    client.is_some_and(|client| client.open.is_some())
                };
                if !is_waiting(self) {
                    self.end_transaction(node, session);
                    while self.nodes[&node].clients[&session].kept.len() > 1 {
                        self.give_back(node, session);
                    }
                    self.end_session(node, session);
                }
            }
            self.settle()?;
        }
        let waiting =
            self.nodes.values().flat_map(|node| node.clients.values()).any(|client| client.open.is_some());
        if waiting {
            return Err("a session waits for nobody".to_owned());
        }
        let keeper = &self.nodes[&self.newest.keeper].member;
        if !keeper.is_empty() {
            return Err(format!("the keeper has locks of nobody: {:?}", keeper.all(None)));
        }
        Ok(())
    }
}

#[test]
fn no_order_of_letters_views_and_failures_breaks_a_lock() {
    for seed in 0..SEEDS {
        let done = World::new(seed, Without(None)).run();
        assert_eq!(done, Ok(()), "seed {seed}");
    }
}

#[test]
fn every_rule_is_needed() {
    for rule in Rule::ALL {
        let found = (0..FINDS)
            .find_map(|seed| World::new(seed, Without(Some(rule))).run().err().map(|what| (seed, what)));
        let (seed, what) = found.unwrap_or_else(|| panic!("nothing is wrong without {rule:?}"));
        println!("without {rule:?}, seed {seed}: {what}");
    }
}

/// A keeper with two other members, of which one sends what it likes.
fn beset() -> (LockMember<Without>, u64) {
    let mut keeper = LockMember::new(Without(None), 0);
    let mut out = Out::default();
    keeper.begin_view(LockView { number: 1, members: 0b111, keeper: 0 }, &mut out);
    for node in [1, 2] {
        let letter = Letter { view: 1, number: 0, body: LetterBody::Keeps(Vec::new(), true) };
        keeper.receive(node, letter, &mut out);
    }
    (keeper, 1)
}

fn wanted(names: Vec<Name>, waits: bool) -> Wanted {
    Wanted { names, mode: Mode::Exclusive, keeps: false, quiet: false, waits }
}

/// What a peer sends is not believed, and has its limits.
#[test]
fn a_peer_that_sends_anything_gets_no_more_than_its_share() {
    let mut random = Random(7);
    for round in 0..300 {
        let (mut keeper, mut number) = beset();
        for _ in 0..200 {
            let mut any = |most| random.below(most);
            let (session, question, count) = (any(3), u64::from(any(9)), any(4));
            let name = names()[any(4) as usize].0.clone();
            let mode = Mode::ALL[any(8) as usize];
            let body = match any(14) {
                0 => LetterBody::Keeps(vec![(session, name, mode)], true),
                1 => LetterBody::Stop(session, question),
                2 => LetterBody::GiveBack(session, name, mode),
                3 => LetterBody::ReleaseTo(session, count),
                4 => LetterBody::Ended(session),
                5 => LetterBody::List(question, 1),
                6 => LetterBody::Noted(u64::MAX),
                7 => LetterBody::Granted(session, question, count),
                8 => LetterBody::Deadlock(session, question, Vec::new()),
                9 => LetterBody::Ask(session, question, wanted(vec![name; 1000], false)),
                10 => LetterBody::Ask(
                    session,
                    question,
                    wanted(vec![Name::Row(1, 7, vec![0; 1 << 14].into())], true),
                ),
                11 => LetterBody::Ask(session, question, wanted(Vec::new(), true)),
                _ => LetterBody::Ask(session, question, Wanted { mode, ..wanted(vec![name], count == 0) }),
            };
            let mut out = Out::default();
            keeper.receive(2, Letter { view: 1, number, body }, &mut out);
            number += 1;
            assert!(out.told.is_empty(), "no session of the keeper has asked");
        }
        for session in 0..3 {
            let mut out = Out::default();
            keeper.receive(2, Letter { view: 1, number, body: LetterBody::Ended(session) }, &mut out);
            number += 1;
        }
        assert!(keeper.is_empty(), "round {round}: {:?}", keeper.all(None));
    }
}

#[test]
fn a_node_has_so_many_sessions_and_so_many_bytes_of_locks() {
    let (mut keeper, mut number) = beset();
    let mut ask = |keeper: &mut LockMember<Without>, session: u32, name: Name| {
        let mut out = Out::default();
        let body = LetterBody::Ask(session, 1, Wanted { quiet: true, ..wanted(vec![name], false) });
        keeper.receive(2, Letter { view: 1, number, body }, &mut out);
        number += 1;
        let full = LetterBody::Full(session, 1);
        out.letters.iter().any(|(to, letter)| *to == 2 && letter.body == full)
    };
    for session in 0..MAX_SESSIONS as u32 {
        assert!(!ask(&mut keeper, session, Name::Advisory(1, session.into(), false)), "{session}");
    }
    assert!(ask(&mut keeper, u32::MAX, Name::Advisory(1, u64::MAX, false)), "one session too many");
    // others have room
    let mut out = Out::default();
    keeper.ask(1, wanted(vec![Name::Advisory(1, u64::MAX, false)], false), &mut out);
    assert!(matches!(out.told[..], [(1, _, Told::Granted(1, 1))]), "{:?}", out.told);
    let (mut keeper, mut number) = beset();
    let mut taken = 0;
    loop {
        let mut out = Out::default();
        let row = |nth: u32| {
            Name::Row(1, 7, [vec![0; 4_000], (taken + nth).to_be_bytes().to_vec()].concat().into())
        };
        let asked = Wanted { quiet: true, ..wanted((0..100).map(row).collect(), false) };
        keeper.receive(2, Letter { view: 1, number, body: LetterBody::Ask(1, number, asked) }, &mut out);
        number += 1;
        match out.letters.iter().find(|(to, _)| *to == 2).map(|(_, letter)| &letter.body) {
            Some(LetterBody::Granted(1, _, 100)) => taken += 100,
            Some(LetterBody::Full(..)) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!((20_000..MAX_WEIGHT as u32 / 8_000).contains(&taken), "{taken}");
}
