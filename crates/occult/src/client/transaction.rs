//! Transactions before their commit: what they have read and will write.

use std::collections::{BTreeMap, HashMap};

use super::{Conflict, Error, Read, ReadResult};
use crate::{Datacenter, Rule, Rules, Slot, Stamp, Timestamp, TxnId, Value, slot_of};

/// What a transaction has read of one shard at once.
#[derive(Clone, Debug)]
pub(super) struct Element {
    slot: Slot,
    datacenter: Option<Datacenter>,
    shardstamp: Stamp,
    /// What the versions depend on.
    deps: Timestamp,
}

impl Element {
    /// Whether it may miss a write of its shard that `deps` knows.
    pub(super) fn misses(&self, deps: &Timestamp, rules: Rules) -> bool {
        let known = match self.datacenter {
            Some(datacenter) => deps.get_of(datacenter, self.slot, rules),
            None => deps.get_anywhere(self.slot),
        };
        self.shardstamp < known
    }
}

/// A transaction of a session: reads are of one moment, writes become visible together.
///
/// What is read goes to [`Session::note`](super::Session::note), writes stay here; then comes
/// [`Session::commit`](super::Session::commit), or [`Session::roll_back`](super::Session::roll_back).
#[derive(Clone, Debug)]
pub struct Transaction {
    name: TxnId,
    /// What the session knew.
    begin: Timestamp,
    /// That, and what the transaction has read.
    deps: Timestamp,
    elements: Vec<Element>,
    values: HashMap<Value, Option<Value>>,
    writes: BTreeMap<Value, Option<Value>>,
}

impl Transaction {
    pub(super) fn new(name: TxnId, begin: Timestamp) -> Self {
        let deps = begin.clone();
        let (elements, values, writes) = (Vec::new(), HashMap::new(), BTreeMap::new());
        Self { name, begin, deps, elements, values, writes }
    }

    /// Its name.
    pub fn name(&self) -> TxnId {
        self.name
    }

    /// What it has written or read of a key, if it has. Other keys are to be read by [`read`](Self::read).
    pub fn get(&self, key: &[u8]) -> Option<Option<Value>> {
        self.writes.get(key).or_else(|| self.values.get(key)).cloned()
    }

    /// Reads keys of one slot, of which [`get`](Self::get) knows nothing. The steps need
    /// [`Session::view_of`](super::Session::view_of) this transaction, and the result goes to
    /// [`Session::note`](super::Session::note).
    ///
    /// # Panics
    ///
    /// If there are no keys, or if they are of several slots.
    pub fn read(&self, keys: Vec<Value>) -> Read {
        Read::new(keys)
    }

    /// Writes a key at the commit, or deletes it.
    pub fn write(&mut self, key: Value, value: Option<Value>) {
        self.writes.insert(key, value);
    }

    /// Whether it writes nothing.
    pub fn is_read_only(&self) -> bool {
        self.writes.is_empty()
    }

    /// Notes what a read has found. Fails if what was read before may miss what this depends on: the commit could only
    /// fail, too.
    pub(super) fn note(&mut self, keys: &[Value], result: ReadResult, rules: Rules) -> Result<(), Error> {
        let ReadResult { slot, datacenter, shardstamp, items } = result;
        let mut deps = Timestamp::new(self.deps.shape());
        for (key, item) in keys.iter().zip(items) {
            deps.merge(&item.deps);
            self.values.insert(key.clone(), item.value);
        }
        let validates = rules.on(Rule::ValidateReads);
        let valid = if validates { self.validate(Conflict::Reads, [&deps], rules) } else { Ok(()) };
        self.elements.push(Element { slot, datacenter, shardstamp, deps });
        valid
    }

    /// Whether all that was read is of one moment: nothing of it knows more of a shard than what was read there.
    pub(super) fn validate_reads(&self, rules: Rules) -> Result<(), Error> {
        self.validate(Conflict::Reads, self.elements.iter().map(|element| &element.deps), rules)
    }

    /// Whether nothing that is overwritten knows more of a shard than what was read there.
    pub(super) fn validate_overwrites<'a>(
        &self,
        overwritten: impl Iterator<Item = &'a Timestamp>,
        rules: Rules,
    ) -> Result<(), Error> {
        self.validate(Conflict::Overwrites, overwritten, rules)
    }

    /// Whether a slot that it writes to is still of the datacenter of which it was when it was read. If not, it has
    /// begun anew, and what was read is lost.
    pub(super) fn validate_datacenter(&self, slot: Slot, datacenter: Datacenter) -> Result<(), Error> {
        let other = |element: &Element| {
            element.slot == slot && element.datacenter.is_some_and(|read| read != datacenter)
        };
        if self.elements.iter().any(other) {
            let floor = Box::new(self.deps.clone());
            return Err(Error::Conflict { conflict: Conflict::Overwrites, floor });
        }
        Ok(())
    }

    fn validate<'a>(
        &self,
        conflict: Conflict,
        known: impl IntoIterator<Item = &'a Timestamp>,
        rules: Rules,
    ) -> Result<(), Error> {
        for deps in known {
            if self.elements.iter().any(|element| element.misses(deps, rules)) {
                // the next attempt begins with what this one has missed
                let mut floor = self.deps.clone();
                floor.merge(deps);
                return Err(Error::Conflict { conflict, floor: Box::new(floor) });
            }
        }
        Ok(())
    }

    pub(super) fn deps(&self) -> &Timestamp {
        &self.deps
    }

    pub(super) fn deps_mut(&mut self) -> &mut Timestamp {
        &mut self.deps
    }

    pub(super) fn into_begin(self) -> Timestamp {
        self.begin
    }

    pub(super) fn begin(&self) -> &Timestamp {
        &self.begin
    }

    /// Its writes by shard.
    pub(super) fn take_writes(&mut self) -> BTreeMap<Slot, Vec<crate::Write>> {
        let mut by_slot: BTreeMap<Slot, Vec<crate::Write>> = BTreeMap::new();
        for (key, value) in std::mem::take(&mut self.writes) {
            by_slot.entry(slot_of(&key)).or_default().push(crate::Write { key, value });
        }
        by_slot
    }
}
