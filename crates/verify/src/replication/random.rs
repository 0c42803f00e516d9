//! Programs made of a seed.

use super::world::{Client, Op, Setup};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use scaledb_scar::Kind;

const KEYS: u64 = 4;

fn op(random: &mut SmallRng, partitions: u16, snapshot: bool) -> Op {
    let key = random.random_range(0..KEYS);
    if snapshot {
        return match random.random_range(0..10) {
            0..=3 => Op::Read(key),
            4 => Op::Scan(random.random_range(0..partitions), key, random.random_range(key..=KEYS)),
            5 => Op::Next(random.random_range(0..partitions), key, random.random_range(1..3)),
            6 => Op::Last(random.random_range(0..partitions), key, random.random_range(1..3)),
            7 => Op::Fetch,
            8 => Op::Pause,
            _ => Op::NextEpoch,
        };
    }
    match random.random_range(0..21) {
        0..=2 => Op::Read(key),
        3 | 4 => Op::Put(key),
        5..=7 => Op::Add(key),
        8 => Op::Insert(key),
        9 | 10 => Op::Delete(key),
        11 | 12 => Op::Scan(random.random_range(0..partitions), key, random.random_range(key..=KEYS)),
        13 => Op::Next(random.random_range(0..partitions), key, random.random_range(1..3)),
        14 => Op::Last(random.random_range(0..partitions), key, random.random_range(1..3)),
        15 => Op::Check,
        16 => Op::Confirm,
        17 | 18 => Op::Pause,
        19 => Op::Fetch,
        _ => Op::NextEpoch,
    }
}

/// A program, a placement and troubles.
pub fn random_case(seed: u64) -> Setup {
    let random = &mut SmallRng::seed_from_u64(seed);
    let failures = random.random_range(1..=2);
    let partitions = random.random_range(1..=3);
    let mut clients: Vec<Client> = Vec::new();
    for i in 0..random.random_range(2..=5_usize) {
        let snapshot = random.random_range(0..5) == 0;
        let isolated = random.random_range(0..5) == 0;
        let kind = match (snapshot, isolated) {
            (true, _) => Kind::Snapshot,
            (_, true) => Kind::SnapshotIsolation,
            _ => Kind::Serializable,
        };
        let after = (i > 0 && random.random_range(0..3) == 0).then(|| random.random_range(0..i));
        let piped =
            (i > 0 && after.is_none() && random.random_range(0..4) == 0).then_some(i.saturating_sub(1));
        let before = piped.map(|other| (clients[other].node, clients[other].session));
        let (node, session) = before.unwrap_or((random.random_range(0..3), i as u32));
        let begins = snapshot && random.random_range(0..2) == 0;
        let ops = (0..random.random_range(1..=4)).map(|_| op(random, partitions, snapshot));
        let ops = begins.then_some(Op::Begin).into_iter().chain(ops).collect();
        let since = if random.random_range(0..4) == 0 { random.random_range(2..5) } else { 0 };
        // who waits for a view that may not come is no client of another
        let since = if after.is_some() || piped.is_some() { 0 } else { since };
        clients.push(Client { node, session, kind, since, after, piped, ops });
    }
    // no more than f nodes are lost
    let lost = random.random_range(0..=failures as u8);
    let cuts = random.random_range(0..=lost.min(1));
    let spare = (random.random_range(0..3) == 0).then(|| random.random_range(0..3));
    let joins = random.random_range(0..=2);
    let durable = random.random_range(0..2) == 0;
    Setup {
        name: "random",
        nodes: 3,
        partitions,
        everywhere: false,
        failures,
        rows: (0..KEYS).filter(|_| random.random_range(0..2) == 0).collect(),
        clients,
        crashes: lost - cuts,
        cuts,
        spare,
        joins,
        hand_overs: u8::from(random.random_range(0..4) == 0),
        ticks: random.random_range(0..=3),
        repeats: random.random_range(0..=2),
        sync: random.random_range(0..2) == 0,
        durable,
        restarts: if durable { random.random_range(0..=2) } else { 0 },
        power_cuts: if durable { random.random_range(0..=2) } else { 0 },
        moves: if random.random_range(0..3) == 0 { random.random_range(1..=3) } else { 0 },
        removals: u8::from(random.random_range(0..4) == 0),
        checkpoints: if durable { random.random_range(0..=2) } else { 0 },
        learners_checkpoint: false,
        give_ups: random.random_range(0..=2),
        memory: None,
    }
}
