//! Sessions of the client over real servers, in two datacenters.
//!
//! `make test-occult` builds the module and runs this. Elsewhere the tests say that they are skipped.

mod support;

use scaledb_occult_client::{Client, Error, Metrics, OperationError, Refused, Session};
use scaledb_occult_lab::{Options, Shape, Weather};
use std::time::Duration;
use support::{client, lab, run};

fn text(value: Option<scaledb_occult_client::Bytes>) -> Option<String> {
    value.map(|value| String::from_utf8_lossy(&value).into_owned())
}

/// Six keys whose slots have masters in both datacenters.
fn keys() -> Vec<String> {
    (0..6).map(|i| format!("key-{i}")).collect()
}

/// The stream to the replicas is 150 ms late: what plain reads at replicas would get wrong.
#[test]
fn a_session_does_not_go_back_in_time_at_late_replicas() {
    let late = Weather { one_way: Duration::from_millis(150), cut: false };
    let options =
        Options { shape: Shape { masters: 3, replicas: true }, weather: late, ..Options::default() };
    let Some(lab) = lab(&options) else { return };
    run(async {
        let (east, west) = (client(&lab, 0).await, client(&lab, 1).await);
        let mut writer = east.session();
        let mut counted = Vec::new();
        for round in 0..60 {
            if round >= 3 {
                if counted.iter().any(|metrics: &Metrics| metrics.stale_reads > 0) {
                    break;
                }
                // replicas that were still loading when the client came are known to it when it asks again
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            for key in keys() {
                let value = format!("{key}-{round}");
                writer.set(&key, &value).await.unwrap();
                assert_eq!(text(writer.get(&key).await.unwrap()).as_deref(), Some(value.as_str()));
            }
            // the token goes to the other datacenter faster than the stream
            let mut reader = west.session_from(&writer.token()).unwrap();
            let values = reader.get_many(keys()).await.unwrap();
            for (key, value) in keys().iter().zip(values) {
                assert_eq!(text(value), Some(format!("{key}-{round}")));
            }
            // and the same session goes there itself
            let mut moved = writer.clone();
            moved.move_to(&west);
            assert_eq!(text(moved.get("key-5").await.unwrap()), Some(format!("key-5-{round}")));
            counted.push(*reader.metrics());
        }
        let stale = counted.iter().any(|metrics| metrics.stale_reads > 0);
        assert!(stale, "the replicas were not late: the test shows nothing: {counted:?}");
        assert!(writer.delete("key-0").await.unwrap());
        assert!(!writer.delete("key-0").await.unwrap());
        assert_eq!(writer.get("key-0").await.unwrap(), None);
        let mut reader = west.session_from(&writer.token()).unwrap();
        assert_eq!(reader.get("key-0").await.unwrap(), None);
        // who knows nothing may see the past
        assert!(west.session().get("key-1").await.is_ok());
        assert!(east.session_from("no token").is_err());
    });
}

async fn add(session: &mut Session, key: &str, amount: i64) -> Result<(), Error> {
    session
        .transaction(|transaction| async move {
            let value = transaction.get(key).await?;
            let before: i64 = text(value).and_then(|text| text.parse().ok()).unwrap_or(0);
            transaction.set(key, (before + amount).to_string()).await?;
            Ok(())
        })
        .await
}

async fn transfer(session: &mut Session, from: &str, to: &str) -> Result<(), Error> {
    session
        .transaction(|transaction| async move {
            let values = transaction.get_many([from, to]).await?;
            let number =
                |at: usize| -> i64 { text(values[at].clone()).map_or(0, |text| text.parse().unwrap()) };
            transaction.set(from, (number(0) - 1).to_string()).await?;
            transaction.set(to, (number(1) + 1).to_string()).await?;
            Ok(())
        })
        .await
}

async fn total(session: &mut Session, accounts: &[String]) -> Result<i64, Error> {
    session
        .transaction(|transaction| async move {
            let values = transaction.get_many(accounts).await?;
            Ok(values
                .into_iter()
                .map(|value| text(value).map_or(0, |text| text.parse::<i64>().unwrap()))
                .sum())
        })
        .await
}

/// Counters lose no addition, and money is neither made nor lost in what a transaction reads.
#[test]
fn transactions_do_not_lose_updates_or_see_halves() {
    let late = Weather { one_way: Duration::from_millis(5), cut: false };
    let options =
        Options { shape: Shape { masters: 3, replicas: true }, weather: late, ..Options::default() };
    let Some(lab) = lab(&options) else { return };
    run(async {
        let clients = [client(&lab, 0).await, client(&lab, 1).await];
        let accounts: Vec<String> = (0..6).map(|i| format!("account-{i}")).collect();
        let mut session = clients[0].session();
        let all = &accounts;
        session
            .transaction(|transaction| async move {
                for account in all {
                    transaction.set(account, "100").await?;
                }
                Ok(())
            })
            .await
            .unwrap();
        let token = session.token();
        let mut tasks = tokio::task::JoinSet::new();
        for worker in 0..6_usize {
            let client: Client = clients[worker % 2].clone();
            let (accounts, token) = (accounts.clone(), token.clone());
            tasks.spawn(async move {
                let mut session = client.session_from(&token).unwrap();
                for round in 0..15 {
                    let (from, to) = ((worker + round) % 6, (worker * 2 + round * 3 + 1) % 6);
                    if from != to {
                        transfer(&mut session, &accounts[from], &accounts[to]).await.unwrap();
                    }
                    add(&mut session, "counter", 1).await.unwrap();
                    assert_eq!(
                        total(&mut session, &accounts).await.unwrap(),
                        600,
                        "worker {worker}, round {round}"
                    );
                }
                (session.token(), *session.metrics())
            });
        }
        let mut last = clients[1].session();
        let mut aborts = 0;
        while let Some(done) = tasks.join_next().await {
            let (token, metrics) = done.unwrap();
            last.add_token(&token).unwrap();
            aborts += metrics.aborts();
        }
        assert_eq!(total(&mut last, &accounts).await.unwrap(), 600);
        assert_eq!(text(last.get("counter").await.unwrap()).as_deref(), Some("90"));
        assert!(aborts > 0, "nobody met anybody: the test shows nothing");
    });
}

/// A client ends between the steps of its commit; others go on, and see all of it or nothing.
#[test]
fn a_client_that_ends_in_its_commit_leaves_all_or_nothing() {
    let options = Options { shape: Shape { masters: 3, replicas: false }, ..Options::default() };
    let Some(lab) = lab(&options) else { return };
    run(async {
        let client = support::client_with(&lab, 0, |options| {
            options.config.lease = scaledb_occult_client::Micros(200_000);
        })
        .await;
        let names: Vec<String> = (0..4).map(|i| format!("part-{i}")).collect();
        let all = &names;
        let mut ended = 0;
        for round in 0..40_u64 {
            let mut session = client.session();
            let commit = session.transaction(|transaction| async move {
                for name in all {
                    transaction.set(name, round.to_string()).await?;
                }
                Ok(())
            });
            // dropped wherever it is then
            ended +=
                u64::from(tokio::time::timeout(Duration::from_micros(400 * round), commit).await.is_err());
            let mut other = client.session();
            let seen = other
                .transaction(|transaction| async move {
                    let values = transaction.get_many(all).await?;
                    // whoever writes has to end what is in the way
                    transaction.set("{part-3}", round.to_string()).await?;
                    Ok(values)
                })
                .await
                .unwrap();
            let seen: Vec<_> = seen.into_iter().map(text).collect();
            assert!(seen.iter().all(|value| *value == seen[0]), "round {round}: {seen:?}");
        }
        assert!(ended >= 5, "{ended} of 40 were ended: the test shows nothing");
    });
}

/// What the server itself refuses has a type: nothing has happened, and trying again is of no use.
#[test]
fn what_the_server_refuses_is_not_taken_for_a_fault() {
    let options = Options { shape: Shape { masters: 3, replicas: false }, ..Options::default() };
    let Some(lab) = lab(&options) else { return };
    run(async {
        let mut session = client(&lab, 0).await.session();
        let everywhere = |words: &[&str]| {
            for node in lab.nodes() {
                node.ask::<()>(words).unwrap();
            }
        };
        let refused = |result: Result<(), Error>| match result {
            Err(Error::Operation(OperationError::Refused(refused))) => refused,
            other => panic!("{other:?}"),
        };
        for node in lab.nodes() {
            // the others answer that the slot is elsewhere
            let _ = node.ask::<()>(&["SET", "plain", "x"]);
        }
        assert_eq!(refused(session.set("plain", "y").await), Refused::WrongType);
        everywhere(&["CONFIG", "SET", "maxmemory", "1"]);
        assert_eq!(refused(session.set("key", "y").await), Refused::OutOfMemory);
        everywhere(&["CONFIG", "SET", "maxmemory", "0"]);
        everywhere(&["ACL", "SETUSER", "default", "-occult.write"]);
        assert_eq!(refused(session.set("key", "y").await), Refused::NotPermitted);
        everywhere(&["ACL", "SETUSER", "default", "+occult.write"]);
        session.set("key", "y").await.unwrap();
    });
}
