//! Whether a body may change what is defined.

use super::{Block, Line, Program, Query, Step};

/// The first words of statements that change no definition, and that a query may have beside it.
const PLAIN: [&str; 9] = ["SELECT", "WITH", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "MERGE", "("];

impl Program {
    /// Whether it has statements that change definitions or settings, or runs text of which nobody knows what it is.
    pub fn may_define(&self) -> bool {
        of_block(&self.block)
    }
}

fn of_block(block: &Block) -> bool {
    of_lines(&block.steps) || block.handlers.iter().any(|handler| of_lines(&handler.steps))
}

fn of_lines(lines: &[Line]) -> bool {
    lines.iter().any(|line| of_step(&line.step))
}

fn of_step(step: &Step) -> bool {
    match step {
        Step::Sql { sql, .. } => !begins_plainly(&sql.text),
        Step::Execute { .. } => true,
        Step::Block(block) => of_block(block),
        Step::If { branches, otherwise } => {
            branches.iter().any(|(_, lines)| of_lines(lines)) || of_lines(otherwise)
        }
        Step::Case { branches, otherwise, .. } => {
            branches.iter().any(|lines| of_lines(lines)) || otherwise.as_ref().is_some_and(|of| of_lines(of))
        }
        Step::ForQuery { query, steps, .. } => matches!(query, Query::Dynamic(..)) || of_lines(steps),
        Step::Loop { steps, .. }
        | Step::While { steps, .. }
        | Step::ForRange { steps, .. }
        | Step::ForCursor { steps, .. }
        | Step::ForEach { steps, .. } => of_lines(steps),
        Step::Null
        | Step::Assign { .. }
        | Step::Copy { .. }
        | Step::Perform(_)
        | Step::Open { .. }
        | Step::Fetch { .. }
        | Step::Move { .. }
        | Step::Close(_)
        | Step::Exit { .. }
        | Step::Return(_)
        | Step::ReturnFirst(_)
        | Step::ReturnNext(_)
        | Step::ReturnQuery(_)
        | Step::Raise(_)
        | Step::Reraise
        | Step::Assert { .. }
        | Step::Diagnostics { .. } => false,
    }
}

/// Whether a text begins as a query, or what changes rows, does.
pub fn begins_plainly(text: &str) -> bool {
    let text = text.trim_start();
    PLAIN.iter().any(|word| {
        let first = text.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word));
        first && !text[word.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_')
    })
}
