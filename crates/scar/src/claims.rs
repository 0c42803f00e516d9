//! Claims: what a coordinator wants of the primaries, in one message to each.

use super::commit::{AT_ONCE, Extensions};
use super::data::Data;
use super::ids::{NodeId, Time, TxnId};
use super::message::{Body, Claim, Claimed, Out};
use super::node::Node;
use super::replica::Item;
use super::rules::{Rule, Rules};
use super::transaction::{Claims, Phase};
use std::collections::BTreeMap;

/// The most extensions that are held back for one backup.
const PROMISES: usize = 32;

/// The most extensions that a node remembers, to tell which are repeated.
const REMEMBERED: usize = 1 << 12;

/// Extensions of promises: the item, its wts, and the time until which.
pub(crate) type Told<K> = BTreeMap<(Item<K>, Time), Time>;

impl<R: Rules, D: Data> Node<R, D> {
    /// Sends the claims of a transaction to the primaries: several to one, if they exceed the limits of a claim.
    pub(crate) fn claim(
        &mut self,
        txn: TxnId,
        reads: Extensions<D::Key>,
        until: Time,
        locks: Vec<(D::Key, Option<Time>)>,
        out: &mut Out<D>,
    ) -> Claims<D::Key> {
        let mut full = Vec::new();
        let mut open: BTreeMap<NodeId, Claim<D::Key>> = BTreeMap::new();
        let claim_of = |open: &mut BTreeMap<NodeId, Claim<D::Key>>, full: &mut Vec<_>, node: NodeId| {
            let claim = open.entry(node).or_default();
            if claim.reads.len() + claim.locks.len() >= AT_ONCE {
                full.push((node, std::mem::take(claim)));
            }
        };
        for (item, wts) in reads {
            if let Some(place) = self.view.placement(self.view.partition_of::<D>(&item)) {
                claim_of(&mut open, &mut full, place.primary);
                open.entry(place.primary).or_default().reads.push((item, wts));
            }
        }
        for (key, wts) in locks {
            if let Some(place) = self.view.placement(self.view.partition::<D>(&key)) {
                claim_of(&mut open, &mut full, place.primary);
                open.entry(place.primary).or_default().locks.push((key, wts));
            }
        }
        let mut claims = Claims { until, ..Claims::default() };
        for (node, mut claim) in full.into_iter().chain(open) {
            claim.until = until;
            let Some(transaction) = self.transactions.get_mut(&txn) else { break };
            transaction.claims = transaction.claims.wrapping_add(1);
            let number = transaction.claims;
            claims.awaited.insert(number, (node, claim.clone()));
            self.send(node, Body::Claim(txn, number, claim), out);
        }
        claims
    }

    pub(crate) fn claim_done(
        &mut self,
        from: NodeId,
        txn: TxnId,
        number: u32,
        answer: Claimed<D::Key>,
        out: &mut Out<D>,
    ) {
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let (Phase::Locking(claims) | Phase::Validating(claims) | Phase::Checking(claims)) =
            &mut transaction.phase
        else {
            return;
        };
        let Some((node, claim)) = claims.awaited.get(&number) else { return };
        if *node != from || answer.as_ref().is_ok_and(|granted| granted.len() != claim.locks.len()) {
            return;
        }
        let Some((_, claim)) = claims.awaited.remove(&number) else { return };
        match answer {
            Ok(granted) => {
                claims.granted.extend(claim.locks.into_iter().map(|(key, _)| key).zip(granted));
                claims.extended.extend(claim.reads);
            }
            Err(refusal) => drop(claims.failed.get_or_insert(refusal)),
        }
        if claims.awaited.is_empty() {
            self.locked(txn, out);
            self.validated(txn, out);
            self.checked(txn, out);
        }
    }

    /// Time synchronization: the backups are told what the primaries have promised, so that reads there stay valid for
    /// longer. That is only an optimization: extensions are held back until there are many, or until the barrier. And
    /// only those that this node has requested before are worth a message: of a version that is read again, more reads
    /// will come.
    pub(crate) fn tell_promises(&mut self, items: Extensions<D::Key>, until: Time, out: &mut Out<D>) {
        if !self.rules.on(Rule::TellExtensions) {
            return;
        }
        for (item, wts) in items {
            let Some(place) = self.view.placement(self.view.partition_of::<D>(&item)) else { continue };
            let backups = place.backups;
            if backups.has(self.id) {
                self.know_promises(vec![(item.clone(), wts, until)]);
            }
            if !self.rules.tells_all() && self.is_first_extension(&item, wts) {
                continue;
            }
            for node in backups.without(self.id).iter() {
                let told = self.promises.entry(node).or_default();
                let known = told.entry((item.clone(), wts)).or_default();
                *known = until.max(*known);
                if told.len() >= PROMISES {
                    let told = std::mem::take(told);
                    self.send_promises(node, told, out);
                }
            }
        }
    }

    /// Whether this node has not had a version's promise extended before, as far as it remembers.
    fn is_first_extension(&mut self, item: &Item<D::Key>, wts: Time) -> bool {
        if self.extended.len() >= REMEMBERED {
            self.extended.clear();
        }
        self.extended.insert((item.clone(), wts))
    }

    /// The barrier has come: all extensions that were held back are sent.
    pub(crate) fn tell_all_promises(&mut self, out: &mut Out<D>) {
        for (node, told) in std::mem::take(&mut self.promises) {
            if !told.is_empty() {
                self.send_promises(node, told, out);
            }
        }
    }

    fn send_promises(&self, node: NodeId, told: Told<D::Key>, out: &mut Out<D>) {
        let told = told.into_iter().map(|((item, wts), until)| (item, wts, until));
        self.send(node, Body::Promised(told.collect()), out);
    }
}
