//! What a member keeps on disk, through `scaledb-log`.
//!
//! ```text
//!   state machine ── entries, in order ──► Journal ──► log ──► on disk ──► the leader is told
//!   walk over the replicas ─ pieces ─────► checkpoint ──► the log in front of it goes
//!   OnDisk::open: checkpoint, log ───────► Recovered, the lives whose directory it is
//! ```
//!
//! A directory belongs to a node of a cluster, and stands for the lives of that node that have written into it, one
//! after the other. `docs/internals/cluster-durability.md` says why that is enough.

mod checkpoint;
mod journal;
mod line;

pub(crate) use checkpoint::run as make_checkpoints;
pub(crate) use journal::{Journal, run as sync_journal};

use super::codec::{FORMAT, Malformed};
use super::rows::Rows;
use super::store::ClusterView;
use line::{Catalog, Head, Line};
use scaledb_log::disk::Disk;
use scaledb_log::{DatabaseDir, LogError, LogOptions, Op, Replay};
use scaledb_scar::link::Incarnation;
use scaledb_scar::{Entry, Epoch, NodeId, Piece, Recovered};
use scaledb_sync::Arc;
use scaledb_sync::clock::Clock;
use std::time::Duration;

/// What the directory of a node says of its engine.
const ENGINE: &str = "cluster";

/// What nobody waits for is on disk after so long. Who waits is an epoch, and it writes all that is there.
const FLUSH_INTERVAL: Duration = Duration::from_millis(200);

/// Why a directory cannot be a node's.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The files.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Another version of this program has written it.
    #[error(
        "the directory of the node has format {found}, this program has {FORMAT}: use the one that has written it"
    )]
    Format {
        /// Its format.
        found: u32,
    },
    /// It is another node's.
    #[error("the directory is of node {name} of the cluster {cluster}")]
    Another {
        /// Its cluster.
        cluster: String,
        /// Its node.
        name: String,
    },
    /// It is whole, and makes no sense.
    #[error("the directory of the node: {0}")]
    Malformed(#[from] Malformed),
}

/// Whose directory it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The name of the cluster.
    pub cluster: String,
    /// The name of the node.
    pub name: String,
    /// Its number.
    pub node: NodeId,
}

/// A directory that is open: what was in it, and the log that goes on.
pub struct OnDisk {
    pub(crate) journal: Arc<Journal>,
    node: NodeId,
    lives: Vec<Incarnation>,
    recovered: Recovered<Rows>,
}

/// What a directory is read into.
struct Reader {
    /// Whose it is to be; none: whoever's it is.
    owner: Option<Owner>,
    known: bool,
    /// What stands behind the end of this epoch is not read.
    end: Option<Epoch>,
    lives: Vec<Incarnation>,
    recovered: Recovered<Rows>,
}

impl Reader {
    fn new(owner: Option<Owner>, node: NodeId) -> Self {
        let recovered = Recovered::new(node);
        Self { owner, known: false, end: None, lives: Vec::new(), recovered }
    }

    fn head(&mut self, head: &Head) -> Result<(), DirectoryError> {
        let mine = |Owner { cluster, name, node }: &Owner| {
            head.cluster == *cluster && head.name == *name && head.node == *node
        };
        if self.owner.as_ref().is_some_and(|owner| !mine(owner)) {
            return Err(DirectoryError::Another { cluster: head.cluster.clone(), name: head.name.clone() });
        }
        if self.owner.is_none() {
            let (cluster, name, node) = (head.cluster.clone(), head.name.clone(), head.node);
            self.owner = Some(Owner { cluster, name, node });
            self.recovered = Recovered::new(node);
        }
        self.known = true;
        Ok(())
    }

    fn checkpoint(&mut self, directory: &DatabaseDir) -> Result<(), DirectoryError> {
        let Some(checkpoint) = directory.checkpoint() else { return Ok(()) };
        let Catalog { head, lives, begin } = Catalog::decode(checkpoint.catalog())?;
        self.head(&head)?;
        self.lives = lives;
        self.recovered.replay(begin);
        let mut buffer = Vec::new();
        for part in 0..checkpoint.parts() {
            let mut part = checkpoint.part(part)?;
            while let Some(block) = part.next_block(&mut buffer)? {
                for row in block.rows() {
                    let piece: Piece<Rows> = super::codec::decode(row?.row)?;
                    self.recovered.load(piece);
                }
            }
        }
        Ok(())
    }

