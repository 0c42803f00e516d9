//! Each rule that is switched off breaks a promise in some seed, and so does the protocol as it was published: the
//! checkers see it. With all rules the same seeds are fine, as `simulated.rs` shows.

use scaledb_occult::{Micros, Rule, Rules, Shape};
use scaledb_occult_sim::cluster::Broken;
use scaledb_occult_sim::plan::Plan;
use scaledb_occult_sim::world::World;

/// What is to be seen when a rule is off.
struct Case {
    rule: Rule,
    /// Any of these.
    expected: &'static [Broken],
    change: fn(&mut Plan),
}

const fn case(rule: Rule, expected: &'static [Broken], change: fn(&mut Plan)) -> Case {
    Case { rule, expected, change }
}

/// Exact timestamps: compressed ones hide what is missing in them.
fn exact(plan: &mut Plan) {
    plan.shape = Shape::Exact;
}

fn transactions(plan: &mut Plan) {
    exact(plan);
    (plan.transactions, plan.writes) = (700, 400);
}

fn slow_commits(plan: &mut Plan) {
    transactions(plan);
    (plan.unanswered, plan.deaths) = (100, 5);
    plan.config.lease = Micros(2_000);
}

fn failovers(plan: &mut Plan) {
    exact(plan);
    plan.failovers = 400_000;
}

/// So fast that slots lose their first writes.
fn fast_failovers(plan: &mut Plan) {
    (plan.shape, plan.failovers, plan.lag) = (Shape::Isolated(2), 50_000, 200_000);
}

/// Clients that die in a commit, and locks that nobody meets for minutes.
fn sleepers(plan: &mut Plan) {
    slow_commits(plan);
    (plan.idle, plan.clients, plan.slots, plan.deaths) = (200, 2, 8, 100);
}

fn asides(plan: &mut Plan) {
    transactions(plan);
    plan.asides = 300;
}

fn wrong_clients(plan: &mut Plan) {
    plan.wrong_clients = 1;
}

fn clock_steps(plan: &mut Plan) {
    exact(plan);
    (plan.skew, plan.clock_steps, plan.slots) = (500_000, 20_000, 8);
}

fn slow_failovers(plan: &mut Plan) {
    slow_commits(plan);
    (plan.failovers, plan.lag) = (50_000, 200_000);
}

fn moves(plan: &mut Plan) {
    exact(plan);
    plan.moves = 30_000;
}

/// To masters whose clocks are far behind.
fn skewed_moves(plan: &mut Plan) {
    exact(plan);
    (plan.moves, plan.skew) = (20_000, 500_000);
}

/// One right after the other, with locks that are aborted on their way.
fn many_moves(plan: &mut Plan) {
    slow_commits(plan);
    (plan.moves, plan.slots) = (5_000, 8);
}

/// Failovers in the middle of moves.
fn interrupted(plan: &mut Plan) {
    (plan.failovers, plan.moves, plan.transactions) = (100_000, 30_000, 0);
}

/// Reads between those of a transaction, and failovers that lose what they have seen.
fn asides_and_failovers(plan: &mut Plan) {
    asides(plan);
    (plan.failovers, plan.lag, plan.skew) = (100_000, 200_000, 500_000);
}

/// Without this, commits whose timestamps do not know their stamps would be refused.
fn unnamed(plan: &mut Plan) {
    transactions(plan);
    plan.rules = plan.rules.without(Rule::CommitNamesItsLock);
}

use Broken::{
    AbortedRead, Causality, CircularFlow, DecidedUnprepared, FalseAlarm, FarFuture, Interleaved,
    MissedEffects, OwnLock, SilentLoss, Torn, WrongOutcome,
};

const INCONSISTENT: &[Broken] = &[Causality, MissedEffects];
const NOT_ATOMIC: &[Broken] =
    &[Torn, DecidedUnprepared, Interleaved, WrongOutcome, MissedEffects, Causality, CircularFlow];

