//! Names of writes that a rollback to a savepoint may have taken back.

/// How a transaction's write_set was cut back, so that the name of a write that is gone does not become the name of
/// the one that got its number. A name holds the number, and [`Cuts::now`] of when it was given.
#[derive(Debug, Default)]
pub struct Cuts {
    count: u64,
    /// `(which cut, to what length)`. Only those to which no later cut was as short: lengths ascend, so that the first
    /// one after a name was given is the shortest since.
    shortest: Vec<(u64, usize)>,
}

impl Cuts {
    /// How many cuts there were.
    #[inline]
    pub fn now(&self) -> u64 {
        self.count
    }

    /// `before` writes are cut back to `after`.
    pub fn cut(&mut self, before: usize, after: usize) {
        if after == before {
            return;
        }
        while self.shortest.last().is_some_and(|&(_, length)| length >= after) {
            self.shortest.pop();
        }
        self.count += 1;
        self.shortest.push((self.count, after));
    }

    /// Whether write `number`, as it was when there had been `then` cuts, is gone.
    #[inline]
    pub fn have_taken(&self, number: usize, then: u64) -> bool {
        if self.count == then {
            return false;
        }
        let since = self.shortest.partition_point(|&(which, _)| which <= then);
        self.shortest.get(since).is_some_and(|&(_, length)| number >= length)
    }

    /// A new transaction.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
        self.shortest.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a list of what happened: random pushes, cuts and names.
    #[test]
    fn no_name_outlives_its_write_and_none_is_lost() {
        let mut random = 7_u64;
        let mut draw = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        for _ in 0..200 {
            let (mut cuts, mut writes, mut born) = (Cuts::default(), Vec::new(), 0);
            let mut names: Vec<(usize, u64, u64)> = Vec::new();
            for _ in 0..60 {
                match draw(4) {
                    0 => {
                        let length = draw(writes.len() as u64 + 1) as usize;
                        cuts.cut(writes.len(), length);
                        writes.truncate(length);
                    }
                    _ => {
                        born += 1;
                        writes.push(born);
                    }
                }
                if !writes.is_empty() {
                    let number = draw(writes.len() as u64) as usize;
                    names.push((number, cuts.now(), writes[number]));
                }
                for &(number, then, which) in &names {
                    assert_eq!(cuts.have_taken(number, then), writes.get(number) != Some(&which));
                }
            }
        }
    }
}
