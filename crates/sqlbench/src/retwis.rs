//! Retwis in SQL: a small social network. Four of five transactions look at the counters of 1 to 10 users, some of
//! which are much looked at; one of five posts, which updates three users and inserts three rows.
//!
//! ```text
//!   users (id, posts, unread)          posts: how many rows of `posts` are the user's
//!   posts (author, number, client)     numbered from 1, without gaps, by the author's counter
//!   timeline (reader, author, number)  unread: how many rows of `timeline` are the user's
//! ```

use crate::client::{Client, Failure};
use crate::conflict::{conflict, given_up};
use crate::rows::Rows;
use crate::values::Param::{Int, Text};
use scaledb_workloads::driver::{Attempt, ConflictAt, Connected};
use scaledb_workloads::rng::Rng;
use scaledb_workloads::tpcc::Condition;
use scaledb_workloads::zipf::{Scramble, Zipf};
use std::fmt::Write;

/// The names of the transactions, by the numbers of their classes.
pub const CLASSES: [&str; 2] = ["Timeline", "Post"];

/// The number of [`CLASSES`]' posts.
pub const POST: usize = 1;

/// Of a hundred transactions, so many look.
const LOOKS: u32 = 80;

/// The most users that one looks at.
const MOST: u32 = 10;

/// The skew of the users whose posts are read.
const SKEW: f64 = 0.6;

/// Users that read what an author posts.
const READERS: usize = 2;

/// Rows of one COPY: a transaction of bounded size.
const ROWS: u32 = 10_000;

/// The tables.
const TABLES: [(&str, &str); 3] = [
    (
        "users (id integer PRIMARY KEY, posts integer NOT NULL, unread integer NOT NULL, name text NOT NULL)",
        "id",
    ),
    (
        "posts (author integer, number integer, client integer NOT NULL, body text NOT NULL, \
         PRIMARY KEY (author, number))",
        "author",
    ),
    (
        "timeline (reader integer, author integer, number integer, PRIMARY KEY (reader, author, number))",
        "reader",
    ),
];

const STATEMENTS: [&str; 8] = [
    "BEGIN ISOLATION LEVEL SERIALIZABLE",
    "COMMIT",
    "ROLLBACK",
    "SELECT posts, unread FROM users WHERE id = $1",
    "UPDATE users SET posts = posts + 1 WHERE id = $1 RETURNING posts",
    "UPDATE users SET unread = unread + 1 WHERE id = $1",
    "INSERT INTO posts VALUES ($1, $2, $3, $4)",
    "INSERT INTO timeline VALUES ($1, $2, $3)",
];
const BEGIN: usize = 0;
const COMMIT: usize = 1;
const ROLLBACK: usize = 2;
const LOOK: usize = 3;
const COUNT_POST: usize = 4;
const COUNT_UNREAD: usize = 5;
const INSERT_POST: usize = 6;
const INSERT_LINE: usize = 7;

/// Creates the tables in a cluster, the rows of a user on one node, and fills them with users that have no posts.
///
/// # Errors
/// The database's: 42P07 if there are such tables already, 0A000 if it is no cluster.
pub fn create_in_cluster<C: Client>(client: &mut C, users: u32) -> Result<(), Failure> {
    for (table, column) in TABLES {
        client.script(&format!("CREATE TABLE {table} PARTITION BY HASH ({column})"))?;
    }
    let mut data = String::new();
    for first in (1..=users).step_by(ROWS as usize) {
        data.clear();
        for id in first..=users.min(first + (ROWS - 1)) {
            // the text cannot fail to grow
            let _ = writeln!(data, "{id}\t0\t0\tuser {id}");
        }
        client.copy_in("COPY users FROM STDIN", data.as_bytes())?;
    }
    Ok(())
}

/// Three conditions that hold between the tables, in one snapshot.
///
/// # Errors
/// The database's.
pub fn check<C: Client>(client: &mut C) -> Result<Vec<Condition>, Failure> {
    const QUERIES: [(&str, &str); 3] = [
        (
            "a user's counter of posts = rows of posts",
            "SELECT u, sum(x) <> 0 AS bad FROM (SELECT id AS u, posts AS x FROM users \
             UNION ALL SELECT author, -1 FROM posts) AS c GROUP BY u",
        ),
        (
            "a user's counter of unread posts = rows of the timeline",
            "SELECT u, sum(x) <> 0 AS bad FROM (SELECT id AS u, unread AS x FROM users \
             UNION ALL SELECT reader, -1 FROM timeline) AS c GROUP BY u",
        ),
        (
            "an author's posts are numbered without gaps",
            "SELECT author AS u, max(number) <> count(*) AS bad FROM posts GROUP BY author",
        ),
    ];
    let mut rows = Rows::default();
    client.script("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE")?;
    let conditions = QUERIES.into_iter().zip(1..).map(|((says, query), number)| {
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE bad), min(u) FILTER (WHERE bad) FROM ({query}) AS compared"
        );
        client.query(&sql, &mut rows)?;
        let [checked, failed] = [0, 1].map(|column| rows.answer(0).int(0, column).map(i64::unsigned_abs));
        let user = rows.answer(0).int_or_null(0, 2)?;
        Ok(Condition {
            number,
            says: says.to_owned(),
            checked: checked?,
            failed: failed?,
            detail: user.map(|user| format!("user {user}")),
        })
    });
    let conditions = conditions.collect::<Result<_, Failure>>();
    client.script(if conditions.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    conditions
}