/// The other rules have tests of their own in `scaledb-occult`: no message of the simulated clients meets them, or, as
/// for `OtherDatacentersCount`, only in a few of ten thousand seeds, which `simulated.rs` names.
const CASES: &[Case] = &[
    case(Rule::MasterReadsAreChecked, INCONSISTENT, transactions),
    case(Rule::LockKnowsTransaction, &[OwnLock], slow_commits),
    case(Rule::DecisionAtHome, NOT_ATOMIC, slow_commits),
    case(Rule::HomeFirst, NOT_ATOMIC, slow_commits),
    case(Rule::LateCommitRefused, NOT_ATOMIC, slow_commits),
    case(Rule::CommitNamesItsLock, NOT_ATOMIC, slow_commits),
    case(Rule::EndedIsRemembered, NOT_ATOMIC, slow_commits),
    case(Rule::LeaseAsksHome, NOT_ATOMIC, slow_commits),
    case(Rule::IncarnationsTell, &[SilentLoss], failovers),
    case(Rule::MovedSlotsWait, INCONSISTENT, moves),
    case(Rule::MovesEndInOneTerm, &[SilentLoss, Causality], interrupted),
    case(Rule::ReturnsInAnotherLife, &[SilentLoss], interrupted),
    case(Rule::MovesOutliveLives, &[FalseAlarm], many_moves),
    case(Rule::StaleReadsAreRetried, INCONSISTENT, exact),
    case(Rule::ReadsMergeDeps, INCONSISTENT, exact),
    case(Rule::WritesCarryDeps, INCONSISTENT, exact),
    case(Rule::ErasedLeavesDeps, INCONSISTENT, transactions),
    case(Rule::OverwriteInherits, INCONSISTENT, transactions),
    case(Rule::ValidateReads, INCONSISTENT, transactions),
    case(Rule::ValidateOverwrites, INCONSISTENT, transactions),
    case(Rule::WritesDependOnEachOther, NOT_ATOMIC, unnamed),
    case(Rule::LocksExclude, NOT_ATOMIC, transactions),
    case(Rule::BeatStopsAtLock, INCONSISTENT, transactions),
    case(Rule::BeatGoesWithState, INCONSISTENT, skewed_moves),
    case(Rule::SessionOrder, INCONSISTENT, transactions),
    case(Rule::GroupKeepsDatacenter, INCONSISTENT, fast_failovers),
    case(Rule::OpenRecordsStay, NOT_ATOMIC, sleepers),
    case(Rule::AbortKeepsSession, INCONSISTENT, asides),
    case(Rule::SanityBound, &[FarFuture], wrong_clients),
    case(Rule::StampAboveBeat, INCONSISTENT, clock_steps),
    case(Rule::CommitTakesItsStamp, &[AbortedRead, FalseAlarm], transactions),
    case(Rule::SeenCounts, &[SilentLoss], asides_and_failovers),
    case(Rule::DecisionInOneLife, NOT_ATOMIC, slow_failovers),
];

/// The first violation of a plan in some seeds.
fn first(seeds: u64, change: impl Fn(&mut Plan)) -> Option<(u64, Broken, String)> {
    (0..seeds).find_map(|seed| {
        let mut plan = Plan::calm(seed);
        plan.operations = 1_500;
        change(&mut plan);
        let broken = World::new(plan).run().broken.into_iter().next();
        broken.map(|(broken, what)| (seed, broken, what))
    })
}

#[test]
fn a_rule_that_is_switched_off_is_noticed() {
    let mut unnoticed = Vec::new();
    for Case { rule, expected, change } in CASES {
        let found = first(60, |plan| {
            change(plan);
            plan.rules = plan.rules.without(*rule);
        });
        println!("{rule:?}: {found:?}");
        if !found.is_some_and(|(_, broken, _)| expected.contains(&broken)) {
            unnoticed.push(rule);
        }
    }
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
}

#[test]
fn the_published_protocol_breaks_its_promises() {
    let found = first(20, |plan| {
        slow_commits(plan);
        plan.rules = Rules::published();
    });
    assert!(found.is_some());
}

/// A plan that breaks a promise with all rules would show nothing of the one that is switched off.
#[test]
fn the_same_plans_break_nothing_with_all_rules() {
    let plans: [fn(&mut Plan); 15] = [
        exact,
        transactions,
        slow_commits,
        failovers,
        fast_failovers,
        sleepers,
        asides,
        wrong_clients,
        clock_steps,
        slow_failovers,
        moves,
        skewed_moves,
        many_moves,
        interrupted,
        asides_and_failovers,
    ];
    for (nth, change) in plans.into_iter().enumerate() {
        let found = first(15, change);
        assert!(found.is_none(), "plan {nth}: {found:?}");
    }
}
