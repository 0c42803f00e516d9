//! What members ask each other about a conflict, so that a client is told of the other transaction's statement, too.
//! It is no part of the protocol: nothing depends on the answers, and one that does not come is not missed.
//!
//! ```text
//!   a version has changed   ──► its primary: who has it locked, or when was it written?
//!   locked by a transaction ──► its coordinator: what has it run?
//!   written at a place      ──► all: what have transactions run that committed there?
//! ```

use super::network::Packet;
use super::rows::Key;
use super::state::Core;
use scaledb_scar::{Epoch, Item, NodeId, NodeSet, Time, TxnId, Why, Writer};
use scaledb_sync::Arc;
use scaledb_sync::lock::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a client's error waits for the answers at most.
const PATIENCE: Duration = Duration::from_millis(200);

/// Statements that are told, and bytes of each: a peer may send more.
const TEXTS: usize = 4;
const BYTES: usize = 400;

/// A question.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Asked {
    /// Who has locked this, another than the transaction that asks, or has last written it?
    Writer(TxnId, Item<Key>),
    /// What has this transaction run last?
    Of(TxnId),
    /// What have transactions run last that have this place?
    At(Epoch, Time),
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Told {
    /// It is not known.
    Nothing,
    /// Who it was.
    Writer(Writer),
    /// Statements.
    Texts(Vec<String>),
}

/// Who knows what transactions of this node have run.
pub(crate) type Knows = dyn Fn(&Asked) -> Told + Send + Sync;

/// Questions that wait for answers.
#[derive(Default)]
pub(crate) struct Asking {
    state: Mutex<Questions>,
    answered: Condvar,
}

#[derive(Default)]
struct Questions {
    last: u64,
    open: BTreeMap<u64, BTreeMap<NodeId, Told>>,
    knows: Option<Arc<Knows>>,
}

impl Asking {
    /// From here on this is asked what transactions of the node have run.
    pub(crate) fn answer_with(&self, knows: Arc<Knows>) {
        self.state.lock().knows = Some(knows);
    }

    /// An answer of another member: of nobody's question if it comes late.
    pub(crate) fn hear(&self, from: NodeId, number: u64, told: Told) {
        if let Some(answers) = self.state.lock().open.get_mut(&number) {
            answers.insert(from, told);
            self.answered.notify_all();
        }
    }
}

impl Core {
    /// Answers a question.
    pub(crate) fn tell(&self, asked: &Asked) -> Told {
        if let Asked::Writer(asks, item) = asked {
            let writer = self.lock().node.writer(*asks, item);
            return writer.map_or(Told::Nothing, Told::Writer);
        }
        let knows = self.asking.state.lock().knows.clone();
        knows.map_or(Told::Nothing, |knows| knows(asked))
    }

    /// Asks members of the view, this one among them. What they have answered until then.
    fn ask_members(&self, nodes: NodeSet, asked: &Asked, until: Instant) -> Vec<Told> {
        let members = self.views.lock().newest.view.members;
        let others: NodeSet = nodes.without(self.me).iter().filter(|&node| members.has(node)).collect();
        let number = {
            let mut state = self.asking.state.lock();
            state.last += 1;
            let number = state.last;
            state.open.insert(number, BTreeMap::new());
            number
        };
        for node in others.iter() {
            self.network.send(node, Packet::Ask(number, asked.clone()));
        }
        let mut answers: Vec<Told> = nodes.has(self.me).then(|| self.tell(asked)).into_iter().collect();
        let mut state = self.asking.state.lock();
        loop {
            let heard = state.open.get(&number).map_or(0, BTreeMap::len);
            let rest = until.saturating_duration_since(Instant::now());
            if heard >= others.count() || rest.is_zero() || self.stopping() {
                break;
            }
            state = self.asking.answered.wait_timeout(state, rest);
        }
        answers.extend(state.open.remove(&number).unwrap_or_default().into_values());
        answers
    }

    /// What the other transaction of a conflict has run last, or one of these.
    pub(crate) fn statements_behind(&self, own: TxnId, why: Why, item: &Item<Key>) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        let only = |node| NodeSet::default().with(node);
        let (members, primary) = {
            let views = self.views.lock();
            let view = &views.newest.view;
            let partition = match item {
                Item::Record(key) => key.partition,
                Item::Gap(partition, ..) => *partition,
            };
            (view.members, view.placement(partition).map(|place| place.primary))
        };
        let writer = match (why, primary) {
            (Why::Locked(holder), _) => Some(Told::Writer(Writer::Holder(holder))),
            (Why::Changed, Some(primary)) => {
                self.ask_members(only(primary), &Asked::Writer(own, item.clone()), until).pop()
            }
            _ => None,
        };
        let told = match writer {
            Some(Told::Writer(Writer::Holder(holder))) => {
                self.ask_members(only(holder.node), &Asked::Of(holder), until)
            }
            Some(Told::Writer(Writer::At(epoch, time))) => {
                self.ask_members(members, &Asked::At(epoch, time), until)
            }
            _ => return Vec::new(),
        };
        let texts = told.into_iter().flat_map(|told| match told {
            Told::Texts(texts) => texts,
            _ => Vec::new(),
        });
        let mut texts: Vec<String> = texts.collect();
        texts.sort_unstable();
        texts.dedup();
        texts.truncate(TEXTS);
        texts.iter_mut().for_each(|text| text.truncate(text.floor_char_boundary(BYTES)));
        texts
    }
}
