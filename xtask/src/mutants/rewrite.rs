//! All mutants of a file in one text: each stands behind a question whether it is on. An expression
//! becomes a chain of its mutants, and last itself; only there mutants are inside of it, too:
//!
//! ```text
//! a + b == c    (if on(1) { (a + b) != (c) } else { (if on(2) { (a) - (b) } else if on(3) { .. } else { a + b }) == c })
//! ```
//!
//! Text is only added. What a mutant adds has lines of its own, by which errors of the compiler are its.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::list::{Genre, Mutant};

/// The text of a file, and where in it mutants are.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// Lines that are a mutant's alone.
    own: Vec<(Range<usize>, u32)>,
    /// Lines that an expression with mutants takes, itself included.
    whole: Vec<(Range<usize>, Vec<u32>)>,
    /// Those that no question can be put before: in what the compiler evaluates.
    pub(super) left: Vec<u32>,
    /// Those that cannot be compiled anyway.
    pub(super) unviable: Vec<u32>,
}

impl Rewritten {
    /// The mutant whose own lines these are.
    pub(super) fn owner(&self, line: usize) -> Option<u32> {
        self.own.iter().find(|(lines, _)| lines.contains(&line)).map(|&(_, number)| number)
    }

    /// Lines were put before the text.
    pub(super) fn move_down(&mut self, by: usize) {
        let whole = self.whole.iter_mut().map(|(lines, _)| lines);
        for lines in self.own.iter_mut().map(|(lines, _)| lines).chain(whole) {
            *lines = lines.start + by..lines.end + by;
        }
    }

    /// The mutants of the smallest expression that has a line.
    pub(super) fn around(&self, line: usize) -> &[u32] {
        let with = self.whole.iter().filter(|(lines, _)| lines.contains(&line));
        with.min_by_key(|(lines, _)| lines.len()).map_or(&[], |(_, numbers)| numbers)
    }
}

/// Puts mutants, each with its number, into the text of their file.
pub(super) fn rewrite(text: &str, mutants: &[(u32, &Mutant)]) -> Result<Rewritten, String> {
    let file = syn::parse_file(text).map_err(|error| error.to_string())?;
    let mut sites = Sites { text, mutants, added: Vec::new(), unviable: Vec::new(), evaluated: 0 };
    sites.visit_file(&file);
    let Sites { mut added, unviable, .. } = sites;
    let placed = |number| added.iter().any(|added| matches!(added.what, What::Own(of, _) if of == number));
    let numbers = mutants.iter().map(|&(number, _)| number);
    let left = numbers.filter(|&number| !placed(number) && !unviable.contains(&number)).collect();
    // stable: what opened first is around what opens later at the same place, what closed first is inside
    added.sort_by_key(|added| (added.at, !added.closes));
    Ok(Rewritten { left, unviable, ..print(text, added) })
}

/// What is put between two bytes of the text.
struct Added {
    at: usize,
    closes: bool,
    what: What,
}

enum What {
    /// An expression with these mutants begins.
    Open(Vec<u32>),
    /// The last expression that began ends.
    Close,
    Text(&'static str),
    /// The text of a mutant alone.
    Own(u32, String),
}

fn print(text: &str, added: Vec<Added>) -> Rewritten {
    let mut out = Rewritten::default();
    let mut open = Vec::new();
    let (mut done, mut line) = (0, 1);
    let mut push = |out: &mut Rewritten, part: &str| {
        out.text.push_str(part);
        line += part.matches('\n').count();
        line
    };
    for Added { at, what, .. } in added {
        let now = push(&mut out, &text[done..at]);
        done = at;
        match what {
            What::Open(numbers) => open.push((now, numbers)),
            What::Close => {
                let (first, numbers) = open.pop().expect("what closes has opened");
                out.whole.push((first..now + 1, numbers));
            }
            What::Text(text) => {
                push(&mut out, text);
            }
            What::Own(number, text) => {
                let first = push(&mut out, "\n");
                let after = push(&mut out, &format!("{text}\n"));
                out.own.push((first..after, number));
            }
        }
    }
    push(&mut out, &text[done..]);
    out
}

/// Comes by all places of a file.
struct Sites<'a> {
    text: &'a str,
    mutants: &'a [(u32, &'a Mutant)],
    added: Vec<Added>,
    unviable: Vec<u32>,
    /// In how many things this is that the compiler evaluates, such as constants.
    evaluated: usize,
}

impl<'a> Sites<'a> {
    fn at(&self, genre: Genre, start: usize) -> Vec<(u32, &'a Mutant)> {
        if self.evaluated > 0 {
            return Vec::new();
        }
        let here = |(_, mutant): &&(u32, &Mutant)| mutant.genre == genre && mutant.span.start == start;
        self.mutants.iter().filter(here).copied().collect()
    }

    fn add(&mut self, at: usize, what: What) {
        self.added.push(Added { at, closes: false, what });
    }

