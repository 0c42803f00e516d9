//! A small database in memory that inputs run on, one after the other.

use scaledb_acc::{Acc, Config};
use scaledb_sql::{Column, CopyInfo, Database, RowSink, Session, Tag};
use scaledb_types::{Env, Result, SqlError, SqlState, Type, Value};
use std::cell::RefCell;

/// Inputs after which the database is made anew: they may fill it, or drop its tables.
const INPUTS: u32 = 200;
/// Bytes of rows and indexes.
const BUDGET: u64 = 256 << 20;
/// Bytes of a result that are taken; a client would read them.
const MAX_RESULT: usize = 16 << 20;

/// What inputs find. Columns of most types, a key to refer to, an index, a view, a sequence.
const SCHEMA: &str = "
    create table t (id int primary key, n int8, x text, b bool, d date, q numeric(12, 2));
    create index t_n on t (n);
    create table c (id int primary key, t int references t (id) on delete cascade, a int4[], j jsonb);
    create table w (i2 int2, f4 float4, f8 float8, bt bytea, u uuid, ti time, ts timestamp, tz timestamptz, iv interval,
        vc varchar(10), ch char(5), a text[], j json);
    create sequence s;
    create view v as select id, n from t where b;
    insert into t values (1, 10, 'one', true, '2024-01-01', 1.50), (2, 20, 'two', false, null, null), (3, null, '', true,
        '1999-12-31', -7);
    insert into c values (1, 1, '{1,2,3}', '{\"k\": [1, null]}'), (2, 1, null, null);
";

thread_local! {
    static CURRENT: RefCell<Option<(Database<Acc>, u32)>> = const { RefCell::new(None) };
}

/// The database of this thread.
pub(crate) fn database() -> Database<Acc> {
    CURRENT.with_borrow_mut(|current| {
        if let Some((database, inputs)) = current
            && *inputs < INPUTS
        {
            *inputs += 1;
            return database.clone();
        }
        let engine = Acc::open(Config { memory_budget: BUDGET, ..Config::default() }).expect("an engine");
        let database = Database::open(engine).expect("a database");
        let mut session = database.session("postgres", "postgres");
        session.simple(SCHEMA, &mut Discard::default()).expect("the schema is sound");
        drop(session);
        *current = Some((database.clone(), 0));
        database
    })
}

/// A session whose statements end soon.
pub(crate) fn session() -> Session<Acc> {
    let mut session = database().session("postgres", "postgres");
    for (name, value) in [("statement_timeout", "1000"), ("work_mem", "4MB")] {
        session.set_initial(name, value).expect("a setting");
    }
    session
}

/// Takes results, prints each value in both formats, and forgets them.
#[derive(Default)]
pub(crate) struct Discard {
    bytes: usize,
    buffer: Vec<u8>,
}

impl Discard {
    fn took(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        if self.bytes > MAX_RESULT {
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "enough"));
        }
        Ok(())
    }
}

impl RowSink for Discard {
    fn describe(&mut self, _: &[Column]) -> Result<()> {
        Ok(())
    }

    fn begin_row(&mut self, _: usize) {}

    fn value(&mut self, env: &Env, ty: Type, value: &Value) -> Result<()> {
        self.buffer.clear();
        if !value.is_null() {
            value.write_text(ty, env, &mut self.buffer);
            value.write_binary(ty, &mut self.buffer);
        }
        self.took(self.buffer.len() + 4)
    }

    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }

    fn complete(&mut self, _: &Tag) {}

    fn empty(&mut self) {}

    fn copy_out(&mut self, _: CopyInfo) -> Result<()> {
        Ok(())
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        self.took(data.len())
    }

    fn mark(&mut self) {}

    fn rewind(&mut self) -> bool {
        false
    }
}
