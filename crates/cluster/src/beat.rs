//! The threads that keep time: one ends epochs at the leader and notices who is silent, one says that the member is
//! there.

use super::network::Packet;
use super::state::Core;
use super::store::ClusterView;
use scaledb_scar::{NodeId, NodeSet, Stage};
use std::time::{Duration, Instant};

/// A member that does one thing for so many times the silence that counts as death is stuck, and says no more that it
/// is there.
const BUSY: u32 = 10;

pub(crate) fn run(core: &Core) {
    let settings = &core.settings;
    let mut last_look: Option<Instant> = None;
    while !core.stopping() {
        let now = Instant::now();
        {
            let mut views = core.views.lock();
            // this member has been asleep or busy, and has not listened: the others have not been silent
            if now - views.turn > settings.suspect_after / 2 {
                views.heard.values_mut().for_each(|heard| *heard = now);
            }
            views.turn = now;
        }
        if last_look.is_none_or(|last| now - last >= settings.heartbeat) {
            last_look = Some(now);
            core.locks.tick();
            if !core.silent().is_empty() {
                core.ask_store();
            }
        }
        let mut state = core.lock();
        let mut rest = settings.heartbeat;
        if state.node.leads() && state.node.stage() == Stage::Open {
            let length = if state.busy { settings.epoch } else { settings.idle_epoch };
            match length.checked_sub(state.epoch_began.elapsed()) {
                Some(left) if !left.is_zero() => rest = rest.min(left),
                _ => core.run(&mut state, |node, out| node.tick(out)),
            }
        }
        if !core.stopping() {
            drop(core.wake_beat.wait_timeout(state, rest.max(Duration::from_micros(100))));
        }
    }
}

/// Says that the member is there, on a thread that waits for nothing behind the protocol's lock: a large
/// transaction may have that for long, and the member is not dead.
pub(crate) fn say_so(core: &Core) {
    let settings = &core.settings;
    while !core.stopping() {
        let (others, turn): (Vec<NodeId>, Instant) = {
            let views = core.views.lock();
            (views.newest.view.members.without(core.me).iter().collect(), views.turn)
        };
        if turn.elapsed() < BUSY * settings.suspect_after {
            for node in others {
                core.network.send(node, Packet::Heartbeat);
            }
        }
        let views = core.views.lock();
        if !core.stopping() {
            drop(core.wake_alive.wait_timeout(views, settings.heartbeat));
        }
    }
}

impl Core {
    /// Members of the newest view that have not been heard for too long, or that the network has given up.
    pub(crate) fn silent(&self) -> Vec<NodeId> {
        let views = self.views.lock();
        let now = Instant::now();
        // what has come meanwhile is not taken yet: see `run`
        if now - views.turn > self.settings.suspect_after / 2 {
            return Vec::new();
        }
        let patience = if self.waits_for_restart() {
            self.settings.restart.max(self.settings.suspect_after)
        } else {
            self.settings.suspect_after
        };
        let dead = |node: &NodeId| {
            let patience =
                if views.unheard.has(*node) { patience.max(self.settings.arrival()) } else { patience };
            let heard = views.heard.get(node).is_some_and(|&at| now - at < patience);
            let failed = views.failed.get(node);
            !heard || failed.is_some_and(|&life| views.newest.names(*node, life))
        };
        views.newest.view.members.without(self.me).iter().filter(dead).collect()
    }

    /// Why members are put out, by name.
    pub(crate) fn why_silent(&self, newest: &ClusterView, silent: NodeSet) -> String {
        let views = self.views.lock();
        let now = Instant::now();
        let why = silent.iter().map(|node| {
            let name = newest.lives.get(&node).map_or("", |life| &*life.name);
            let failed = views.failed.get(&node).is_some_and(|&life| newest.names(node, life));
            let heard = views.heard.get(&node).map_or(Duration::ZERO, |&at| now - at).as_millis();
            match (failed, views.unheard.has(node)) {
                (true, _) => format!("{name}: the connection has failed"),
                (false, true) => format!("{name}: not heard within {heard} ms of its arrival"),
                (false, false) => format!("{name}: silent for {heard} ms"),
            }
        });
        why.collect::<Vec<_>>().join(", ")
    }
}
