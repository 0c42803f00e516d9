//! Runs the state machines of `scaledb-occult`: sends what they ask, sleeps as they say, gives back what comes.

use crate::servers::Servers;
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use scaledb_occult::Micros;
use scaledb_occult::client::{Ask, Error, Event, Operation, Step, View};
use std::time::Duration;

/// Runs one operation.
pub(crate) async fn one<O: Operation>(
    servers: &Servers,
    operation: O,
    view: &mut View<'_>,
) -> Result<O::Output, Error> {
    let mut operation = operation;
    let mut event = Event::Start;
    // the common case: one question after the other
    loop {
        event = match operation.step(view, servers.now(), event) {
            Step::Ask(mut asks) if asks.len() == 1 => answer(servers, asks.swap_remove(0)).await,
            Step::Sleep(pause) => sleep(pause).await,
            Step::Done(result) => return result,
            Step::Wait => return Err(waits_for_nothing()),
            Step::Ask(asks) => {
                let mut open: FuturesUnordered<_> =
                    asks.into_iter().map(|ask| answer(servers, ask)).collect();
                loop {
                    let Some(event) = open.next().await else { return Err(waits_for_nothing()) };
                    match operation.step(view, servers.now(), event) {
                        Step::Wait => {}
                        Step::Done(result) => return result,
                        Step::Sleep(pause) => break sleep(pause).await,
                        Step::Ask(asks) => open.extend(asks.into_iter().map(|ask| answer(servers, ask))),
                    }
                }
            }
        };
    }
}

/// Runs several operations at once. Each step sees what the others have learnt before.
pub(crate) async fn all<O: Operation>(
    servers: &Servers,
    mut operations: Vec<O>,
    view: &mut View<'_>,
) -> Vec<Result<O::Output, Error>> {
    let mut results: Vec<Option<Result<O::Output, Error>>> = operations.iter().map(|_| None).collect();
    let mut open: FuturesUnordered<BoxFuture<'_, (usize, Event)>> = FuturesUnordered::new();
    let mut events: Vec<(usize, Event)> = (0..operations.len()).map(|at| (at, Event::Start)).collect();
    loop {
        for (at, event) in events.drain(..) {
            match operations[at].step(view, servers.now(), event) {
                Step::Ask(asks) => open.extend(
                    asks.into_iter().map(|ask| answer(servers, ask).map(move |event| (at, event)).boxed()),
                ),
                Step::Sleep(pause) => open.push(sleep(pause).map(move |event| (at, event)).boxed()),
                Step::Done(result) => results[at] = Some(result),
                Step::Wait => {}
            }
        }
        match open.next().await {
            Some(event) => events.push(event),
            None => break,
        }
    }
    results.into_iter().map(|result| result.unwrap_or_else(|| Err(waits_for_nothing()))).collect()
}

/// No operation of ours does this: it is an error instead of a panic, since it would be one of another crate.
fn waits_for_nothing() -> Error {
    Error::Nonsense { slot: scaledb_occult::Slot::default() }
}

async fn answer(servers: &Servers, ask: Ask) -> Event {
    let Ask { tag, to, command } = ask;
    let (from_master, answer) = servers.send(to, &command).await;
    Event::Answer { tag, from_master, answer }
}

async fn sleep(pause: Micros) -> Event {
    tokio::time::sleep(Duration::from_micros(pause.0)).await;
    Event::Wake
}
