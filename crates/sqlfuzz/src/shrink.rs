//! The smallest script that still shows a difference.

use crate::compare::{Kind, Verdict, compare};
use crate::generate::{Script, Statement};
use crate::servers::Server;

/// A difference between two servers.
pub struct Difference {
    /// Of which kind.
    pub kind: Kind,
    /// Which statement of the script shows it.
    pub at: usize,
    /// What the two have said.
    pub answers: String,
}

/// Runs a script on a reference and another server, to the first difference. Returns it, and how many statements ran.
pub fn run(
    script: &Script,
    reference: &mut dyn Server,
    other: &mut dyn Server,
) -> (Option<Difference>, usize) {
    reference.reset();
    other.reset();
    let mut in_block = false;
    for (at, statement) in script.statements.iter().enumerate() {
        let sql = statement.tree.sql();
        in_block = sql == "begin" || in_block && sql != "commit" && sql != "rollback";
        let (one, two) = (reference.run(statement), other.run(statement));
        if statement.index {
            continue;
        }
        match compare(statement, &sql, &one, &two) {
            Verdict::Same => {}
            // a query leaves nothing behind that could differ from here on
            Verdict::Open if statement.query && !in_block => {}
            Verdict::Open => return (None, at + 1),
            Verdict::Differ(kind) => {
                let answers = format!("{}: {one}\n{}: {two}", reference.name(), other.name());
                return (Some(Difference { kind, at, answers }), at + 1);
            }
        }
    }
    (None, script.statements.len())
}

/// Makes a script smaller, as long as `shows` says that it still shows what it showed; it is asked so many times at
/// most.
pub fn shrink(script: &Script, mut budget: usize, shows: &mut dyn FnMut(&Script) -> bool) -> Script {
    let mut best = script.clone();
    loop {
        let before = best.clone();
        let left = without_statements(&mut best, &mut budget, shows);
        if !left || !simpler_statements(&mut best, &mut budget, shows) {
            return best;
        }
        if size(&best) == size(&before) {
            return best;
        }
    }
}

fn size(script: &Script) -> usize {
    script.statements.iter().map(|statement| statement.tree.size()).sum()
}

/// Tries a candidate; false if there is no more budget.
fn attempt(
    best: &mut Script,
    candidate: Script,
    budget: &mut usize,
    shows: &mut dyn FnMut(&Script) -> bool,
) -> Option<bool> {
    *budget = budget.checked_sub(1)?;
    let better = shows(&candidate);
    if better {
        *best = candidate;
    }
    Some(better)
}

fn without_statements(best: &mut Script, budget: &mut usize, shows: &mut dyn FnMut(&Script) -> bool) -> bool {
    let mut chunk = best.statements.len() / 2;
    while chunk > 0 {
        let mut end = best.statements.len();
        while end > 0 {
            let start = end.saturating_sub(chunk);
            let mut candidate = best.clone();
            candidate.statements.drain(start..end);
            if attempt(best, candidate, budget, shows).is_none() {
                return false;
            }
            end = start;
        }
        chunk /= 2;
    }
    true
}

fn simpler_statements(best: &mut Script, budget: &mut usize, shows: &mut dyn FnMut(&Script) -> bool) -> bool {
    for at in (0..best.statements.len()).rev() {
        let mut number = 0;
        while let Some(node) = best.statements[at].tree.at(number) {
            let tries = node.simpler();
            let mut smaller = false;
            for by in tries {
                let tree = best.statements[at].tree.replaced(number, &by);
                let mut candidate = best.clone();
                candidate.statements[at] = Statement { tree, ..candidate.statements[at].clone() };
                match attempt(best, candidate, budget, shows) {
                    None => return false,
                    Some(true) => {
                        smaller = true;
                        break;
                    }
                    Some(false) => {}
                }
            }
            if !smaller {
                number += 1;
            }
        }
    }
    true
}
