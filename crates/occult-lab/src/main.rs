//! `make occult-demo`: what plain reads at replicas get wrong, and Occult does not.
//!
//! Alice hides her album from her boss, and then adds a photo. Her boss, in the other datacenter, sees the photo:
//! is the access list that he is checked against the one that was before the photo?

use scaledb_occult::slot_of;
use scaledb_occult_client::{Address, Client, Metrics, Options};
use scaledb_occult_lab::{Lab, SLOTS, Shape, Weather};
use std::collections::HashMap;
use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// From one datacenter to the other and back.
const ROUND_TRIP: Duration = Duration::from_millis(39);
/// The stream of one of the masters is later by this: its server is busy.
const BUSY: Duration = Duration::from_millis(120);
const BUSY_MASTER: usize = 0;
const ALBUMS: usize = 48;
/// Between two looks of the boss.
const LOOK: Duration = Duration::from_millis(1);

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let one_way = ROUND_TRIP / 2;
    println!(
        "Starting 12 servers: 6 masters in two datacenters, {ROUND_TRIP:?} apart, each with a replica in the other one."
    );
    let lab = Lab::start(&scaledb_occult_lab::Options {
        shape: Shape { masters: 6, replicas: true },
        weather: Weather { one_way, cut: false },
        ..scaledb_occult_lab::Options::default()
    })?;
    lab.set_stream(BUSY_MASTER, Weather { one_way: one_way + BUSY, cut: false });
    println!(
        "One of the six streams to the replicas is {BUSY:?} later than that, as when a server is busy.\n"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (plain, occult) =
        runtime.block_on(async { Ok::<_, Failed>((plain(&lab).await?, occult(&lab).await?)) })?;
    report(&plain, &occult);
    if occult.wrong > 0 {
        return Err("Occult has shown a photo without the access list that was before it".into());
    }
    if plain.wrong == 0 {
        println!(
            "\nNothing went wrong on plain Redis this time: the machine may be too busy for {BUSY:?} to matter."
        );
    }
    Ok(())
}

/// What was seen.
#[derive(Default)]
struct Seen {
    /// Albums whose photo was shown with an access list of before.
    wrong: usize,
    /// How long the boss's reads took.
    reads: Vec<Duration>,
    metrics: Metrics,
}

fn access(album: usize) -> String {
    format!("album:{album}:access")
}

fn photo(album: usize) -> String {
    format!("album:{album}:photo")
}

/// Redis as it is, with reads at the nearest copy.
async fn plain(lab: &Lab) -> Result<Seen, Failed> {
    let (mut alice, mut boss) = (Plain::new(lab, 0), Plain::new(lab, 1));
    for album in 0..ALBUMS {
        alice.set(&access(album), "everybody").await?;
    }
    tokio::time::sleep(ROUND_TRIP + 2 * BUSY).await;
    let mut seen = Seen::default();
    for album in 0..ALBUMS {
        let writes = async {
            alice.set(&access(album), "friends only").await?;
            alice.set(&photo(album), "beach").await
        };
        let reads = async {
            loop {
                let begin = Instant::now();
                let found = boss.get(&photo(album)).await?;
                seen.reads.push(begin.elapsed());
                if found.is_some() {
                    break;
                }
                tokio::time::sleep(LOOK).await;
            }
            let begin = Instant::now();
            let list = boss.get(&access(album)).await?;
            seen.reads.push(begin.elapsed());
            seen.wrong += usize::from(list.as_deref() != Some("friends only"));
            Ok::<(), Failed>(())
        };
        tokio::try_join!(writes, reads)?;
    }
    Ok(seen)
}

/// The same by Occult.
async fn occult(lab: &Lab) -> Result<Seen, Failed> {
    let (mut alice, mut boss) = (client(lab, 0).await?.session(), client(lab, 1).await?.session());
    let name = |key: String| format!("occult-{key}");
    for album in 0..ALBUMS {
        alice.set(name(access(album)), "everybody").await?;
    }
    tokio::time::sleep(ROUND_TRIP + 2 * BUSY).await;
    let mut seen = Seen::default();
    for album in 0..ALBUMS {
        let writes = async {
            alice.set(name(access(album)), "friends only").await?;
            alice.set(name(photo(album)), "beach").await?;
            Ok::<(), Failed>(())
        };
        let reads = async {
            loop {
                let begin = Instant::now();
                let found = boss.get(name(photo(album))).await?;
                seen.reads.push(begin.elapsed());
                if found.is_some() {
                    break;
                }
                tokio::time::sleep(LOOK).await;
            }
            let begin = Instant::now();
            let list = boss.get(name(access(album))).await?;
            seen.reads.push(begin.elapsed());
            seen.wrong += usize::from(list.as_deref() != Some(b"friends only"));
            Ok(())
        };
        tokio::try_join!(writes, reads)?;
    }
    seen.metrics = *boss.metrics();
    Ok(seen)
}

