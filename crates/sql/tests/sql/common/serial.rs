//! Transactions of two or three clients, interleaved in every way: what they were answered and what they leave must be
//! what some order of them, one after the other, gives. Over sessions in process and over the wire.

#![allow(dead_code, unreachable_pub, reason = "the tests of the server use a part of it")]

use std::collections::HashMap;

/// A client, wherever its database is.
pub trait Client {
    /// The rows of a statement, values separated by `|`; or its SQLSTATE.
    fn run(&mut self, sql: &str) -> Result<Vec<String>, String>;
}

/// Transactions that run at the same time.
pub struct Scenario {
    pub name: &'static str,
    pub transactions: &'static [&'static [&'static str]],
}

const fn scenario(name: &'static str, transactions: &'static [&'static [&'static str]]) -> Scenario {
    Scenario { name, transactions }
}

/// The tables of all scenarios; `reset` fills them.
const TABLES: &str = "create table t (id int primary key, n int, kind int);
    create index t_kind on t (kind);
    create table u (id int primary key, name text unique, n int);
    create table p (id int primary key, n int);
    create table c (id int primary key, p int references p);
    create table k (id int primary key, p int references p on delete cascade)";

const RESET: &str = "begin; delete from c; delete from k; delete from p; delete from u; delete from t;
    insert into t values (1, 10, 1), (2, 20, 1), (3, 30, 2);
    insert into u values (1, 'one', 0);
    insert into p values (1, 0), (2, 0);
    insert into c values (10, 1);
    insert into k values (10, 2); commit";

/// What is left in the end.
const STATE: &[&str] = &[
    "select id, n, kind from t order by id",
    "select kind, id from t where kind >= 0 order by kind, id",
    "select id, name, n from u order by id",
    "select id, n from p order by id",
    "select id, p from c order by id",
    "select id, p from k order by id",
];

