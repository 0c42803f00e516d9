//! Which match a regular expression has, and where its groups lie, as PostgreSQL's engine decides it.
//!
//! The leftmost match counts, as everywhere; of those, the longest, or the shortest if the first quantifier that has a
//! choice is not greedy. Within it, each piece takes the longest (or shortest) part that lets the rest match, from left
//! to right; an alternation takes the first branch that fits. That is no order in which the `regex` crate searches, so
//! the pieces are automata of their own here: sets of states that run forward or backward over a part of the text.
//!
//! ```text
//!  (a|ab)(c|bcd)(d*)      one pair for each piece that has groups, or another preference than those before it
//!   └ pair ┐
//!    left  right          ends of the left from the start  ∩  starts of the right from the end: the longest left
//! ```

use super::Interrupt;
use crate::error::{SqlError, SqlState};
use regex_syntax::ast::{self, Ast, GroupKind, RepetitionKind, RepetitionRange};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Class, HirKind, Look};
use std::collections::HashSet;
use std::sync::Arc;

/// States of all automata of one expression together.
const MAX_STATES: usize = 100_000;
/// The largest number of rounds that an expression may ask for, as in PostgreSQL.
const MAX_ROUNDS: u32 = 255;
/// Steps that one search may take.
const MAX_STEPS: u64 = 200_000_000;
/// How many of them are taken before it is asked whether the search is still wanted.
const BETWEEN_CHECKS: u64 = 1 << 16;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// What the parser of the crate takes, and this one does not.
    Unsupported,
    /// Too many states or steps.
    TooComplex,
    /// A repetition with more rounds than there may be.
    Rounds,
}

/// A part of a text: the bytes from the first up to the second.
pub(super) type Span = (usize, usize);

/// How the letters of an expression are to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) ignore_case: bool,
    pub(super) dot_matches_new_line: bool,
    pub(super) multi_line: bool,
    pub(super) expanded: bool,
}

/// An expression.
#[derive(Clone, Debug)]
enum Node {
    Empty,
    Letters(Arc<[(char, char)]>),
    Look(Look),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    /// `x{3}` has no wish of its own; `x{3,3}` has.
    Repeat {
        min: u32,
        max: Option<u32>,
        greedy: Option<bool>,
        inner: Box<Node>,
    },
    Group(usize, Box<Node>),
}

impl Node {
    fn has_groups(&self) -> bool {
        match self {
            Self::Empty | Self::Letters(_) | Self::Look(_) => false,
            Self::Sequence(parts) | Self::Choice(parts) => parts.iter().any(Self::has_groups),
            Self::Repeat { inner, .. } => inner.has_groups(),
            Self::Group(..) => true,
        }
    }

    /// Whether it prefers to be long; `None` if it does not mind.
    fn prefers_long(&self) -> Option<bool> {
        match self {
            Self::Empty | Self::Letters(_) | Self::Look(_) => None,
            Self::Sequence(parts) => parts.iter().find_map(Self::prefers_long),
            Self::Choice(_) => Some(true),
            Self::Repeat { greedy, inner, .. } => greedy.or_else(|| inner.prefers_long()),
            Self::Group(_, inner) => inner.prefers_long(),
        }
    }

    /// The number of letters of every match, if all have the same.
    fn length(&self) -> Option<u32> {
        match self {
            Self::Empty | Self::Look(_) => Some(0),
            Self::Letters(_) => Some(1),
            Self::Sequence(parts) => parts.iter().try_fold(0u32, |sum, part| sum.checked_add(part.length()?)),
            Self::Choice(parts) => {
                let first = parts.first()?.length()?;
                parts.iter().all(|part| part.length() == Some(first)).then_some(first)
            }
            Self::Repeat { min, max, inner, .. } if Some(*min) == *max => inner.length()?.checked_mul(*min),
            Self::Repeat { .. } => None,
            Self::Group(_, inner) => inner.length(),
        }
    }

