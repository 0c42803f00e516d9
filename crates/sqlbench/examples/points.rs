//! Prepared point statements through a session in this process: operations per second.

use scaledb_acc::{Acc, Config};
use scaledb_sql::{Column, CopyInfo, Database, RowSink, Tag};
use scaledb_types::{Env, Result, Type, Value};
use std::time::Instant;

/// Counts the bytes that rows would take.
#[derive(Default)]
struct Count(Vec<u8>);

impl RowSink for Count {
    fn describe(&mut self, _: &[Column]) -> Result<()> {
        Ok(())
    }
    fn begin_row(&mut self, _: usize) {
        self.0.clear();
    }
    fn value(&mut self, env: &Env, ty: Type, value: &Value) -> Result<()> {
        value.write_text(ty, env, &mut self.0);
        Ok(())
    }
    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }
    fn complete(&mut self, _: &Tag) {}
    fn empty(&mut self) {}
    fn copy_out(&mut self, _: CopyInfo) -> Result<()> {
        Ok(())
    }
    fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn mark(&mut self) {}
    fn rewind(&mut self) -> bool {
        true
    }
}

fn main() -> Result<()> {
    const ROWS: i32 = 100_000;
    let db = Database::open(Acc::open(Config::default()).expect("an engine"))?;
    let mut session = db.session("postgres", "postgres");
    let mut sink = Count::default();
    let table = "create table accounts (aid int primary key, bid int, abalance int, filler char(84))";
    session.simple(table, &mut sink)?;
    let fill = format!("insert into accounts select g, 1, 0, '' from generate_series(1, {ROWS}) g");
    session.simple(&fill, &mut sink)?;
    session.parse("select", "select abalance from accounts where aid = $1", &[23])?;
    session.parse("update", "update accounts set abalance = abalance + 1 where aid = $1", &[23])?;
    session.parse("insert", "insert into accounts values ($1, 1, 0, '')", &[23])?;
    let mut next = 1u64;
    for name in ["select", "update", "insert"] {
        let begin = Instant::now();
        let mut done = 0u32;
        while begin.elapsed().as_secs_f64() < 2.0 {
            for _ in 0..1_000 {
                next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let mut aid = (next >> 33) as i32 % ROWS + 1;
                if name == "insert" {
                    aid = ROWS + 1 + done as i32;
                }
                session.bind("", name, &[1], &[Some(&aid.to_be_bytes())])?;
                session.execute("", 0, true, &mut sink)?;
                done += 1;
            }
        }
        let rate = f64::from(done) / begin.elapsed().as_secs_f64();
        println!("{name}: {rate:.0}/s, {:.0} ns each", 1e9 / rate);
    }
    Ok(())
}
