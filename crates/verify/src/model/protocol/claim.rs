//! C2 for inserts: claim a placeholder (locked, absent), or lock the absent record that the key already has.
//!
//! On a table with a bounded indexlet a key can be claimed in the indexlet or, if that is full, in the tree. Whoever
//! claims in one looks into the other afterwards, so of two inserters that claim in different places at least one
//! finds the other and backs out.

use super::rules::{Mutation, PointIndex};
use super::state::{CLEANER, Db, TableId};
use super::tx::{Claimed, Effect, Lock, Tx};
use super::{Protocol, Taker};
use crate::model::explorer::{Steps, Stop};
use crate::model::program::Key;
use crate::model::tree::Rec;

/// The key to claim and what will be stored there.
pub(super) struct Target {
    pub table: TableId,
    pub key: Key,
    pub effect: Effect,
}

/// The result of an atomic find-or-claim.
#[derive(Clone, Copy, Hash, Debug)]
enum Claim {
    /// The key has this record.
    Found(Rec),
    /// This placeholder is now the key's.
    New(Rec),
    /// No room.
    Full,
}

impl Protocol {
    /// Claims a key; on success the record is among the transaction's locks.
    pub(super) fn claim(&self, cx: &mut Taker<'_>, tx: &mut Tx, target: Target) -> Steps<()> {
        match self.config.point_index {
            PointIndex::TreeOnly => match self.claim_in_tree(cx, tx, &target)? {
                Claim::Found(rec) => self.lock_absent(cx, tx, &target, rec),
                Claim::New(rec) => {
                    Self::hold(tx, &target, rec, Claimed::InTree);
                    Ok(())
                }
                Claim::Full => Err(Stop::Bug("a tree is never full".into())),
            },
            PointIndex::Resident { .. } => self.claim_resident(cx, tx, &target),
            PointIndex::Bounded(room) => self.claim_bounded(cx, tx, &target, room),
        }
    }

    /// The resident hash holds every key, so finding or claiming there decides.
    fn claim_resident(&self, cx: &mut Taker<'_>, tx: &mut Tx, target: &Target) -> Steps<()> {
        match self.claim_in_point(cx, tx, target, usize::MAX)? {
            Claim::Found(rec) => self.lock_absent(cx, tx, target, rec),
            Claim::New(rec) if self.merges_later() => {
                Self::hold(tx, target, rec, Claimed::Pending);
                Ok(())
            }
            Claim::New(rec) => {
                Self::hold(tx, target, rec, Claimed::InTree);
                cx.step("C2 placeholder into the tree", |db| {
                    db.tree_insert(&self.config, target.table, target.key, rec)
                })
            }
            Claim::Full => Err(Stop::Bug("a resident hash is never full".into())),
        }
    }

    fn claim_bounded(&self, cx: &mut Taker<'_>, tx: &mut Tx, target: &Target, room: usize) -> Steps<()> {
        let rec = match self.claim_in_point(cx, tx, target, room)? {
            Claim::Found(rec) => return self.lock_absent(cx, tx, target, rec),
            Claim::New(placeholder) => {
                Self::hold(tx, target, placeholder, Claimed::Pending);
                if self.breaks(Mutation::NoTreeCheckAfterIndexletClaim) {
                    return Ok(());
                }
                match self.find_in_tree(cx, target.table, target.key)? {
                    None => return Ok(()),
                    Some(rec) => {
                        let lock = tx.locks.pop().ok_or_else(|| Stop::Bug("just claimed".into()))?;
                        self.back_out(cx, &lock)?;
                        rec
                    }
                }
            }
            Claim::Full => match self.claim_in_tree(cx, tx, target)? {
                Claim::Found(rec) => rec,
                Claim::New(placeholder) => {
                    Self::hold(tx, target, placeholder, Claimed::InTree);
                    if !self.breaks(Mutation::NoIndexletCheckAfterTreeClaim)
                        && self.find_in_point(cx, target.table, target.key)?.is_some()
                    {
                        return Err(Stop::Conflict("claimed by another in the indexlet"));
                    }
                    return Ok(());
                }
                Claim::Full => return Err(Stop::Bug("a tree is never full".into())),
            },
        };
        // The key has a record in the tree.
        self.lock_absent(cx, tx, target, rec)?;
        if !self.breaks(Mutation::NoReprobeAfterTreeLock)
            && self.find_in_point(cx, target.table, target.key)?.is_some_and(|other| other != rec)
        {
            return Err(Stop::Conflict("claimed by another in the indexlet"));
        }
        Ok(())
    }

    fn claim_in_point(&self, cx: &mut Taker<'_>, tx: &Tx, target: &Target, room: usize) -> Steps<Claim> {
        let &Target { table, key, .. } = target;
        cx.wait("C2 find or claim in the point index", |db| match db.tables[table].probe(key) {
            Some(rec) => Self::unless_obsolete(db, rec),
            None if db.tables[table].point.len() >= room => Some(Claim::Full),
            None => {
                let rec = db.new_placeholder(table, key, tx.me);
                let point = &mut db.tables[table].point;
                let at = point.partition_point(|entry| entry.0 < key);
                point.insert(at, (key, rec));
                Some(Claim::New(rec))
            }
        })
    }

    fn claim_in_tree(&self, cx: &mut Taker<'_>, tx: &Tx, target: &Target) -> Steps<Claim> {
        let &Target { table, key, .. } = target;
        cx.wait("C2 find or claim in the tree", |db| match db.tables[table].tree.get(key) {
            Some(rec) => Self::unless_obsolete(db, rec),
            None => {
                let rec = db.new_placeholder(table, key, tx.me);
                db.tree_insert(&self.config, table, key, rec);
                Some(Claim::New(rec))
            }
        })
    }

    fn unless_obsolete(db: &Db, rec: Rec) -> Option<Claim> {
        (!db.record(rec).word.obsolete).then_some(Claim::Found(rec))
    }

    /// Locks an existing record to insert there; it must be absent and free.
    fn lock_absent(&self, cx: &mut Taker<'_>, tx: &mut Tx, target: &Target, rec: Rec) -> Steps<()> {
        let before = cx.wait("C2 lock an absent record", |db| {
            let word = &mut db.record_mut(rec).word;
            let free = word.locker.is_none() && word.absent && !word.obsolete;
            let before = free.then_some(*word);
            if free {
                word.locker = Some(tx.me);
            }
            (word.locker != Some(CLEANER)).then_some(before)
        })?;
        let before = before.ok_or(Stop::Conflict("locked, or a duplicate key"))?;
        tx.locks.push(Lock {
            rec,
            table: target.table,
            key: target.key,
            before,
            claimed: None,
            effect: target.effect,
        });
        Ok(())
    }

    fn hold(tx: &mut Tx, target: &Target, rec: Rec, claimed: Claimed) {
        let before = super::state::Word { ts: 0, locker: Some(tx.me), absent: true, obsolete: false };
        tx.locks.push(Lock {
            rec,
            table: target.table,
            key: target.key,
            before,
            claimed: Some(claimed),
            effect: target.effect,
        });
    }
}