    /// Puts mutants before an expression, and goes on inside of it.
    fn wrap(&mut self, whole: Range<usize>, branches: Vec<(u32, String)>, inside: impl FnOnce(&mut Self)) {
        if branches.is_empty() {
            return inside(self);
        }
        self.open(whole.start, branches.iter().map(|&(number, _)| number).collect());
        self.add(whole.start, What::Text("("));
        for (number, text) in branches {
            self.add(whole.start, What::Own(number, format!("if {} {{ {text} }} else", on(number))));
        }
        self.add(whole.start, What::Text("{ "));
        inside(self);
        self.added.push(Added { at: whole.end, closes: true, what: What::Text(" })") });
        self.close(whole.end);
    }

    fn open(&mut self, at: usize, numbers: Vec<u32>) {
        self.add(at, What::Open(numbers));
    }

    fn close(&mut self, at: usize) {
        self.added.push(Added { at, closes: true, what: What::Close });
    }

    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let Some(first) = block.stmts.first() else { return };
        // what a function returns that names only a trait has the type of its last expression
        let opaque = self.text[bytes(&signature.output)].contains("impl ");
        if signature.constness.is_some() || opaque {
            return;
        }
        for (number, mutant) in self.at(Genre::Body, bytes(first).start) {
            let text = format!("if {} {{ return {}; }}", on(number), mutant.replacement);
            self.add(bytes(first).start, What::Own(number, text));
        }
    }

    fn evaluated(&mut self, really: bool, inside: impl FnOnce(&mut Self)) {
        self.evaluated += usize::from(really);
        inside(self);
        self.evaluated -= usize::from(really);
    }
}

/// The question whether a mutant is on.
fn on(number: u32) -> String {
    format!("crate::mutant_switch::on({number})")
}

fn bytes(part: &impl Spanned) -> Range<usize> {
    part.span().byte_range()
}