pub const SCENARIOS: &[Scenario] = &[
    scenario(
        "write skew by points",
        &[
            &["select n from t where id = 2", "update t set n = 0 where id = 1"],
            &["select n from t where id = 1", "update t set n = 0 where id = 2"],
        ],
    ),
    scenario(
        "write skew by predicates",
        &[
            &[
                "select sum(n) from t where kind = 1",
                "insert into t select 10, sum(n), 2 from t where kind = 1",
            ],
            &[
                "select sum(n) from t where kind = 2",
                "insert into t select 11, sum(n), 1 from t where kind = 2",
            ],
        ],
    ),
    scenario(
        "phantoms",
        &[
            &["select count(*) from t where n > 25", "insert into t values (10, 40, 5)"],
            &["select count(*) from t where n > 25", "insert into t values (11, 50, 5)"],
        ],
    ),
    scenario(
        "a row moves into a predicate",
        &[
            &["select id from t where kind = 2 order by id", "update t set n = 1 where id = 1"],
            &["select n from t where id = 1", "update t set kind = 2 where id = 2"],
        ],
    ),
    scenario(
        "a row leaves a predicate, another one comes",
        &[
            &["delete from t where kind = 1", "select count(*) from t"],
            &["insert into t values (10, 5, 1)", "update t set kind = 1 where id = 3"],
        ],
    ),
    scenario(
        "lost update, read first",
        &[
            &["select n from t where id = 1", "update t set n = 11 where id = 1 and n = 10"],
            &["select n from t where id = 1", "update t set n = 12 where id = 1 and n = 10"],
        ],
    ),
    scenario(
        "lost update in place",
        &[
            &["update t set n = n + 1 where id = 1", "select n from t where id = 1"],
            &["update t set n = n * 2 where id = 1", "select n from t where id = 1"],
        ],
    ),
    scenario(
        "a report between a deposit and a withdrawal",
        &[
            &["select sum(n) from t where id <= 2", "update t set n = n - 11 where id = 1"],
            &["update t set n = n + 20 where id = 2"],
            &["select id, n from t where id <= 2 order by id"],
        ],
    ),
    scenario(
        "a cycle of three",
        &[
            &["select n from t where id = 1", "update t set n = 1 where id = 2"],
            &["select n from t where id = 2", "update t set n = 2 where id = 3"],
            &["select n from t where id = 3", "update t set n = 3 where id = 1"],
        ],
    ),
    scenario(
        "upserts of a new key",
        &[
            &["insert into t values (50, 1, 0) on conflict (id) do update set n = t.n + 1 returning n"],
            &["insert into t values (50, 7, 0) on conflict (id) do update set n = t.n * 3 returning n"],
        ],
    ),
    scenario(
        "upserts by a unique index",
        &[
            &["insert into u values (5, 'new', 1) on conflict (name) do update set n = u.n + 1"],
            &["insert into u values (6, 'new', 1) on conflict (name) do update set n = u.n + 1"],
            &["delete from u where name = 'new'", "select count(*) from u"],
        ],
    ),
    scenario(
        "an upsert that does nothing has read",
        &[
            &[
                "insert into t values (1, 0, 0) on conflict (id) do nothing",
                "update t set n = 1 where id = 3",
            ],
            &["select n from t where id = 3", "delete from t where id = 1"],
        ],
    ),
    scenario(
        "a child of a parent that goes",
        &[
            &["select count(*) from p", "insert into c values (11, 2)"],
            &["delete from k where p = 2", "delete from p where id = 2"],
        ],
    ),
    scenario(
        "a child of a parent whose children go with it",
        &[&["insert into k values (11, 1)"], &["delete from c where p = 1", "delete from p where id = 1"]],
    ),
    scenario(
        "a child that changes its parent",
        &[
            &["update c set p = 2 where id = 10", "select count(*) from p"],
            &["delete from p where id = 2", "select count(*) from k"],
        ],
    ),
    scenario(
        "a unique value for one",
        &[
            &["insert into u values (2, 'same', 0)", "select count(*) from u"],
            &["insert into u values (3, 'same', 0)", "select count(*) from u"],
        ],
    ),
    scenario(
        "a unique value changes hands",
        &[
            &["update u set name = 'free' where id = 1"],
            &["insert into u values (2, 'one', 0)", "select name from u order by id"],
            &["insert into u values (3, 'free', 0)"],
        ],
    ),
    scenario(
        "rows that are locked to be read",
        &[
            &["select n from t where id = 2", "update t set n = 0 where id = 1"],
            &["select n from t where id = 1", "update t set n = 0 where id = 2"],
        ],
    ),
    scenario(
        "what is rolled back to a savepoint has read",
        &[
            &[
                "savepoint a",
                "update t set n = 0 where kind = 1",
                "rollback to a",
                "insert into t values (10, 0, 3)",
            ],
            &["select count(*) from t where kind = 3", "update t set kind = 9 where id = 1"],
        ],
    ),
    scenario(
        "an end of a range",
        &[
            &["select min(id) from t", "insert into t values (100, 0, 0)"],
            &["select max(id) from t", "insert into t values (-1, 0, 0)"],
        ],
    ),
];

/// What a client has seen: the answers of its statements, and whether it committed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    answers: Vec<Result<Vec<String>, String>>,
    committed: bool,
    /// It never was: a conflict, or a foreign key that was looked at later than what it read before.
    void: bool,
}

