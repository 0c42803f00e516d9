//! The cases that are explored. Each is as small as its subject allows.
//!
//! Partition i has its primary at node i and its backups at the f nodes that follow; a key's partition is the key
//! modulo their number. So with two partitions and f = 1 on three nodes, even keys are at nodes 0 and 1, odd ones at 1
//! and 2.

use super::world::{Client, Op, Setup};
use Op::{
    Add, Begin, Check, Confirm, Delete, Fetch, Insert, Last, Next, NextEpoch, Pause, Put, Read, Rollback,
    Scan,
};
use scaledb_scar::Kind;

fn client(node: u8, ops: &[Op]) -> Client {
    // every client has a session of its own, unless it says otherwise
    Client {
        node,
        session: 0,
        kind: Kind::Serializable,
        since: 0,
        after: None,
        piped: None,
        ops: ops.to_vec(),
    }
}

impl Client {
    fn after(self, other: usize) -> Self {
        Self { after: Some(other), ..self }
    }

    fn piped(self, other: usize) -> Self {
        Self { piped: Some(other), ..self }
    }

    fn since(self, view: u64) -> Self {
        Self { since: view, ..self }
    }

    fn isolated(self) -> Self {
        Self { kind: Kind::SnapshotIsolation, ..self }
    }

    fn snapshot(self) -> Self {
        Self { kind: Kind::Snapshot, ..self }
    }
}

impl Setup {
    fn new(name: &'static str, failures: usize, rows: &[u64], mut clients: Vec<Client>) -> Self {
        for i in 0..clients.len() {
            clients[i].session = clients[i].piped.map_or(i as u32, |other| clients[other].session);
        }
        let rows = rows.to_vec();
        Self {
            name,
            nodes: 3,
            partitions: 2,
            failures,
            rows,
            clients,
            everywhere: false,
            crashes: 0,
            cuts: 0,
            spare: None,
            joins: 0,
            hand_overs: 0,
            moves: 0,
            removals: 0,
            ticks: 0,
            repeats: 0,
            sync: false,
            durable: false,
            restarts: 0,
            power_cuts: 0,
            checkpoints: 0,
            learners_checkpoint: false,
            give_ups: 0,
            memory: None,
        }
    }

    fn partitions(self, partitions: u16) -> Self {
        Self { partitions, ..self }
    }

    fn everywhere(self) -> Self {
        Self { everywhere: true, ..self }
    }

    fn crashes(self, crashes: u8) -> Self {
        Self { crashes, ..self }
    }

    fn cuts(self, cuts: u8) -> Self {
        Self { cuts, ..self }
    }

    fn spare(self, node: u8) -> Self {
        Self { spare: Some(node), joins: 1, ..self }
    }

    fn joins(self, joins: u8) -> Self {
        Self { joins, ..self }
    }

    fn hand_overs(self, hand_overs: u8) -> Self {
        Self { hand_overs, ..self }
    }

    fn moves(self, moves: u8) -> Self {
        Self { moves, ..self }
    }

    fn removals(self, removals: u8) -> Self {
        Self { removals, ..self }
    }

    fn ticks(self, ticks: u8) -> Self {
        Self { ticks, ..self }
    }

    fn repeats(self, repeats: u8) -> Self {
        Self { repeats, ..self }
    }

    fn restarts(self, restarts: u8) -> Self {
        Self { restarts, durable: true, ..self }
    }

    fn power_cuts(self, power_cuts: u8) -> Self {
        Self { power_cuts, durable: true, ..self }
    }

    fn checkpoints(self, checkpoints: u8) -> Self {
        Self { checkpoints, ..self }
    }

    fn give_ups(self, give_ups: u8) -> Self {
        Self { give_ups, ..self }
    }

    /// A node that has memory for fewer records than it gets, and the rows that it has when all know of it.
    fn memory(self, node: u8, rows: usize) -> Self {
        Self { memory: Some((node, 1, rows)), ..self }
    }

    fn sync(self) -> Self {
        Self { sync: true, ..self }
    }
}

/// All cases.
pub fn cases() -> Vec<Setup> {
    let all =
        [plain(), failures(), keys(), long(), given_up(), snapshots(), isolated(), joins(), moves(), disks()];
    [all.concat(), memory()].concat()
}

