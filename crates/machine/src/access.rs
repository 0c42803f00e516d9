//! An access: where the line is, what that costs, and who has it then.

use crate::directory::{Cores, NOBODY};
use crate::report::{Cause, HotLine, Report};
use crate::world::{Contended, Flight, IN_FLIGHT, Kind, SPENT, Spent, World};
use std::collections::BTreeMap;

/// What a core gets a line for, and what it came to.
struct Fetch {
    done: u64,
    on: Spent,
    cause: Option<Cause>,
}

impl World {
    /// One event of the running core.
    #[inline(always)]
    pub(crate) fn access(&mut self, address: usize, kind: Kind) {
        self.events += 1;
        let line = address as u64 / 64;
        let again = line == self.last_line;
        if again && (kind == Kind::Load || kind == Kind::Store && self.last_writable) {
            self.work(self.costs.same_line);
            return;
        }
        self.work(if again { self.costs.same_line } else { self.costs.work });
        if self.charging {
            self.access_line(address, kind);
        } else {
            self.touch(line);
        }
    }

    #[inline(always)]
    fn work(&mut self, time: u64) {
        self.clock += time;
        self.worked += time;
    }

    /// Memory costs nothing now: only whose it is counts.
    fn touch(&mut self, line: u64) {
        let socket = self.spec.socket(self.core);
        self.directory.number(line, socket);
        self.last_line = line;
        self.last_writable = true;
    }

    fn access_line(&mut self, address: usize, kind: Kind) {
        if self.until_delay != u32::MAX {
            self.until_delay -= 1;
            if self.until_delay == 0 {
                self.delay();
            }
        }
        let (line, core) = (address as u64 / 64, self.core);
        let writes = matches!(kind, Kind::Store | Kind::Rmw | Kind::Claim);
        let background = matches!(kind, Kind::Prefetch | Kind::Claim);
        let state = &mut self.cores[core];
        if !background {
            state.last_loaded = line;
        }
        let hit = state.l1.touch(line);
        let hit = hit.filter(|&writable| writable || !writes);
        if background && hit.is_some() {
            return;
        }
        if let Some(writable) = hit {
            (self.last_line, self.last_writable) = (line, writable);
            if kind == Kind::Rmw {
                self.drain_stores();
                self.spend(Spent::Fences, self.costs.rmw);
            }
            return;
        }
        let word = 1u8 << (address / 8 % 8);
        let number = self.directory.number(line, self.spec.socket(core));
        let entry = self.directory.line(number);
        let owned = entry.owner == core as u16;
        if entry.sharers.has(core) && (owned || !writes) {
            // in the L2, or on its way
            if background {
                return;
            }
            self.land(number, address);
            self.spend(Spent::L2, self.costs.l2);
            self.cores[core].l2.touch(number);
        } else {
            let fetch = if writes { self.own(number, word) } else { self.share(number, word) };
            match kind {
                Kind::Prefetch | Kind::Claim => return self.take_off(number, &fetch),
                Kind::Load | Kind::Rmw => self.wait(number, address, &fetch),
                Kind::Store => self.store_later(number, address, &fetch),
            }
        }
        let writable = self.directory.line(number).owner == core as u16;
        self.cores[core].l1.insert(line, writable);
        (self.last_line, self.last_writable) = (line, writable);
        if kind == Kind::Rmw {
            self.drain_stores();
            self.spend(Spent::Fences, self.costs.rmw);
        }
    }

    /// The core stands still until its line is there.
    fn wait(&mut self, number: u32, address: usize, fetch: &Fetch) {
        let time = fetch.done.saturating_sub(self.clock);
        self.spend(fetch.on, time);
        if matches!(fetch.on, Spent::Coherence) {
            // others ask for the line meanwhile: no lookahead
            self.horizon = self.horizon.min(self.next_at);
        }
        if let Some(cause) = fetch.cause {
            self.lose(number, address, cause, time);
        }
    }

    fn store_later(&mut self, number: u32, address: usize, fetch: &Fetch) {
        let bound = self.costs.store_buffer;
        let core = &mut self.cores[self.core];
        core.stores_done = core.stores_done.max(fetch.done);
        core.store_line = number;
        let late = core.stores_done.saturating_sub(self.clock + bound);
        if late > 0 {
            self.spend(fetch.on, late);
            if let Some(cause) = fetch.cause {
                self.lose(number, address, cause, late);
            }
        }
    }

    /// Waits for the stores that were made.
    fn drain_stores(&mut self) {
        let core = &self.cores[self.core];
        let (time, number) = (core.stores_done.saturating_sub(self.clock), core.store_line);
        if time > 0 {
            self.spend(Spent::Coherence, time);
            let address = self.directory.address(number) as usize * 64;
            self.lose(number, address, Cause::Writers, time);
        }
    }

    pub(crate) fn fence(&mut self) {
        self.events += 1;
        if self.charging {
            self.drain_stores();
        }
        self.spend(Spent::Fences, self.costs.fence);
    }

