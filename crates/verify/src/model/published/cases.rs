//! One case for every hole, by the letters of the design. Each says which property must be found broken; the last ones
//! are controls that must be clean.

use super::{OnLock, Own, Published, Reading};
use crate::model::history::Property;
use crate::model::program::Action::{self, Merge, Tx};
use crate::model::program::Op::{self, Delete, Insert, Move, Read, Scan, ScanSec, Update};
use crate::model::program::{Key, Program, Sec};

/// A hole, or a control.
pub struct Hole {
    /// Letter and variant.
    pub name: &'static str,
    /// In words.
    pub about: &'static str,
    /// What must be found broken (`None`: the case must be clean).
    pub breaks: Option<Property>,
    /// The model.
    pub model: Published,
}

fn tx(ops: &[Op]) -> Action {
    Tx(ops.to_vec())
}

/// All of them.
pub fn holes() -> Vec<Hole> {
    let hole = |name, about, breaks, reading, rows: &[(Key, Sec)], workers| {
        let program = Program { rows: rows.to_vec(), workers };
        let secondary = about_secondary(&program);
        Hole { name, about, breaks, model: Published { reading, leaf_capacity: 4, secondary, program } }
    };
    let capacity = |mut hole: Hole, leaf_capacity| {
        hole.model.leaf_capacity = leaf_capacity;
        hole
    };
    let any = Some(Property::AnyOrder);
    let literal = Reading::LITERAL;
    let patched = Reading::PATCHED;
    let rechecked = Reading { indicator_rechecked: true, ..patched };
    let by_leaf = Reading { by_version: false, ..rechecked };
    let two_keys = || vec![vec![tx(&[Insert(1, 0), Insert(2, 0)]), Merge], vec![tx(&[Scan(0, 3)])]];
    let other_merge = || {
        let reader = vec![tx(&[Scan(0, 3), Read(5)])];
        vec![vec![tx(&[Insert(1, 0)]), Merge], vec![tx(&[Insert(2, 0), Update(5)])], reader]
    };
    let split = || {
        let reader = vec![tx(&[Scan(2, 5), Read(0)])];
        vec![vec![tx(&[Insert(2, 0)]), Merge], vec![tx(&[Insert(3, 0), Update(0)])], reader]
    };
    let in_between = || vec![vec![tx(&[Insert(1, 0), Update(5)]), Merge], vec![tx(&[Read(5), Scan(0, 3)])]];
    let skew = || vec![vec![tx(&[Read(2), Update(1)])], vec![tx(&[Read(1), Update(2)])]];
    let own =
        || vec![vec![tx(&[Insert(1, 0)]), tx(&[Scan(0, 3), Read(5)])], vec![tx(&[Insert(2, 0), Update(5)])]];
    vec![
        hole(
            "a",
            "own merge moves the leaf on from the indicator of the second key",
            any,
            literal,
            &[],
            two_keys(),
        ),
        hole("a patched", "the same with every easy patch", any, rechecked, &[], two_keys()),
        hole(
            "a others",
            "another worker's merge moves the leaf on",
            any,
            rechecked,
            &[(5, 0)],
            other_merge(),
        ),
        capacity(
            hole(
                "a split",
                "a split moves the pending key away from its indicator",
                any,
                by_leaf,
                &[(0, 0), (1, 0)],
                split(),
            ),
            2,
        ),
        hole("b", "the leaf moves between look-up and indicator", any, patched, &[(5, 0)], other_merge()),
        hole("c", "a merge between leaf check and phantomlet check", any, literal, &[(5, 0)], in_between()),
        hole("c fixed", "control: phantomlet first", None, patched, &[(5, 0)], in_between()),
        hole("d", "absent reads are not validated", any, literal, &[], {
            vec![vec![tx(&[Read(2), Insert(1, 0)])], vec![tx(&[Read(1), Insert(2, 0)])]]
        }),
        hole(
            "d naive",
            "an absent read looked up again: insert, then delete",
            any,
            patched,
            &[(5, 0), (6, 0)],
            {
                let writer = vec![tx(&[Insert(1, 0), Update(6)]), tx(&[Delete(1), Update(5)])];
                vec![vec![tx(&[Read(5), Read(1), Read(6)])], writer]
            },
        ),
        hole("e", "an update moves a row into a scanned secondary range", any, literal, &[(1, 0), (5, 0)], {
            vec![vec![tx(&[Move(1, 2), Update(5)])], vec![tx(&[ScanSec(2, 2), Read(5)])]]
        }),
        hole(
            "e order",
            "two workers' secondary merges of a row in the wrong order",
            Some(Property::FinalState),
            patched,
            &[(1, 0)],
            vec![vec![tx(&[Move(1, 1)]), Merge], vec![tx(&[Move(1, 0)]), Merge]],
        ),
        hole(
            "f wait",
            "validation waits on locked entries",
            Some(Property::Deadlock),
            literal,
            &[(1, 0), (2, 0)],
            skew(),
        ),
        hole(
            "f ignore",
            "readers cannot see locks: write skew",
            any,
            Reading { on_lock: OnLock::Ignore, ..literal },
            &[(1, 0), (2, 0)],
            skew(),
        ),
        hole("f fixed", "control: a lock met in validation aborts", None, patched, &[(1, 0), (2, 0)], skew()),
        hole(
            "g",
            "a change after the own timestamp is accepted",
            any,
            Reading { later_is_fine: true, ..patched },
            &[(1, 0), (2, 0)],
            vec![vec![tx(&[Read(1), Read(2)])], vec![tx(&[Update(1), Update(2)]), tx(&[Update(1)])]],
        ),
        hole(
            "h",
            "timestamp sampled before the locks are held",
            Some(Property::TimestampOrder),
            Reading { ts_early: true, ..patched },
            &[(1, 0), (2, 0)],
            vec![vec![tx(&[Update(1)])], vec![tx(&[Read(1), Update(2)])]],
        ),
        hole(
            "h log",
            "the same: the log in timestamp order is not what happened",
            Some(Property::FinalState),
            Reading { ts_early: true, ..patched },
            &[(1, 0)],
            vec![vec![tx(&[Update(1)])], vec![tx(&[Update(1)])]],
        ),
        hole(
            "k",
            "own indicators skipped wholesale",
            any,
            Reading { own: Own::SkipMine, ..patched },
            &[(5, 0)],
            own(),
        ),
        hole("k fixed", "control: own inserts are phantoms", None, rechecked, &[(5, 0)], own()),
    ]
}

/// Does the program scan or change secondary keys?
fn about_secondary(program: &Program) -> bool {
    let uses = |op: &Op| matches!(op, ScanSec(..) | Move(..));
    program.workers.iter().flatten().any(|action| matches!(action, Tx(ops) if ops.iter().any(uses)))
}
