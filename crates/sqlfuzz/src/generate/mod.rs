//! Scripts from seeds: a schema, rows, then statements that read and write them.

mod calls;
mod merge;
mod partition;
mod privileges;
mod query;
mod schema;
mod session;
mod through;
mod value;
mod window;
mod write;

use crate::tree::{Node, Ty};
pub use partition::Partition;
pub use privileges::READER;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use schema::RandomTable;

/// One statement of a script.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The statement.
    pub tree: Node,
    /// The order of the rows of its answer is determined.
    pub ordered: bool,
    /// It only reads.
    pub query: bool,
    /// It makes a secondary index: no answer depends on it.
    pub index: bool,
}

/// Statements that begin with an empty database.
#[derive(Clone, Debug)]
pub struct Script {
    /// In their order.
    pub statements: Vec<Statement>,
}

/// A column that an expression may name.
#[derive(Clone, Debug)]
struct Column {
    name: String,
    ty: Ty,
}

/// What makes a script.
struct Generator {
    rng: SmallRng,
    tables: Vec<RandomTable>,
    /// Views.
    views: Vec<(String, Vec<Column>)>,
    /// Tables, and views that they are written through.
    written_through: Vec<(String, String)>,
    /// Common table expressions of the query at hand.
    common: Vec<(String, Vec<Column>)>,
    /// Columns of the queries around the one at hand.
    outer: Vec<Column>,
    /// Windows that the query at hand names.
    windows: Vec<Node>,
    /// Names given so far.
    names: u32,
    /// The columns of the next query go by the names that they have of themselves.
    unnamed: bool,
    /// Statements are of another role than the one that has made the tables.
    as_reader: bool,
}

/// The script of a seed: its schema and rows, and then statements, so many together.
pub fn script(seed: u64, count: usize) -> Script {
    let mut generator = Generator::new(seed);
    let mut statements = generator.schema();
    while statements.len() < count {
        generator.statement(&mut statements);
    }
    Script { statements }
}

/// The schema and rows of a seed, and so many queries over them.
pub fn partitions(seed: u64, count: usize) -> (Script, Vec<Partition>) {
    let mut generator = Generator::new(seed);
    let statements = generator.schema();
    let partitions = (0..count).map(|_| generator.partition()).collect();
    (Script { statements }, partitions)
}

impl Generator {
    fn new(seed: u64) -> Self {
        let rng = SmallRng::seed_from_u64(seed);
        Self {
            rng,
            tables: Vec::new(),
            views: Vec::new(),
            written_through: Vec::new(),
            common: Vec::new(),
            outer: Vec::new(),
            windows: Vec::new(),
            names: 0,
            unnamed: false,
            as_reader: false,
        }
    }

    fn statement(&mut self, statements: &mut Vec<Statement>) {
        self.names = 0;
        if self.one_in(if self.as_reader { 8 } else { 25 }) {
            self.role(statements);
        } else if self.one_in(3) {
            self.write(statements);
        } else if self.one_in(8) {
            match self.below(3) {
                0 => self.cursor(statements),
                1 => self.prepared(statements),
                _ if self.as_reader => self.prepared(statements),
                _ => self.alteration(statements),
            }
        } else {
            let (tree, ordered) = self.top_query();
            statements.push(Statement { tree, ordered, query: true, index: false });
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng.random_range(0..bound)
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let at = self.below(from.len());
        from[at].clone()
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn ty(&mut self) -> Ty {
        // integers and text more often: they compare with each other
        if self.one_in(2) { self.pick(&[Ty::Int4, Ty::Int4, Ty::Text]) } else { self.pick(&Ty::ALL) }
    }
}

/// A statement whose rows have no order.
fn plain(tree: Node) -> Statement {
    Statement { tree, ordered: false, query: false, index: false }
}