    pub(crate) fn pause(&mut self) {
        self.events += 1;
        let line = self.cores[self.core].last_loaded;
        self.spend(Spent::Spinning, self.costs.pause);
        if self.charging && line != 0 {
            let number = self.directory.number(line, 0);
            self.lose(number, line as usize * 64, Cause::Spinning, self.costs.pause);
        }
    }

    /// A prefetch begins.
    fn take_off(&mut self, number: u32, fetch: &Fetch) {
        let core = &mut self.cores[self.core];
        core.in_flight[core.next_flight] =
            Flight { line: number, ready: fetch.done, coherence: fetch.cause.is_some() };
        core.next_flight = (core.next_flight + 1) % IN_FLIGHT;
    }

    /// Waits for a prefetch of the line, if it is still under way.
    fn land(&mut self, number: u32, address: usize) {
        let core = &mut self.cores[self.core];
        let Some(flight) = core.in_flight.iter_mut().find(|flight| flight.line == number) else { return };
        let flight = std::mem::take(flight);
        let time = flight.ready.saturating_sub(self.clock);
        self.spend(if flight.coherence { Spent::Coherence } else { Spent::Memory }, time);
        if flight.coherence && time > 0 {
            self.lose(number, address, Cause::ReadersAfterWrite, time);
        }
    }

    /// From core to core, or to its cache.
    fn distance(&self, other: usize) -> u64 {
        if self.spec.domain(other) == self.spec.domain(self.core) {
            self.costs.near
        } else if self.spec.socket(other) == self.spec.socket(self.core) {
            self.costs.far
        } else {
            self.costs.remote
        }
    }

    /// What it takes to get a line that no other core has to itself.
    fn fetch_clean(&mut self, number: u32) -> (u64, Spent) {
        let (domain, socket) = (self.spec.domain(self.core), self.spec.socket(self.core));
        let line = self.directory.line(number);
        let (domains, home) = (line.domains, line.home as usize);
        let ahead = number == self.cores[self.core].last_miss + 1;
        self.cores[self.core].last_miss = number;
        let (cost, on) = if domains >> (domain % 32) & 1 == 1 {
            (self.costs.llc, Spent::Llc)
        } else if domains != 0 {
            let per_socket = self.spec.cores_per_socket / self.spec.cores_per_llc;
            let here = (0..per_socket).any(|i| domains >> ((socket * per_socket + i) % 32) & 1 == 1);
            (if here { self.costs.far } else { self.costs.remote }, Spent::Llc)
        } else {
            (if home == socket { self.costs.memory } else { self.costs.remote_memory }, Spent::Memory)
        };
        // lines in a row are fetched ahead by the processor
        (if ahead { cost / 4 } else { cost }, on)
    }

    /// The core gets the line to read it.
    fn share(&mut self, number: u32, word: u8) -> Fetch {
        let (core, now) = (self.core, self.clock);
        let line = *self.directory.line(number);
        let lost = line.lost_by.has(core);
        let (done, on) = if line.owner == NOBODY {
            let (cost, on) = self.fetch_clean(number);
            ((now + cost).max(line.free_at), if lost { Spent::Coherence } else { on })
        } else {
            let owner = line.owner as usize;
            let done = (now + self.distance(owner)).max(line.free_at + self.costs.occupancy);
            let address = self.directory.address(number);
            self.cores[owner].l1.share(address);
            (done, Spent::Coherence)
        };
        let alone = line.sharers.is_empty() && line.domains == 0;
        let entry = self.directory.line(number);
        if line.owner != NOBODY {
            entry.free_at = done;
        }
        entry.owner = if alone { core as u16 } else { NOBODY };
        entry.sharers.add(core);
        entry.lost_by.remove(core);
        self.cache(number);
        let other = line.writer != NOBODY && line.writer != core as u16;
        let waited = matches!(on, Spent::Coherence);
        let cause = if line.written & word == 0 { Cause::FalseSharing } else { Cause::ReadersAfterWrite };
        Fetch { done, on, cause: (other && waited).then_some(cause) }
    }

