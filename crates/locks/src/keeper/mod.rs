//! The locks of a cluster: one member keeps the table, the **keeper**, and the others ask it. A state machine without
//! I/O, clock or thread: what a session asks for, a letter of another member, a view or a tick goes in; letters and
//! answers come out.
//!
//! ```text
//!   session ── ask, stop, give back ──► LockMember ── letters, numbered ──► LockMember of the keeper { Book }
//!      ▲                                    │  ▲                                          │
//!      └── granted, deadlock, lost ─────────┘  └──────────── answers, hints ──────────────┘
//! ```
//!
//! All of it is of one **view**. With the next one every lock of a transaction is gone, as its transaction is, and
//! whoever waits is told. Locks that sessions keep live on: each member says what its sessions keep, and the keeper of
//! the new view grants nothing before all have. So a member that is none any more has lost its locks with its sessions.
//!
//! A **hint** says that rows of a table, or tables of a database, are locked, so that statements which would otherwise
//! ask nobody ask for the lock of what they use. A lock that needs one is granted when all members have noted it.

mod book;
mod member;
mod rules;

pub use member::{LockMember, Out, Told, Wanted};
pub use rules::{Ours, Rule, Rules};

use crate::Mode;
use serde::{Deserialize, Serialize};

/// Locks that one request names at most.
pub const MAX_BATCH: usize = 256;
/// Bytes of a row's key, at most.
pub const MAX_KEY: usize = 1 << 12;
/// Sessions of one node that have or want locks, at most.
pub const MAX_SESSIONS: usize = 1 << 16;
/// What the locks of one node weigh, at most: about as many bytes at the keeper.
pub const MAX_WEIGHT: usize = 256 << 20;
/// Hints at once; with more, all rows and tables may be locked.
pub const MAX_HINTS: usize = 64;
/// Letters of a member that wait for those before them, for its view, or for the others, at most. Who sends more is not
/// heard any more in that view.
pub const MAX_EARLY: usize = 1 << 16;
/// Steps of a cycle of waits that are told.
pub const MAX_EDGES: usize = 64;
/// Ticks for which nothing is locked until a hint ends: a queue of jobs that is empty for a moment goes on without one.
pub const QUIET_TICKS: u32 = 10;

/// What locks are about: a view of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockView {
    /// Its number: a later view has a larger one.
    pub number: u64,
    /// The members: bits.
    pub members: u64,
    /// Who has the table.
    pub keeper: u8,
}

impl LockView {
    /// Whether a node is a member.
    pub fn has(&self, node: u8) -> bool {
        1_u64.checked_shl(u32::from(node)).is_some_and(|bit| self.members & bit != 0)
    }

    fn nodes(self) -> impl Iterator<Item = u8> {
        (0..64).filter(move |&node| self.has(node))
    }
}

/// What is locked, under a name that all members have for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Name {
    /// A row: its database, its table, and the bytes of its primary key. All of them: if two rows shared a name, one
    /// session would be told that the other's row is locked, and others of a deadlock that there is not.
    Row(u32, u32, Box<[u8]>),
    /// A table of a database.
    Table(u32, u32),
    /// A number that applications of a database agree upon, and whether it was given as two.
    Advisory(u32, u64, bool),
}

impl Name {
    /// The database.
    pub fn database(&self) -> u32 {
        match *self {
            Self::Row(database, ..) | Self::Table(database, _) | Self::Advisory(database, ..) => database,
        }
    }

    /// About how many bytes a lock of it takes at the keeper.
    fn weight(&self) -> usize {
        const ENTRY: usize = 256;
        match self {
            Self::Row(_, _, key) => ENTRY + 2 * key.len(),
            _ => ENTRY,
        }
    }

    fn is_sane(&self) -> bool {
        !matches!(self, Self::Row(_, _, key) if key.len() > MAX_KEY)
    }

    /// What others have to look out for if this is locked in such a mode.
    fn hint(&self, mode: Mode) -> Option<Hint> {
        match *self {
            Self::Row(database, table, _) => Some(Hint::Rows(database, table)),
            Self::Table(database, _) if mode.is_strong() => Some(Hint::Tables(database)),
            Self::Table(..) | Self::Advisory(..) => None,
        }
    }
}

/// That something is locked which statements use without asking otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Hint {
    /// Rows of a table of a database.
    Rows(u32, u32),
    /// Tables of a database, in a mode that statements have to wait for.
    Tables(u32),
}

/// The hints that are in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hints {
    /// There are too many: everything may be locked.
    pub all: bool,
    /// In their order.
    pub some: Vec<Hint>,
}

impl Hints {
    /// Whether a hint is in force.
    pub fn has(&self, hint: Hint) -> bool {
        self.all || self.some.binary_search(&hint).is_ok()
    }

    /// Whether rows of any table of a database may be locked.
    pub fn has_rows(&self, database: u32) -> bool {
        self.all || self.some.iter().any(|hint| matches!(hint, Hint::Rows(of, _) if *of == database))
    }
}

/// A session of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The node.
    pub node: u8,
    /// The session's number there.
    pub session: u32,
}

/// A lock that somebody has or waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Listed {
    /// What is locked.
    pub name: Name,
    /// By whom.
    pub holder: Holder,
    /// How.
    pub mode: Mode,
    /// False: it is waited for.
    pub granted: bool,
}

/// A step of a cycle: who waits, for what, in which mode, and for whom.
pub type Step = (Holder, Name, Mode, Holder);

/// What a member sends to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Letter {
    /// The sender's view.
    pub view: u64,
    /// Letters from the sender to the receiver are numbered in each view: from 0, without a gap.
    pub number: u64,
    /// What it says.
    pub body: LetterBody,
}

impl Letter {
    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        const SMALL: usize = 64;
        let name = |name: &Name| SMALL + if let Name::Row(_, _, key) = name { key.len() } else { 0 };
        SMALL
            + match &self.body {
                LetterBody::Keeps(locks, _) => locks.len() * SMALL,
                LetterBody::Ask(_, _, wanted) => wanted.names.iter().map(name).sum(),
                LetterBody::Deadlock(_, _, steps) => steps.iter().map(|step| SMALL + name(&step.1)).sum(),
                LetterBody::All(_, locks, _) => locks.iter().map(|known| SMALL + name(&known.name)).sum(),
                LetterBody::Hints(_, hints) => hints.some.len() * SMALL,
                _ => SMALL,
            }
    }
}

/// What a letter says. Sessions are the sender's where it goes to the keeper, and the receiver's where it comes from
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LetterBody {
    /// To the keeper: some of what sessions keep since an earlier view, and whether that is all.
    Keeps(Vec<(u32, Name, Mode)>, bool),
    /// A session wants locks; the number is its question's.
    Ask(u32, u64, Wanted),
    /// It wants nothing more of this question: what it has been granted by it is given back.
    Stop(u32, u64),
    /// It gives back, once, what it keeps.
    GiveBack(u32, Name, Mode),
    /// It releases the locks of its transaction but the first so many.
    ReleaseTo(u32, u32),
    /// It has ended.
    Ended(u32),
    /// What is locked in this database? The number is the question's.
    List(u64, u32),
    /// The hints of this number were noted.
    Noted(u64),
    /// From the keeper: so many of the locks are the session's.
    Granted(u32, u64, u32),
    /// It is in a deadlock, and waits no more.
    Deadlock(u32, u64, Vec<Step>),
    /// Its node has too many locks; it gets none.
    Full(u32, u64),
    /// Some of what is locked, and whether that is all.
    All(u64, Vec<Listed>, bool),
    /// The hints that are in force, and their number.
    Hints(u64, Hints),
}
