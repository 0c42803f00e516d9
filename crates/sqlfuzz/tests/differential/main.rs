//! Random statements: ScaleDB answers what PostgreSQL does, and the same on every way to a row.

mod postgres;

use postgres::Postgres;
use scaledb_sqlfuzz::generate::{self, Statement};
use scaledb_sqlfuzz::partition;
use scaledb_sqlfuzz::servers::{self, How, Server};
use scaledb_sqlfuzz::shrink::{self, Difference};
use scaledb_sqlfuzz::tree::Node;

/// Statements of a script.
const SCRIPT: usize = 60;
/// How often a smaller script is tried for each difference.
const SHRINKS: usize = 2_000;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Runs scripts on both servers until so many statements have run; the differences, each as small as it gets.
fn differences(reference: &mut dyn Server, other: &mut dyn Server, statements: u64) -> Vec<String> {
    let mut seed = number("SCALEDB_SEED", 1);
    let stop_at = number("SCALEDB_FINDS", 3);
    let (mut ran, mut found) = (0, Vec::new());
    while ran < statements {
        let script = generate::script(seed, SCRIPT);
        let (difference, count) = shrink::run(&script, reference, other);
        ran += count as u64;
        if let Some(first) = difference {
            let text = smallest(&script, &first, reference, other);
            found.push(format!("seed {seed}:\n{text}"));
            eprintln!("---- seed {seed}\n{text}");
            if found.len() as u64 >= stop_at {
                break;
            }
        }
        seed += 1;
    }
    found
}

fn smallest(
    script: &generate::Script,
    first: &Difference,
    reference: &mut dyn Server,
    other: &mut dyn Server,
) -> String {
    let mut script = script.clone();
    script.statements.truncate(first.at + 1);
    let small = shrink::shrink(&script, SHRINKS, &mut |candidate| {
        shrink::run(candidate, reference, other).0.is_some_and(|found| found.kind == first.kind)
    });
    let (last, _) = shrink::run(&small, reference, other);
    let lines: Vec<String> =
        small.statements.iter().map(|statement| format!("{};", statement.tree.sql())).collect();
    let answers = last.map_or_else(|| "it does not come again".to_owned(), |found| found.answers);
    format!("{:?}\n{}\n{answers}", first.kind, lines.join("\n"))
}

fn none(found: &[String]) {
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n\n"));
}

fn against_postgresql(other: &mut dyn Server) {
    let mut postgres = match Postgres::start() {
        Ok(postgres) => postgres,
        Err(why) => {
            eprintln!("SKIPPED: no PostgreSQL to compare with: {why}");
            return;
        }
    };
    none(&differences(&mut postgres, other, number("SCALEDB_STATEMENTS", 2_500)));
}

/// Statements of one's own, each behind the other in a file that `SCALEDB_SCRIPT` names: where the two differ is shown.
#[test]
fn a_script_is_answered_as_postgresql_does() {
    let Some(path) = std::env::var_os("SCALEDB_SCRIPT") else { return };
    let text = std::fs::read_to_string(path).expect("the script is readable");
    let mut postgres = Postgres::start().expect("PostgreSQL starts");
    let mut other = servers::acc(How::Simple);
    postgres.reset();
    other.reset();
    let mut differ = 0;
    for sql in text.split(";\n").map(str::trim).filter(|sql| !sql.is_empty()) {
        let tree = Node::text(sql.to_owned());
        let statement = Statement { tree, ordered: true, query: false, index: false };
        let (one, two) = (postgres.run(&statement), other.run(&statement));
        let same = one == two || one.code().is_some() && one.code() == two.code();
        if !same {
            differ += 1;
            println!("{sql};\n  PostgreSQL: {one}\n  ScaleDB: {two}");
        }
    }
    assert_eq!(differ, 0, "statements differ");
}

#[test]
fn acc_answers_as_postgresql_does() {
    against_postgresql(&mut servers::acc(How::Simple));
}

#[test]
fn cicada_answers_as_postgresql_does() {
    against_postgresql(&mut servers::cicada(How::Simple));
}

fn among_themselves(one: &mut dyn Server, two: &mut dyn Server) {
    none(&differences(one, two, number("SCALEDB_STATEMENTS", 1_000)));
}

#[test]
fn indexes_change_no_answer() {
    among_themselves(&mut servers::acc(How::WithoutIndexes), &mut servers::acc(How::Simple));
}

#[test]
fn parameters_change_no_answer() {
    among_themselves(&mut servers::acc(How::Simple), &mut servers::acc(How::Prepared));
}

#[test]
fn both_engines_answer_the_same() {
    among_themselves(&mut servers::acc(How::Simple), &mut servers::cicada(How::Simple));
}

#[test]
fn a_condition_parts_the_rows_of_a_query() {
    let mut server = servers::acc(How::Simple);
    let (mut seed, mut ran, mut found) = (number("SCALEDB_SEED", 1), 0, Vec::new());
    while ran < number("SCALEDB_STATEMENTS", 1_000) && (found.len() as u64) < number("SCALEDB_FINDS", 3) {
        let (script, partitions) = generate::partitions(seed, 12);
        server.reset();
        for statement in &script.statements {
            server.run(statement);
        }
        for partition in &partitions {
            ran += 5;
            if let Some(what) = partition::check(partition, &mut server) {
                let lines: Vec<String> =
                    script.statements.iter().map(|s| format!("{};", s.tree.sql())).collect();
                found.push(format!("seed {seed}:\n{}\n{what}", lines.join("\n")));
            }
        }
        seed += 1;
    }
    none(&found);
}