    fn log(&mut self, replay: &mut Replay) -> Result<(), DirectoryError> {
        while let Some(batch) = replay.next_batch()? {
            for transaction in batch.transactions() {
                for op in transaction.ops() {
                    if self.end.is_some_and(|end| self.recovered.whole() >= end) {
                        break;
                    }
                    if let Op::Catalog { entry } = op? {
                        self.line(Line::decode(entry)?)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, line: Line) -> Result<(), DirectoryError> {
        match line {
            Line::Head(head) => self.head(&head)?,
            // what stands in front of it unfinished is not made whole by what comes
            Line::Life(life) => {
                self.recovered.cut();
                self.lives.push(life);
            }
            Line::Anew(life) => {
                self.recovered = self.recovered.emptied();
                self.lives = vec![life];
            }
            Line::Entry(entry) => self.recovered.replay(entry),
        }
        Ok(())
    }
}

impl OnDisk {
    /// Opens the directory of a node, and notes that this life of it goes on with it.
    ///
    /// # Errors
    /// It is another's, damaged, of another version, or cannot be written.
    pub fn open(disk: Arc<dyn Disk>, owner: Owner, life: Incarnation) -> Result<Self, DirectoryError> {
        let directory = DatabaseDir::open(disk, ENGINE)?;
        let mut reader = Reader::new(Some(owner.clone()), owner.node);
        reader.checkpoint(&directory)?;
        let mut replay = directory.replay()?;
        reader.log(&mut replay)?;
        let clock = Arc::new(Clock::new(replay.newest().ticks()));
        let options = LogOptions {
            flush_interval: FLUSH_INTERVAL,
            gather_most: Duration::ZERO,
            ..LogOptions::default()
        };
        let log = directory.start(replay, options, clock.clone())?;
        let Reader { known, lives, mut recovered, .. } = reader;
        recovered.cut();
        let head = Head { cluster: owner.cluster, name: owner.name, node: owner.node };
        let journal = Arc::new(Journal::new(log, clock, head.clone(), lives.clone()));
        if !known {
            journal.write(&Line::Head(head))?;
        }
        journal.note_life(life)?;
        let lives = lives.into_iter().chain([life]).collect();
        Ok(Self { journal, node: owner.node, lives, recovered })
    }

    /// Writes a directory from which a member resumes: what it keeps when an epoch has ended. The life that has opened
    /// it never runs. Returns how many bytes that takes.
    ///
    /// # Errors
    /// The files.
    pub(crate) fn settle<'a>(
        self,
        begin: Entry<Rows>,
        pieces: impl Iterator<Item = &'a Piece<Rows>>,
    ) -> Result<u64, LogError> {
        self.journal.append(std::iter::once(begin))?;
        let bytes = checkpoint::make_at_rest(&self.journal, pieces)?;
        self.journal.close();
        Ok(bytes)
    }

    /// Whether what is on disk is what a view says of its node: the view names one of its lives, and none of them
    /// was put out since.
    pub fn stands_for(&self, view: &ClusterView) -> bool {
        let named = |&life: &Incarnation| view.names(self.node, life);
        let gone = |&life: &Incarnation| view.is_gone(self.node, life);
        self.lives.iter().any(named) && !self.lives.iter().any(gone)
    }

    /// Whether a view names a life before the last of them.
    pub(crate) fn is_former(&self, view: &ClusterView) -> bool {
        self.lives.iter().rev().skip(1).any(|&life| view.names(self.node, life))
    }

    /// Forgets what was there: the others have gone on without it, and the node begins with nothing.
    ///
    /// # Errors
    /// The log has failed.
    pub(crate) fn begin_anew(&mut self, life: Incarnation) -> Result<(), LogError> {
        self.journal.begin_anew(life)?;
        self.lives = vec![life];
        self.recovered = Recovered::new(self.node);
        Ok(())
    }

    /// Whether nothing was there.
    pub(crate) fn is_new(&self) -> bool {
        self.lives.len() == 1
    }

    /// What was there.
    pub(crate) fn into_parts(self) -> (Arc<Journal>, Recovered<Rows>) {
        (self.journal, self.recovered)
    }
}

/// Reads a copy of a node's directory up to the end of an epoch, or of the next one that there is. Nothing is written.
///
/// # Errors
/// It is none, damaged, or of another version.
pub(crate) fn read_copy(disk: Arc<dyn Disk>, end: Epoch) -> Result<Recovered<Rows>, DirectoryError> {
    let directory = DatabaseDir::open(disk, ENGINE)?;
    let mut reader = Reader { end: Some(end), ..Reader::new(None, NodeId(0)) };
    reader.checkpoint(&directory)?;
    reader.log(&mut directory.replay()?)?;
    reader.recovered.cut();
    Ok(reader.recovered)
}

impl std::fmt::Debug for OnDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "directory of {:?}, of lives {:?}", self.node, self.lives)
    }
}
