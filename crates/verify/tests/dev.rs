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
        let mut all = vec![];
        for case in cases() {
            if only.as_ref().is_some_and(|o| !case.name.contains(o.as_str())) { continue; }
            let r = explore(&case.model(Some(m)), Limits { states: cap, goal: None });
            if let Some(v) = r.violation { all.push((r.states, case.name, v.property, v.steps));
               if mu.is_some() && all.len() == 1 { println!("{}", v.detail); for l in &v.trace { println!("{l}"); } } }
        }
        all.sort_by_key(|a| a.0);
        println!("{:32} {:>3} {:.1}s {:?}", format!("{m:?}"), all.len(), t.elapsed().as_secs_f32(), &all[..all.len().min(3)]);
    }
}
#[test]
fn published() {
    use scaledb_verify::model::published::cases::holes;
    for h in holes() {
        let r = explore(&h.model, Limits { states: 2_000_000, goal: h.breaks });
        println!("{:10} {:>8}{} {:?} {}", h.name, r.states, if r.capped {"+"} else {" "}, h.breaks, r.violation.as_ref().map_or("clean".into(), |v| format!("{:?} @{} {}", v.property, v.steps, v.detail)));
    }
}
#[test]
fn random() {
    use scaledb_verify::model::random::random_case;
    let from: u64 = std::env::var("SEED").ok().map_or(1, |c| c.parse().unwrap());
    let secs: u64 = std::env::var("SECS").ok().map_or(20, |c| c.parse().unwrap());
    let cap: usize = std::env::var("CAP").ok().map_or(200_000, |c| c.parse().unwrap());
    let t = Instant::now(); let (mut n, mut states, mut capped) = (0, 0, 0);
    let mut seed = from;
    while t.elapsed().as_secs() < secs {
        let case = random_case(seed);
        let r = explore(&case.model(None), Limits { states: cap, goal: None });
        n += 1; states += r.states; capped += r.capped as usize;
        if let Some(v) = r.violation { println!("FOUND seed {seed} {:?} {:?}\n{:?} {}", case.config, case.program, v.property, v.detail); for l in v.trace { println!("{l}"); } panic!() }
        seed += 1;
    }
    println!("{n} programs {states} states {capped} capped, next seed {seed}");
}
