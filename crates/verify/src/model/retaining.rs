//! A model of when commits keep rows for snapshots, on cores whose clocks differ: `boundary.rs`, `retain.rs` and
//! `snapshot.rs` of the engine, step by step. The model of the protocol has snapshots that never end, one clock, and
//! commits that always keep what a snapshot may need; here is one record, and everything else that it leaves out.
//!
//! ```text
//!   commit     pin; does it retain?; lock; timestamp; announced?; keep the old version, install; merge; unpin
//!   clean      ask for a boundary; raise the floor; floor, then snapshots in use; free what all of them read behind
//!   snapshot   announce the floor; ON?; the floor again; or a boundary, which the clock and all pins pass first
//!   retain     OFF -> CLOSING; wait for the pins from before; since = a boundary from now on; ON
//!   stop       ON -> CLOSING; is a snapshot in use?; ON or OFF
//!   time       one tick, for all cores
//! ```
//!
//! **What is checked** in every interleaving: a snapshot at b finds the newest version from before b, neither freed nor
//! overtaken by a commit that installs later; one that waits for the present time sees all that was committed before,
//! if clocks do not differ.
//!
//! **What is abstracted.** That the last snapshot has ended a while ago is assumed whenever somebody stops retaining.
//! A commit is one of a single record, and retries nothing; what it writes is found by snapshots when it is merged, as
//! new keys are.

use super::cached::Cached;
use super::explorer::{Cx, Steps, Stop, System};
use super::history::{History, initial_rows};

type Taker<'a> = Cx<'a, Memory>;

/// Ticks.
type Ticks = u8;

/// A timestamp: ticks and the worker.
type Stamp = u16;

/// No pin, or no snapshot.
const NONE: Stamp = Stamp::MAX;

/// Cores' clocks differ by at most so many ticks.
const SKEW: Ticks = 1;

/// A boundary lies so far ahead.
const AHEAD: Ticks = 2;

fn start_of(ticks: Ticks) -> Stamp {
    Stamp::from(ticks) << 3
}

fn stamp(ticks: Ticks, worker: usize) -> Stamp {
    start_of(ticks) | worker as Stamp
}

fn ticks_of(stamp: Stamp) -> Ticks {
    (stamp >> 3) as Ticks
}

/// A rule of the engine, which a model can leave out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A boundary is confirmed only if the clock is still before it.
    Confirm,
    /// And by as much as clocks differ.
    ConfirmWithSkew,
    /// A commit looks for announced boundaries when it has its timestamp.
    AnnouncedBehindTimestamp,
    /// What was committed before a floor is installed: all pins have passed it.
    FloorWaitsForPins,
    /// The clock is read before the pins.
    ClockBeforePins,
    /// A boundary is passed when the clocks of all cores have passed it.
    PassWithSkew,
    /// Whether rows are retained is looked at behind the clock.
    OffBehindClock,
    /// A snapshot is announced before it takes its floor.
    AnnounceSnapshot,
    /// It looks at the floor again behind its announcement.
    FloorBehindAnnouncement,
    /// It looks whether rows are retained behind its announcement.
    OnBehindAnnouncement,
    /// It does not read from before rows were retained.
    FloorSince,
    /// Clean-up frees nothing that a snapshot in use needs.
    FreeBehindSnapshots,
    /// The floor is read before the snapshots in use.
    FloorBeforeSnapshots,
    /// Whoever begins to retain waits for the commits in flight, which do not.
    WaitForPins,
    /// And for those on cores whose clocks are ahead.
    WaitWithSkew,
    /// The first boundary is behind what other cores' clocks have read while nothing was retained.
    SinceWithSkew,
    /// Retaining ends only if no snapshot is in use.
    StopIfUnused,
    /// While that is looked at, no snapshot begins.
    StopByClosing,
    /// A snapshot that waits for the present time waits for its boundary.
    WaitForBoundary,
}

impl Rule {
    /// Those that no case here needs. The first two take more workers, and more states than are explored; the floors
    /// that the third is about lie behind all clocks, as [`Rule::PassWithSkew`] has it.
    pub const NOT_SHOWN: &[Rule] = &[Rule::OffBehindClock, Rule::FloorBeforeSnapshots, Rule::SinceWithSkew];

