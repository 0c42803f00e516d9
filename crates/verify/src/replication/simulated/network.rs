//! What becomes of a packet.

use super::plan::Plan;
use super::queue::Micros;
use rand::Rng;
use rand::rngs::SmallRng;

/// Links between hosts; each direction is one.
pub(super) struct Network {
    hosts: usize,
    delay: (Micros, Micros),
    slow: u32,
    loss: u32,
    repeats: u32,
    cut: Vec<bool>,
}

impl Network {
    pub(super) fn new(plan: &Plan) -> Self {
        let hosts = usize::from(plan.nodes);
        let (slow, loss, repeats) = plan.bad;
        Self { hosts, delay: plan.delay, slow, loss, repeats, cut: vec![false; hosts * hosts] }
    }

    /// Cuts a direction, or mends it.
    pub(super) fn set(&mut self, from: usize, to: usize, cut: bool) {
        self.cut[from * self.hosts + to] = cut;
    }

    pub(super) fn mend_all(&mut self) {
        self.cut.fill(false);
    }

    fn takes(&self, random: &mut SmallRng) -> Micros {
        let takes = self.delay.0 + random.random_range(0..=self.delay.1);
        if random.random_range(0..1000) < self.slow { takes * 20 } else { takes }
    }

    /// When a packet comes, if it comes, and when it comes again, if it does.
    pub(super) fn carry(&self, random: &mut SmallRng, from: usize, to: usize) -> [Option<Micros>; 2] {
        if self.cut[from * self.hosts + to] {
            return [None, None];
        }
        let first = (self.loss == 0 || random.random_range(0..1000) >= self.loss).then(|| self.takes(random));
        let again =
            (self.repeats > 0 && random.random_range(0..1000) < self.repeats).then(|| self.takes(random));
        [first, again]
    }
}
