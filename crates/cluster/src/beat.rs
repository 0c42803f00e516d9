//! The thread that keeps time: ends epochs at the leader, says that the member is there, notices who is not.

use super::member::Core;
use super::network::Packet;
use scaledb_scar::{NodeId, Stage};
use std::time::{Duration, Instant};

pub(crate) fn run(core: &Core) {
    let settings = &core.settings;
    let mut last_beat: Option<Instant> = None;
    let mut last_turn = Instant::now();
    while !core.stopping() {
        let now = Instant::now();
        // this process has been asleep, not the others
        if now - last_turn > settings.suspect_after / 2 {
            core.views.lock().heard.values_mut().for_each(|heard| *heard = now);
        }
        last_turn = now;
        if last_beat.is_none_or(|last| now - last >= settings.heartbeat) {
            last_beat = Some(now);
            let others: Vec<NodeId> = {
                let views = core.views.lock();
                views.newest.view.members.without(core.me).iter().collect()
            };
            for node in others {
                core.network.send(node, Packet::Heartbeat);
            }
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

impl Core {
    /// Members of the newest view that have not been heard for too long, or that the network has given up.
    pub(crate) fn silent(&self) -> Vec<NodeId> {
        let views = self.views.lock();
        let now = Instant::now();
        let patience = if self.waits_for_restart() {
            self.settings.restart.max(self.settings.suspect_after)
        } else {
            self.settings.suspect_after
        };
        let dead = |node: &NodeId| {
            let heard = views.heard.get(node).is_some_and(|&at| now - at < patience);
            let failed = views.failed.get(node);
            !heard || failed.is_some_and(|&life| views.newest.names(*node, life))
        };
        views.newest.view.members.without(self.me).iter().filter(dead).collect()
    }
}