    /// All of them.
    #[rustfmt::skip]
    pub const ALL: &[Rule] = &[
        Rule::Confirm, Rule::ConfirmWithSkew, Rule::AnnouncedBehindTimestamp, Rule::FloorWaitsForPins,
        Rule::ClockBeforePins, Rule::PassWithSkew, Rule::OffBehindClock, Rule::AnnounceSnapshot, Rule::FloorBehindAnnouncement,
        Rule::OnBehindAnnouncement, Rule::FloorSince, Rule::FreeBehindSnapshots, Rule::FloorBeforeSnapshots,
        Rule::WaitForPins, Rule::WaitWithSkew, Rule::SinceWithSkew, Rule::StopIfUnused, Rule::StopByClosing, Rule::WaitForBoundary,
    ];
}

/// What a worker does, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Writes the record.
    Commit,
    /// Frees what nobody needs any more.
    Clean,
    /// Reads it at a boundary that need not be new.
    Snapshot,
    /// Reads it at a boundary from now on.
    Deferrable,
    /// Ends the retaining.
    Stop,
    /// Time passes.
    Tick,
}

/// Workers and what they do, and by how much their clocks are ahead.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// By worker: how far its clock is ahead, and its actions.
    pub workers: Vec<(Ticks, Vec<Act>)>,
    /// Whether rows are retained at first.
    pub on: bool,
    /// The rule that is left out.
    pub without: Option<Rule>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Retaining {
    Off,
    On,
    Closing,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Lane {
    pin: Stamp,
    snapshot: Stamp,
}

/// The shared memory of the model.
#[derive(Clone, Hash)]
pub struct Memory {
    time: Ticks,
    state: Retaining,
    gate: bool,
    announced: Stamp,
    confirmed: Stamp,
    floor: Stamp,
    next: Stamp,
    since: Stamp,
    lanes: Vec<Lane>,
    /// The record: who has locked it, and the timestamp of its version.
    locked: Option<usize>,
    current: Stamp,
    /// Older versions, and when they were superseded.
    kept: Vec<(Stamp, Stamp)>,
    /// Versions that snapshots cannot find yet: a key that is not merged.
    unmerged: Vec<Stamp>,
    /// All versions that there ever were.
    committed: Vec<Stamp>,
    /// The latest commit that has returned.
    returned: Stamp,
    /// What snapshots have read: their boundaries, and the versions.
    reads: Vec<(Stamp, Stamp)>,
    history: Cached<History>,
}

/// What whoever asks for a boundary finds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Asked {
    Confirmed(Stamp),
    Ask(Ticks),
}