/// Without failures: locks, times, replicas.
fn plain() -> Vec<Setup> {
    vec![
        Setup::new("lost-update", 1, &[0], vec![client(1, &[Add(0)]), client(2, &[Add(0)])]).partitions(1),
        Setup::new("twice", 1, &[0], vec![client(1, &[Add(0)]), client(2, &[Pause, Add(0)])])
            .partitions(1)
            .repeats(1),
        Setup::new("skew", 1, &[0, 1], vec![client(1, &[Read(0), Put(1)]), client(2, &[Read(1), Put(0)])]),
        Setup::new(
            "read-two",
            1,
            &[0, 1],
            vec![client(0, &[Put(0), Put(1)]), client(2, &[Read(0), Pause, Read(1)])],
        )
        .ticks(1),
        Setup::new(
            "fetch-two",
            1,
            &[0, 1],
            vec![client(0, &[Put(0), Put(1)]), client(2, &[Fetch, Read(0), Pause, Read(1), Add(1)])],
        )
        .ticks(1)
        .repeats(1),
        Setup::new(
            "read-two-replicas",
            2,
            &[0, 1],
            vec![client(0, &[Put(0), Put(1)]), client(2, &[Read(0), Pause, Read(1)])],
        ),
        Setup::new(
            "extension",
            1,
            &[0, 1],
            vec![
                client(1, &[Add(1)]),
                client(1, &[Pause, Read(0), Add(1)]),
                client(0, &[Pause, Pause, Put(0)]),
            ],
        ),
        Setup::new(
            "writers-out-of-order",
            2,
            &[0],
            vec![client(0, &[Put(0)]), client(1, &[Add(0)]), client(2, &[Read(0)])],
        )
        .partitions(1),
        Setup::new(
            "session",
            1,
            &[0, 1],
            vec![client(2, &[Put(0)]), client(2, &[Read(0)]).piped(0), client(1, &[Put(1)])],
        ),
    ]
}

/// Crashes, changes of view, nodes taken for dead.
fn failures() -> Vec<Setup> {
    vec![
        Setup::new("crash", 1, &[0, 1], vec![client(1, &[Add(0), Put(1)]), client(0, &[Read(1)])]).crashes(1),
        Setup::new("crash-then-write", 1, &[0], vec![client(2, &[Put(0)]), client(1, &[Add(0)]).after(0)])
            .partitions(1)
            .crashes(1),
        Setup::new("crash-two", 2, &[0, 1], vec![client(2, &[Add(0)]), client(1, &[Put(1)])]).crashes(2),
        Setup::new("crash-alone", 1, &[0], vec![client(1, &[Add(0)])]).partitions(1).crashes(1).ticks(1),
        Setup::new("cut-alone", 1, &[0], vec![client(0, &[Add(0)])]).partitions(1).cuts(1).ticks(1),
        Setup::new("crash-answered", 2, &[], vec![client(1, &[Put(1)])]).crashes(2),
        Setup::new("cut", 1, &[0, 1], vec![client(0, &[Add(0), Put(1)]), client(1, &[Add(1)])]).cuts(1),
        Setup::new(
            "floor",
            2,
            &[0, 1, 4],
            vec![
                client(0, &[Read(0), Add(1)]),
                client(1, &[Pause, Put(0)]).after(0),
                client(1, &[Read(0), Put(4)]).piped(1),
                client(2, &[Pause, Pause, Read(4), Read(0)]).after(0),
            ],
        )
        .crashes(1)
        .sync(),
        Setup::new(
            "floor-undone",
            2,
            &[0, 1, 5],
            vec![
                client(1, &[Read(1), Add(0)]),
                client(1, &[Put(1)]).after(0),
                client(1, &[Put(1)]).after(1),
                client(1, &[Read(1), Put(5)]).piped(2),
                client(2, &[Pause, Read(5), Read(1)]).after(1),
            ],
        )
        .crashes(1)
        .sync(),
        Setup::new(
            "go-on",
            1,
            &[0],
            vec![client(0, &[Put(0)]), client(0, &[Add(0)]).after(0), client(1, &[Read(0)]).after(1)],
        )
        .crashes(1),
        Setup::new(
            "read-undone",
            1,
            &[0],
            vec![
                client(0, &[Put(0)]),
                client(1, &[Read(0), Pause, Pause, Put(1)]),
                client(1, &[Pause, Put(0)]),
            ],
        )
        .crashes(1),
    ]
}

