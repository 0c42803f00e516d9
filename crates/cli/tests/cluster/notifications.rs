//! Clients of real nodes that LISTEN, while others NOTIFY and a node is killed.

use crate::process::{connect, until};
use crate::{Trial, client_of};
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;
use std::collections::HashMap;
use std::time::Duration;

/// What has come until this is heard, without it.
fn heard_until(client: &mut Client, last: &str) -> Vec<String> {
    let mut heard = Vec::new();
    until("it is heard", || {
        let mut notifications = client.notifications();
        let mut come = notifications.timeout_iter(Duration::from_millis(100));
        while let Some(notification) = come.next().expect("a connection") {
            heard.push(notification.payload().to_owned());
        }
        heard.last().is_some_and(|heard| heard == last)
    });
    heard.pop();
    heard
}

/// Those who listen at the nodes that live hear all that was answered, once, in one order.
#[test]
fn a_node_is_killed_and_listeners_at_the_others_miss_nothing() {
    let Some(mut trial) = Trial::begin(true) else { return };
    let mut listeners = [1, 2].map(|node| client_of(&trial.at, node));
    listeners.iter_mut().for_each(|listener| listener.batch_execute("LISTEN news").expect("a member"));
    // each statement has a text of its own; whether it was answered
    let mut said: HashMap<String, bool> = HashMap::new();
    let mut say = |client: &mut Client, text: String| {
        let answered = client.batch_execute(&format!("NOTIFY news, '{text}'")).is_ok();
        said.insert(text, answered);
        answered
    };
    let (mut first, mut other) = (client_of(&trial.at, 0), client_of(&trial.at, 1));
    for round in 0..50 {
        assert!(say(&mut first, format!("first {round}")));
        assert!(say(&mut other, format!("other {round}")));
    }
    trial.nodes[0].kill();
    let mut round = 0;
    until("the others go on", || {
        round += 1;
        say(&mut first, format!("dead {round}"));
        say(&mut other, format!("later {round}"))
    });
    trial.is_put_out();
    // one that is back is heard, and hears nothing from before
    trial.restart(0);
    trial.settle();
    let mut back = connect(trial.at.lock().unwrap()[0]);
    back.batch_execute("LISTEN news").expect("a member");
    for round in 0..20 {
        say(&mut back, format!("back {round}"));
    }
    until("the end is said", || back.batch_execute("NOTIFY news, 'end'").is_ok());
    let heard = listeners.each_mut().map(|listener| heard_until(listener, "end"));
    assert_eq!(heard[0], heard[1], "one order");
    assert!(heard[0].ends_with(&heard_until(&mut back, "end")));
    for (text, answered) in said {
        let times = heard[0].iter().filter(|heard| **heard == text).count();
        assert!(
            times == 1 || times == 0 && !answered,
            "{text}, answered: {answered}, is heard {times} times"
        );
    }
}
