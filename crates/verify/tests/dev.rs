//! dev
use scaledb_verify::model::cases::cases;
use scaledb_verify::model::explorer::{Limits, explore};
use scaledb_verify::model::protocol::rules::Mutation;
use std::time::Instant;
#[test]
fn dev() {
    let only = std::env::var("CASE").ok();
    let cap: usize = std::env::var("CAP").ok().map_or(300_000, |c| c.parse().unwrap());
    for case in cases() {
        if only.as_ref().is_some_and(|o| !case.name.contains(o.as_str())) { continue; }
        let t = Instant::now();
        let r = explore(&case.model(None), Limits { states: cap, goal: None });
        println!("{:32} {:>8}{} terminals {:>6} commits {} {:.2}s {}", case.name, r.states, if r.capped {"+"} else {" "}, r.terminals, r.most_commits, t.elapsed().as_secs_f32(), r.violation.as_ref().map_or("clean".into(), |v| format!("{:?} @{} {}", v.property, v.steps, v.detail)));
        if let Some(v) = r.violation { if only.is_some() { for l in v.trace { println!("{l}"); } } }
    }
}
#[test]
fn mutants() {
    let only = std::env::var("CASE").ok();
    let mu = std::env::var("MUT").ok();
    let cap: usize = std::env::var("CAP").ok().map_or(300_000, |c| c.parse().unwrap());
    for &m in Mutation::ALL {
        if mu.as_ref().is_some_and(|o| *o != format!("{m:?}")) { continue; }
        let t = Instant::now();
        let mut line = String::new(); let mut n = 0;
        for case in cases() {
            if only.as_ref().is_some_and(|o| !case.name.contains(o.as_str())) { continue; }
            if case.long && mu.is_none() { continue; }
            let r = explore(&case.model(Some(m)), Limits { states: cap, goal: None });
            if let Some(v) = r.violation { n += 1; if n < 5 || mu.is_some() { line += &format!(" {}:{:?}@{}({})", case.name, v.property, v.steps, r.states); }
               if mu.is_some() && n == 1 { println!("{}", v.detail); for l in &v.trace { println!("{l}"); } } }
        }
        println!("{:32} {n:>3} {:.1}s{line}", format!("{m:?}"), t.elapsed().as_secs_f32());
    }
}