/// Keys that come and go, and ranges.
fn keys() -> Vec<Setup> {
    vec![
        Setup::new(
            "absent-skew",
            1,
            &[],
            vec![client(1, &[Read(0), Put(1)]), client(2, &[Pause, Read(1), Put(0)])],
        ),
        Setup::new("insert-twice", 1, &[], vec![client(1, &[Insert(0)]), client(2, &[Insert(0)])]),
        Setup::new(
            "scan-skew",
            1,
            &[6],
            vec![client(0, &[Scan(0, 0, 8), Put(2)]), client(1, &[Scan(0, 0, 8), Put(4)])],
        ),
        Setup::new(
            "fetch-skew",
            1,
            &[6],
            vec![client(1, &[Fetch, Scan(0, 0, 8), Put(2)]), client(2, &[Fetch, Scan(0, 0, 8), Put(4)])],
        ),
        Setup::new(
            "next-skew",
            1,
            &[0, 6],
            vec![client(0, &[Next(0, 0, 1), Put(2)]), client(1, &[Next(0, 0, 1), Put(4)])],
        ),
        Setup::new(
            "last-skew",
            1,
            &[0],
            vec![client(0, &[Last(0, 8, 1), Put(6)]), client(1, &[Last(0, 8, 2), Put(4)])],
        ),
        Setup::new(
            "inserts-out-of-order",
            2,
            &[6],
            vec![client(0, &[Insert(2)]), client(0, &[Insert(4)]), client(2, &[Read(4), Pause, Read(2)])],
        ),
        Setup::new(
            "delete",
            1,
            &[0],
            vec![client(0, &[Add(0)]), client(1, &[Delete(0)]), client(1, &[Insert(0)])],
        )
        .ticks(1),
        Setup::new("resurrection", 1, &[0], vec![client(0, &[Put(0)]), client(0, &[Delete(0)])]),
        // the gap of what was deleted keeps its times, or the next row of that key is older than the deletion
        Setup::new("delete-put", 1, &[0], vec![client(0, &[Delete(0)]), client(1, &[Put(0)]).after(0)]),
        Setup::new("delete-crash", 1, &[0], vec![client(0, &[Delete(0)]), client(1, &[Read(0)])]).crashes(1),
        Setup::new(
            "delete-scan",
            1,
            &[2, 4],
            vec![
                client(0, &[Delete(2)]),
                client(1, &[Scan(0, 0, 8), Put(1)]).after(0),
                client(2, &[Insert(2)]),
            ],
        ),
    ]
}

/// Transactions that are open for longer than an epoch.
fn long() -> Vec<Setup> {
    vec![
        Setup::new(
            "long-reader",
            1,
            &[0, 1],
            vec![client(1, &[Read(0), NextEpoch, Read(1)]), client(0, &[Put(0), Put(1)])],
        )
        .ticks(1),
        Setup::new(
            "long-remote",
            1,
            &[0, 1],
            vec![client(2, &[Read(0), NextEpoch, Put(1)]), client(0, &[Put(0)])],
        )
        .ticks(1),
        Setup::new(
            "check",
            1,
            &[0, 1],
            vec![client(0, &[Put(0), Put(1)]), client(2, &[Read(0), Pause, Read(1), Check, Pause, Check])],
        )
        .ticks(1),
        Setup::new(
            "check-crash",
            1,
            &[0, 1],
            vec![client(0, &[Put(0), Put(1)]), client(2, &[Read(0), Pause, Read(1), Check])],
        )
        .crashes(1),
        // what is there no more, a node that is cut off tells nobody
        Setup::new(
            "confirm-cut",
            1,
            &[0],
            vec![client(1, &[Put(0)]), client(0, &[Read(0), Confirm]).after(0)],
        )
        .partitions(1)
        .cuts(1),
        Setup::new(
            "confirm-crash",
            1,
            &[0, 1],
            vec![client(0, &[Put(0), Put(1)]), client(2, &[Read(0), Pause, Read(1), Confirm, Rollback])],
        )
        .ticks(1)
        .crashes(1),
        Setup::new("rollback", 1, &[0], vec![client(1, &[Add(0), Pause, Rollback]), client(2, &[Add(0)])]),
    ]
}

