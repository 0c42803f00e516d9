//! The metadata store: the newest view, by compare-and-set, and who has a lease. Hosts reach it over a way of its own.

use super::queue::Micros;
use scaledb_scar::link::Incarnation;
use scaledb_scar::{NodeId, NodeSet, View, ViewNumber};
use std::sync::Arc;

/// What the store keeps of views.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The newest view.
    pub view: Arc<View>,
    /// The last view that all of its members have installed; it may be the newest.
    pub base: Arc<View>,
    /// Which life of each node the newest view means, if it is a member.
    pub lives: Arc<[Incarnation]>,
    /// Members of the newest view whose lease has run out.
    pub silent: NodeSet,
    /// Members of the last installed view that were taken out on purpose since, and wait.
    pub leaving: NodeSet,
    /// Whether they are members again if too many others fail.
    pub readmits: bool,
}

impl Entry {
    /// Whether all members of the newest view have installed it.
    pub(super) fn is_settled(&self) -> bool {
        self.base.number == self.view.number
    }

    /// Whether the newest view means this life of a node.
    pub(super) fn names(&self, node: NodeId, life: Incarnation) -> bool {
        self.view.members.has(node) && self.lives[usize::from(node.0)] == life
    }

    /// Whether this life of a node waits, as it was taken out and may have to be a member again.
    pub(super) fn waits(&self, node: NodeId, life: Incarnation) -> bool {
        self.leaving.has(node) && self.lives[usize::from(node.0)] == life
    }

    /// A view without some members, if there may be one. An epoch has committed when a quorum of the last installed
    /// view knows that it is whole: so fewer than a quorum may be gone since then, or nobody that is left might know.
    pub(super) fn without(&self, gone: NodeSet) -> Option<View> {
        let view = self.view.without(gone)?;
        let lost = self.base.members.iter().filter(|&node| !view.members.has(node)).count();
        // without the rule nobody counts those that were taken out
        let taken_out = if self.readmits { 0 } else { self.leaving.count() };
        if lost.saturating_sub(taken_out) < self.base.quorum() {
            return (view.members != self.view.members).then_some(view);
        }
        if self.leaving.count() == 0 || !self.readmits {
            return None;
        }
        let back = (*self.view).clone().readmitting(self.leaving);
        let back = Self { view: back.into(), leaving: NodeSet::default(), ..self.clone() };
        back.without(gone)
    }
}

/// What a host asks for.
#[derive(Clone, Debug)]
pub(super) enum Request {
    /// Renews its lease. Every answer is the entry.
    Renew,
    /// This view, if it is the successor of the newest.
    Change(Arc<View>),
    /// This view, without a member that keeps nothing any more, if it is the successor of the newest.
    Leave(Arc<View>),
    /// All members of the view have installed it.
    Installed(ViewNumber),
    /// To be a member.
    Join(Incarnation),
    /// To be the member that one of its former lives is.
    Resume { former: Vec<Incarnation>, life: Incarnation },
}

/// The store.
pub(super) struct Metadata {
    entry: Entry,
    leases: Vec<Micros>,
    lease: Micros,
    /// It answers nothing before this time.
    pub away_until: Micros,
}

impl Metadata {
    pub(super) fn new(view: Arc<View>, lease: Micros, nodes: u8, readmits: bool) -> Self {
        let lives = vec![Incarnation(1); usize::from(nodes)].into();
        Self {
            entry: Entry {
                base: view.clone(),
                view,
                lives,
                silent: NodeSet::default(),
                leaving: NodeSet::default(),
                readmits,
            },
            leases: vec![lease; usize::from(nodes)],
            lease,
            away_until: 0,
        }
    }

    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Answers a request; whether the view has changed.
    pub(super) fn ask(&mut self, now: Micros, from: NodeId, request: Request) -> (Entry, bool) {
        let mut changed = false;
        if let Some(lease) = self.leases.get_mut(usize::from(from.0)) {
            *lease = now + self.lease;
        }
        match request {
            Request::Renew => {}
            Request::Change(view) => {
                let follows = view.number.0 == self.entry.view.number.0 + 1;
                // when it is noted that all have installed the view, those that were leaving are gone
                let can_be = self.entry.view.members.iter().chain(self.entry.leaving.iter());
                let is_known = can_be.collect::<NodeSet>().covers(view.members);
                if follows && is_known && self.entry.view.members.has(from) {
                    // who was leaving may be a member again
                    self.entry.leaving =
                        self.entry.leaving.iter().filter(|&node| !view.members.has(node)).collect();
                    self.entry.view = view;
                    changed = true;
                }
            }
            Request::Leave(view) => {
                let follows = view.number.0 == self.entry.view.number.0 + 1;
                if follows && self.entry.is_settled() {
                    let left = self.entry.view.members.iter().filter(|&node| !view.members.has(node));
                    self.entry.leaving = left.collect();
                    self.entry.view = view;
                    changed = true;
                }
            }
            Request::Installed(number) => {
                if number == self.entry.view.number {
                    self.entry.base = self.entry.view.clone();
                    changed = self.entry.leaving.count() > 0;
                    self.entry.leaving = NodeSet::default();
                }
            }
            Request::Resume { former, life } => {
                let now = self.entry.lives[usize::from(from.0)];
                if self.entry.view.members.has(from) && now != life && former.contains(&now) {
                    self.entry.view = Arc::new(self.entry.view.resumed());
                    let mut lives = self.entry.lives.to_vec();
                    lives[usize::from(from.0)] = life;
                    self.entry.lives = lives.into();
                    changed = true;
                }
            }
            Request::Join(life) => {
                if self.entry.is_settled() && !self.entry.view.members.has(from) {
                    self.entry.view = Arc::new(self.entry.view.joining(from));
                    let mut lives = self.entry.lives.to_vec();
                    lives[usize::from(from.0)] = life;
                    self.entry.lives = lives.into();
                    changed = true;
                }
            }
        }
        let leases = &self.leases;
        let members = self.entry.view.members.iter();
        self.entry.silent = members.filter(|&node| leases[usize::from(node.0)] < now).collect();
        (self.entry.clone(), changed)
    }
}
