//! Runs whose orders are chosen, not left to chance: for [`crate::explore`].

use super::{Act, Event, World};
use crate::cluster::Broken;
use crate::plan::Plan;
use scaledb_occult::Micros;
use scaledb_occult::client::Failure;

impl World {
    /// What each client does one after the other, and nothing else: no beats, no troubles. For [`crate::explore`].
    pub(crate) fn scripted(plan: Plan, scripts: &[Vec<Act>]) -> Self {
        let mut world = Self::new(Plan { operations: u64::MAX, clients: scripts.len(), ..plan });
        world.scripts = Some(scripts.iter().map(|script| script.iter().cloned().collect()).collect());
        let beats: Vec<u64> = (world.queue.waiting().into_iter())
            .filter(|(_, event)| !matches!(event, Event::Next(_)))
            .map(|(number, _)| number)
            .collect();
        for number in beats {
            world.queue.take(number, Micros(0));
        }
        world
    }

    /// One step of a scripted world. What only a client notices happens at once; of the rest `choose` takes one of
    /// as many as it is told. Whether there was anything to do.
    pub(crate) fn step_chosen(&mut self, losses: &mut u32, choose: &mut dyn FnMut(usize) -> usize) -> bool {
        const PAUSE: Micros = Micros(1_000);
        let waiting = self.queue.waiting();
        let local = waiting
            .iter()
            .find(|(_, event)| matches!(event, Event::Next(_) | Event::Answer { .. } | Event::Wake { .. }));
        if let Some(&(number, _)) = local {
            if let Some(event) = self.queue.take(number, PAUSE) {
                self.happen(event);
            }
            self.start_replicas();
            return true;
        }
        let numbers: Vec<u64> = waiting.iter().map(|(number, _)| *number).collect();
        // whose answer may get lost
        let losable: Vec<u64> = (waiting.iter())
            .filter(|(_, event)| *losses > 0 && matches!(event, Event::Deliver { answers: true, .. }))
            .map(|(number, _)| *number)
            .collect();
        if numbers.is_empty() {
            return false;
        }
        let chosen = choose(numbers.len() + losable.len());
        let (number, loses) = match numbers.get(chosen) {
            Some(number) => (*number, false),
            None => (losable[chosen - numbers.len()], true),
        };
        let mut event = self.queue.take(number, PAUSE);
        if loses && let Some(Event::Deliver { client, operation, ask, answers, .. }) = &mut event {
            *losses -= 1;
            *answers = false;
            let said = Box::new(Err(Failure::Unknown));
            self.queue.after(0, Event::Answer { client: *client, operation: *operation, tag: ask.tag, said });
        }
        if let Some(event) = event {
            self.happen(event);
        }
        self.start_replicas();
        true
    }

    /// The first thing that went wrong.
    pub(crate) fn broken(&mut self) -> Option<(Broken, String)> {
        if self.cluster.broken.is_empty()
            && self.queue.waiting().is_empty()
            && self.cluster.locked_slots().is_empty()
        {
            self.cluster.check_end();
        }
        self.cluster.broken.first().cloned()
    }
}