    /// The core gets the line to write it; nobody else has it then.
    fn own(&mut self, number: u32, word: u8) -> Fetch {
        let (core, now) = (self.core, self.clock);
        let line = *self.directory.line(number);
        let address = self.directory.address(number);
        let had = line.sharers.has(core);
        let (mut cost, mut on, mut floor, mut others) = (0, Spent::Llc, 0, 0);
        for other in line.sharers.iter().filter(|&other| other != core) {
            // who has read it has done so before this write
            floor = floor.max(self.cores[other].seen_until);
            cost = cost.max(self.distance(other));
            others += 1;
            self.cores[other].l1.remove(address);
            self.cores[other].l2.remove(number);
            on = Spent::Coherence;
        }
        if others == 0 {
            (cost, on) = if had { (self.costs.llc, Spent::Llc) } else { self.fetch_clean(number) };
        }
        let free = if others > 0 { line.free_at + self.costs.occupancy } else { line.free_at };
        let done = (now + cost).max(free).max(floor);
        let domain = self.spec.domain(core) as u32 % 32;
        let entry = self.directory.line(number);
        for other in line.sharers.iter().filter(|&other| other != core) {
            entry.lost_by.add(other);
        }
        entry.lost_by.remove(core);
        entry.free_at = done;
        entry.owner = core as u16;
        entry.sharers = Cores::only(core);
        entry.domains &= 1 << domain;
        entry.writer = core as u16;
        entry.written = word;
        if had {
            self.cores[core].l2.touch(number);
        } else {
            self.cache(number);
        }
        let cause = if line.writer != NOBODY && line.writer != core as u16 && line.written & word == 0 {
            Cause::FalseSharing
        } else {
            Cause::Writers
        };
        Fetch { done, on, cause: (others > 0).then_some(cause) }
    }

    /// Puts a line that the core has got into its L2 and the last-level cache.
    fn cache(&mut self, number: u32) {
        let (core, domain) = (self.core, self.spec.domain(self.core));
        let victim = self.cores[core].l2.insert(number);
        if victim != 0 {
            let address = self.directory.address(victim);
            self.cores[core].l1.remove(address);
            let entry = self.directory.line(victim);
            entry.sharers.remove(core);
            if entry.owner == core as u16 {
                entry.owner = NOBODY;
            }
        }
        let llc = &mut self.llcs[domain];
        if llc.touch(number) {
            self.directory.line(number).domains |= 1 << (domain % 32);
            return;
        }
        let victim = llc.insert(number);
        self.directory.line(number).domains |= 1 << (domain % 32);
        if victim != 0 {
            self.directory.line(victim).domains &= !(1 << (domain % 32));
        }
    }

    fn lose(&mut self, number: u32, address: usize, cause: Cause, time: u64) {
        let entry = self.directory.line(number);
        if entry.contended == 0 {
            self.contended.push(Contended { line: number, waits: 0, causes: [0; 4], words: [0; 8] });
            entry.contended = self.contended.len() as u32;
        }
        let contended = &mut self.contended[entry.contended as usize - 1];
        contended.waits += 1;
        contended.causes[cause as usize] += time;
        contended.words[address / 8 % 8] += time;
    }

    pub(crate) fn name(&mut self, address: usize, bytes: usize, stride: usize, name: &str) {
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                let number = self.names.len() as u32;
                self.names.push(name.to_owned());
                self.numbers.insert(name.to_owned(), number);
                number
            }
        };
        let socket = self.spec.socket(self.core);
        for line in address / 64..(address + bytes).div_ceil(64) {
            let element = (line * 64).saturating_sub(address).checked_div(stride);
            let at = self.directory.number(line as u64, socket);
            let entry = self.directory.line(at);
            entry.name = number;
            entry.element = element.map_or(0, |element| element as u32 + 1);
        }
    }

    pub(crate) fn report(&mut self) -> Report {
        let seconds = |ps: u64| ps as f64 / 1e12;
        let mut times = vec![0; SPENT.len()];
        for core in &mut self.cores {
            times.iter_mut().zip(&mut core.spent).for_each(|(sum, time)| *sum += std::mem::take(time));
        }
        times[Spent::Work as usize] += std::mem::take(&mut self.worked);
        let events = std::mem::take(&mut self.events);
        let mut lines = Vec::new();
        let mut by_name: BTreeMap<(u32, Cause), HotLine> = BTreeMap::new();
        for contended in std::mem::take(&mut self.contended) {
            let entry = self.directory.line(contended.line);
            entry.contended = 0;
            let (number, element) = (entry.name, entry.element);
            let name = self.names[number as usize].clone();
            let most = (0..8).max_by_key(|&word| contended.words[word]).expect("a line has words");
            let line = HotLine {
                name: if element > 0 { format!("{name}[{}]", element - 1) } else { name.clone() },
                seconds: seconds(contended.causes.iter().sum()),
                waits: contended.waits,
                causes: contended.causes.map(seconds),
                offset: most * 8,
            };
            let sum = by_name.entry((number, line.cause())).or_insert_with(|| HotLine {
                name,
                seconds: 0.0,
                waits: 0,
                causes: [0.0; 4],
                offset: line.offset,
            });
            sum.seconds += line.seconds;
            sum.waits += line.waits;
            sum.causes.iter_mut().zip(line.causes).for_each(|(sum, time)| *sum += time);
            lines.push(line);
        }
        let mut names: Vec<_> = by_name.into_values().collect();
        for list in [&mut lines, &mut names] {
            list.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
            list.truncate(KEPT);
        }
        let times = SPENT.into_iter().zip(times.into_iter().map(seconds)).collect();
        Report { events, times, lines, names }
    }
}

/// Lines that a report names.
const KEPT: usize = 40;