/// Clients that give their transactions up: while they wait for an answer, or in between.
fn given_up() -> Vec<Setup> {
    vec![
        Setup::new(
            "give-up",
            1,
            &[0, 1],
            vec![
                client(2, &[Add(0), Put(1)]),
                client(2, &[Read(0), Put(1)]).piped(0),
                client(1, &[Pause, Add(0)]),
            ],
        )
        .give_ups(1),
        Setup::new(
            "give-up-check",
            1,
            &[0, 1],
            vec![client(0, &[Put(0), Put(1)]), client(2, &[Read(0), Pause, Read(1), Confirm, Add(1)])],
        )
        .ticks(1)
        .give_ups(1),
        // what has been locked for it ends with the view or the epoch
        Setup::new(
            "give-up-crash",
            1,
            &[0],
            vec![client(2, &[Fetch, Add(0)]), client(1, &[Insert(2), Add(0)])],
        )
        .partitions(1)
        .crashes(1)
        .give_ups(1),
    ]
}

/// Memory that runs out at a backup: one row comes before it does, one before all know of it, and no other.
fn memory() -> Vec<Setup> {
    let clients = vec![
        client(2, &[Insert(2)]),
        client(0, &[Insert(4)]).after(0),
        client(1, &[Insert(6)]).after(1),
        client(2, &[Add(0)]).after(2),
    ];
    vec![Setup::new("full-backup", 1, &[0], clients).partitions(1).memory(1, 3)]
}

/// Snapshots.
fn snapshots() -> Vec<Setup> {
    vec![
        Setup::new(
            "snapshot",
            2,
            &[0, 1],
            vec![
                client(0, &[Put(0), Put(1)]),
                client(1, &[Read(0), Pause, Read(1)]).snapshot(),
                client(2, &[Read(0)]).after(0).snapshot(),
            ],
        )
        .ticks(1),
        Setup::new(
            "snapshot-delete",
            2,
            &[0, 1],
            vec![
                client(0, &[Delete(0)]),
                client(1, &[Read(1), NextEpoch, Read(0)]).snapshot(),
                client(2, &[Read(0)]),
            ],
        ),
        Setup::new(
            "snapshot-cut",
            1,
            &[0],
            vec![client(0, &[Put(0)]), client(1, &[Read(0)]).after(0).snapshot()],
        )
        .cuts(1),
        // others write, delete and insert what it reads last, each in an epoch of its own
        Setup::new(
            "snapshot-long",
            1,
            &[0, 1],
            vec![
                client(0, &[Put(0)]),
                client(1, &[Delete(0)]).after(0),
                client(0, &[Insert(0)]).after(1),
                client(2, &[Begin, Read(1), NextEpoch, NextEpoch, Read(0), Scan(0, 0, 3)]).snapshot(),
            ],
        ),
        // where there is no memory for what it would read
        Setup::new(
            "snapshot-full",
            1,
            &[0, 1],
            vec![
                client(0, &[Put(0)]),
                client(0, &[Put(0)]).after(0),
                client(1, &[Begin, Read(1), NextEpoch, NextEpoch, Read(0)]).snapshot(),
            ],
        )
        .partitions(1)
        .memory(1, 2),
        // behind a commit of its session, in the midst of a change of view
        Setup::new(
            "snapshot-own",
            1,
            &[0, 1],
            vec![
                client(1, &[Delete(0), Put(1)]),
                client(1, &[Begin, Last(0, 4, 2), Read(1)]).snapshot().piped(0),
                client(0, &[Put(1)]),
            ],
        )
        .crashes(1),
    ]
}

