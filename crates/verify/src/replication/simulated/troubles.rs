//! What goes wrong, and its end.

use super::cluster::{Cluster, Event};
use super::metadata::{Entry, Request};
use rand::Rng;
use scaledb_scar::{NodeId, NodeSet, PartitionId};

/// The end of a trouble.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mend {
    /// A direction.
    Way(u8, u8),
    /// All directions of a host.
    Host(u8),
}

impl Cluster {
    pub(super) fn next_trouble(&mut self) {
        if self.plan.troubles > 0 {
            let delay = self.random.random_range(1..=2 * self.plan.troubles);
            self.queue.after(delay, Event::Trouble);
        }
    }

    fn cut_host(&mut self, host: usize, both: bool, inwards: bool) {
        for peer in (0..self.hosts.len()).filter(|&peer| peer != host) {
            if both || inwards {
                self.network.set(peer, host, true);
            }
            if both || !inwards {
                self.network.set(host, peer, true);
            }
        }
    }

    pub(super) fn trouble(&mut self) {
        if self.draining {
            return;
        }
        self.next_trouble();
        if self.plan.durable && self.random.random_range(0..8) == 0 {
            return self.cut_power();
        }
        let hosts = self.hosts.len();
        let host = self.random.random_range(0..hosts);
        let peer = (host + self.random.random_range(1..hosts)) % hosts;
        // a moment, or long enough to be taken for dead
        let most = if self.random.random() { 5_000 } else { 4 * self.plan.silence };
        let lasts = self.random.random_range(1..=most);
        match self.random.random_range(0..13) {
            0 | 1 => {
                self.network.set(host, peer, true);
                self.queue.after(lasts, Event::Mend(Mend::Way(host as u8, peer as u8)));
            }
            2 => {
                self.network.set(host, peer, true);
                self.network.set(peer, host, true);
                self.queue.after(lasts, Event::Mend(Mend::Way(host as u8, peer as u8)));
                self.queue.after(lasts, Event::Mend(Mend::Way(peer as u8, host as u8)));
            }
            3 | 4 => {
                let (both, inwards) = (self.random.random(), self.random.random());
                self.cut_host(host, both, inwards);
                self.queue.after(lasts, Event::Mend(Mend::Host(host as u8)));
            }
            5..=7 => self.pause(host, lasts),
            8 => {
                let until = self.queue.now() + lasts;
                self.metadata.away_until = self.metadata.away_until.max(until);
            }
            9 => self.hand_over(),
            10 => self.hosts[host].rate = self.random.random_range(self.plan.clocks.0..=self.plan.clocks.1),
            _ => self.crash(host),
        }
    }

    /// Another replica of a partition shall be its primary.
    fn hand_over(&mut self) {
        let entry = self.metadata.entry();
        let partition = PartitionId(self.random.random_range(0..self.plan.partitions));
        let backup = entry.view.placement(partition).and_then(|place| place.backups.iter().next());
        if let Some(to) = backup.filter(|_| entry.is_settled())
            && let Some(view) = entry.view.handed_over(partition, to)
        {
            self.ask(to.0.into(), Request::Change(view.into()));
        }
    }

    fn pause(&mut self, host: usize, lasts: u64) {
        let until = self.queue.now() + lasts;
        let paused = &mut self.hosts[host].paused_until;
        *paused = (*paused).max(until);
        self.queue.after(lasts, Event::Wake(host as u8));
    }

    /// A host crashes, if it may. What it has just sent may be lost with it, and whoever leads then may be the next.
    pub(super) fn crash(&mut self, host: usize) {
        if self.draining || self.report.crashes >= self.plan.crashes {
            return;
        }
        if self.plan.durable && self.random.random_range(0..3) > 0 {
            // it comes back with its disk
            if self.hosts[host].node.is_some() {
                self.report.crashes += 1;
                self.lose(host);
            }
            return;
        }
        if !self.may_lose(host) {
            return;
        }
        self.report.crashes += 1;
        self.lose(host);
        self.lose_disk(host);
        self.hosts[host].muted = self.random.random();
        if self.random.random_range(0..3) == 0 {
            let soon = self.random.random_range(1..=2 * self.plan.silence);
            self.queue.after(soon, Event::CrashLeader);
        }
    }