    /// How many pieces have matches of different lengths; an alternation of such counts as many.
    fn choices(&self) -> usize {
        const MANY: usize = 2;
        match self {
            // groups of an earlier round are forgotten, which the crate does not do
            Self::Repeat { inner, .. } if inner.has_groups() => MANY,
            Self::Sequence(parts) => parts.iter().map(Self::choices).sum(),
            Self::Group(_, inner) => inner.choices(),
            Self::Choice(parts) if parts.iter().any(|part| part.choices() > 0) => MANY,
            _ if self.length().is_some() => 0,
            Self::Repeat { inner, .. } if inner.length().is_some() => 1,
            _ => MANY,
        }
    }
}

/// Reads an expression in the syntax of the `regex` crate.
struct Reader<'p> {
    pattern: &'p str,
    translator: regex_syntax::hir::translate::Translator,
}

impl Reader<'_> {
    fn node(&mut self, ast: &Ast) -> Result<Node, Failure> {
        Ok(match ast {
            Ast::Empty(_) => Node::Empty,
            Ast::Flags(_) => return Err(Failure::Unsupported),
            Ast::Literal(_)
            | Ast::Dot(_)
            | Ast::Assertion(_)
            | Ast::ClassUnicode(_)
            | Ast::ClassPerl(_)
            | Ast::ClassBracketed(_) => self.leaf(ast)?,
            Ast::Repetition(repetition) => {
                let (min, max) = bounds(&repetition.op.kind);
                if min.max(max.unwrap_or(0)) > MAX_ROUNDS {
                    return Err(Failure::Rounds);
                }
                let fixed = matches!(repetition.op.kind, RepetitionKind::Range(RepetitionRange::Exactly(_)));
                let inner = Box::new(self.node(&repetition.ast)?);
                Node::Repeat { min, max, greedy: (!fixed).then_some(repetition.greedy), inner }
            }
            Ast::Group(group) => {
                let inner = self.node(&group.ast)?;
                match &group.kind {
                    GroupKind::CaptureIndex(index) => Node::Group(*index as usize, Box::new(inner)),
                    GroupKind::CaptureName { .. } => return Err(Failure::Unsupported),
                    GroupKind::NonCapturing(flags) if flags.items.is_empty() => inner,
                    GroupKind::NonCapturing(_) => return Err(Failure::Unsupported),
                }
            }
            Ast::Alternation(list) => Node::Choice(self.nodes(&list.asts)?),
            Ast::Concat(list) => Node::Sequence(self.nodes(&list.asts)?),
        })
    }

    fn nodes(&mut self, list: &[Ast]) -> Result<Vec<Node>, Failure> {
        list.iter().map(|ast| self.node(ast)).collect()
    }

    fn leaf(&mut self, ast: &Ast) -> Result<Node, Failure> {
        let hir = self.translator.translate(self.pattern, ast).map_err(|_| Failure::Unsupported)?;
        let letters = |ranges: &mut dyn Iterator<Item = (char, char)>| Node::Letters(ranges.collect());
        Ok(match hir.kind() {
            HirKind::Empty => Node::Empty,
            HirKind::Look(look) => Node::Look(*look),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|_| Failure::Unsupported)?;
                Node::Sequence(text.chars().map(|c| Node::Letters([(c, c)].into())).collect())
            }
            HirKind::Class(Class::Unicode(class)) => {
                letters(&mut class.iter().map(|range| (range.start(), range.end())))
            }
            HirKind::Class(Class::Bytes(class)) if class.is_ascii() => {
                letters(&mut class.iter().map(|range| (range.start().into(), range.end().into())))
            }
            _ => return Err(Failure::Unsupported),
        })
    }
}

fn bounds(kind: &RepetitionKind) -> (u32, Option<u32>) {
    match kind {
        RepetitionKind::ZeroOrOne => (0, Some(1)),
        RepetitionKind::ZeroOrMore => (0, None),
        RepetitionKind::OneOrMore => (1, None),
        RepetitionKind::Range(RepetitionRange::Exactly(n)) => (*n, Some(*n)),
        RepetitionKind::Range(RepetitionRange::AtLeast(n)) => (*n, None),
        RepetitionKind::Range(RepetitionRange::Bounded(min, max)) => (*min, Some(*max)),
    }
}

#[derive(Clone, Debug)]
enum AutomatonState {
    Letters(Arc<[(char, char)]>, usize),
    Look(Look, usize),
    Split(Vec<usize>),
    Match,
}