/// Snapshot isolation.
fn isolated() -> Vec<Setup> {
    vec![
        Setup::new(
            "isolated-update",
            1,
            &[0],
            vec![client(1, &[Add(0)]).isolated(), client(2, &[Add(0)]).isolated()],
        )
        .partitions(1),
        // the second has read before the first writes, and writes over it without a look
        Setup::new(
            "isolated-blind",
            1,
            &[0, 1],
            vec![
                client(0, &[Put(0), Put(1)]),
                client(2, &[Read(0), Pause, Put(1)]).isolated(),
                client(1, &[Add(1)]).isolated(),
            ],
        )
        .ticks(1),
        Setup::new(
            "isolated-read-two",
            1,
            &[0, 1],
            vec![
                client(0, &[Put(0), Put(1)]),
                client(2, &[Read(0), Pause, Read(1), Put(2)]).isolated(),
                client(1, &[Scan(0, 0, 8), Pause, Scan(1, 0, 8)]).isolated(),
            ],
        ),
        Setup::new(
            "isolated-session",
            1,
            &[0, 1],
            vec![
                client(2, &[Put(0)]).isolated(),
                client(2, &[Read(0), Put(1)]).isolated().piped(0),
                client(1, &[Insert(2)]).isolated(),
            ],
        ),
        Setup::new(
            "isolated-crash",
            1,
            &[0, 1],
            vec![client(1, &[Read(0), Add(1)]).isolated(), client(0, &[Add(0), Read(1)]).isolated()],
        )
        .crashes(1),
    ]
}

/// Replicas that move while nobody is lost, and nodes that are taken out. With one partition it is at the nodes 0
/// and 1, and node 2 may learn it.
fn moves() -> Vec<Setup> {
    vec![
        Setup::new("move", 1, &[0, 2], vec![client(2, &[Add(0), Put(2)]), client(0, &[Read(2), Delete(0)])])
            .partitions(1)
            .moves(2),
        Setup::new("move-crash", 1, &[0], vec![client(2, &[Add(0)]), client(1, &[Read(0)]).after(0)])
            .partitions(1)
            .moves(2)
            .crashes(1),
        // what was dropped is learned anew
        Setup::new("move-back", 1, &[0], vec![client(2, &[Put(0)]).since(4), client(1, &[Read(0)]).since(6)])
            .partitions(1)
            .moves(3),
        Setup::new("move-power-cut", 1, &[0], vec![client(2, &[Add(0)]), client(1, &[Delete(0)])])
            .partitions(1)
            .moves(2)
            .power_cuts(1),
        Setup::new("remove", 1, &[0], vec![client(1, &[Add(0)]), client(2, &[Read(0)])])
            .partitions(1)
            .removals(1),
        // the leader and who is taken out may be the only ones who know what has committed
        Setup::new("remove-cut", 1, &[0], vec![client(0, &[Add(0)])]).partitions(1).removals(1).cuts(1),
        Setup::new("remove-crash", 1, &[0], vec![client(0, &[Add(0)])]).partitions(1).removals(1).crashes(1),
        // the store does not know that the others have gone on without it, and makes it a member again
        Setup::new("remove-note", 1, &[0], vec![client(0, &[Add(0)]).since(2)])
            .partitions(1)
            .everywhere()
            .removals(1)
            .ticks(1)
            .crashes(1),
    ]
}

/// Nodes that join, and learn what the others keep. The second view is that in which a spare node learns, the third
/// that in which it is a backup.
fn joins() -> Vec<Setup> {
    vec![
        Setup::new(
            "join",
            1,
            &[0, 2],
            vec![
                client(0, &[Put(2)]).since(2),
                client(1, &[Add(0)]).since(2),
                client(1, &[Read(2)]).since(3),
            ],
        )
        .partitions(1)
        .spare(1),
        Setup::new(
            "join-delete",
            1,
            &[0, 2],
            vec![
                client(0, &[Delete(2)]).since(2),
                client(0, &[Insert(1)]).since(2),
                client(1, &[Scan(0, 0, 8)]),
            ],
        )
        .partitions(1)
        .spare(1)
        .ticks(1),
        Setup::new(
            "join-crash",
            1,
            &[0, 2],
            vec![client(2, &[Put(2), Put(0)]).since(2), client(1, &[Read(2), Add(0)]).since(3)],
        )
        .partitions(1)
        .spare(1)
        .crashes(1),
        Setup::new("join-undo", 2, &[0], vec![client(2, &[Put(0)]).since(2), client(1, &[Read(0)]).since(2)])
            .partitions(1)
            .spare(1)
            .crashes(1),
        Setup::new(
            "rejoin",
            1,
            &[0, 1],
            vec![client(1, &[Add(0), Put(1)]), client(0, &[Add(1)]), client(2, &[Add(0), Add(1)]).since(3)],
        )
        .crashes(2)
        .joins(2),
        Setup::new("rejoin-cut", 1, &[0, 1], vec![client(0, &[Add(0), Put(1)]), client(1, &[Add(1)])])
            .cuts(1)
            .joins(1),
        Setup::new("hand-over", 1, &[0, 1], vec![client(0, &[Add(0), Put(1)]), client(2, &[Add(0)])])
            .hand_overs(1),
        // the extension for the first is known to the old primary alone
        Setup::new(
            "hand-over-promise",
            1,
            &[0, 1, 2],
            vec![
                client(2, &[Read(0), Put(1)]),
                client(1, &[Put(0)]).after(0),
                client(1, &[Read(0), Put(2)]).piped(1),
                client(0, &[Pause, Read(2), Read(0)]).after(0),
            ],
        )
        .hand_overs(1),
    ]
}

