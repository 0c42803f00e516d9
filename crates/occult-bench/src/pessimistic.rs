//! A causal store that waits, in the manner of Eiger (Lloyd et al., NSDI 2013), as state machines without I/O: each
//! datacenter accepts writes, and applies one of another datacenter when all that it depends on has been applied there.
//!
//! ```text
//!  Context (client) ── deps ──► Replica::write ── Replicated ──► Replica::receive, elsewhere ── Check ──► other shards there
//!                                                                       ▲                                     │
//!                                                                       └───────────── Met, when applied ◄────┘
//! ```
//!
//! It is what Occult is compared with. There is no server of it: Redis applies its stream as it comes.

use std::collections::HashMap;

/// A version of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dep {
    /// Its shard.
    pub shard: usize,
    /// The key.
    pub key: u64,
    /// Its logical time.
    pub time: u64,
}

/// A write on its way to another datacenter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replicated {
    /// What is written.
    pub version: Dep,
    /// What has to be applied before.
    pub deps: Vec<Dep>,
}

/// What a replica says to others of its datacenter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// To the shard of the dependency: tell me when it is applied.
    Check {
        /// The dependency.
        dep: Dep,
        /// Who asks.
        from: usize,
        /// For which of its writes.
        ticket: u64,
    },
    /// To the shard that has asked: it is applied.
    Met {
        /// Who has asked.
        to: usize,
        /// For which of its writes.
        ticket: u64,
    },
    /// A write of another datacenter is visible now.
    Applied(Dep),
}

/// What a client depends on: what it has read since its last write, and that write. All else follows from these.
#[derive(Clone, Debug, Default)]
pub struct Context {
    nearest: Vec<Dep>,
    time: u64,
}

impl Context {
    /// The client has read a version.
    pub fn has_read(&mut self, version: Dep) {
        self.time = self.time.max(version.time);
        match self.nearest.iter_mut().find(|dep| dep.key == version.key) {
            Some(dep) => dep.time = dep.time.max(version.time),
            None => self.nearest.push(version),
        }
    }

    /// The client has written a version.
    pub fn has_written(&mut self, version: Dep) {
        self.time = version.time;
        self.nearest = vec![version];
    }
}

#[derive(Clone, Debug)]
struct Waiting {
    write: Replicated,
    missing: usize,
}

/// A shard in one datacenter.
#[derive(Clone, Debug)]
pub struct Replica {
    shard: usize,
    time: u64,
    applied: HashMap<u64, u64>,
    waiting: HashMap<u64, Waiting>,
    tickets: u64,
    /// By key: who waits for which time of it.
    asked: HashMap<u64, Vec<(u64, usize, u64)>>,
}

impl Replica {
    /// A shard without keys.
    pub fn new(shard: usize) -> Self {
        let (applied, waiting, asked) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { shard, time: 0, applied, waiting, tickets: 0, asked }
    }

    /// The newest version of a key that is visible here, if there is one.
    pub fn read(&self, key: u64) -> Option<Dep> {
        self.applied.get(&key).map(|&time| Dep { shard: self.shard, key, time })
    }

    /// A client of this datacenter writes: that is visible here at once, and goes to the others.
    pub fn write(&mut self, key: u64, context: &Context) -> Replicated {
        self.time = self.time.max(context.time) + 1;
        let version = Dep { shard: self.shard, key, time: self.time };
        self.applied.insert(key, self.time);
        Replicated { version, deps: context.nearest.clone() }
    }

    /// A write comes from another datacenter.
    pub fn receive(&mut self, write: Replicated) -> Vec<Said> {
        self.time = self.time.max(write.version.time);
        self.tickets += 1;
        let (ticket, from) = (self.tickets, self.shard);
        let (mut said, mut missing) = (Vec::new(), 0);
        for &dep in &write.deps {
            if dep.shard == self.shard {
                // its own are asked without a message
                if self.check(dep, from, ticket).is_none() {
                    missing += 1;
                }
            } else {
                missing += 1;
                said.push(Said::Check { dep, from, ticket });
            }
        }
        self.waiting.insert(ticket, Waiting { write, missing });
        said.extend(self.apply_if_ready(ticket));
        said
    }