/// An automaton that reads a text in one direction.
#[derive(Clone, Debug)]
struct Automaton {
    states: Vec<AutomatonState>,
    start: usize,
    backward: bool,
}

struct Builder<'l> {
    states: Vec<AutomatonState>,
    backward: bool,
    /// States that may still be made, for all automata of the expression.
    left: &'l mut usize,
}

impl Builder<'_> {
    /// Counts a state, or a step that needs as much time.
    fn charge(&mut self) -> Result<(), Failure> {
        *self.left = self.left.checked_sub(1).ok_or(Failure::TooComplex)?;
        Ok(())
    }

    fn push(&mut self, state: AutomatonState) -> Result<usize, Failure> {
        self.charge()?;
        self.states.push(state);
        Ok(self.states.len() - 1)
    }

    /// The state that reads a node and goes on with `next`.
    fn node(&mut self, node: &Node, next: usize) -> Result<usize, Failure> {
        // repetitions of what needs no state cost time all the same
        if matches!(node, Node::Empty | Node::Group(..) | Node::Sequence(_) | Node::Repeat { .. }) {
            self.charge()?;
        }
        match node {
            Node::Empty => Ok(next),
            Node::Letters(ranges) => self.push(AutomatonState::Letters(ranges.clone(), next)),
            Node::Look(look) => self.push(AutomatonState::Look(*look, next)),
            Node::Group(_, inner) => self.node(inner, next),
            Node::Sequence(parts) => {
                let mut next = next;
                if self.backward {
                    for part in parts {
                        next = self.node(part, next)?;
                    }
                } else {
                    for part in parts.iter().rev() {
                        next = self.node(part, next)?;
                    }
                }
                Ok(next)
            }
            Node::Choice(parts) => {
                let entries = parts.iter().map(|part| self.node(part, next)).collect::<Result<_, _>>()?;
                self.push(AutomatonState::Split(entries))
            }
            Node::Repeat { min, max, inner, .. } => {
                let mut entry = match max {
                    None => {
                        let again = self.push(AutomatonState::Split(Vec::new()))?;
                        let body = self.node(inner, again)?;
                        self.states[again] = AutomatonState::Split(vec![body, next]);
                        again
                    }
                    Some(max) => {
                        let mut entry = next;
                        for _ in *min..*max {
                            let body = self.node(inner, entry)?;
                            entry = self.push(AutomatonState::Split(vec![body, next]))?;
                        }
                        entry
                    }
                };
                for _ in 0..*min {
                    entry = self.node(inner, entry)?;
                }
                Ok(entry)
            }
        }
    }
}

fn automaton(node: &Node, backward: bool, left: &mut usize) -> Result<Automaton, Failure> {
    let mut builder = Builder { states: Vec::new(), backward, left };
    let end = builder.push(AutomatonState::Match)?;
    let start = builder.node(node, end)?;
    Ok(Automaton { states: builder.states, start, backward })
}

/// Steps that a search may still take.
pub(super) struct Steps<'a> {
    left: u64,
    interrupt: Interrupt<'a>,
    /// The error of the interrupt, if that has ended the search.
    stopped: Option<SqlError>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(interrupt: Interrupt<'a>) -> Self {
        Self { left: MAX_STEPS, interrupt, stopped: None }
    }

    fn take(&mut self) -> Result<(), Failure> {
        self.left = self.left.checked_sub(1).ok_or(Failure::TooComplex)?;
        if self.left.is_multiple_of(BETWEEN_CHECKS)
            && let Err(error) = self.interrupt.check()
        {
            self.stopped = Some(error);
            return Err(Failure::TooComplex);
        }
        Ok(())
    }

    /// The error of a search that has failed.
    pub(super) fn error(&mut self) -> SqlError {
        self.stopped.take().unwrap_or_else(|| {
            let message = "the regular expression takes too many steps on this text";
            SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        })
    }
}