/// Nodes that come back with what they had on disk: one, or all after a power cut.
fn disks() -> Vec<Setup> {
    vec![
        Setup::new(
            "power-cut",
            1,
            &[0, 1],
            vec![client(1, &[Add(0), Put(1)]), client(0, &[Add(1)]).after(0)],
        )
        .power_cuts(1),
        Setup::new("power-cut-twice", 1, &[0], vec![client(1, &[Add(0)]), client(2, &[Delete(0)])])
            .partitions(1)
            .power_cuts(2),
        Setup::new("power-cut-crash", 1, &[0, 1], vec![client(1, &[Add(0), Put(1)]), client(2, &[Read(1)])])
            .power_cuts(1)
            .crashes(1),
        Setup::new("restart", 1, &[0, 1], vec![client(1, &[Add(0), Put(1)]), client(0, &[Add(1)]).after(0)])
            .restarts(1),
        Setup::new("restart-crash", 1, &[0], vec![client(1, &[Delete(0)]), client(2, &[Insert(0)])])
            .partitions(1)
            .restarts(1)
            .crashes(1),
        // who was the reason to go back further is put out before the view has begun
        Setup::new("restart-cut", 1, &[0], vec![client(1, &[Add(0)])]).partitions(1).restarts(1).cuts(1),
        // and so is who has installed it
        Setup::new("restart-cut-crash", 2, &[0], vec![client(0, &[Add(0)])])
            .partitions(1)
            .restarts(1)
            .crashes(1)
            .cuts(1),
        Setup::new("restart-twice", 1, &[0], vec![client(1, &[Delete(0)])]).partitions(1).restarts(2),
        Setup::new("power-cut-hand-over", 1, &[0], vec![client(1, &[Add(0)])])
            .partitions(1)
            .hand_overs(1)
            .power_cuts(1),
        // the learner keeps the tombstone for longer, and the next key splits another gap
        Setup::new(
            "join-gaps",
            1,
            &[0, 2, 6],
            vec![client(0, &[Delete(2)]).since(2), client(0, &[Insert(4)]).after(0)],
        )
        .partitions(1)
        .spare(1)
        .restarts(0)
        .ticks(1),
        Setup::new("restart-join", 1, &[0, 2], vec![client(0, &[Delete(2)]).since(2)])
            .partitions(1)
            .spare(1)
            .restarts(1),
        Setup::new(
            "checkpoint",
            1,
            &[0, 1],
            vec![client(0, &[Put(0), Delete(1)]), client(1, &[Add(0)]).after(0)],
        )
        .partitions(1)
        .power_cuts(1)
        .checkpoints(1),
        // what is learned while the checkpoint is made may not be on disk in front of a mark, and the checkpoint has
        // already met what was written behind it
        Setup {
            learners_checkpoint: true,
            ..Setup::new("checkpoint-join", 1, &[0, 2], vec![client(0, &[Put(4), Put(6)]).since(2)])
                .partitions(1)
                .spare(1)
                .restarts(1)
                .checkpoints(1)
        },
    ]
}