    fn lose_disk(&mut self, host: usize) {
        self.hosts[host].disk.forget();
        self.hosts[host].claims.clear();
    }

    /// All are lost together, and one of the disks perhaps.
    fn cut_power(&mut self) {
        if self.report.power_cuts >= self.plan.power_cuts {
            return;
        }
        self.report.power_cuts += 1;
        let victim = self.random.random_range(0..4 * self.hosts.len());
        if victim < self.hosts.len() && self.may_lose_disk(victim) {
            self.lose_disk(victim);
        }
        for host in 0..self.hosts.len() {
            if self.hosts[host].up {
                self.lose(host);
            }
        }
    }

    /// Whether the others could go on without a disk, and without those that are lost already.
    fn may_lose_disk(&self, victim: usize) -> bool {
        let entry = self.metadata.entry();
        let lost = |id: &NodeId| {
            let at = usize::from(id.0);
            at == victim || !self.hosts[at].claims.contains(&entry.lives[at])
        };
        entry.without(entry.view.members.iter().filter(lost).collect()).is_some()
    }

    /// Whether the others could go on without a host, and without those that are gone already: it is the injector's
    /// promise to lose no more than f of what a view has.
    fn may_lose(&self, host: usize) -> bool {
        let entry = self.metadata.entry();
        let gone = self.gone(entry).with(NodeId(host as u8));
        self.hosts[host].node.is_some() && entry.without(gone).is_some()
    }

    /// Members of the newest view that are no more.
    pub(super) fn gone(&self, entry: &Entry) -> NodeSet {
        let there = |id: NodeId| {
            let host = &self.hosts[usize::from(id.0)];
            host.up && entry.names(id, host.life)
        };
        let waits = |id: NodeId| {
            let host = &self.hosts[usize::from(id.0)];
            host.up && entry.waits(id, host.life)
        };
        let members = entry.view.members.iter().filter(|&id| !there(id));
        members.chain(entry.leaving.iter().filter(|&id| !waits(id))).collect()
    }

    /// A host is gone, with all that it knew.
    pub(super) fn lose(&mut self, host: usize) {
        let lost = &mut self.hosts[host];
        (lost.node, lost.up, lost.muted) = (None, false, false);
        if self.plan.durable {
            let kept = self.random.random_range(0..=lost.disk.unsynced());
            lost.disk.crash(kept);
        }
        self.scatter(host);
        if self.plan.returns > 0 {
            let delay = self.random.random_range(1..=self.plan.returns);
            self.queue.after(delay, Event::Return(host as u8));
        }
    }

    /// A host is there again, as another life.
    pub(super) fn come_back(&mut self, host: usize) {
        let known = self.metadata.entry().clone();
        self.hosts[host].returns(known);
        self.wake(host);
        self.start_timers(host);
    }

    pub(super) fn mend(&mut self, mend: Mend) {
        match mend {
            Mend::Way(from, to) => self.network.set(from.into(), to.into(), false),
            Mend::Host(host) => {
                for peer in (0..self.hosts.len()).filter(|&peer| peer != usize::from(host)) {
                    self.network.set(peer, host.into(), false);
                    self.network.set(host.into(), peer, false);
                }
            }
        }
    }

    /// All troubles end, and no transaction begins.
    pub(super) fn drain(&mut self) {
        self.draining = true;
        self.drained_at = self.queue.now();
        self.network.mend_all();
        self.metadata.away_until = 0;
        for host in 0..self.hosts.len() {
            if let Some(node) = &mut self.hosts[host].node {
                node.limit_memory(usize::MAX);
            }
            if self.hosts[host].paused_until > self.queue.now() {
                self.hosts[host].paused_until = self.queue.now();
                self.queue.after(1, Event::Wake(host as u8));
            }
        }
    }
}