impl Case {
    fn on(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn clock(&self, worker: usize, shared: &Memory) -> Ticks {
        shared.time + self.workers[worker].0
    }

    /// The lanes of those who do something of this. The others' are empty, and looking at them would multiply the
    /// states.
    fn lanes(&self, acts: &'static [Act]) -> impl Iterator<Item = usize> {
        let does = move |worker: &(Ticks, Vec<Act>)| worker.1.iter().any(|act| acts.contains(act));
        self.workers.iter().enumerate().filter(move |worker| does(worker.1)).map(|worker| worker.0)
    }

    /// By how much clocks may differ, where a rule allows for it.
    fn skew(&self, rule: Rule) -> Ticks {
        if self.on(rule) { SKEW } else { 0 }
    }

    fn now(&self, cx: &mut Taker<'_>, me: usize, name: &str) -> Steps<Ticks> {
        cx.step(name, |shared| self.clock(me, shared))
    }

    /// Announces a boundary ahead of `now`, and confirms it if the clock is still before it.
    fn ask(&self, cx: &mut Taker<'_>, me: usize, now: Ticks) -> Steps<()> {
        let ticks = cx.step("boundary: announced before", |shared| {
            let last = ticks_of(shared.announced);
            (last <= now).then_some((now + AHEAD).max(last + 1))
        })?;
        let Some(ticks) = ticks else { return Ok(()) };
        let boundary = start_of(ticks);
        cx.step("boundary: announce", |shared| shared.announced = shared.announced.max(boundary))?;
        let now = self.now(cx, me, "boundary: clock again")?;
        if now + self.skew(Rule::ConfirmWithSkew) < ticks || !self.on(Rule::Confirm) {
            cx.step("boundary: confirm", |shared| shared.confirmed = shared.confirmed.max(boundary))?;
        }
        Ok(())
    }

    /// A confirmed boundary at or after `least`.
    fn boundary(&self, cx: &mut Taker<'_>, me: usize, least: Stamp) -> Steps<Stamp> {
        loop {
            let asked = cx.wait("boundary: is there one?", |shared| {
                let now = self.clock(me, shared);
                if shared.confirmed >= least {
                    Some(Asked::Confirmed(shared.confirmed))
                } else {
                    (ticks_of(shared.announced) <= now).then_some(Asked::Ask(now))
                }
            })?;
            match asked {
                Asked::Confirmed(boundary) => return Ok(boundary),
                Asked::Ask(now) => self.ask(cx, me, now)?,
            }
        }
    }

    fn pins(&self, cx: &mut Taker<'_>) -> Steps<Stamp> {
        if !self.on(Rule::FloorWaitsForPins) {
            return Ok(NONE);
        }
        let mut least = NONE;
        for lane in self.lanes(&[Act::Commit]) {
            least = least.min(cx.step("floor: the pin of a lane", |shared| shared.lanes[lane].pin)?);
        }
        Ok(least)
    }

    /// Moves the floor up to what is reached.
    fn raise_floor(&self, cx: &mut Taker<'_>, me: usize) -> Steps<()> {
        let is_off = |shared: &mut Memory| shared.state == Retaining::Off;
        let early =
            if self.on(Rule::OffBehindClock) { None } else { Some(cx.step("(early) floor: off?", is_off)?) };
        let early_pins = if self.on(Rule::ClockBeforePins) { None } else { Some(self.pins(cx)?) };
        let now = self.now(cx, me, "floor: clock")?;
        let pins = match early_pins {
            Some(pins) => pins,
            None => self.pins(cx)?,
        };
        let passed = pins.min(start_of(now - self.skew(Rule::PassWithSkew)));
        let off = match early {
            Some(off) => off,
            None => cx.step("floor: off?", is_off)?,
        };
        if off {
            return cx.step("floor: what has passed", |shared| shared.floor = shared.floor.max(passed));
        }
        let next = cx.step("floor: the next boundary", |shared| shared.next)?;
        if next <= passed {
            cx.step("floor: raise", |shared| shared.floor = shared.floor.max(next))?;
            let confirmed = cx.step("floor: the last boundary", |shared| shared.confirmed)?;
            cx.step("floor: the next one", |shared| shared.next = shared.next.max(confirmed))?;
        }
        Ok(())
    }

    /// The boundary before which no snapshot reads, or will ever read.
    fn advance_floor(&self, cx: &mut Taker<'_>, me: usize) -> Steps<Stamp> {
        let asks = cx.step("clean: is the last boundary old?", |shared| {
            let now = self.clock(me, shared);
            (shared.state != Retaining::Off && ticks_of(shared.confirmed) < now).then_some(now)
        })?;
        if let Some(now) = asks {
            self.ask(cx, me, now)?;
        }
        self.raise_floor(cx, me)?;
        let late = !self.on(Rule::FloorBeforeSnapshots);
        let floor = if late { NONE } else { cx.step("clean: floor", |shared| shared.floor)? };
        let mut oldest = floor;
        if self.on(Rule::FreeBehindSnapshots) {
            for lane in self.lanes(&[Act::Snapshot, Act::Deferrable]) {
                oldest = oldest
                    .min(cx.step("clean: the snapshot of a lane", |shared| shared.lanes[lane].snapshot)?);
            }
        }
        if late {
            oldest = oldest.min(cx.step("(late) clean: floor", |shared| shared.floor)?);
        }
        Ok(oldest)
    }

    fn clean(&self, cx: &mut Taker<'_>, me: usize) -> Steps<()> {
        let oldest = self.advance_floor(cx, me)?;
        cx.step("clean: free", |shared| shared.kept.retain(|&(_, superseded)| superseded >= oldest))
    }

    fn commit(&self, cx: &mut Taker<'_>, me: usize) -> Steps<()> {
        let now = self.now(cx, me, "commit: clock")?;
        cx.step("commit: pin", |shared| shared.lanes[me].pin = start_of(now))?;
        let retain = cx.step("commit: are rows retained?", |shared| shared.state != Retaining::Off)?;
        let before = cx.wait("commit: lock", |shared| {
            shared.locked.is_none().then(|| {
                shared.locked = Some(me);
                shared.current
            })
        })?;
        let look = |shared: &mut Memory| shared.announced;
        let early = match self.on(Rule::AnnouncedBehindTimestamp) {
            true => None,
            false => Some(cx.step("(early) commit: announced", look)?),
        };
        let now = self.now(cx, me, "commit: timestamp")?;
        let ticks = now.max(ticks_of(before) + 1);
        let ts = stamp(ticks, me);
        if ticks > now {
            cx.wait("commit: the clock passes it", |shared| (self.clock(me, shared) > ticks).then_some(()))?;
        }
        let announced = match early {
            Some(announced) => announced,
            None => cx.step("commit: announced", look)?,
        };
        let overtaken = cx.step("commit: install", |shared| {
            if retain && before < announced {
                shared.kept.push((before, ts));
            }
            shared.current = ts;
            shared.unmerged.push(ts);
            shared.committed.push(ts);
            shared.locked = None;
            shared.reads.iter().copied().find(|&(boundary, seen)| ts < boundary && seen < ts)
        })?;
        if let Some((boundary, seen)) = overtaken {
            let what = format!("a snapshot at {boundary} has read {seen}, and then {ts} was committed");
            return Err(Stop::Bug(what));
        }
        cx.wait("commit: leave the tick", |shared| {
            (self.clock(me, shared) > ticks).then(|| shared.returned = shared.returned.max(ts))
        })?;
        cx.step("commit: merge", |shared| shared.unmerged.retain(|&other| other != ts))?;
        cx.step("commit: unpin", |shared| shared.lanes[me].pin = NONE)
    }

    /// Announces a snapshot, and finds its boundary; none if rows are not retained.
    fn try_begin(&self, cx: &mut Taker<'_>, me: usize, deferrable: bool, now: Ticks) -> Steps<Option<Stamp>> {
        let is_on = |shared: &mut Memory| shared.state == Retaining::On;
        let early = match self.on(Rule::OnBehindAnnouncement) {
            true => None,
            false => Some(cx.step("(early) snapshot: on?", is_on)?),
        };
        let announced = cx.step("snapshot: floor", |shared| shared.floor)?;
        if self.on(Rule::AnnounceSnapshot) {
            cx.step("snapshot: announce", |shared| shared.lanes[me].snapshot = announced)?;
        }
        let on = match early {
            Some(on) => on,
            None => cx.step("snapshot: on?", is_on)?,
        };
        if !on {
            cx.step("snapshot: not yet", |shared| shared.lanes[me].snapshot = NONE)?;
            return Ok(None);
        }
        let floor = match self.on(Rule::FloorBehindAnnouncement) {
            true => cx.step("snapshot: floor again", |shared| shared.floor)?,
            false => announced,
        };
        let since = match self.on(Rule::FloorSince) {
            true => cx.step("snapshot: since", |shared| shared.since)?,
            false => 0,
        };
        if !deferrable && floor >= since {
            if floor > announced {
                cx.step("snapshot: announce what it reads at", |shared| shared.lanes[me].snapshot = floor)?;
            }
            return Ok(Some(floor));
        }
        let boundary = self.boundary(cx, me, start_of(now).max(since))?;
        if self.on(Rule::WaitForBoundary) {
            cx.wait("snapshot: the clock has passed it", |shared| {
                let passed = self.clock(me, shared) - self.skew(Rule::PassWithSkew);
                (start_of(passed) >= boundary).then_some(())
            })?;
            cx.wait("snapshot: pins have passed it", |shared| {
                shared.lanes.iter().all(|lane| lane.pin >= boundary).then_some(())
            })?;
        }
        cx.step("snapshot: raise the floor", |shared| shared.floor = shared.floor.max(boundary))?;
        cx.step("snapshot: announce its boundary", |shared| shared.lanes[me].snapshot = boundary)?;
        Ok(Some(boundary))
    }

    /// Makes commits retain rows.
    fn start_retaining(&self, cx: &mut Taker<'_>, me: usize) -> Steps<()> {
        let on = cx.wait("retain: gate", |shared| {
            (!shared.gate).then(|| {
                shared.gate = shared.state != Retaining::On;
                !shared.gate
            })
        })?;
        if on {
            return Ok(());
        }
        cx.step("retain: since is unknown", |shared| shared.since = NONE)?;
        cx.step("retain: begin", |shared| shared.state = Retaining::Closing)?;
        let started = self.now(cx, me, "retain: clock")?;
        if self.on(Rule::WaitForPins) {
            let ahead = start_of(started + self.skew(Rule::WaitWithSkew));
            cx.wait("retain: pins from before are gone", |shared| {
                shared.lanes.iter().all(|lane| lane.pin > ahead).then_some(())
            })?;
        }
        let now = self.now(cx, me, "retain: clock, for the first boundary")?;
        let since = self.boundary(cx, me, start_of(now + self.skew(Rule::SinceWithSkew)))?;
        cx.step("retain: since", |shared| shared.since = since)?;
        cx.step("retain: on", |shared| {
            shared.state = Retaining::On;
            shared.gate = false;
        })
    }

    fn snapshot(&self, cx: &mut Taker<'_>, me: usize, deferrable: bool) -> Steps<()> {
        let (now, returned) =
            cx.step("snapshot: clock", |shared| (self.clock(me, shared), shared.returned))?;
        let boundary = loop {
            match self.try_begin(cx, me, deferrable, now)? {
                Some(boundary) => break boundary,
                None => self.start_retaining(cx, me)?,
            }
        };
        // where clocks differ, so may times and what happens at them
        let exact = self.workers.iter().all(|worker| worker.0 == 0);
        if deferrable && exact && boundary <= returned {
            return Err(Stop::Bug(format!(
                "a snapshot at {boundary} does not see {returned}, which was there"
            )));
        }
        let found = cx.wait("snapshot: read", |shared| {
            shared.locked.is_none().then(|| {
                let newest = |versions: &mut dyn Iterator<Item = Stamp>| {
                    versions.filter(|&version| version < boundary).max()
                };
                let found = shared.kept.iter().map(|kept| kept.0).chain([shared.current]);
                let found = newest(&mut found.filter(|version| !shared.unmerged.contains(version)));
                let right = found.filter(|_| found == newest(&mut shared.committed.iter().copied()));
                shared.reads.extend(right.map(|seen| (boundary, seen)));
                right
            })
        })?;
        if found.is_none() {
            return Err(Stop::Bug(format!("what a snapshot at {boundary} needs is gone")));
        }
        cx.step("snapshot: end", |shared| shared.lanes[me].snapshot = NONE)
    }

    fn stop(&self, cx: &mut Taker<'_>) -> Steps<()> {
        let on = cx.wait("stop: gate", |shared| {
            (!shared.gate).then(|| {
                shared.gate = shared.state == Retaining::On;
                shared.gate
            })
        })?;
        if !on {
            return Ok(());
        }
        if self.on(Rule::StopByClosing) {
            cx.step("stop: closing", |shared| shared.state = Retaining::Closing)?;
        }
        let mut used = false;
        if self.on(Rule::StopIfUnused) {
            for lane in self.lanes(&[Act::Snapshot, Act::Deferrable]) {
                used |=
                    cx.step("stop: the snapshot of a lane", |shared| shared.lanes[lane].snapshot != NONE)?;
            }
        }
        cx.step("stop: end", |shared| {
            shared.state = if used { Retaining::On } else { Retaining::Off };
            shared.gate = false;
        })
    }
}

impl System for Case {
    type Shared = Memory;