impl Automaton {
    /// Hands the places where a match may end that begins at `from` and does not go beyond `to`, the nearest first,
    /// until
    /// `found` says that it is enough.
    fn run(
        &self,
        text: &str,
        (from, to): Span,
        steps: &mut Steps<'_>,
        found: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), Failure> {
        let mut seen = vec![usize::MAX; self.states.len()];
        let (mut now, mut next) = (Vec::new(), Vec::new());
        let mut stack = vec![self.start];
        let mut at = from;
        loop {
            let mut matched = false;
            while let Some(state) = stack.pop() {
                if std::mem::replace(&mut seen[state], at) == at {
                    continue;
                }
                steps.take()?;
                match &self.states[state] {
                    AutomatonState::Match => matched = true,
                    AutomatonState::Letters(..) => now.push(state),
                    AutomatonState::Look(look, after) if holds(*look, text, at) => stack.push(*after),
                    AutomatonState::Look(..) => {}
                    AutomatonState::Split(ways) => stack.extend(ways),
                }
            }
            if matched && found(at) || at == to || now.is_empty() {
                return Ok(());
            }
            let letter =
                if self.backward { text[..at].chars().next_back() } else { text[at..].chars().next() };
            let Some(letter) = letter else { return Ok(()) };
            for state in now.drain(..) {
                steps.take()?;
                if let AutomatonState::Letters(ranges, after) = &self.states[state]
                    && has(ranges, letter)
                {
                    next.push(*after);
                }
            }
            at = if self.backward { at - letter.len_utf8() } else { at + letter.len_utf8() };
            std::mem::swap(&mut stack, &mut next);
            if stack.is_empty() {
                return Ok(());
            }
        }
    }

    /// All places where a match may end, the nearest first.
    fn ends(&self, text: &str, span: Span, steps: &mut Steps<'_>) -> Result<Vec<usize>, Failure> {
        let mut ends = Vec::new();
        self.run(text, span, steps, &mut |at| {
            ends.push(at);
            false
        })?;
        Ok(ends)
    }

    /// Whether it matches just this.
    fn matches(&self, text: &str, span: Span, steps: &mut Steps<'_>) -> Result<bool, Failure> {
        let mut hit = false;
        self.run(text, span, steps, &mut |at| {
            hit = at == span.1;
            hit
        })?;
        Ok(hit)
    }
}

fn has(ranges: &[(char, char)], letter: char) -> bool {
    let at = ranges.partition_point(|(_, last)| *last < letter);
    ranges.get(at).is_some_and(|(first, _)| *first <= letter)
}

/// Whether a constraint holds at a place of a text.
fn holds(look: Look, text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at..].chars().next();
    let word = |c: Option<char>| c.is_some_and(regex_syntax::is_word_character);
    match look {
        Look::Start => before.is_none(),
        Look::End => after.is_none(),
        Look::StartLF | Look::StartCRLF => before.is_none_or(|c| c == '\n'),
        Look::EndLF | Look::EndCRLF => after.is_none_or(|c| c == '\n'),
        Look::WordAscii | Look::WordUnicode => word(before) != word(after),
        Look::WordAsciiNegate | Look::WordUnicodeNegate => word(before) == word(after),
        Look::WordStartAscii | Look::WordStartUnicode => !word(before) && word(after),
        Look::WordEndAscii | Look::WordEndUnicode => word(before) && !word(after),
        Look::WordStartHalfAscii | Look::WordStartHalfUnicode => !word(before),
        Look::WordEndHalfAscii | Look::WordEndHalfUnicode => !word(after),
    }
}

/// How the groups of a piece are found in what it has matched.
#[derive(Clone, Debug)]
enum Plan {
    /// The piece has no groups.
    None,
    Group(usize, Box<Plan>),
    Pair(Box<Pair>),
    /// The first branch that fits.
    Choice(Vec<(Automaton, Plan)>),
    Repeat(Box<Repeat>),
}

#[derive(Clone, Debug)]
struct Pair {
    left: Automaton,
    left_is_long: bool,
    left_plan: Plan,
    right: Automaton,
    right_plan: Plan,
}

/// Any number of rounds, none as well.
#[derive(Clone, Debug)]
struct Repeat {
    max: Option<u32>,
    is_long: bool,
    inner: Automaton,
    plan: Plan,
}