async fn client(lab: &Lab, datacenter: u8) -> Result<Client, Failed> {
    let address = |at: SocketAddr| Address { host: at.ip().to_string(), port: at.port() };
    let mut options =
        Options::new(lab.seeds().into_iter().map(|at| format!("redis://{at}"))).in_datacenter(datacenter);
    let near = lab.addresses(datacenter).into_iter();
    options.addresses = near.map(|(announced, direct)| (address(announced), address(direct))).collect();
    Ok(Client::connect(options).await?)
}

/// A client of plain Redis that reads at the nearest copy.
struct Plain<'a> {
    lab: &'a Lab,
    datacenter: u8,
    connections: HashMap<usize, redis::aio::MultiplexedConnection>,
}

impl<'a> Plain<'a> {
    fn new(lab: &'a Lab, datacenter: u8) -> Self {
        Self { lab, datacenter, connections: HashMap::new() }
    }

    async fn set(&mut self, key: &str, value: &str) -> Result<(), Failed> {
        let master = self.master(key);
        let mut connection = self.connection(master).await?;
        Ok(redis::cmd("SET").arg(key).arg(value).exec_async(&mut connection).await?)
    }

    async fn get(&mut self, key: &str) -> Result<Option<String>, Failed> {
        let master = self.master(key);
        let near = self.lab.nodes()[master].datacenter == self.datacenter;
        let copy = if near { master } else { self.lab.replica_of(master) };
        let mut connection = self.connection(copy).await?;
        Ok(redis::cmd("GET").arg(key).query_async(&mut connection).await?)
    }

    /// The master of a key: slots are spread evenly, in order.
    fn master(&self, key: &str) -> usize {
        let masters = self.lab.nodes().len() / 2;
        let slot = usize::from(slot_of(key.as_bytes()).get());
        (0..masters).rfind(|i| i * usize::from(SLOTS) / masters <= slot).unwrap_or(0)
    }

    async fn connection(&mut self, node: usize) -> Result<redis::aio::MultiplexedConnection, Failed> {
        if let Some(connection) = self.connections.get(&node) {
            return Ok(connection.clone());
        }
        let of = &self.lab.nodes()[node];
        let at = if of.datacenter == self.datacenter { of.address() } else { of.announced() };
        let client = redis::Client::open(format!("redis://{at}"))?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis::cmd("READONLY").exec_async(&mut connection).await?;
        self.connections.insert(node, connection.clone());
        Ok(connection)
    }
}

fn report(plain: &Seen, occult: &Seen) {
    let quantile = |seen: &Seen, part: usize| {
        let mut reads = seen.reads.clone();
        reads.sort_unstable();
        let at = (reads.len() * part / 100).min(reads.len().saturating_sub(1));
        format!("{:.2} ms", reads.get(at).map_or(0.0, |read| read.as_secs_f64() * 1e3))
    };
    let none = || "-".to_owned();
    let counted = &occult.metrics;
    println!("{:<52}{:>14}{:>14}", "", "plain Redis", "Occult");
    for (what, left, right) in [
        ("albums", ALBUMS.to_string(), ALBUMS.to_string()),
        ("photo shown, access list of before", plain.wrong.to_string(), occult.wrong.to_string()),
        ("reads of the boss", plain.reads.len().to_string(), occult.reads.len().to_string()),
        ("  median", quantile(plain, 50), quantile(occult, 50)),
        ("  99 of 100 are faster than", quantile(plain, 99), quantile(occult, 99)),
        ("reads that found a copy behind", none(), counted.stale_reads.to_string()),
        ("  tried again there", none(), counted.local_retries.to_string()),
        ("  went on to the master in the other datacenter", none(), counted.fallbacks.to_string()),
    ] {
        println!("{what:<52}{left:>14}{right:>14}");
    }
}