    fn initial(&self) -> Memory {
        let begin = start_of(1);
        Memory {
            time: 2,
            state: if self.on { Retaining::On } else { Retaining::Off },
            gate: false,
            announced: begin,
            confirmed: begin,
            floor: begin,
            next: begin,
            since: begin,
            lanes: vec![Lane { pin: NONE, snapshot: NONE }; self.workers.len()],
            locked: None,
            current: 0,
            kept: Vec::new(),
            unmerged: Vec::new(),
            committed: vec![0],
            returned: 0,
            reads: Vec::new(),
            history: Cached::new(History::new(initial_rows(&[]))),
        }
    }

    fn workers(&self) -> usize {
        self.workers.len()
    }

    fn actions(&self, worker: usize) -> usize {
        self.workers[worker].1.len()
    }

    fn act(&self, cx: &mut Cx<'_, Memory>, worker: usize, action: usize) -> Steps<()> {
        match self.workers[worker].1[action] {
            Act::Commit => self.commit(cx, worker),
            Act::Clean => self.clean(cx, worker),
            Act::Snapshot => self.snapshot(cx, worker, false),
            Act::Deferrable => self.snapshot(cx, worker, true),
            Act::Stop => self.stop(cx),
            Act::Tick => cx.step("time passes", |shared| shared.time += 1),
        }
    }