/// Whether an operand of a chain of conditions binds names: such a chain knows no other operator.
fn binds(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Sites<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.body(&item.sig, &item.block);
        self.evaluated(item.sig.constness.is_some(), |sites| visit::visit_item_fn(sites, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.body(&item.sig, &item.block);
        self.evaluated(item.sig.constness.is_some(), |sites| visit::visit_impl_item_fn(sites, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.body(&item.sig, block);
        }
        self.evaluated(item.sig.constness.is_some(), |sites| visit::visit_trait_item_fn(sites, item));
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        let mutants = self.at(Genre::Binary, bytes(&expr.op).start);
        if binds(&expr.left) || binds(&expr.right) {
            self.unviable.extend(mutants.iter().map(|&(number, _)| number));
            return visit::visit_expr_binary(self, expr);
        }
        let (left, right) = (&self.text[bytes(&expr.left)], &self.text[bytes(&expr.right)]);
        let branch =
            |(number, mutant): (u32, &Mutant)| (number, format!("({left}) {} ({right})", mutant.replacement));
        let branches = mutants.into_iter().map(branch).collect();
        self.wrap(bytes(expr), branches, |sites| visit::visit_expr_binary(sites, expr));
    }

    fn visit_expr_unary(&mut self, expr: &'ast syn::ExprUnary) {
        let operand = self.text[bytes(&expr.expr)].to_owned();
        let mutants = self.at(Genre::Unary, bytes(expr).start).into_iter();
        let branches = mutants.map(|(number, _)| (number, operand.clone())).collect();
        self.wrap(bytes(expr), branches, |sites| visit::visit_expr_unary(sites, expr));
    }

    fn visit_expr_struct(&mut self, expr: &'ast syn::ExprStruct) {
        let whole = bytes(expr);
        let fields = expr.fields.iter().flat_map(|field| self.at(Genre::Field, bytes(field).start));
        let without = |mutant: &Mutant| {
            [&self.text[whole.start..mutant.span.start], &self.text[mutant.span.end..whole.end]].concat()
        };
        let branches = fields.map(|(number, mutant)| (number, without(mutant))).collect();
        self.wrap(whole, branches, |sites| visit::visit_expr_struct(sites, expr));
    }

    // of a match that has to have all its arms the compiler complains as a whole
    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        let arms = expr.arms.iter().flat_map(|arm| self.at(Genre::Arm, bytes(arm).start));
        let arms: Vec<u32> = arms.map(|(number, _)| number).collect();
        if arms.is_empty() {
            return visit::visit_expr_match(self, expr);
        }
        self.open(bytes(expr).start, arms);
        visit::visit_expr_match(self, expr);
        self.close(bytes(expr).end);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        for (number, _) in self.at(Genre::Arm, bytes(arm).start) {
            self.add(bytes(&arm.pat).end, What::Own(number, format!(" if !{}", on(number))));
        }
        let Some((_, guard)) = &arm.guard else { return visit::visit_arm(self, arm) };
        let mutants = self.at(Genre::Guard, bytes(guard).start).into_iter();
        let branches = mutants.map(|(number, mutant)| (number, mutant.replacement.clone())).collect();
        self.wrap(bytes(guard), branches, |sites| sites.visit_expr(guard));
        self.visit_expr(&arm.body);
    }

    // patterns are compared, not computed
    fn visit_pat(&mut self, pat: &'ast syn::Pat) {
        self.evaluated(true, |sites| visit::visit_pat(sites, pat));
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.evaluated(true, |sites| visit::visit_item_const(sites, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.evaluated(true, |sites| visit::visit_impl_item_const(sites, item));
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        self.evaluated(true, |sites| visit::visit_trait_item_const(sites, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.evaluated(true, |sites| visit::visit_item_static(sites, item));
    }

    fn visit_expr_const(&mut self, expr: &'ast syn::ExprConst) {
        self.evaluated(true, |sites| visit::visit_expr_const(sites, expr));
    }

    fn visit_expr_repeat(&mut self, expr: &'ast syn::ExprRepeat) {
        self.visit_expr(&expr.expr);
        self.evaluated(true, |sites| sites.visit_expr(&expr.len));
    }

    // lengths of arrays, and arguments of generic types
    fn visit_type(&mut self, ty: &'ast syn::Type) {
        self.evaluated(true, |sites| visit::visit_type(sites, ty));
    }

    fn visit_generic_argument(&mut self, argument: &'ast syn::GenericArgument) {
        self.evaluated(true, |sites| visit::visit_generic_argument(sites, argument));
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.evaluated(true, |sites| visit::visit_variant(sites, variant));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
fn f(a: u8, b: u8) -> bool {
    match a {
        1 => !(a + b == 2),
        3 if a < b => true,
        _ => false,
    }
}
const C: u8 = 1 + 2;
";

    fn mutant(genre: Genre, what: &str, replacement: &str) -> Mutant {
        let start = TEXT.find(what).expect("a part of the text");
        Mutant {
            name: String::new(),
            file: String::new(),
            genre,
            span: start..start + what.len(),
            replacement: replacement.to_owned(),
        }
    }

    fn rewritten(mutants: &[Mutant]) -> Rewritten {
        let numbered: Vec<_> = (1..).zip(mutants).collect();
        let rewritten = rewrite(TEXT, &numbered).expect("code");
        syn::parse_file(&rewritten.text).expect("code as before");
        rewritten
    }

    /// The text without the lines' ends and the questions' paths.
    fn said(rewritten: &Rewritten) -> String {
        let words: Vec<&str> = rewritten.text.split_whitespace().collect();
        words.join(" ").replace("crate::mutant_switch::", "")
    }

    #[test]
    fn only_the_last_branch_has_mutants_inside() {
        let mutants = [
            mutant(Genre::Binary, "== 2", "!="),
            mutant(Genre::Binary, "+ b", "-"),
            mutant(Genre::Binary, "+ b", "*"),
        ];
        let said = said(&rewritten(&mutants));
        let expected = "!(( if on(1) { (a + b) != (2) } else { ( if on(2) { (a) - (b) } else if on(3) { (a) * (b) } \
                        else { a + b }) == 2 }))";
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn arms_guards_and_bodies_are_asked_about() {
        let mutants = [
            mutant(Genre::Body, "match", "true"),
            mutant(Genre::Arm, "1 =>", ""),
            mutant(Genre::Unary, "!(", ""),
            mutant(Genre::Guard, "a < b", "true"),
        ];
        let said = said(&rewritten(&mutants));
        for expected in [
            "{ if on(1) { return true; } match a {",
            "1 if !on(2) => ( if on(3) { (a + b == 2) } else { !(a + b == 2) }),",
            "3 if ( if on(4) { true } else { a < b }) => true,",
        ] {
            assert!(said.contains(expected), "{expected}: {said}");
        }
    }

    #[test]
    fn a_line_of_an_error_names_its_mutant_or_those_around() {
        let mutants = [mutant(Genre::Binary, "== 2", "!="), mutant(Genre::Binary, "+ b", "-")];
        let rewritten = rewritten(&mutants);
        let line =
            |what: &str| 1 + rewritten.text.lines().position(|line| line.contains(what)).expect("a line");
        assert_eq!(rewritten.owner(line("!=")), Some(1));
        assert_eq!(rewritten.owner(line("(a) - (b)")), Some(2));
        assert_eq!(rewritten.owner(line("{ a + b }")), None);
        assert_eq!(rewritten.around(line("{ a + b }")), [2]);
        assert!(rewritten.around(1).is_empty());
    }

    #[test]
    fn what_the_compiler_evaluates_is_left() {
        let rewritten = rewritten(&[mutant(Genre::Binary, "+ 2;", "-"), mutant(Genre::Binary, "+ b", "-")]);
        assert_eq!(rewritten.left, [1]);
    }
}