fn plan(node: &Node, left: &mut usize) -> Result<Plan, Failure> {
    if !node.has_groups() {
        return Ok(Plan::None);
    }
    Ok(match node {
        Node::Empty | Node::Letters(_) | Node::Look(_) => Plan::None,
        Node::Group(index, inner) => Plan::Group(*index, Box::new(plan(inner, left)?)),
        Node::Sequence(parts) => pairs(&pieces(parts), left)?,
        Node::Choice(parts) => {
            let mut branches = Vec::with_capacity(parts.len());
            for part in parts {
                branches.push((automaton(part, false, left)?, plan(part, left)?));
            }
            Plan::Choice(branches)
        }
        // groups keep what the last round took: the rounds before it are one piece without groups
        Node::Repeat { min: min @ 1.., max, greedy, inner } => {
            let before = Node::Repeat {
                min: min - 1,
                max: max.map(|max| max.saturating_sub(1)),
                greedy: *greedy,
                inner: inner.clone(),
            };
            Plan::Pair(Box::new(Pair {
                left: automaton(&before, false, left)?,
                left_is_long: node.prefers_long().unwrap_or(true),
                left_plan: Plan::None,
                right: automaton(inner, true, left)?,
                right_plan: plan(inner, left)?,
            }))
        }
        Node::Repeat { max, inner, .. } => Plan::Repeat(Box::new(Repeat {
            max: *max,
            is_long: inner.prefers_long().unwrap_or(true),
            inner: automaton(inner, false, left)?,
            plan: plan(inner, left)?,
        })),
    })
}

/// The parts of a sequence that choose together: those in a row without groups and with one preference.
fn pieces(parts: &[Node]) -> Vec<Node> {
    let mut pieces: Vec<Node> = Vec::new();
    let mut run: Vec<Node> = Vec::new();
    let mut run_is_long = None;
    for part in parts {
        let is_long = part.prefers_long();
        let other = matches!((run_is_long, is_long), (Some(a), Some(b)) if a != b);
        if part.has_groups() || other {
            if !run.is_empty() {
                pieces.push(Node::Sequence(std::mem::take(&mut run)));
            }
            run_is_long = None;
            pieces.push(part.clone());
        } else {
            run_is_long = run_is_long.or(is_long);
            run.push(part.clone());
        }
    }
    if !run.is_empty() {
        pieces.push(Node::Sequence(run));
    }
    pieces
}

fn pairs(pieces: &[Node], left: &mut usize) -> Result<Plan, Failure> {
    match pieces {
        [] => Ok(Plan::None),
        [one] => plan(one, left),
        all if !all.iter().any(Node::has_groups) => Ok(Plan::None),
        [first, rest @ ..] => {
            let right = Node::Sequence(rest.to_vec());
            Ok(Plan::Pair(Box::new(Pair {
                left: automaton(first, false, left)?,
                left_is_long: first.prefers_long().unwrap_or(true),
                left_plan: plan(first, left)?,
                right: automaton(&right, true, left)?,
                right_plan: pairs(rest, left)?,
            })))
        }
    }
}

/// Finds the groups of a match.
struct Finder<'t> {
    text: &'t str,
    groups: Vec<Option<Span>>,
}

