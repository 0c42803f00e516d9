//! tokio-postgres: binary everywhere, pipelines, COPY, portals.

use bytes::Bytes;
use futures_util::{SinkExt, TryStreamExt, future};
use std::error::Error;
use std::time::Duration;
use tokio_postgres::{Client, IsolationLevel, NoTls, SimpleQueryMessage};

type Done = Result<(), Box<dyn Error>>;

macro_rules! same {
    ($a:expr, $b:expr) => {
        match (&$a, &$b) {
            (found, expected) if found != expected => {
                return Err(format!("{found:?} instead of {expected:?}").into());
            }
            _ => {}
        }
    };
}

async fn select_one(c: &mut Client) -> Done {
    same!(c.query_one("select 1", &[]).await?.get::<_, i32>(0), 1);
    Ok(())
}

async fn parameters(c: &mut Client) -> Done {
    let row = c.query_one("select $1::int4, $2::text, $3::float8, $4::bool", &[&42_i32, &"é'", &1.5_f64, &None::<bool>]).await?;
    same!((row.get::<_, i32>(0), row.get::<_, &str>(1)), (42, "é'"));
    same!((row.get::<_, f64>(2), row.get::<_, Option<bool>>(3)), (1.5, None));
    Ok(())
}

async fn bytes_and_arrays(c: &mut Client) -> Done {
    let row = c.query_one("select $1::bytea, $2::int8[]", &[&vec![0_u8, 255], &vec![1_i64, 2]]).await?;
    same!(row.get::<_, Vec<u8>>(0), vec![0_u8, 255]);
    same!(row.get::<_, Vec<i64>>(1), vec![1_i64, 2]);
    Ok(())
}

async fn pipelines(c: &mut Client) -> Done {
    let statement = c.prepare("select $1::int4").await?;
    let numbers: Vec<i32> = (0..100).collect();
    let queries = numbers.iter().map(|n| async { c.query_one(&statement, &[n]).await });
    let rows = future::try_join_all(queries).await?;
    same!(rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>(), numbers);
    Ok(())
}

async fn transactions(c: &mut Client) -> Done {
    c.batch_execute("create table tpg_t (id int primary key)").await?;
    let mut transaction = c.build_transaction().isolation_level(IsolationLevel::Serializable).start().await?;
    transaction.execute("insert into tpg_t values ($1)", &[&1_i32]).await?;
    let savepoint = transaction.transaction().await?;
    savepoint.execute("insert into tpg_t values ($1)", &[&2_i32]).await?;
    savepoint.rollback().await?;
    transaction.commit().await?;
    same!(c.query_one("select count(*) from tpg_t", &[]).await?.get::<_, i64>(0), 1);
    c.batch_execute("drop table tpg_t").await?;
    Ok(())
}

async fn errors_carry_their_fields(c: &mut Client) -> Done {
    c.batch_execute("create table tpg_e (id int primary key); insert into tpg_e values (1)").await?;
    let error = c.execute("insert into tpg_e values ($1)", &[&1_i32]).await.err().ok_or("no error")?;
    let error = error.as_db_error().ok_or("not the server's")?;
    same!((error.code().code(), error.constraint(), error.table()), ("23505", Some("tpg_e_pkey"), Some("tpg_e")));
    c.batch_execute("drop table tpg_e").await?;
    Ok(())
}

async fn portals_are_read_in_parts(c: &mut Client) -> Done {
    let transaction = c.transaction().await?;
    let portal = transaction.bind("select n from generate_series(1, 10) n", &[]).await?;
    same!(transaction.query_portal(&portal, 3).await?.len(), 3);
    same!(transaction.query_portal(&portal, 0).await?.len(), 7);
    transaction.commit().await?;
    Ok(())
}

async fn copies(c: &mut Client) -> Done {
    c.batch_execute("create table tpg_c (id int, v text)").await?;
    let sink = c.copy_in("copy tpg_c from stdin").await?;
    let mut sink = std::pin::pin!(sink);
    for n in 0..1_000 {
        sink.send(Bytes::from(format!("{n}\tv{n}\n"))).await?;
    }
    same!(sink.finish().await?, 1_000);
    let lines: Vec<Bytes> = c.copy_out("copy tpg_c to stdout").await?.try_collect().await?;
    same!(lines.iter().map(|line| line.iter().filter(|byte| **byte == b'\n').count()).sum::<usize>(), 1_000);
    c.batch_execute("drop table tpg_c").await?;
    Ok(())
}

async fn simple_queries(c: &mut Client) -> Done {
    let found = c.simple_query("select 1; select 2, 3").await?;
    let rows = found.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.len()),
        _ => None,
    });
    same!(rows.collect::<Vec<_>>(), [1, 2]);
    Ok(())
}

async fn a_query_is_cancelled(c: &mut Client) -> Done {
    let token = c.cancel_token();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel_query(NoTls).await
    });
    let error = c.batch_execute("select count(*) from generate_series(1, 30000) a, generate_series(1, 30000) b").await.err().ok_or("no error")?;
    same!(error.code().map(|code| code.code()), Some("57014"));
    select_one(c).await
}

fn main() -> Done {
    let variable = |name| std::env::var(name);
    let mut config = tokio_postgres::Config::new();
    config.host(variable("PGHOST")?).port(variable("PGPORT")?.parse()?);
    config.user(variable("PGUSER")?).dbname(variable("PGDATABASE")?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    macro_rules! run {
        ($($name:ident)*) => {
            $(
                let done: Done = runtime.block_on(async {
                    let (mut client, connection) = config.connect(NoTls).await?;
                    tokio::spawn(connection);
                    tokio::time::timeout(Duration::from_secs(30), $name(&mut client)).await?
                });
                match done {
                    Ok(()) => println!("pass tokio-postgres {}", stringify!($name)),
                    Err(error) => println!("fail tokio-postgres {} {error:?}", stringify!($name)),
                }
            )*
        };
    }
    run!(
        select_one parameters bytes_and_arrays pipelines transactions errors_carry_their_fields
        portals_are_read_in_parts copies simple_queries a_query_is_cancelled
    );
    Ok(())
}
