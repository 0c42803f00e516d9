//! The change of a shard by an effect, at its master and at its replicas.

use super::effect::Put;
use super::records::Record;
use super::{Life, Shard};
use crate::{Action, Effect, Entry, Malformed, Slot, Store, Timestamp};

impl Shard {
    /// Applies an effect. A master gives its effects to its replicas in the order in which it applies them.
    pub fn apply(&mut self, slot: Slot, effect: &Effect, store: &mut impl Store) {
        let datacenter = *self.datacenter.get_or_insert(effect.datacenter);
        self.arrived = None;
        if effect.settled {
            self.leaving = None;
        }
        if effect.anew {
            self.lives.clear();
            self.lives.push(Life::UNKNOWN);
        }
        self.begin_life(effect.incarnation);
        match &effect.action {
            Action::Put { key, entry } => {
                self.lock = None;
                self.stamp = self.stamp.max(entry.stamp);
                store.put(key, entry);
            }
            Action::Erase { key, stamp, deps } => {
                self.lock = None;
                self.stamp = self.stamp.max(*stamp);
                self.note_erased(deps);
                store.remove(key);
            }
            Action::Lock(lock) => self.lock = Some(Box::new(lock.clone())),
            Action::Commit { txn, stamp, deps, at, forget_before, open } => {
                self.records.forget(*forget_before);
                let Some(lock) = self.lock.take_if(|lock| lock.txn == *txn) else { return };
                let mut deps = deps.clone();
                deps.update(datacenter, slot, *stamp);
                for write in &lock.writes {
                    match &write.value {
                        Some(value) => {
                            let entry = Entry { stamp: *stamp, deps: deps.clone(), value: value.clone() };
                            store.put(&write.key, &entry);
                        }
                        None => {
                            self.note_erased(&deps);
                            store.remove(&write.key);
                        }
                    }
                }
                self.stamp = self.stamp.max(*stamp);
                self.records.add(*txn, Record { at: *at, deps, open: open.clone() });
            }
            Action::Abort { txn } => {
                let Some(lock) = self.lock.take_if(|lock| lock.txn == *txn) else { return };
                // the life that was to end with the lock's stamp has ended before
                for life in &mut self.lives {
                    if life.begin == lock.stamp {
                        life.begin = self.stamp;
                    }
                }
                // the stamp is not given again: a commit that comes late must not find it
                self.stamp = self.stamp.max(lock.stamp);
            }
            Action::Advance(stamp) => self.stamp = self.stamp.max(*stamp),
            Action::End { txn, parts } => self.records.end(*txn, parts),
        }
    }

    /// Applies an effect of which the bytes are known. Those of a version go to the store as they are.
    pub fn apply_encoded(&mut self, slot: Slot, effect: &Effect, bytes: &[u8], store: &mut impl Store) {
        match (&effect.action, Effect::put_of(bytes)) {
            (Action::Put { entry, .. }, Some(put)) => {
                let rest = Effect { action: Action::Advance(entry.stamp), ..*effect };
                self.apply_put(slot, &rest, put, store);
            }
            _ => self.apply(slot, effect, store),
        }
    }

    /// Applies the bytes of an effect.
    ///
    /// # Errors
    ///
    /// If they are none: nothing has changed then.
    pub fn apply_bytes(&mut self, slot: Slot, bytes: &[u8], store: &mut impl Store) -> Result<(), Malformed> {
        match Effect::put_in(bytes)? {
            Some((rest, put)) => self.apply_put(slot, &rest, put, store),
            None => self.apply(slot, &Effect::from_bytes(bytes)?, store),
        }
        Ok(())
    }

    /// A version is put: `rest` is what else that does.
    fn apply_put(&mut self, slot: Slot, rest: &Effect, put: Put<'_>, store: &mut impl Store) {
        self.apply(slot, rest, store);
        self.lock = None;
        store.put_bytes(put.key, put.version);
    }

    fn note_erased(&mut self, deps: &Timestamp) {
        match &mut self.erased {
            Some(erased) => erased.merge(deps),
            None => self.erased = Some(Box::new(deps.clone())),
        }
    }
}
