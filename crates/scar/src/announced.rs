//! Announcements: what transactions tell whoever listens at any node, if they commit.
//!
//! ```text
//!   Write, to all replicas ──► kept beside the records ──► the epoch commits: handed out, in order, and forgotten
//!                                                     └──► a change of view undoes the epoch: forgotten
//! ```
//!
//! An announcement travels with its transaction's writes, and a node that is prepared waits for the acknowledgements of
//! these. So when an epoch is whole, every replica and learner of the partition has all that was announced in it, and
//! when it commits each hands out the same, in the same order. It hands it out once, as what is handed out is
//! forgotten, and an epoch commits once. What has been handed out is never undone.
//!
//! Nothing is left of an announcement afterwards: it has no record, which somebody would have to remove, no gap and no
//! lock, so that no other transaction conflicts with it. It is in no log either: a node that restarts has nobody who
//! has listened before.
//!
//! **Order.** Two transactions that do not touch each other may have one time, and those who only read may have the
//! time of the last one that they have read from. A transaction that announces something has a later time than all that
//! it has read, so that it never comes before a transaction that it has seen anything of.

use super::data::Data;
use super::ids::{Epoch, Time};
use super::message::Out;
use super::node::Node;
use super::rules::Rules;

/// What a transaction that has committed has announced.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Announced<D: Data> {
    /// The transaction's epoch.
    pub epoch: Epoch,
    /// Its time.
    pub cts: Time,
    /// The announcement's key.
    pub key: D::Key,
    /// What was announced.
    pub value: D::Value,
}

impl<R: Rules, D: Data> Node<R, D> {
    /// Whether the host of this node has no room for more announcements. Nobody announces anything then, from the next
    /// epoch on; what others have announced it takes, as it is heard everywhere or nowhere.
    pub fn set_deaf(&mut self, deaf: bool) {
        self.deaf = deaf;
    }

    /// Whether that was said.
    pub fn is_deaf(&self) -> bool {
        self.deaf
    }

    /// A write has come, which is an announcement. One that comes twice is one.
    pub(crate) fn note_announcement(&mut self, key: D::Key, value: Option<D::Value>, cts: Time) {
        if let Some(value) = value {
            self.announcements.insert((self.epoch, cts, key), value);
        }
    }

    /// All epochs up to `base` have committed, for ever.
    #[inline]
    pub(crate) fn announce(&mut self, out: &mut Out<D>) {
        while let Some(first) = self.announcements.first_entry()
            && first.key().0 <= self.base
        {
            let ((epoch, cts, key), value) = first.remove_entry();
            out.announced.push(Announced { epoch, cts, key, value });
        }
    }

    /// A change of view undoes what is later.
    pub(crate) fn undo_announcements(&mut self, last: Epoch) {
        self.announcements.retain(|(epoch, ..), _| *epoch <= last);
    }
}