    /// Another shard, or this one, asks for a version: the answer, if it is applied; else it comes when it is.
    pub fn check(&mut self, dep: Dep, from: usize, ticket: u64) -> Option<Said> {
        if self.applied.get(&dep.key).is_some_and(|&time| time >= dep.time) {
            return Some(Said::Met { to: from, ticket });
        }
        self.asked.entry(dep.key).or_default().push((dep.time, from, ticket));
        None
    }

    /// A dependency of a write is applied.
    pub fn met(&mut self, ticket: u64) -> Vec<Said> {
        if let Some(waiting) = self.waiting.get_mut(&ticket) {
            waiting.missing -= 1;
        }
        self.apply_if_ready(ticket)
    }

    /// How many writes of other datacenters wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn apply_if_ready(&mut self, ticket: u64) -> Vec<Said> {
        let mut said = Vec::new();
        let mut ready = vec![ticket];
        while let Some(ticket) = ready.pop() {
            if self.waiting.get(&ticket).is_none_or(|waiting| waiting.missing > 0) {
                continue;
            }
            let Some(Waiting { write, .. }) = self.waiting.remove(&ticket) else { continue };
            let Dep { key, time, .. } = write.version;
            let newest = self.applied.entry(key).or_default();
            *newest = time.max(*newest);
            let newest = *newest;
            said.push(Said::Applied(write.version));
            let Some(asked) = self.asked.get_mut(&key) else { continue };
            let met: Vec<_> = asked.extract_if(.., |(time, ..)| *time <= newest).collect();
            for (_, to, ticket) in met {
                if to != self.shard {
                    said.push(Said::Met { to, ticket });
                } else if let Some(waiting) = self.waiting.get_mut(&ticket) {
                    waiting.missing -= 1;
                    ready.push(ticket);
                }
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(said: &[Said]) -> Vec<u64> {
        said.iter()
            .filter_map(|said| if let Said::Applied(dep) = said { Some(dep.key) } else { None })
            .collect()
    }

    /// Figure 2.1 of the paper: c waits for b, and b for a, each at another shard.
    #[test]
    fn a_late_write_holds_up_what_depends_on_it() {
        let (mut here, mut there): (Vec<_>, Vec<_>) =
            (0..3).map(|at| (Replica::new(at), Replica::new(at))).unzip();
        let (mut alice, mut bob) = (Context::default(), Context::default());
        let a = here[0].write(10, &alice);
        alice.has_written(a.version);
        let b = here[1].write(11, &alice);
        bob.has_read(here[1].read(11).unwrap());
        let c = here[2].write(12, &bob);
        assert_eq!(c.deps, [b.version]);
        let of_c = there[2].receive(c);
        let of_b = there[1].receive(b);
        let (Said::Check { dep: on_b, .. }, Said::Check { dep: on_a, .. }) = (of_c[0], of_b[0]) else {
            panic!()
        };
        assert_eq!(there[1].check(on_b, 2, 1), None);
        assert_eq!(there[0].check(on_a, 1, 1), None);
        assert_eq!((there[1].waiting(), there[2].waiting()), (1, 1));
        assert_eq!(there[2].read(12), None);
        // a comes at last
        assert_eq!(there[0].receive(a), [Said::Applied(on_a), Said::Met { to: 1, ticket: 1 }]);
        let said = there[1].met(1);
        assert_eq!(said, [Said::Applied(on_b), Said::Met { to: 2, ticket: 1 }]);
        assert_eq!(applied(&there[2].met(1)), [12]);
        assert!(there.iter().all(|replica| replica.waiting() == 0));
    }

    #[test]
    fn a_chain_in_one_shard_is_applied_in_its_order() {
        let (mut here, mut there) = (Replica::new(0), Replica::new(0));
        let mut context = Context::default();
        let mut writes = Vec::new();
        for key in 0..3 {
            let write = here.write(key, &context);
            context.has_written(write.version);
            writes.push(write);
        }
        writes.reverse();
        let mut order = Vec::new();
        for write in writes {
            order.extend(applied(&there.receive(write)));
        }
        assert_eq!(order, [0, 1, 2]);
    }
}