/// How many posts are there of each client that has posted: its number, and how many.
///
/// # Errors
/// The database's.
pub fn posts<C: Client>(client: &mut C) -> Result<Vec<(i64, u64)>, Failure> {
    let mut rows = Rows::default();
    client.query("SELECT client, count(*) FROM posts GROUP BY client", &mut rows)?;
    let answer = rows.answer(0);
    let row = |row| Ok((answer.int(row, 0)?, answer.int(row, 1)?.unsigned_abs()));
    (0..answer.len()).map(row).collect()
}

/// A client that looks and posts.
pub struct Visitor<C> {
    client: C,
    /// Its number: the author of its posts.
    number: i64,
    users: u32,
    looked_at: (Zipf, Scramble),
    rng: Rng,
    rows: Rows,
    class: usize,
    /// The user whose posts it reads; or the author, and the followers that read the author's posts.
    chosen: Vec<i64>,
}

impl<C: Client> Visitor<C> {
    /// A client of this number; each stream of random numbers is another one.
    ///
    /// # Errors
    /// The database's: the tables must be there.
    pub fn new(mut client: C, users: u32, number: i64, seed: u64, stream: u64) -> Result<Self, Failure> {
        client.prepare(&STATEMENTS)?;
        Ok(Self {
            client,
            number,
            users,
            looked_at: (Zipf::new(users.into(), SKEW), Scramble::new(users.into())),
            rng: Rng::new(seed, stream),
            rows: Rows::default(),
            class: 0,
            chosen: Vec::new(),
        })
    }

    /// The transaction that was chosen.
    fn transact(&mut self) -> Result<(), Failure> {
        let Self { client, rows, chosen, number, .. } = self;
        client.ask(BEGIN, &[])?;
        if self.class != POST {
            chosen.iter().try_for_each(|&user| client.ask(LOOK, &[Int(user)]))?;
            client.ask(COMMIT, &[])?;
            client.answers(rows)?;
            let found = (1..=chosen.len()).all(|place| rows.answer(place).len() == 1);
            return if found { Ok(()) } else { Err(Failure::Inconsistent("a user is missing")) };
        }
        let (author, readers) = (chosen[0], &chosen[1..]);
        client.ask(COUNT_POST, &[Int(author)])?;
        readers.iter().try_for_each(|&reader| client.ask(COUNT_UNREAD, &[Int(reader)]))?;
        client.answers(rows)?;
        let post = rows.answer(1).int(0, 0)?;
        client.ask(
            INSERT_POST,
            &[Int(author), Int(post), Int(*number), Text("What I have had for breakfast")],
        )?;
        for &reader in readers {
            client.ask(INSERT_LINE, &[Int(reader), Int(author), Int(post)])?;
        }
        client.ask(COMMIT, &[])?;
        client.answers(rows)
    }
}

impl<C: Client> Connected for Visitor<C> {
    type Error = Failure;

    fn prepare(&mut self, _: i64) -> usize {
        let Self { rng, looked_at: (ranks, places), chosen, users, .. } = self;
        self.class = usize::from(!rng.percent(LOOKS));
        chosen.clear();
        let wanted = if self.class == POST { 1 + READERS } else { rng.within(1, MOST) as usize };
        while chosen.len() < wanted.min(*users as usize) {
            let user = match self.class {
                POST => rng.below(u64::from(*users)),
                _ => places.place(ranks.draw(rng)),
            };
            let user = user as i64 + 1;
            if !chosen.contains(&user) {
                chosen.push(user);
            }
        }
        self.class
    }

    fn attempt(&mut self) -> Result<Attempt, Failure> {
        let Err(failure) = self.transact() else { return Ok(Attempt::Committed) };
        let conflict = conflict(failure)?;
        // a commit that failed has ended the transaction already; that is no error, only a warning
        self.client.run(ROLLBACK, &[], &mut self.rows)?;
        Ok(Attempt::Conflict(conflict))
    }

    fn given_up(conflict: ConflictAt) -> Failure {
        given_up(conflict)
    }
}