    fn history<'a>(&self, shared: &'a Memory) -> &'a History {
        &shared.history
    }

    /// What must hold is checked at each step.
    fn final_check(&self, _: &Memory) -> Result<(), String> {
        Ok(())
    }

    fn show(&self, shared: &Memory) -> String {
        let Memory { time, state, announced, confirmed, floor, next, since, current, kept, .. } = shared;
        format!(
            "time {time}, {state:?}, announced {announced}, confirmed {confirmed}, floor {floor}, next {next}, \
             since {since}; current {current}, kept {kept:?}"
        )
    }
}

/// The cases, each of which runs with all rules, and finds some of them left out.
pub fn cases() -> Vec<Case> {
    use Act::{Clean, Commit, Deferrable, Snapshot, Stop, Tick};
    let case = |name, on, workers: &[(Ticks, &[Act])]| Case {
        name,
        workers: workers.iter().map(|&(ahead, acts)| (ahead, acts.to_vec())).collect(),
        on,
        without: None,
    };
    vec![
        case("in-flight", true, &[(0, &[Clean, Clean]), (0, &[Commit]), (0, &[Snapshot]), (0, &[Tick; 3])]),
        case(
            "in-flight-ahead",
            true,
            &[(1, &[Clean, Clean]), (0, &[Commit]), (0, &[Snapshot]), (0, &[Tick; 3])],
        ),
        case("cleaned", true, &[(0, &[Commit, Clean, Clean]), (0, &[Snapshot]), (0, &[Tick; 5])]),
        case("present", true, &[(0, &[Commit, Clean]), (0, &[Deferrable]), (0, &[Tick; 4])]),
        case("writer-ahead", true, &[(1, &[Commit, Commit]), (0, &[Deferrable]), (0, &[Tick; 5])]),
        case("reader-ahead", true, &[(0, &[Commit, Commit]), (1, &[Deferrable]), (0, &[Tick; 5])]),
        case("begin", false, &[(0, &[Commit, Commit]), (0, &[Snapshot]), (0, &[Tick; 5])]),
        case("begin-ahead", false, &[(1, &[Commit, Commit]), (0, &[Snapshot]), (0, &[Tick; 5])]),
        case("stop", true, &[(0, &[Commit, Clean]), (0, &[Snapshot]), (0, &[Stop]), (0, &[Tick; 3])]),
        case("stop-and-begin", true, &[(0, &[Commit]), (0, &[Snapshot]), (0, &[Stop]), (0, &[Tick; 5])]),
    ]
}
