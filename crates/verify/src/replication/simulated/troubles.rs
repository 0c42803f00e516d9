//! What goes wrong, and its end.

use super::cluster::{Cluster, Event};
use rand::Rng;
use scaledb_scar::NodeId;

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
        let hosts = self.hosts.len();
        let host = self.random.random_range(0..hosts);
        let peer = (host + self.random.random_range(1..hosts)) % hosts;
        // a moment, or long enough to be taken for dead
        let most = if self.random.random() { 5_000 } else { 4 * self.plan.silence };
        let lasts = self.random.random_range(1..=most);
        match self.random.random_range(0..12) {
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
            9 => self.hosts[host].rate = self.random.random_range(self.plan.clocks.0..=self.plan.clocks.1),
            _ => {
                if self.report.crashes < self.plan.crashes && self.may_lose(host) {
                    self.report.crashes += 1;
                    self.lose(host);
                }
            }
        }
    }

    fn pause(&mut self, host: usize, lasts: u64) {
        let until = self.queue.now() + lasts;
        let paused = &mut self.hosts[host].paused_until;
        *paused = (*paused).max(until);
        self.queue.after(lasts, Event::Wake(host as u8));
    }

    /// Whether the others could go on without a host: it is the injector's promise to lose no more than f at once.
    fn may_lose(&self, host: usize) -> bool {
        let id = NodeId(host as u8);
        let entry = self.metadata.entry();
        self.hosts[host].node.is_some()
            && entry.base.number == entry.view.number
            && entry.view.members.has(id)
            && entry.view.members.iter().all(|other| self.hosts[usize::from(other.0)].node.is_some())
            && entry.without([id].into_iter().collect()).is_some()
    }

    /// A host is gone, with all that it knew.
    pub(super) fn lose(&mut self, host: usize) {
        self.hosts[host].node = None;
        self.scatter(host);
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
            if self.hosts[host].paused_until > self.queue.now() {
                self.hosts[host].paused_until = self.queue.now();
                self.queue.after(1, Event::Wake(host as u8));
            }
        }
    }
}
