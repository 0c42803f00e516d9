//! What the command does: it wishes, waits until all files stay, names the epoch, and waits for the copies.

use super::{BackupStep, BackupWish, STALE, is_name};
use crate::store::{ClusterView, MetadataStore, StoreError};
use scaledb_scar::{Epoch, NodeId};
use scaledb_sync::thread;
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often it looks, and renews its wish.
const LOOK: Duration = Duration::from_millis(100);
const BEAT: Duration = Duration::from_secs(2);

/// How long it takes the members to have all files stay, at most: a checkpoint or another backup may be in the way.
const HOLD: Duration = Duration::from_secs(60);

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no cluster.
    #[error("the cluster has no view yet")]
    NoView,
    /// It cannot be called so.
    #[error("`{0}` cannot be the name of a backup: use letters, digits, - _ .")]
    Name(String),
    /// Nothing is on disk.
    #[error("the nodes of this cluster keep their rows in memory only: there is no directory to back up")]
    NotDurable,
    /// Another one is being made.
    #[error("the backup {0} is being made: wait for it")]
    Busy(String),
    /// Somebody else has ended it.
    #[error("the backup was ended by another command")]
    Ended,
    /// A node did not do it.
    #[error("node {node} has no copy: {why}")]
    Node {
        /// Its name.
        node: String,
        /// Why not.
        why: String,
    },
    /// Nodes have come or gone meanwhile.
    #[error("the members have changed meanwhile: make another one")]
    MembersChanged,
    /// Not all files stay.
    #[error("nodes do not answer: {0}")]
    Silent(String),
}

/// A backup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    /// Its epoch: it has all up to this one, and nothing of a later one.
    pub epoch: Epoch,
    /// Bytes of each node's copy, by the node's name.
    pub copies: BTreeMap<String, u64>,
}

/// Has all members of a cluster make copies of their directories, whose common epoch is behind all that was answered
/// before. Waits until they have.
///
/// # Errors
/// There is none: why.
pub fn backup(store: &dyn MetadataStore, name: &str) -> Result<Made, BackupError> {
    if !is_name(name) {
        return Err(BackupError::Name(name.to_owned()));
    }
    let view = store.view()?.ok_or(BackupError::NoView)?;
    if !view.view.durable {
        return Err(BackupError::NotDurable);
    }
    let wish = BackupWish {
        name: name.to_owned(),
        number: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64,
        beat: 0,
        lives: view.lives.iter().map(|(&node, life)| (node, life.incarnation)).collect(),
        epoch: None,
    };
    begin(store, &wish)?;
    let mut command = Command { store, view: &view, wish, renewed: Instant::now() };
    let made = command.run();
    // if it cannot be taken back now, members notice that nobody renews it
    let _ = store.replace_backup(Some(&command.wish), None);
    made
}

/// Puts the wish in the store. One that nobody renews is replaced.
fn begin(store: &dyn MetadataStore, wish: &BackupWish) -> Result<(), BackupError> {
    let (mut last, since) = (store.backup()?, Instant::now());
    while let Some(other) = &last {
        if since.elapsed() > STALE {
            break;
        }
        thread::sleep(LOOK);
        let now = store.backup()?;
        if now.as_ref().is_some_and(|now| now != other) {
            return Err(BackupError::Busy(other.name.clone()));
        }
        last = now;
    }
    match store.replace_backup(last.as_ref(), Some(wish))? {
        true => Ok(()),
        false => Err(BackupError::Busy(last.map_or_else(String::new, |last| last.name))),
    }
}

struct Command<'a> {
    store: &'a dyn MetadataStore,
    view: &'a ClusterView,
    wish: BackupWish,
    renewed: Instant,
}

impl Command<'_> {
    fn run(&mut self) -> Result<Made, BackupError> {
        let since = Instant::now();
        let epoch = loop {
            let held = self.steps(|step| match step {
                BackupStep::Holds(epoch) => Some(*epoch),
                _ => None,
            })?;
            if let Some(last) = held.values().max().filter(|_| held.len() == self.wish.lives.len()) {
                break last.next();
            }
            if since.elapsed() > HOLD {
                let silent = self.wish.lives.keys().filter(|node| !held.contains_key(node));
                let names: Vec<String> = silent.map(|&node| self.name(node)).collect();
                return Err(BackupError::Silent(names.join(", ")));
            }
            self.wait()?;
        };
        self.replace(|wish| wish.epoch = Some(epoch))?;
        loop {
            let copies = self.steps(|step| match step {
                BackupStep::Done(bytes) => Some(*bytes),
                _ => None,
            })?;
            if copies.len() == self.wish.lives.len() {
                self.same_members()?;
                let copies = copies.iter().map(|(&node, &bytes)| (self.name(node), bytes)).collect();
                return Ok(Made { epoch, copies });
            }
            self.wait()?;
        }
    }

    fn name(&self, node: NodeId) -> String {
        self.view.lives.get(&node).map_or_else(|| node.0.to_string(), |life| life.name.clone())
    }

    /// What members have done, by a question.
    fn steps<T>(&self, of: impl Fn(&BackupStep) -> Option<T>) -> Result<BTreeMap<NodeId, T>, BackupError> {
        let mut found = BTreeMap::new();
        let reports = self.store.reports()?;
        for (&node, &life) in &self.wish.lives {
            let Some(report) = reports.get(&node).filter(|report| report.life == life) else { continue };
            let Some(state) = report.backup.as_ref().filter(|state| state.number == self.wish.number) else {
                continue;
            };
            if let BackupStep::Failed(why) = &state.step {
                return Err(BackupError::Node { node: self.name(node), why: why.clone() });
            }
            found.extend(of(&state.step).map(|value| (node, value)));
        }
        Ok(found)
    }

    /// Whether the members are what they were.
    fn same_members(&self) -> Result<(), BackupError> {
        let now = self.store.view()?.ok_or(BackupError::NoView)?;
        if now.view.number != self.view.view.number {
            return Err(BackupError::MembersChanged);
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<(), BackupError> {
        thread::sleep(LOOK);
        self.same_members()?;
        if self.renewed.elapsed() > BEAT {
            self.renewed = Instant::now();
            self.replace(|wish| wish.beat += 1)?;
        }
        Ok(())
    }

    fn replace(&mut self, change: impl Fn(&mut BackupWish)) -> Result<(), BackupError> {
        let mut next = self.wish.clone();
        change(&mut next);
        if !self.store.replace_backup(Some(&self.wish), Some(&next))? {
            return Err(BackupError::Ended);
        }
        self.wish = next;
        Ok(())
    }
}
