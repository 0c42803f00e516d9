//! A driver that others wrote.

use crate::backend::{Server, Users};
use futures_util::{SinkExt, TryStreamExt};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

fn with<F: Future>(user: &'static str, test: impl FnOnce(Client) -> F) {
    let server = Server::start(Users::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(server.address.port()).user(user).password("secret");
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        test(client).await;
    });
}

#[test]
fn tokio_postgres_prepares_and_pipelines() {
    with("bob", async |client| {
        let statement = client.prepare("echo $1 $2").await.unwrap();
        let queries = (0..50).map(|n| {
            let (client, statement) = (&client, &statement);
            async move {
                let (a, b) = (n.to_string(), None::<String>);
                let row = client.query_one(statement, &[&a, &b]).await.unwrap();
                assert_eq!((row.get::<_, String>(0), row.get::<_, Option<String>>(1)), (a, None));
            }
        });
        futures_util::future::join_all(queries).await;
    });
}

#[test]
fn tokio_postgres_sees_errors_and_goes_on() {
    with("ann", async |client| {
        let error = client.execute("fail", &[]).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!((error.code().code(), error.message()), ("22012", "division by zero"));
        // where it was made
        assert_eq!(error.file(), Some("pgwire/tests/wire/backend.rs"));
        assert_eq!(error.routine(), Some("pgwire::tests::wire::backend"));
        assert!(error.line().is_some_and(|line| line > 0));
        let error = client.execute("conflict", &[]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "40001");
        let rows = client.simple_query("echo a; rows 2").await.unwrap();
        let rows = rows.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_)));
        assert_eq!(rows.count(), 3);
    });
}

#[test]
fn tokio_postgres_reads_portals_in_parts() {
    with("ann", async |mut client| {
        let transaction = client.transaction().await;
        // its BEGIN is upper case: no word of ours
        assert!(transaction.is_err());
        drop(transaction);
        client.batch_execute("begin").await.unwrap();
        let rows: Vec<_> = client
            .query_raw("rows 1000", std::iter::empty::<String>())
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(rows.len(), 1_000);
        client.batch_execute("commit").await.unwrap();
    });
}

#[test]
fn tokio_postgres_copies() {
    with("ann", async |client| {
        let sink = client.copy_in("copy in").await.unwrap();
        let mut sink = std::pin::pin!(sink);
        for _ in 0..1_000 {
            sink.send(bytes::Bytes::from_static(&[b'x'; 100])).await.unwrap();
        }
        assert_eq!(sink.finish().await.unwrap(), 100_000);
        let lines: Vec<_> = client.copy_out("copy out 1000").await.unwrap().try_collect().await.unwrap();
        assert_eq!(lines.len(), 1_000);
    });
}
