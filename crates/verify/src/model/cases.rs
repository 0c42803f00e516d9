//! The cases that are explored under the protocol, clean and mutated.
//!
//! Each is as small as its subject allows: two or three workers, one or two transactions each, a tree of one or two
//! leaves. `(rows)` are in the tree at the start; actions of a worker run one after the other.

use super::program::Action::{self, Cleanup, Help, Merge, Snapshot, Tx};
use super::program::Op::{self, Add, Delete, Insert, Move, Read, Scan, ScanSec, Update};
use super::program::{Key, Program, Sec};
use super::protocol::Protocol;
use super::protocol::rules::{Config, Mutation, Owners, PointIndex};

/// A case.
#[derive(Clone)]
pub struct Case {
    /// Short name, unique.
    pub name: &'static str,
    /// The variant of the protocol.
    pub config: Config,
    /// What runs.
    pub program: Program,
    /// Explored only in the long mode.
    pub long: bool,
}

impl Case {
    fn new(name: &'static str, rows: &[(Key, Sec)], workers: Vec<Vec<Action>>) -> Self {
        Case { name, config: Config::BASE, program: Program { rows: rows.to_vec(), workers }, long: false }
    }

    fn with(mut self, change: impl Fn(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    fn leaf_capacity(self, capacity: usize) -> Self {
        self.with(|config| config.leaf_capacity = capacity)
    }

    fn secondary(self) -> Self {
        self.with(|config| config.secondary = true)
    }

    fn fine(self) -> Self {
        self.with(|config| config.fine = true)
    }

    fn ahead(self, ahead: u8) -> Self {
        self.with(|config| config.ahead = ahead)
    }

    fn point(self, point_index: PointIndex) -> Self {
        self.with(|config| config.point_index = point_index)
    }

    fn long(mut self) -> Self {
        self.long = true;
        self
    }

    /// The model of this case, with a rule broken or none.
    pub fn model(&self, mutation: Option<Mutation>) -> Protocol {
        Protocol { config: Config { mutation, ..self.config }, program: self.program.clone() }
    }
}

fn tx(ops: &[Op]) -> Action {
    Tx(ops.to_vec())
}

fn snap(ops: &[Op]) -> Action {
    Snapshot(ops.to_vec())
}

const HASH: PointIndex = PointIndex::Resident { sync: false };
const SYNC_HASH: PointIndex = PointIndex::Resident { sync: true };
const NO_INDEXLET: PointIndex = PointIndex::TreeOnly;

/// All cases.
pub fn cases() -> Vec<Case> {
    [scans(), splits(), reads(), helpers(), secondary(), sync_inserts(), snapshots()].concat()
}

/// Scans against unmerged inserts (holes a, b, c, k).
fn scans() -> Vec<Case> {
    let own = || {
        vec![
            vec![tx(&[Insert(1, 0)]), tx(&[Scan(0, 3), Read(5)])],
            vec![tx(&[Insert(2, 0), Update(5)]), Merge],
        ]
    };
    let merge = || vec![vec![tx(&[Insert(1, 0), Update(5)]), Merge], vec![tx(&[Read(5), Scan(0, 3)])]];
    let skew = || vec![vec![tx(&[Scan(0, 3), Insert(1, 0)])], vec![tx(&[Scan(0, 3), Insert(2, 0)])]];
    let two = || {
        let reader = vec![tx(&[Scan(0, 3), Read(5)])];
        vec![vec![tx(&[Insert(1, 0)]), Merge], vec![tx(&[Insert(2, 0), Update(5)])], reader]
    };
    vec![
        Case::new(
            "own-merge",
            &[],
            vec![vec![tx(&[Insert(1, 0), Insert(2, 0)]), Merge], vec![tx(&[Scan(0, 3)])]],
        ),
        Case::new("scan-during-merge", &[(5, 0)], merge()),
        Case::new("scan-during-merge-bits", &[(5, 0)], merge()).with(|c| c.owners = Owners::Bits),
        Case::new("scan-during-merge-hash", &[(5, 0)], merge()).point(HASH),
        Case::new("scan-own-pending", &[(5, 0)], own()),
        Case::new("scan-own-pending-bits", &[(5, 0)], own()).with(|c| c.owners = Owners::Bits),
        Case::new("scan-own-pending-all", &[(5, 0)], own()).with(|c| c.owners = Owners::CountAndAllLanes),
        Case::new("scan-own-pending-one-cell", &[(5, 0)], own()).with(|c| c.cells = 1),
        Case::new("phantom-skew", &[(0, 0)], skew()),
        Case::new("phantom-skew-fine", &[(0, 0)], skew()).fine(),
        Case::new("phantom-skew-two-leaves", &[(0, 0), (1, 0), (4, 0), (5, 0)], {
            vec![vec![tx(&[Scan(4, 7), Insert(2, 0)])], vec![tx(&[Scan(0, 3), Insert(6, 0)])]]
        })
        .leaf_capacity(3),
        Case::new("two-inserters-one-scan", &[(5, 0)], two()),
        Case::new("scan-delete", &[(1, 0), (5, 0)], {
            vec![vec![tx(&[Delete(1), Update(5)]), Merge, Cleanup], vec![tx(&[Read(5), Scan(0, 3)])]]
        }),
        Case::new("scan-then-update-unseen", &[], {
            vec![vec![tx(&[Scan(0, 3), Update(1)])], vec![tx(&[Insert(1, 0)]), Merge]]
        }),
        Case::new("scan-aborted-insert", &[(5, 0)], {
            vec![
                vec![tx(&[Read(5), Insert(1, 0)]), tx(&[Insert(1, 0), Update(5)])],
                vec![tx(&[Update(5), Scan(0, 3)])],
            ]
        }),
    ]
}

/// Splits and coalescing between post, merge, scan and validation (holes a, b).
fn splits() -> Vec<Case> {
    let moved = || {
        vec![
            vec![tx(&[Insert(2, 0)]), Merge, tx(&[Scan(2, 5), Read(0)])],
            vec![tx(&[Insert(3, 0), Update(0)])],
        ]
    };
    let empty_right = || vec![(0, 0), (1, 0), (2, 0)];
    vec![
        Case::new("split-moves-pending", &[(0, 0), (1, 0)], moved()).leaf_capacity(2),
        Case::new("split-moves-pending-fine", &[(0, 0), (1, 0)], moved()).leaf_capacity(2).fine(),
        Case::new("split-then-post", &[(0, 0), (1, 0)], {
            let reader = vec![tx(&[Scan(2, 5), Read(0)])];
            vec![vec![tx(&[Insert(2, 0)]), Merge, tx(&[Insert(3, 0), Update(0)])], reader]
        })
        .leaf_capacity(2),
        Case::new("split-own-then-scan", &[(0, 0), (1, 0)], {
            vec![
                vec![tx(&[Scan(2, 5), Update(0)])],
                vec![tx(&[Insert(2, 0)]), Merge, tx(&[Insert(4, 0), Read(0)])],
            ]
        })
        .leaf_capacity(2),
        Case::new("split-twice", &[(0, 0), (1, 0)], {
            vec![
                vec![tx(&[Insert(2, 0), Insert(4, 0)]), Merge, tx(&[Scan(3, 5), Read(0)])],
                vec![tx(&[Insert(3, 0), Update(0)]), Merge],
            ]
        })
        .leaf_capacity(2),
        Case::new("coalesce", &empty_right(), {
            vec![
                vec![tx(&[Delete(1), Delete(2)]), Cleanup, tx(&[Scan(0, 3), Read(0)])],
                vec![tx(&[Insert(3, 0), Update(0)])],
            ]
        })
        .leaf_capacity(2),
        Case::new("coalesce-then-post", &empty_right(), {
            vec![
                vec![tx(&[Delete(1), Delete(2)]), Cleanup, tx(&[Insert(3, 0), Update(0)])],
                vec![tx(&[Scan(1, 4), Read(0)])],
            ]
        })
        .leaf_capacity(2),
        Case::new("coalesce-then-split", &empty_right(), {
            let inserter = vec![tx(&[Insert(3, 0), Update(0)]), Merge];
            vec![vec![tx(&[Delete(1), Delete(2)]), Cleanup, tx(&[Scan(0, 3), Read(0)])], inserter]
        })
        .leaf_capacity(2),
    ]
}

/// Point reads, absent reads, locks, timestamps, deletes (holes d, f, g, h).
fn reads() -> Vec<Case> {
    let reinsert = || {
        vec![
            vec![tx(&[Delete(1)]), Merge, Cleanup, tx(&[Insert(1, 0)]), Merge],
            vec![tx(&[Read(1), Read(5)]), tx(&[Read(1)])],
        ]
    };
    let aba = |merge: bool| {
        let mut writer = vec![tx(&[Insert(1, 0), Update(6)])];
        writer.extend(merge.then_some(Merge));
        writer.extend([tx(&[Delete(1), Update(5)]), Merge, Cleanup]);
        vec![vec![tx(&[Read(5), Read(1), Read(6)])], writer]
    };
    let adds = || vec![vec![tx(&[Add(1, 1)]), tx(&[Read(1)])], vec![tx(&[Add(1, 2), Update(2)])]];
    vec![
        Case::new(
            "absent-skew",
            &[],
            vec![vec![tx(&[Read(2), Insert(1, 0)]), Merge], vec![tx(&[Read(1), Insert(2, 0)]), Merge]],
        ),
        Case::new("absent-aba", &[(5, 0), (6, 0)], aba(false)),
        Case::new("absent-aba-merged", &[(5, 0), (6, 0)], aba(true)),
        Case::new("absent-aba-hash", &[(5, 0), (6, 0)], aba(true)).point(HASH),
        Case::new("delete-reinsert", &[(1, 0), (5, 0)], reinsert()),
        Case::new("delete-reinsert-hash", &[(1, 0), (5, 0)], reinsert()).point(HASH),
        Case::new(
            "delete-then-other-reinserts",
            &[(1, 0)],
            vec![vec![tx(&[Delete(1)]), Cleanup], vec![tx(&[Insert(1, 0)]), Merge, tx(&[Scan(0, 2)])]],
        ),
        Case::new("insert-delete-unmerged", &[(5, 0)], {
            vec![vec![tx(&[Insert(1, 0)]), Merge], vec![tx(&[Delete(1)]), Cleanup], vec![tx(&[Read(1)])]]
        }),
        Case::new("delete-reinsert-scan", &[(1, 0), (5, 0)], {
            vec![
                vec![tx(&[Delete(1)]), Cleanup],
                vec![tx(&[Insert(1, 0), Update(5)]), Merge],
                vec![tx(&[Scan(0, 2), Read(5)])],
            ]
        })
        .long(),
        Case::new(
            "write-skew",
            &[(1, 0), (2, 0)],
            vec![vec![tx(&[Read(2), Update(1)])], vec![tx(&[Read(1), Update(2)])]],
        ),
        Case::new(
            "write-skew-fine",
            &[(1, 0), (2, 0)],
            vec![vec![tx(&[Read(2), Update(1)])], vec![tx(&[Read(1), Update(2)])]],
        )
        .fine(),
        Case::new(
            "lost-update",
            &[(1, 0)],
            vec![vec![tx(&[Update(1)]), tx(&[Update(1)])], vec![tx(&[Update(1)])]],
        ),
        Case::new("two-reads", &[(1, 0), (2, 0)], {
            vec![vec![tx(&[Read(1), Read(2)])], vec![tx(&[Update(1), Update(2)]), tx(&[Update(1)])]]
        }),
        Case::new(
            "duplicate-inserts",
            &[],
            vec![
                vec![tx(&[Insert(1, 0), Insert(6, 0)]), Merge],
                vec![tx(&[Insert(2, 0), Insert(6, 0)]), Merge, tx(&[Read(6)])],
            ],
        ),
        Case::new(
            "insert-existing",
            &[(1, 0)],
            vec![vec![tx(&[Insert(1, 0)]), Merge], vec![tx(&[Update(1)]), tx(&[Read(1)])]],
        ),
        Case::new("blind-adds", &[(1, 0), (2, 0)], adds()),
        Case::new(
            "blind-adds-crossed",
            &[(1, 0), (2, 0)],
            vec![
                vec![tx(&[Add(1, 1), Add(2, 1)])],
                vec![tx(&[Add(2, 2), Add(1, 2)]), tx(&[Read(1), Read(2)])],
            ],
        ),
        Case::new("blind-adds-fine", &[(1, 0), (2, 0)], adds()).fine(),
        Case::new(
            "blind-add-delete",
            &[(1, 0)],
            vec![
                vec![tx(&[Add(1, 1)]), tx(&[Add(1, 2)])],
                vec![tx(&[Delete(1)]), Cleanup, tx(&[Insert(1, 0)])],
            ],
        ),
    ]
}

/// An idle worker's lane is merged by another.
fn helpers() -> Vec<Case> {
    vec![
        Case::new("helped-scan", &[(5, 0)], {
            vec![
                vec![tx(&[Insert(1, 0)]), tx(&[Scan(0, 3), Read(5)])],
                vec![tx(&[Insert(2, 0), Update(5)])],
                vec![Help(0)],
            ]
        })
        .with(|c| c.cells = 1),
        Case::new("helped-scan-bits", &[(5, 0)], {
            vec![
                vec![tx(&[Insert(1, 0)]), tx(&[Scan(0, 3), Read(5)])],
                vec![tx(&[Insert(2, 0), Update(5)])],
                vec![Help(0)],
            ]
        })
        .with(|c| c.owners = Owners::Bits),
        Case::new("helped-in-flight", &[(0, 0), (1, 0)], {
            vec![
                vec![tx(&[Insert(2, 0)]), tx(&[Insert(3, 0), Update(0)])],
                vec![Help(0), tx(&[Scan(2, 5), Read(0)])],
            ]
        })
        .leaf_capacity(2),
        Case::new("helped-in-flight-snapshot", &[(0, 0), (1, 0)], {
            vec![
                vec![tx(&[Insert(2, 0)]), tx(&[Update(1), Update(0)])],
                vec![Help(0), snap(&[Read(0), Read(1)])],
            ]
        }),
        Case::new("helped-abort", &[(5, 0)], {
            vec![vec![tx(&[Read(5), Insert(1, 0)])], vec![tx(&[Update(5)]), Help(0), tx(&[Scan(0, 3)])]]
        }),
    ]
}

/// Entry records of a secondary index (hole e).
fn secondary() -> Vec<Case> {
    let sec = |name, rows: &[(Key, Sec)], workers| Case::new(name, rows, workers).secondary();
    let swap = || {
        vec![vec![tx(&[ScanSec(0, 0), ScanSec(1, 1)])], vec![tx(&[Move(1, 1), Move(2, 0)]), Merge, Cleanup]]
    };
    vec![
        sec(
            "move-into-range",
            &[(1, 0), (5, 0)],
            vec![vec![tx(&[Move(1, 2), Update(5)]), Merge], vec![tx(&[ScanSec(2, 2), Read(5)])]],
        ),
        sec(
            "move-out-of-range",
            &[(1, 2), (5, 0)],
            vec![vec![tx(&[Move(1, 1), Update(5)]), Merge, Cleanup], vec![tx(&[ScanSec(2, 2), Read(5)])]],
        ),
        sec(
            "move-there-and-back",
            &[(1, 0)],
            vec![vec![tx(&[ScanSec(1, 1)])], vec![tx(&[Move(1, 1)]), tx(&[Move(1, 0)]), Merge, Cleanup]],
        ),
        sec("move-back-under-scan", &[(1, 0), (5, 0)], {
            let mover = vec![tx(&[Move(1, 1)]), tx(&[Move(1, 0)]), tx(&[Move(1, 1), Update(5)])];
            vec![vec![tx(&[ScanSec(1, 1), Read(5)])], mover]
        }),
        sec(
            "two-movers",
            &[(1, 0)],
            vec![
                vec![tx(&[Move(1, 1)]), Merge, Cleanup],
                vec![tx(&[Move(1, 0)]), tx(&[Move(1, 2)]), Merge, Cleanup],
            ],
        ),
        sec(
            "delete-and-reinsert-entry",
            &[(1, 0)],
            vec![
                vec![tx(&[Delete(1)]), Merge, Cleanup],
                vec![tx(&[Insert(1, 0)]), Merge, tx(&[ScanSec(0, 0)])],
            ],
        ),
        sec("swap-entries", &[(1, 0), (2, 1)], swap()),
        sec("swap-entries-hash", &[(1, 0), (2, 1)], swap()).point(HASH).long(),
        sec("insert-scan-secondary", &[(5, 0)], {
            vec![vec![tx(&[Insert(1, 2), Update(5)]), Merge], vec![tx(&[ScanSec(2, 2), Read(5)])]]
        }),
        sec(
            "update-under-secondary-scan",
            &[(1, 0), (5, 0)],
            vec![vec![tx(&[Update(1), Update(5)])], vec![tx(&[ScanSec(0, 0)])]],
        ),
        sec("move-sync", &[(1, 0), (5, 0)], {
            vec![vec![tx(&[Move(1, 2), Update(5)]), Cleanup], vec![tx(&[ScanSec(2, 2), Read(5)])]]
        })
        .point(NO_INDEXLET),
        sec("secondary-skew", &[(1, 0), (2, 1)], {
            vec![vec![tx(&[ScanSec(0, 0), Move(2, 0)])], vec![tx(&[ScanSec(1, 1), Move(1, 1)])]]
        }),
    ]
}

/// New keys that go straight to the tree.
fn sync_inserts() -> Vec<Case> {
    let full = |room| PointIndex::Bounded(room);
    let merge = || vec![vec![tx(&[Insert(1, 0), Update(5)])], vec![tx(&[Read(5), Scan(0, 3)])]];
    let skew = || vec![vec![tx(&[Scan(0, 3), Insert(1, 0)])], vec![tx(&[Scan(0, 3), Insert(2, 0)])]];
    let same_key = || {
        vec![
            vec![tx(&[Insert(1, 0)]), Merge, tx(&[Read(2)])],
            vec![tx(&[Insert(2, 0)]), Merge],
            vec![tx(&[Insert(2, 0)]), tx(&[Read(2)])],
        ]
    };
    vec![
        Case::new("sync-scan-tree", &[(5, 0)], merge()).point(NO_INDEXLET),
        Case::new("sync-scan-hash", &[(5, 0)], merge()).point(SYNC_HASH),
        Case::new("sync-skew-tree", &[(0, 0)], skew()).point(NO_INDEXLET),
        Case::new("sync-skew-hash", &[(0, 0)], skew()).point(SYNC_HASH),
        Case::new(
            "sync-absent-skew",
            &[],
            vec![vec![tx(&[Read(2), Insert(1, 0)])], vec![tx(&[Read(1), Insert(2, 0)])]],
        )
        .point(NO_INDEXLET),
        Case::new("sync-reinsert", &[(1, 0)], {
            vec![
                vec![tx(&[Delete(1)]), Cleanup, tx(&[Insert(1, 0)])],
                vec![tx(&[Insert(1, 0)]), tx(&[Scan(0, 2)])],
            ]
        })
        .point(NO_INDEXLET),
        Case::new("sync-reinsert-hash", &[(1, 0)], {
            vec![
                vec![tx(&[Delete(1)]), Cleanup, tx(&[Insert(1, 0)])],
                vec![tx(&[Insert(1, 0)]), tx(&[Scan(0, 2)])],
            ]
        })
        .point(SYNC_HASH),
        Case::new("sync-split", &[(0, 0), (1, 0)], {
            vec![
                vec![tx(&[Insert(2, 0), Update(0)])],
                vec![tx(&[Scan(1, 3), Read(0)])],
                vec![tx(&[Insert(3, 0)])],
            ]
        })
        .point(NO_INDEXLET)
        .leaf_capacity(2),
        Case::new("indexlet-full", &[], same_key()).point(full(1)).long(),
        Case::new("indexlet-full-no-merge", &[], {
            vec![
                vec![tx(&[Insert(1, 0)]), Merge],
                vec![tx(&[Insert(2, 0)]), Merge],
                vec![tx(&[Insert(2, 0)]), tx(&[Read(2)])],
            ]
        })
        .point(full(1)),
        Case::new("indexlet-full-two-places", &[], {
            let first = vec![tx(&[Insert(1, 0)]), Merge, tx(&[Insert(2, 0)]), Merge];
            vec![first, vec![tx(&[Insert(2, 0)]), tx(&[Read(2)])]]
        })
        .point(full(1)),
        Case::new("indexlet-full-skew", &[(5, 0)], {
            vec![
                vec![tx(&[Insert(1, 0), Insert(2, 0), Update(5)]), Merge],
                vec![tx(&[Scan(0, 3), Read(5), Insert(3, 0)]), Merge],
            ]
        })
        .point(full(1)),
        Case::new("indexlet-full-reinsert", &[(2, 0)], {
            vec![
                vec![tx(&[Delete(2)]), Cleanup],
                vec![tx(&[Insert(1, 0)]), Merge, tx(&[Insert(2, 0)])],
                vec![tx(&[Insert(2, 0)]), Merge],
            ]
        })
        .point(full(1))
        .long(),
    ]
}

/// Snapshots and what clean-up and retention owe them.
fn snapshots() -> Vec<Case> {
    let two = || vec![vec![tx(&[Update(0), Update(1)]), Merge], vec![snap(&[Read(0), Read(1)])]];
    let chain = || {
        vec![
            vec![tx(&[Update(0)]), tx(&[Update(0), Update(1)]), tx(&[Update(1)])],
            vec![snap(&[Read(0), Read(1)])],
        ]
    };
    let delete = || vec![vec![snap(&[Read(0), Read(1)])], vec![tx(&[Delete(1), Update(0)]), Merge, Cleanup]];
    let reinsert = || {
        vec![
            vec![snap(&[Read(0), Read(1)])],
            vec![tx(&[Delete(1), Update(0)]), tx(&[Insert(1, 0), Update(0)]), Cleanup],
        ]
    };
    let clean = || {
        vec![
            vec![tx(&[Insert(2, 0)]), Merge, snap(&[Read(0), Read(1)])],
            vec![tx(&[Delete(1), Update(0)]), Cleanup],
        ]
    };
    let scan = || vec![vec![tx(&[Insert(2, 0), Update(0)]), Merge], vec![snap(&[Scan(0, 3)])]];
    vec![
        Case::new("snapshot-two-rows", &[(0, 0), (1, 0)], two()),
        Case::new("snapshot-two-rows-fine", &[(0, 0), (1, 0)], two()).fine(),
        Case::new("snapshot-chain", &[(0, 0), (1, 0)], chain()),
        Case::new("snapshot-chain-ahead", &[(0, 0), (1, 0)], chain()).ahead(1),
        Case::new("snapshot-chain-far-ahead", &[(0, 0), (1, 0)], chain()).ahead(2),
        Case::new("snapshot-delete", &[(0, 0), (1, 0)], delete()),
        Case::new("snapshot-delete-ahead", &[(0, 0), (1, 0)], delete()).ahead(1),
        Case::new("snapshot-delete-hash", &[(0, 0), (1, 0)], delete()).point(HASH),
        Case::new("snapshot-delete-fine", &[(0, 0), (1, 0)], delete()).fine(),
        Case::new("snapshot-reinsert", &[(0, 0), (1, 0)], reinsert()),
        Case::new("snapshot-reinsert-ahead", &[(0, 0), (1, 0)], reinsert()).ahead(1),
        Case::new("snapshot-scan-insert", &[(0, 0), (1, 0)], scan()).leaf_capacity(2),
        Case::new("snapshot-scan-insert-ahead", &[(0, 0), (1, 0)], scan()).leaf_capacity(2).ahead(1),
        Case::new("snapshot-scan-two-writers", &[(0, 0), (1, 0)], {
            vec![
                vec![snap(&[Scan(0, 4)])],
                vec![tx(&[Insert(2, 0), Delete(0)]), Merge, Cleanup],
                vec![tx(&[Update(1)])],
            ]
        })
        .leaf_capacity(2),
        Case::new("snapshot-secondary", &[(1, 0)], {
            vec![vec![tx(&[Move(1, 1)]), Merge, Cleanup], vec![snap(&[ScanSec(0, 0), ScanSec(1, 1)])]]
        })
        .secondary(),
        Case::new("snapshot-clean-later", &[(0, 0), (1, 0)], clean()).ahead(1),
        Case::new("snapshot-clean-fine", &[(0, 0), (1, 0)], clean()).fine(),
        Case::new("snapshot-clean-three", &[(0, 0), (1, 0)], {
            vec![
                vec![tx(&[Insert(2, 0)])],
                vec![tx(&[Delete(1), Update(0)]), Cleanup],
                vec![snap(&[Read(0), Read(1)])],
            ]
        })
        .fine()
        .long(),
        Case::new("snapshot-clean-pinned", &[(1, 0)], {
            let deleter = vec![tx(&[Delete(1)]), Cleanup];
            vec![vec![tx(&[Insert(2, 0)]), Merge], deleter, vec![snap(&[Read(1)])]]
        }),
        Case::new("snapshot-stale-pin", &[(0, 0), (1, 0)], {
            let reader = vec![tx(&[Update(0)]), snap(&[]), tx(&[Update(0)]), snap(&[Read(0)])];
            vec![vec![tx(&[Insert(2, 0)])], reader]
        })
        .fine(),
        Case::new("snapshot-stale-pin-delete", &[(1, 0)], {
            vec![vec![tx(&[Insert(2, 0)])], vec![tx(&[Delete(1)]), Cleanup, snap(&[Read(1)])]]
        })
        .fine(),
        Case::new("snapshot-two-cleaners", &[(0, 0), (1, 0)], {
            let pinned = vec![tx(&[Delete(0)]), Cleanup, tx(&[Insert(2, 0)])];
            vec![pinned, vec![tx(&[Delete(1)]), Cleanup, snap(&[Read(1)])]]
        }),
        Case::new("snapshot-long-chain", &[(0, 0)], {
            let writer = vec![tx(&[Update(0)]), snap(&[Read(0)]), tx(&[Update(0)])];
            vec![writer, vec![snap(&[Read(0)])]]
        }),
    ]
}