impl Finder<'_> {
    fn find(&mut self, plan: &Plan, span: Span, steps: &mut Steps<'_>) -> Result<(), Failure> {
        match plan {
            Plan::None => Ok(()),
            Plan::Group(index, inner) => {
                if let Some(group) = self.groups.get_mut(*index) {
                    *group = Some(span);
                }
                self.find(inner, span, steps)
            }
            Plan::Pair(pair) => {
                let ends = pair.left.ends(self.text, span, steps)?;
                let mut starts = pair.right.ends(self.text, (span.1, span.0), steps)?;
                starts.reverse();
                let fits = |at: &&usize| starts.binary_search(at).is_ok();
                let found =
                    if pair.left_is_long { ends.iter().rev().find(fits) } else { ends.iter().find(fits) };
                let Some(&middle) = found else { return Ok(()) };
                self.find(&pair.left_plan, (span.0, middle), steps)?;
                self.find(&pair.right_plan, (middle, span.1), steps)
            }
            Plan::Choice(branches) => {
                for (branch, plan) in branches {
                    if branch.matches(self.text, span, steps)? {
                        return self.find(plan, span, steps);
                    }
                }
                Ok(())
            }
            Plan::Repeat(repeat) => match self.last_round(repeat, span, steps)? {
                Some(last) => self.find(&repeat.plan, last, steps),
                None => Ok(()),
            },
        }
    }

    /// The part of the last round of a repetition: what its groups keep.
    fn last_round(
        &self,
        repeat: &Repeat,
        span: Span,
        steps: &mut Steps<'_>,
    ) -> Result<Option<Span>, Failure> {
        let (from, to) = span;
        if from == to {
            // one round of nothing, if there can be
            return Ok(repeat.inner.matches(self.text, span, steps)?.then_some(span));
        }
        let most = repeat.max.map_or(usize::MAX, |max| max as usize);
        // where each round began, and where it may end, the best last
        let mut rounds: Vec<(usize, Vec<usize>)> = Vec::new();
        // what is known to lead nowhere: a place, and how many rounds there were before, where that matters
        let mut dead = HashSet::new();
        let counted = |rounds: usize| if repeat.max.is_some() { rounds } else { 0 };
        let candidates = |at: usize, steps: &mut Steps| -> Result<Vec<usize>, Failure> {
            let mut ends = repeat.inner.ends(self.text, (at, to), steps)?;
            if !repeat.is_long {
                ends.reverse();
            }
            Ok(ends)
        };
        rounds.push((from, candidates(from, steps)?));
        while let Some((began, ends)) = rounds.last_mut() {
            let began = *began;
            let Some(end) = ends.pop() else {
                rounds.pop();
                dead.insert((began, counted(rounds.len())));
                continue;
            };
            steps.take()?;
            if end == to {
                return Ok(Some((began, end)));
            }
            // a round that takes nothing leads nowhere
            let done = rounds.len();
            if end > began && done < most && !dead.contains(&(end, counted(done))) {
                rounds.push((end, candidates(end, steps)?));
            }
        }
        Ok(None)
    }
}

/// What says where matches end, and where their groups lie.
#[derive(Clone, Debug)]
pub(super) struct Spans {
    whole: Automaton,
    is_long: bool,
    plan: Plan,
    groups: usize,
}

impl Spans {
    /// For an expression in the syntax of the `regex` crate; `None` if the crate's answers are the same.
    pub(super) fn new(pattern: &str, reading: Reading) -> Result<Option<Self>, Failure> {
        let parsed = ast::parse::ParserBuilder::new()
            .ignore_whitespace(reading.expanded)
            .nest_limit(super::regexp::MAX_NESTING)
            .build()
            .parse(pattern)
            .map_err(|_| Failure::Unsupported)?;
        let translator = TranslatorBuilder::new()
            .case_insensitive(reading.ignore_case)
            .dot_matches_new_line(reading.dot_matches_new_line)
            .multi_line(reading.multi_line)
            .build();
        let node = Reader { pattern, translator }.node(&parsed)?;
        // one piece with a choice takes it in the same way everywhere
        if node.choices() < 2 {
            return Ok(None);
        }
        let mut left = MAX_STATES;
        let groups = count_groups(&node);
        Ok(Some(Self {
            whole: automaton(&node, false, &mut left)?,
            is_long: node.prefers_long().unwrap_or(true),
            plan: plan(&node, &mut left)?,
            groups,
        }))
    }

    /// The match that begins here, and its groups; the first is the whole.
    pub(super) fn at(
        &self,
        text: &str,
        from: usize,
        steps: &mut Steps<'_>,
    ) -> Result<Vec<Option<Span>>, Failure> {
        let mut end = from;
        let shortest = !self.is_long;
        self.whole.run(text, (from, text.len()), steps, &mut |at| {
            end = at;
            shortest
        })?;
        let mut finder = Finder { text, groups: vec![None; self.groups + 1] };
        finder.groups[0] = Some((from, end));
        finder.find(&self.plan, (from, end), steps)?;
        Ok(finder.groups)
    }
}

fn count_groups(node: &Node) -> usize {
    match node {
        Node::Empty | Node::Letters(_) | Node::Look(_) => 0,
        Node::Sequence(parts) | Node::Choice(parts) => parts.iter().map(count_groups).sum(),
        Node::Repeat { inner, .. } => count_groups(inner),
        Node::Group(_, inner) => 1 + count_groups(inner),
    }
}