impl Seen {
    fn met_another(&self) -> bool {
        self.answers.last().is_some_and(|last| last.as_ref().is_err_and(|code| code == "40001"))
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    seen: Vec<Seen>,
    state: Vec<Vec<String>>,
}

/// Runs what must succeed, again after conflicts: Cicada has them with what was in the way a moment ago, too.
fn must(client: &mut dyn Client, sql: &str) -> Vec<String> {
    for _ in 0..100 {
        match client.run(sql) {
            Ok(rows) => return rows,
            Err(code) if code == "40001" => {
                // a block that has failed is to be ended; outside of one that says nothing
                let _ = client.run("rollback");
            }
            Err(code) => panic!("{sql}: {code}"),
        }
    }
    panic!("{sql}: conflicts again and again");
}

/// Runs all scenarios with these clients of one empty database; the number of schedules, and of commits.
pub fn check_all(clients: &mut [Box<dyn Client>]) -> (usize, usize) {
    must(&mut *clients[0], TABLES);
    let (mut schedules, mut commits) = (0, 0);
    for scenario in SCENARIOS {
        let (some, committed) = check(scenario, clients);
        schedules += some;
        commits += committed;
    }
    (schedules, commits)
}

fn check(scenario: &Scenario, clients: &mut [Box<dyn Client>]) -> (usize, usize) {
    // the commit is a step of its own
    let steps: Vec<usize> = scenario.transactions.iter().map(|statements| statements.len() + 1).collect();
    let mut all = Vec::new();
    interleave(&mut steps.clone(), &mut Vec::new(), &mut all);
    let mut orders = HashMap::new();
    let mut commits = 0;
    for schedule in &all {
        // conflicts with what was there a moment ago, or with clean-up, come by chance
        let committed = |found: &Outcome| found.seen.iter().filter(|seen| seen.committed).count();
        let found = run_until(scenario, schedule, clients, |found| committed(found) > 0);
        commits += committed(&found);
        // who failed for another reason has read, and what he says must be true
        let present: Vec<usize> = (0..found.seen.len()).filter(|&number| !found.seen[number].void).collect();
        let fits = permutations(&present).into_iter().any(|order| {
            let serial = orders.entry(order.clone()).or_insert_with(|| {
                let schedule = serially(&order, &steps);
                let alone = |found: &Outcome| !found.seen.iter().any(Seen::met_another);
                run_until(scenario, &schedule, clients, alone)
            });
            let same = |&number: &usize| serial.seen[number] == found.seen[number];
            serial.state == found.state && order.iter().all(same)
        });
        assert!(fits, "{}: no order explains {schedule:?}: {found:#?}", scenario.name);
    }
    (all.len(), commits)
}

/// Runs a schedule until its outcome is one that it must have some time.
fn run_until(
    scenario: &Scenario,
    schedule: &[usize],
    clients: &mut [Box<dyn Client>],
    fits: impl Fn(&Outcome) -> bool,
) -> Outcome {
    let mut last = None;
    for _ in 0..50 {
        let found = run(scenario, schedule, clients);
        if fits(&found) {
            return found;
        }
        last = Some(found);
    }
    panic!("{}: {schedule:?} is refused again and again: {last:#?}", scenario.name);
}

/// Runs a schedule: the numbers of the clients, step by step. Who is not in it does nothing.
fn run(scenario: &Scenario, schedule: &[usize], clients: &mut [Box<dyn Client>]) -> Outcome {
    must(&mut *clients[0], RESET);
    let count = scenario.transactions.len();
    let mut seen = vec![Seen { answers: Vec::new(), committed: false, void: false }; count];
    let mut ended = vec![false; count];
    for &number in schedule {
        if ended[number] {
            continue;
        }
        let (client, seen) = (&mut clients[number], &mut seen[number]);
        let statements = scenario.transactions[number];
        let at = seen.answers.len();
        if at == 0 {
            must(&mut **client, "begin");
        }
        let answer = client.run(statements.get(at).unwrap_or(&"commit"));
        if let Err(code) = &answer {
            assert!(["40001", "23503", "23505"].contains(&code.as_str()), "{}: {code}", scenario.name);
            seen.void = code != "23505";
            ended[number] = true;
            // a COMMIT that fails has ended the transaction
            let _ = client.run("rollback");
        } else if at == statements.len() {
            seen.committed = true;
            ended[number] = true;
        }
        seen.answers.push(answer);
    }
    let state = STATE.iter().map(|sql| must(&mut *clients[0], sql)).collect();
    Outcome { seen, state }
}

/// All ways to take so many steps of each client, in turns.
fn interleave(left: &mut [usize], taken: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
    if left.iter().all(|&steps| steps == 0) {
        all.push(taken.clone());
        return;
    }
    for number in 0..left.len() {
        if left[number] > 0 {
            left[number] -= 1;
            taken.push(number);
            interleave(left, taken, all);
            taken.pop();
            left[number] += 1;
        }
    }
}

/// The schedule of these clients, one after the other.
fn serially(order: &[usize], steps: &[usize]) -> Vec<usize> {
    order.iter().flat_map(|&number| std::iter::repeat_n(number, steps[number])).collect()
}

fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for &first in of {
        let rest: Vec<usize> = of.iter().copied().filter(|&number| number != first).collect();
        all.extend(permutations(&rest).into_iter().map(|mut order| {
            order.insert(0, first);
            order
        }));
    }
    all
}
