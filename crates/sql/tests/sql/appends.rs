//! Lists that many sessions append to and read, kept as rows and as text; what they saw must have an order.

use crate::common::{acc, ok, run, session};
use scaledb_acc::Acc;
use scaledb_sql::{Database, Session};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::thread;
use scaledb_types::Result;
use scaledb_verify::appends::{Step, Transaction, check};

const SESSIONS: u64 = 4;
const LISTS: u64 = 8;
/// Transactions of one session.
const TRANSACTIONS: u64 = 500;

/// How a list is kept.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// A row per value; a list is read by a scan of an index, and its order is the place that the row was given.
    Rows,
    /// A text that grows; the row is made by the first append.
    Text,
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

fn read(s: &mut Session<Acc>, form: Form, list: u64) -> Result<Vec<u64>> {
    let sql = match form {
        Form::Rows => format!("select value from elements where list = {list} order by place"),
        Form::Text => format!("select string_to_array(elements, ',') from lists where id = {list}"),
    };
    let rows = run(s, &sql)?.rows;
    let texts = rows.iter().filter_map(|row| row[0].as_deref()).flat_map(|text| text.split(','));
    let numbers = texts.map(|text| text.trim_matches(['{', '}']).parse().expect("a number"));
    Ok(numbers.collect())
}

fn append(s: &mut Session<Acc>, form: Form, list: u64, value: u64) -> Result<()> {
    let sql = match form {
        // the place is read by a scan that another append of the list is a phantom for
        Form::Rows => format!(
            "insert into elements select {value}, {list}, coalesce(max(place), 0) + 1 from elements where list = {list}"
        ),
        Form::Text => format!(
            "insert into lists values ({list}, '{value}') \
             on conflict (id) do update set elements = lists.elements || ',' || excluded.elements"
        ),
    };
    run(s, &sql).map(drop)
}

/// One attempt at a transaction: what it did, whether or not it committed.
fn attempt(s: &mut Session<Acc>, form: Form, plan: &[Step], steps: &mut Vec<Step>) -> Result<()> {
    run(s, "begin")?;
    for step in plan {
        steps.push(match *step {
            Step::Read(list, _) => Step::Read(list, read(s, form, list.into())?),
            Step::Append(list, value) => {
                append(s, form, list.into(), value)?;
                Step::Append(list, value)
            }
        });
    }
    run(s, "commit").map(drop)
}

fn client(db: &Database<Acc>, form: Form, number: u64, ticks: &AtomicU64) -> Vec<Transaction> {
    let mut dice = Dice((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let s = &mut session(db);
    let mut value = number * 1_000_000;
    (0..TRANSACTIONS)
        .map(|_| {
            let plan: Vec<Step> = (0..1 + dice.below(4))
                .map(|_| {
                    let list = dice.below(LISTS) as u32;
                    value += 1;
                    if dice.below(2) == 0 { Step::Read(list, Vec::new()) } else { Step::Append(list, value) }
                })
                .collect();
            let begin = ticks.fetch_add(1, Ordering::SeqCst);
            let mut steps = Vec::new();
            let end = attempt(s, form, &plan, &mut steps);
            if let Err(error) = &end {
                // who waits for the row of another one may be waited for
                assert!(["40001", "40P01"].contains(&error.code().as_str()), "{error:?}");
                ok(s, "rollback");
                // what it read counts for nothing
                steps.retain(|step| matches!(step, Step::Append(..)));
            }
            let time = (begin, ticks.fetch_add(1, Ordering::SeqCst));
            Transaction { steps, time, committed: end.is_ok() }
        })
        .collect()
}

fn history(form: Form) -> Vec<Transaction> {
    let db = acc();
    ok(
        &mut session(&db),
        "create table elements (value int8 primary key, list int, place int);
         create index by_list on elements (list, place);
         create table lists (id int primary key, elements text)",
    );
    let ticks = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let (db, ticks) = (db.clone(), ticks.clone());
            thread::spawn(move || client(&db, form, number, &ticks))
        })
        .collect();
    let mut all: Vec<Transaction> =
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect();
    let s = &mut session(&db);
    let begin = ticks.fetch_add(1, Ordering::SeqCst);
    let steps =
        (0..LISTS).map(|list| Step::Read(list as u32, read(s, form, list).expect("a list"))).collect();
    all.push(Transaction { steps, time: (begin, begin + 1), committed: true });
    all
}

fn hunt(form: Form) {
    let all = history(form);
    let committed = all.iter().filter(|transaction| transaction.committed).count() as u64;
    assert!(committed > SESSIONS * TRANSACTIONS / 10, "{committed} committed: too few to say anything");
    if let Err(anomaly) = check(&all) {
        panic!("{form:?}: {anomaly:?}");
    }
}

#[test]
fn lists_of_rows_have_an_order() {
    hunt(Form::Rows);
}

#[test]
fn lists_as_text_have_an_order() {
    hunt(Form::Text);
}

#[test]
fn a_history_with_a_read_that_is_older_is_found_out() {
    // the check is worth something: let one read of a true history miss its last value
    let mut all = history(Form::Text);
    let last = all.last_mut().expect("the last read");
    let Some(Step::Read(_, values)) =
        last.steps.iter_mut().find(|step| matches!(step, Step::Read(_, v) if !v.is_empty()))
    else {
        panic!("nothing was appended")
    };
    values.pop();
    assert!(check(&all).is_err());
}
