//! The thread that talks with the metadata store: renews the lease, follows views, and makes one when a member is
//! silent.

use super::membership::{self, Halt};
use super::network::Packet;
use super::state::Core;
use super::store::{ClusterView, StoreError};
use scaledb_scar::{NodeSet, Stage};
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often a member reports, if it has no new view: etcd keeps all that was ever written, until it is compacted.
const REPORT: Duration = Duration::from_secs(30);

/// What is remembered of those that were put out until somebody asks.
const PUT_OUT: usize = 64;

pub(crate) fn run(core: &Core) {
    let mut renewed = Instant::now();
    let (mut reported, mut of) = (Instant::now(), None);
    while !core.stopping() {
        if renewed.elapsed() >= core.settings.lease / 3 {
            // the lease matters only to others, who then ask whether this member is silent
            if core.store.renew(core.me, core.life, core.settings.lease).is_err() {
                core.counters.store_errors.fetch_add(1, Ordering::Relaxed); // a statistic
            }
            renewed = Instant::now();
        }
        let view = {
            let state = core.lock();
            (state.node.view().number, state.node.is_full())
        };
        if of != Some(view) || reported.elapsed() >= REPORT {
            if core.report().is_err() {
                core.counters.store_errors.fetch_add(1, Ordering::Relaxed); // a statistic
            }
            (reported, of) = (Instant::now(), Some(view));
        }
        match look(core) {
            Ok(true) => {}
            Ok(false) => return core.leave(),
            Err(_) => {
                core.counters.store_errors.fetch_add(1, Ordering::Relaxed); // a statistic
            }
        }
        let views = core.views.lock();
        let rest = core.settings.ask_store.min(core.settings.lease / 3);
        let rest = if views.ask { rest.min(core.settings.heartbeat / 2) } else { rest };
        if !core.stopping() {
            drop(core.wake_watch.wait_timeout(views, rest.max(Duration::from_millis(1))));
        }
    }
}

/// Asks the store for the view, and makes the next one if there must be one. Whether this life of the node is a member.
fn look(core: &Core) -> Result<bool, StoreError> {
    core.views.lock().ask = false;
    let Some(stored) = core.store.view()? else { return Ok(true) };
    if stored.is_leaving(core.me, core.life) {
        // as it was, until all others have installed a view without it; they do not speak to it
        let now = Instant::now();
        core.views.lock().heard.values_mut().for_each(|heard| *heard = now);
        return Ok(true);
    }
    core.removed.store(stored.removed.has(core.me), Ordering::SeqCst);
    if !follow(core, stored) {
        return Ok(false);
    }
    let newest = core.views.lock().newest.clone();
    // who has lost what was on its disk is as good as lost
    let incomplete = core.lock().node.incomplete();
    let silent: NodeSet = core.silent().into_iter().chain(incomplete.iter()).collect();
    // the leader notes that all have installed the view; one that takes a node out on purpose begins only then, as that
    // node may be a member again before. Nobody who knows that a view has begun puts others out before it is noted
    if !newest.is_settled()
        && (newest.view.leader == core.me || silent.count() > 0)
        && core.has_opened(&newest)
    {
        let stays = propose(core, &newest, membership::settled(&newest))?;
        if silent.count() > 0 {
            core.ask_store();
        }
        return Ok(stays);
    }
    if silent.count() > 0 {
        let leased: NodeSet = core
            .store
            .alive()?
            .into_iter()
            .filter(|&(node, life)| newest.names(node, life))
            .map(|(node, _)| node)
            .collect();
        return Ok(match membership::without(&newest, silent, leased) {
            Ok(next) => {
                let why = core.why_silent(&newest, silent);
                let members = next.view.members;
                let stays = propose(core, &newest, next)?;
                let mut views = core.views.lock();
                if views.newest.view.members == members && views.put_out.len() < PUT_OUT {
                    views.put_out.push(why);
                }
                stays
            }
            Err(halt) => {
                note(core, Some(halt));
                true
            }
        });
    }
    note(core, None);
    if newest.view.leader == core.me && newest.is_settled() {
        let next = match joiner(core, &newest)? {
            Some(next) => Some(next),
            None => membership::improved(&newest),
        };
        if let Some(next) = next {
            return propose(core, &newest, next);
        }
    }
    let copied = {
        let state = core.lock();
        state.node.view().number == newest.view.number && state.node.has_copied()
    };
    if copied {
        return propose(core, &newest, membership::promoted(&newest, core.me));
    }
    Ok(true)
}

/// The view with a node that waits to be a member, if there is one.
fn joiner(core: &Core, now: &ClusterView) -> Result<Option<ClusterView>, StoreError> {
    let mut alive = core.store.alive()?;
    alive.retain(|&node, &mut life| !now.view.members.has(node) && !now.is_gone(node, life));
    if alive.is_empty() {
        return Ok(None);
    }
    let mut nodes = core.store.nodes()?;
    nodes.retain(|node, life| alive.get(node) == Some(&life.incarnation));
    Ok(nodes.iter().find_map(|(&node, life)| membership::joining(now, node, life)))
}

impl Core {
    /// Whether all members have installed the view, as far as this node knows.
    fn has_opened(&self, now: &ClusterView) -> bool {
        let state = self.lock();
        let opened = !matches!(state.node.stage(), Stage::Fenced | Stage::Installed);
        state.node.view().number == now.view.number && (opened || state.node.wants_note())
    }
}

fn note(core: &Core, halt: Option<Halt>) {
    core.views.lock().halt = halt;
}

/// Puts a view into the store, unless another was faster. Whether this life of the node is still a member.
fn propose(core: &Core, last: &ClusterView, next: ClusterView) -> Result<bool, StoreError> {
    if !core.store.replace(Some(last), &next)? {
        core.ask_store();
        return Ok(true);
    }
    let (leader, new) = (next.view.leader, next.view.number > last.view.number);
    let stays = follow(core, next);
    if new && leader != core.me {
        core.network.send(leader, Packet::NewView);
    }
    Ok(stays)
}

/// Goes on to a view of the store. Whether this life of the node is a member of it.
fn follow(core: &Core, stored: ClusterView) -> bool {
    if !stored.names(core.me, core.life) {
        return false;
    }
    {
        let mut views = core.views.lock();
        if stored.view.number < views.newest.view.number {
            return true;
        }
        if stored.view.number > views.newest.view.number {
            let now = Instant::now();
            // who is new, or another life, has its time to be heard
            for (&node, life) in &stored.lives {
                if !views.newest.names(node, life.incarnation) {
                    views.heard.insert(node, now);
                    views.unheard = views.unheard.with(node);
                }
            }
        }
        views.newest = stored.clone();
    }
    core.network.follow(&stored);
    core.followed(stored.view.number);
    let mut state = core.lock();
    if stored.view.leader == core.me && state.node.view().number < stored.view.number {
        let takes_out = !stored.leaving.is_empty();
        let view = Arc::new(stored.view);
        core.run(&mut state, |node, out| {
            if takes_out {
                node.begin_when_noted(view.number);
            }
            node.lead(view, out);
        });
    } else if stored.is_settled() && state.node.wants_note() {
        core.run(&mut state, |node, out| node.noted(stored.view.number, out));
    }
    true
}
