//! Rows that do not fit their memory lie in temporary files: the same rows come out, errors are clean, and nothing is
//! left behind.

use super::common::*;
use scaledb_engine::Engine;
use scaledb_log::disk::{Disk, File, RealDisk, Submission};
use scaledb_sql::{Database, Session};
use scaledb_sync::atomic::{AtomicU64, Ordering::SeqCst};
use scaledb_sync::lock::Mutex;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// What goes wrong with files in memory, and when.
#[derive(Debug, Default)]
struct Faults {
    /// Bytes that there is room for; 0 is no bound.
    room: AtomicU64,
    written: AtomicU64,
    /// What a write says when there is no room.
    error: Mutex<Option<ErrorKind>>,
    /// Reads fail.
    unreadable: AtomicU64,
    /// Every so many bytes that are read, one is another; 0 is never.
    flips: AtomicU64,
}

/// Files in memory.
#[derive(Debug, Default)]
struct InMemory {
    files: Mutex<HashMap<String, Arc<Mutex<Vec<u8>>>>>,
    faults: Arc<Faults>,
}

#[derive(Debug)]
struct InMemoryFile {
    bytes: Arc<Mutex<Vec<u8>>>,
    faults: Arc<Faults>,
}

impl Disk for InMemory {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        self.files.lock().insert(name.to_owned(), bytes.clone());
        Ok(Box::new(InMemoryFile { bytes, faults: self.faults.clone() }))
    }

    fn open(&self, _: &str) -> io::Result<Box<dyn File>> {
        Err(ErrorKind::Unsupported.into())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files.lock().keys().cloned().collect())
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let removed = self.files.lock().remove(name);
        removed.map(drop).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _: &str) -> io::Result<Box<dyn Send + Sync>> {
        Err(ErrorKind::Unsupported.into())
    }

    fn describe(&self) -> String {
        "memory".to_owned()
    }
}

impl File for InMemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().len() as u64)
    }

    fn read_at(&self, to: &mut [u8], offset: u64) -> io::Result<()> {
        if self.faults.unreadable.load(SeqCst) > 0 {
            return Err(io::Error::other("a bad sector"));
        }
        let bytes = self.bytes.lock();
        let from = offset as usize..offset as usize + to.len();
        to.copy_from_slice(bytes.get(from).ok_or(ErrorKind::UnexpectedEof)?);
        let every = self.faults.flips.load(SeqCst) as usize;
        if every > 0 {
            to.iter_mut().step_by(every).for_each(|byte| *byte ^= 0x55);
        }
        Ok(())
    }

    fn write_at(&self, from: &[u8], offset: u64) -> io::Result<()> {
        let room = self.faults.room.load(SeqCst);
        if room > 0 && self.faults.written.fetch_add(from.len() as u64, SeqCst) >= room {
            return Err(self.faults.error.lock().unwrap_or(ErrorKind::StorageFull).into());
        }
        let mut bytes = self.bytes.lock();
        let end = offset as usize + from.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset as usize..end].copy_from_slice(from);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}

/// Gives a database temporary files and, once it has rows, very little memory.
fn small<E: Engine>(db: &Database<E>) -> Arc<Faults> {
    small_with(db, u64::MAX)
}

fn small_with<E: Engine>(db: &Database<E>, limit: u64) -> Arc<Faults> {
    ok(&mut session(db), ROWS);
    let disk = Arc::new(InMemory::default());
    let faults = disk.faults.clone();
    // something an earlier process has left behind, and something that is not ours
    disk.create("rows-1-2-3").unwrap();
    disk.create("lost").unwrap();
    db.set_temporary_files(disk.clone(), limit).unwrap();
    assert_eq!(disk.list().unwrap(), ["lost"]);
    db.set_max_query_memory(1 << 20);
    faults
}

fn small_session<E: Engine>(db: &Database<E>) -> Session<E> {
    let mut s = session(db);
    ok(&mut s, "set work_mem = '128kB'");
    s
}

fn counter<E: Engine>(s: &mut Session<E>, name: &str) -> u64 {
    let sql = format!("select value from scaledb_counters where name = '{name}'");
    text(s, &sql).parse().unwrap()
}

/// Rows of all types, NULLs and equal ones among them, in no order.
const ROWS: &str = "create table t (id int primary key, a int, b text, c numeric, d float8, e timestamptz, f interval,
    g int[], h jsonb, i bytea, j bool, k uuid);
  insert into t select n, nullif((n * 7919) % 1000, 13), case when n % 11 = 0 then null else repeat(chr(97 + (n * 31) % 26), n % 60) end,
    case when n % 13 = 0 then null when n % 17 = 0 then 'NaN' else ((n * 37) % 500)::numeric(20, 2) / 8 end,
    case when n % 19 = 0 then 'nan' else ((n * 53) % 700) / 7.0 end,
    '2020-01-01Z'::timestamptz + ((n * 101) % 400) * interval '1 hour', ((n * 11) % 90) * interval '1 day 3 hours',
    array[n % 5, null, (n * 3) % 7], json_build_object('x', n % 9, 'y', array[n % 4])::text::jsonb, decode(md5((n % 300)::text), 'hex'),
    n % 3 = 0, md5((n % 450)::text)::uuid
  from generate_series(1, 2500) n";

/// Runs each on a database with little memory, and on one with much.
fn same_as_in_memory<E: Engine>(db: Database<E>, queries: &[&str]) {
    small(&db);
    let large = acc();
    let (s, l) = (&mut small_session(&db), &mut session(&large));
    ok(l, ROWS);
    for sql in queries {
        let before = counter(s, "temporary files");
        let rows = ok(s, sql).rows;
        assert!(counter(s, "temporary files") > before, "{sql}");
        assert!(rows == ok(l, sql).rows, "{sql}");
        assert_eq!(counter(s, "bytes in temporary files now"), 0, "{sql}");
    }
    assert_eq!(db.query_memory(), 0);
}

fn sorts_are_as_in_memory<E: Engine>(db: Database<E>) {
    same_as_in_memory(
        db,
        &[
            "select * from t order by a, id desc",
            // equal rows stay as they were found
            "select id, a, b from t order by a",
            "select id, b from t order by b desc nulls last, j",
            "select id, b, c from t order by c nulls first, b",
            "select id, d, h from t order by d desc, e",
            "select id, e, f, g from t order by f, g desc",
            "select id, h from t order by h, id",
            "select id, i, k from t order by k desc, i",
            "select * from t order by id + a desc limit 2000 offset 200",
            "select * from t order by j, e, id limit 2490",
            "select distinct on (a) * from t order by a, id desc",
            "select * from (select * from t order by b, id) x order by a, id",
            "select a % 50 m, count(*), min(x.id) from (select * from t order by b, id offset 1) x group by m order by m",
        ],
    );
}

fn explain_says_what_was_written<E: Engine>(db: Database<E>) {
    small(&db);
    let s = &mut small_session(&db);
    for (sql, wanted) in [
        ("select * from t order by a, id", "Sort Method: external merge  Disk: "),
        ("select id, b, h, count(*), count(distinct c), max(g) from t group by id, b, h", "  Disk Usage: "),
        ("select distinct * from t", "  Disk Usage: "),
        ("select * from t x join t y on x.id = y.id", "  Disk Usage: "),
    ] {
        let rows = ok(s, &format!("explain analyze {sql}")).rows;
        let found = rows.iter().flatten().flatten().find_map(|line| line.split_once(wanted));
        let (_, size) = found.unwrap_or_else(|| panic!("{sql}: {rows:#?}"));
        assert!(size.strip_suffix("kB").is_some_and(|size| size.parse::<u64>().unwrap() > 10), "{size}");
    }
}

fn groups_are_as_in_memory<E: Engine>(db: Database<E>) {
    same_as_in_memory(
        db,
        &[
            "select id, count(*), sum(a) filter (where j), avg(d), min(b), max(c) from t group by id order by id",
            "select c, b, count(*), sum(d), min(f) from t group by c, b order by c, b",
            "select h, i, e, count(*) from t group by h, i, e order by h, i, e",
            "select id / 2 m, array_agg(a order by id desc), string_agg(b, ',' order by b, id) from t group by m
               having count(*) > 1 order by m desc",
            "select id, count(distinct a), count(distinct b) filter (where j) from t group by id order by id",
            "select sum(n), count(*) from (select nullif(id, 17) x, count(*) n from t group by x) y",
            "select a, b, n from (select a, b, count(*) n from t group by a, b order by n, a, b) x order by a, b limit 900",
        ],
    );
}

fn values_of_groups_are_as_in_memory<E: Engine>(db: Database<E>) {
    same_as_in_memory(
        db,
        &[
            "select count(distinct id || repeat('z', 200)), count(distinct b), count(*), max(distinct b) from t",
            "select sum(distinct id / 7.0::float8), avg(distinct c + id) filter (where c <> 'NaN'), sum(distinct id % 9),
               count(distinct repeat(id::text, 60)) from t",
            "select md5(string_agg(b, ',' order by k, repeat('w', 150), id desc)), array_agg(distinct h order by h desc) from t",
            "select percentile_cont(array[0.1, 0.5]) within group (order by id), percentile_disc(0.3) within group (order by b || repeat('v', 200)),
               mode() within group (order by k desc), percentile_cont(0.7) within group (order by f) from t",
            "select j, a % 3, count(distinct id || repeat('y', 250)), md5(string_agg(id::text, ' ' order by b, id)) from t
               group by j, a % 3 order by 1, 2",
            "select id, count(distinct g), array_agg(distinct n order by n desc), sum(distinct n), percentile_disc(0.5) within group (order by n)
               from t, generate_series(1, 4) n group by id order by id",
            "select count(distinct id || repeat('x', 250)) filter (where j), array_agg(distinct a % 10), count(distinct id + 0.5) from t
               where id > 100 having count(distinct i) > 1",
        ],
    );
}

fn distinct_rows_are_as_in_memory<E: Engine>(db: Database<E>) {
    same_as_in_memory(
        db,
        &[
            "select distinct * from t order by id",
            "select distinct b, c, d, e from t order by b, c, d, e",
            "select count(*), count(x), sum(x) from (select distinct nullif(id, 17) + a x, b, g from t) y",
            // of values that are equal and look different the first one stays
            "select distinct case when id % 2 = 0 then (id / 2)::numeric else (id / 2)::numeric(20, 3) end x, repeat('y', 200)
               from t order by x",
            "select id, b, c from t union select id + 1000, b, c from t order by 1, 2, 3",
            "select count(*), sum(id) from (select id, b from t union select a, b from t union select id + 5000, b from t) x",
            "select * from (select distinct id, h from t union all select id, h from t where id < 10) x order by id, h",
        ],
    );
}

fn intersect_and_except_are_as_in_memory<E: Engine>(db: Database<E>) {
    same_as_in_memory(
        db,
        &[
            "select id, b, c from t where id % 3 > 0 intersect select id, b, c from t where id % 2 = 0 order by 1, 2, 3",
            "select id, b, c from t except select id, b, c from t where id % 20 = 0 order by 1, 2, 3",
            // nothing on the right: what was handed out is remembered
            "select * from t cross join generate_series(1, 2) except select *, 0 from t where id < 0 order by id, 13",
            "select id / 3, h, e from t cross join generate_series(1, 5) intersect all
               select id / 3, h, e from t cross join generate_series(1, 3) where id % 7 > 0 order by 1, 2, 3",
            "select id % 700, j, k from t cross join generate_series(1, 5) except all
               select id % 700, j, k from t cross join generate_series(1, 3) where id % 7 > 0 order by 1, 2, 3",
            "select count(*), sum(a), sum(id) from (select * from t except all select id, a, b, c, d, e, f, g, h, i, not j, k from t) x",
            "select count(*) from (select h, g, f, id from t intersect select h, g, f, id from t limit 2300) x",
        ],
    );
}

fn first_rows_are_as_in_memory<E: Engine>(db: Database<E>) {
    same_as_in_memory(
        db,
        &[
            "select distinct on (id, k) * from t order by k desc, id limit 2400",
            "select distinct on (b, id) id, b, c, h from t",
            "select distinct on (j, a, id) * from t order by a",
            "select count(*), sum(n) from (select distinct on (id, n) n, t.* from t, generate_series(1, 3) n order by n desc) x",
        ],
    );
}

fn joins_are_as_in_memory<E: Engine>(db: Database<E>) {
    same_as_in_memory(
        db,
        &[
            "select x.id, y.* from t x join t y on x.a = y.a order by x.id, y.id",
            "select x.*, y.id, y.b from t x left join t y on x.a = y.a and x.b < y.b order by x.id, y.id",
            "select x.id, x.h, y.id, y.g from t x full join t y on x.a = y.a + 500 and x.b = y.b order by x.id, y.id",
            "select x.id, y.id from t x full join t y on x.c = y.c and x.k = y.k and x.j order by x.id, y.id",
            // nothing matches, and most have no key
            "select x.id, y.id, y.b from t x full join t y on x.a = -y.a - 1 order by x.id, y.id",
            "select x.id, y.id, y.b from t x full join t y on nullif(x.j, true) = nullif(y.j, true) and x.id = y.id
               order by x.id, y.id",
            // the outer rows are fewer
            "select x.*, y.id, y.h from t x left join t y on nullif(x.a, 4) = y.a and x.b < y.b where x.id % 2 = 0 and x.id % 7 < 5
               order by x.id, y.id",
            // few keys, so that to divide rows does not help
            "select x.id, y.id, y.h from (select * from t where id <= 30) x left join t y on x.id % 2 = y.id % 2 and x.id < y.a - 800
               order by x.id, y.id",
            "select x.id, y.id, y.h from (select * from t where id <= 30) x full join t y on x.id - x.id = y.id - y.id and x.id + 950 < y.a
               order by x.id, y.id",
            // the order is that of the index of x
            "select x.id, x.e, y.a, y.c is null and y.a = 1 from t x left join t y on x.a = y.a order by x.id desc",
            "select x.id, z.a from t x join t y on x.a = y.a left join t z on y.a = z.a and x.d > 50 order by x.id limit 1000",
            "select x.id, y.id, z.id from t x left join t y on x.k = y.k and y.id > x.id full join t z on z.a = y.a and z.j
               order by x.id, y.id, z.id",
            "select (select count(*) from t y join t z on y.a = z.a and y.b > z.b where y.id > x.id) from t x where x.id % 900 = 7",
            "select x.id from t x where exists (select from t y full join t z on y.a = z.a + 1 where y.id is null and z.id = x.id
               and coalesce(z.b, z.g::text, z.h::text, z.i::text, z.k::text) is not null) order by 1",
        ],
    );
}

fn windows_are_as_in_memory<E: Engine>(db: Database<E>) {
    same_as_in_memory(
        db,
        &[
            // without an order of their own rows come in that of the last window, and equal ones as they were found
            "select id, b, row_number() over (partition by a order by d desc), h from t",
            "select id, rank() over (order by a), dense_rank() over (order by a desc nulls last), g from t",
            "select id, c, sum(id) over (partition by a % 7 order by b), count(b) over (partition by j), k from t",
            "select id, max(b) over (), avg(c) filter (where j) over (partition by b order by a, id), e, f from t order by id",
            "select id, row_number() over (partition by j order by e, id), sum(x) over (order by id) from
               (select id, j, e, rank() over (partition by g order by id) x, h from t) y order by id",
            "select id, b, rank() over (order by k) r from t order by r, id limit 2000",
            "select sum(r) from (select row_number() over (order by e desc) r, t.* from t limit 2100) x where exists
               (select count(*) over (partition by b) c, u.* from t u where u.id = r limit 1)",
            // those that look at other rows
            "select id, lag(h, 3, h) over w, lead(id, a % 700) over w, first_value(b) over w, ntile(7) over w, percent_rank() over w,
               cume_dist() over (partition by j order by a) from t window w as (partition by j order by b, id) order by id",
            "select id, sum(id) over w, min(b) over w, max(k::text) over w, count(g) filter (where j) over w, nth_value(h, 300) over w, sum(d) over w
               from t window w as (order by a, id rows between 600 preceding and 5 preceding)",
            "select id, sum(c) over w, avg(id) over w, max(b) over w, last_value(b) over w from t
               window w as (partition by a % 3 order by id % 50 groups between 2 preceding and 2 following exclude group) order by id",
            "select id, count(*) over w, min(k::text) over w, sum(id) over w from t
               window w as (order by a range between 100 preceding and 300 following exclude current row) order by id",
            "select id, max(id) over w, sum(a) over w from t
               window w as (order by id desc rows between 1000 preceding and unbounded following exclude ties) limit 1500",
            "select count(*), sum(l) from (select array_length(array_agg(b) over (order by id rows 20 preceding), 1) l from t) x",
        ],
    );
}

fn kept_rows_are_as_in_memory<E: Engine>(db: Database<E>) {
    same_as_in_memory(
        db,
        &[
            "with x as materialized (select * from t) select a.id, b.id, b.k from x a join x b on a.id = b.id + 1 order by a.id",
            "with x as materialized (select id, h, b from t) select (select count(*) from x), count(h), max(b) from x",
            // a nested loop reads the rows of its inner side again and again
            "select x.id, count(y.b) from (select * from t where id <= 5) x left join (select * from t offset 0) y on x.id + 2000 < y.id
               group by x.id order by x.id",
            "with recursive r as (select id, b, h, 0 n from t union all select id, b, h, n + 1 from r where n < 2 and id % 2 = 0)
               select n, count(*), sum(id), min(b) from r group by n order by n",
            "with recursive r as (select id, b, h, 0 n from t union all select id, b, h, n + 1 from r)
               select id, n, h from r limit 6000",
            // each reads on where the one before wanted no more
            "with recursive r as (select id, b, h, 0 n from t union all select id, b, h, n + 1 from r)
               select (select n || ':' || id || b from r offset x limit 1) from (values (100), (2900), (2950), (5999), (7000), (3)) v(x)",
            "with recursive r(x) as (select * from generate_series(1, 6000) union select x + 1 from r where x < 6010)
               select count(*), sum(length(b)) from r join t on t.id = x",
        ],
    );
}

/// Rows of cursors outlive their run, and are read from any place.
fn cursors_are_as_in_memory<E: Engine>(db: Database<E>) {
    small(&db);
    let large = acc();
    let (s, l) = (&mut small_session(&db), &mut session(&large));
    ok(l, ROWS);
    let declare = "begin; declare x scroll cursor for select * from t order by id";
    let before = counter(s, "temporary files");
    ok(s, declare);
    ok(l, declare);
    assert!(counter(s, "temporary files") > before);
    for motion in [
        "fetch 100 from x",
        "fetch absolute 2100 from x",
        "fetch prior from x",
        "fetch backward 130 from x",
        "fetch forward 70 from x",
        "fetch relative -64 from x",
        "fetch relative 0 from x",
        "fetch last from x",
        "fetch next from x",
        "fetch backward 1000 from x",
        "move forward 500 in x",
        "fetch all from x",
        "fetch relative 0 from x",
        "fetch backward all from x",
        "fetch absolute -3 from x",
        "fetch first from x",
    ] {
        assert!(ok(s, motion).rows == ok(l, motion).rows, "{motion}");
    }
    assert!(counter(s, "bytes in temporary files now") > 0);
    ok(s, "rollback");
    assert_eq!(counter(s, "bytes in temporary files now"), 0);
    // one that outlives its transaction does so with its file
    ok(s, "begin; declare y cursor with hold for select * from t order by id; commit");
    assert_eq!(ok(s, "fetch 2500 from y").rows.len(), 2_500);
    ok(s, "close y");
    assert_eq!(counter(s, "bytes in temporary files now"), 0);
    assert_eq!(db.query_memory(), 0);
}

/// Rows that are kept until all are found, because they are written to where they come from.
fn rows_to_insert_are_as_in_memory<E: Engine>(db: Database<E>) {
    small(&db);
    let large = acc();
    let (s, l) = (&mut small_session(&db), &mut session(&large));
    ok(l, ROWS);
    for sql in [
        "insert into t select id + 5000, a, b, c, d, e, f, g, h, i, j, k from t where id <= 1500",
        "insert into t select id, a + 1, b, c, d, e, f, g, h, i, j, k from t where id <= 1500 on conflict (id) do update set a = excluded.a",
        "insert into t select id + 9000, a, b || 'x' from t where id between 5000 and 6400 returning id, length(b)",
    ] {
        let before = counter(s, "temporary files");
        let given = ok(s, sql);
        assert!(counter(s, "temporary files") > before, "{sql}");
        let wanted = ok(l, sql);
        assert!(given.tags == wanted.tags && given.rows == wanted.rows, "{sql}");
        assert_eq!(counter(s, "bytes in temporary files now"), 0);
        let rows = "select * from t order by id";
        assert!(ok(s, rows).rows == ok(l, rows).rows, "{sql}");
    }
    assert_eq!(db.query_memory(), 0);
}

/// Rows that are found before the first one is changed.
fn changes_are_as_in_memory<E: Engine>(db: Database<E>) {
    small(&db);
    let large = acc();
    let (s, l) = (&mut small_session(&db), &mut session(&large));
    ok(l, ROWS);
    let refers = "create table r (id int references t on update cascade on delete set null); insert into r select id from t where id % 10 = 1";
    ok(s, refers);
    ok(l, refers);
    for sql in [
        "update t set b = b || 'x', a = a + 1",
        "update t set c = c * 2, h = null where id > 5 returning id, b, c, i, k",
        // keys that rows leave and others take
        "update t set id = id + 1, b = b || 'm'",
        "with x as (update t set e = e + interval '1 day' where id % 2 = 0 returning id, b), y as (delete from t where id % 2 = 1 and id > 2000 returning *)
           select (select count(*) from x), (select md5(string_agg(b, '' order by id)) from y)",
        "update t set d = -d, b = repeat(chr(97 + id % 26), 300) where id % 4 > 0",
        "merge into t using (select id, b from t) u on t.id = u.id when matched and u.id % 40 = 0 then delete
           when matched and u.id % 3 = 0 then do nothing when matched then update set b = t.b || u.b, id = t.id + 100000",
        "delete from t where id % 3 > 0 returning *",
        "delete from t using (values (1), (2)) v(n) where t.id > v.n returning b, t.id, repeat('z', 900)",
    ] {
        let before = counter(s, "temporary files");
        let given = ok(s, sql);
        assert!(counter(s, "temporary files") > before, "{sql}");
        let wanted = ok(l, sql);
        assert_eq!(given.tags, wanted.tags, "{sql}");
        let sorted = |mut rows: Vec<_>| {
            rows.sort();
            rows
        };
        assert!(sorted(given.rows) == sorted(wanted.rows), "{sql}");
        assert_eq!(counter(s, "bytes in temporary files now"), 0);
        for rows in ["select * from t order by id", "select id from r order by id"] {
            assert!(ok(s, rows).rows == ok(l, rows).rows, "{sql}");
        }
    }
    assert_eq!(db.query_memory(), 0);
}

/// Statements that write what a join finds.
fn joins_that_write_are_as_in_memory<E: Engine>(db: Database<E>) {
    small(&db);
    let large = acc();
    let (s, l) = (&mut small_session(&db), &mut session(&large));
    ok(l, ROWS);
    for sql in [
        "update t set b = u.b || 'u', d = u.id from (select a, min(b) b, min(id) id from t group by a) u
           where t.a = u.a and t.id % 20 = 3",
        "update t set a = -t.a from (select id, k, h, g, b from t offset 0) u where t.k = u.k and t.id % 30 = 4",
        "delete from t using (select * from t offset 0) u where t.a = u.a and u.id <> t.id and t.id % 25 = 6",
        "update t set j = not t.j from (select * from t x offset 0) u full join (select a + 1 z, b y from t offset 0) v on u.a = v.z
           where t.id = u.id and v.z is null",
        // the names of rows that are written go through the files
        "merge into t using (select a, count(*) n, min(id) id from t group by a) u on t.a = u.a
           when matched and t.id % 9 = 2 then update set b = coalesce(t.b, '') || u.n when matched and t.id % 50 = 3 then delete
           when not matched then insert (id, a, b) values (u.id + 10000, u.a, 'new')",
    ] {
        let before = counter(s, "temporary files");
        let tags = ok(s, sql).tags;
        assert!(counter(s, "temporary files") > before, "{sql}");
        assert_eq!(tags, ok(l, sql).tags, "{sql}");
        let rows = "select * from t order by id";
        assert!(ok(s, rows).rows == ok(l, rows).rows, "{sql}");
    }
    // rows are locked by the names that went through the files
    let sql = "select x.id from t x left join (select * from t offset 0) y on x.a = y.a and x.id = y.id where x.id % 100 = 1
        order by x.id for update of x";
    ok(s, "begin");
    let before = counter(s, "temporary files");
    let ids = ok(s, sql).rows;
    assert!(counter(s, "temporary files") > before);
    assert!(ids == ok(l, sql).rows);
    let other = &mut small_session(&db);
    assert_eq!(code(other, "select id from t where id = 101 for update nowait"), "55P03");
    let free = "select count(*) from (select id from t where id <= 200 for update skip locked) x";
    assert_eq!(text(other, free), text(l, "select count(*) - 2 from t where id <= 200"));
    ok(s, "commit");
}

fn many_runs_are_merged_in_passes<E: Engine>(db: Database<E>) {
    small(&db);
    let s = &mut small_session(&db);
    let sql = "select g, repeat('x', g % 10) from generate_series(25000, 1, -1) g order by g";
    let rows = ok(s, sql).rows;
    assert_eq!(rows.len(), 25_000);
    for (number, row) in (1..).zip(&rows) {
        assert_eq!(row[0].as_deref(), Some(number.to_string().as_str()));
        assert_eq!(row[1].as_ref().map(String::len), Some(number % 10));
    }
    // one for the runs, and one for each pass
    assert!(counter(s, "temporary files") > 2);
    // long rows: each is more than an operator's share
    ok(s, "set work_mem = '1MB'");
    let sql = "select length(b) from (select repeat('x', 100000 + g) b, g from generate_series(1, 40) g) x order by g desc limit 3";
    assert_eq!(text(s, sql), "100040 100039 100038");
}

fn failures_are_clean<E: Engine>(db: Database<E>) {
    let faults = small(&db);
    let s = &mut small_session(&db);
    for sql in [
        "select * from t order by a, id",
        "select distinct * from t",
        "select id, b, c, h, count(distinct c || b), string_agg(b, ','), sum(d), max(g) from t group by id, b, c, h",
        "select x.id, y.* from t x full join t y on x.a = y.a",
        "select t.*, sum(id) over (partition by j), rank() over (order by b) from t",
        "select t.*, sum(id) over (order by a rows 300 preceding), lead(k, 1000) over (partition by j order by b) from t",
        "with x as materialized (select * from t) select count(*) from x a, (select id from x limit 2) b",
        "select count(distinct k || b || id), percentile_disc(0.5) within group (order by id) from t",
        "update t set b = b where id > 0 returning *",
        "select * from t except all select id + 1, a, b, c, d, e, f, g, h, i, j, k from t",
    ] {
        fails_cleanly(s, &faults, sql);
    }
}

fn fails_cleanly<E: Engine>(s: &mut Session<E>, faults: &Faults, sql: &str) {
    // groups come in any order
    let sorted = |mut rows: Vec<_>| {
        rows.sort();
        rows
    };
    let rows = sorted(ok(s, sql).rows);
    for (kind, code) in [
        (ErrorKind::StorageFull, "53100"),
        (ErrorKind::QuotaExceeded, "53100"),
        (ErrorKind::PermissionDenied, "58030"),
    ] {
        *faults.error.lock() = Some(kind);
        for room in [1, 100_000, 200_000] {
            faults.written.store(0, SeqCst);
            faults.room.store(room, SeqCst);
            let error = failure(s, sql);
            assert_eq!(error.code().as_str(), code, "{error:?}");
            assert!(error.message().starts_with("could not write a temporary file in memory: "), "{error}");
            assert_eq!(counter(s, "bytes in temporary files now"), 0);
        }
        faults.room.store(0, SeqCst);
    }
    faults.unreadable.store(1, SeqCst);
    assert_eq!(code(s, sql), "58030");
    faults.unreadable.store(0, SeqCst);
    // whatever the file holds, it is read without harm
    let mut refused = 0;
    for every in [1, 2, 3, 5, 97, 4_099] {
        faults.flips.store(every, SeqCst);
        match run(s, sql) {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.code().as_str(), "XX001", "{error:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > 3, "{refused}");
    faults.flips.store(0, SeqCst);
    assert!(sorted(ok(s, sql).rows) == rows);
    assert_eq!(counter(s, "bytes in temporary files now"), 0);
}

fn limits_of_files_are_kept<E: Engine>(db: Database<E>) {
    small_with(&db, 2 << 20);
    let s = &mut small_session(&db);
    let sql = "select * from t order by a, id";
    ok(s, sql);
    ok(s, "set temp_file_limit = '200kB'");
    let error = failure(s, sql);
    assert_eq!(
        (error.code().as_str(), error.message()),
        ("53400", "temporary file size exceeds temp_file_limit (200kB)")
    );
    ok(s, "set temp_file_limit = 0");
    assert_eq!(code(s, sql), "53400");
    assert_eq!(text(s, "select count(*) from (select * from t order by a limit 10) x"), "10");
    assert_eq!(code(s, "set temp_file_limit = '-2'"), "22023");
    ok(s, "set temp_file_limit = -1");
    ok(s, sql);
    // all sessions together
    let sql = "select * from generate_series(1, 300000) g order by g desc";
    let error = failure(s, sql);
    assert!(error.code().as_str() == "53400" && error.message().contains("max_temp_bytes"), "{error:?}");
    assert_eq!(counter(s, "bytes in temporary files now"), 0);
}

fn a_statement_is_cancelled_while_it_writes<E: Engine>(db: Database<E>) {
    small(&db);
    let s = &mut small_session(&db);
    for sql in [
        "select * from generate_series(1, 1000000000) g order by g desc",
        // nobody else looks while a join finds nothing
        "select count(*) from t x full join generate_series(1, 1000000000) n on x.id = n",
        "select count(x) from generate_series(1, 1000000000) n left join t x on x.a = n % 1000 + 1",
    ] {
        let before = counter(s, "temporary files");
        // on a busy machine it may not have come to write in the shortest of these times
        for time in ["300ms", "3s", "60s"] {
            ok(s, &format!("set statement_timeout = '{time}'"));
            assert_eq!(code(s, sql), "57014");
            ok(s, "set statement_timeout = 0");
            if counter(s, "temporary files") > before {
                break;
            }
        }
        assert!(counter(s, "temporary files") > before, "{sql}");
        assert_eq!(counter(s, "bytes in temporary files now"), 0);
    }
    assert_eq!(db.query_memory(), 0);
}

fn materialized_views_are_as_in_memory<E: Engine>(db: Database<E>) {
    small(&db);
    let large = acc();
    let (s, l) = (&mut small_session(&db), &mut session(&large));
    ok(l, ROWS);
    for sql in [
        "create materialized view m as select * from t order by b, id desc",
        "create unique index on m (id)",
        "update t set b = 'other', h = '{}' where id % 100 = 0; refresh materialized view m",
        "update t set c = c * 1.00, g = g || 1 where id % 50 = 1; delete from t where id % 50 = 2",
        "refresh materialized view concurrently m",
        "insert into t select id + 10000, a, b, c, d, e, f, g, h, i, j, k from t",
        "refresh materialized view concurrently m",
        "refresh materialized view m",
    ] {
        ok(s, sql);
        ok(l, sql);
        let look = "select id, a, b, c, g, h from m where id % 25 < 3 order by id limit 300";
        assert!(ok(s, look).rows == ok(l, look).rows, "{sql}");
        let count = "select count(*) from m";
        assert_eq!(text(s, count), text(l, count), "{sql}");
        assert_eq!(counter(s, "bytes in temporary files now"), 0, "{sql}");
    }
    assert!(counter(s, "temporary files") > 0);
}

on_each_engine!(
    sorts_are_as_in_memory,
    explain_says_what_was_written,
    groups_are_as_in_memory,
    values_of_groups_are_as_in_memory,
    distinct_rows_are_as_in_memory,
    intersect_and_except_are_as_in_memory,
    first_rows_are_as_in_memory,
    joins_are_as_in_memory,
    joins_that_write_are_as_in_memory,
    changes_are_as_in_memory,
    windows_are_as_in_memory,
    kept_rows_are_as_in_memory,
    cursors_are_as_in_memory,
    rows_to_insert_are_as_in_memory,
    materialized_views_are_as_in_memory,
    many_runs_are_merged_in_passes,
    failures_are_clean,
    limits_of_files_are_kept,
    a_statement_is_cancelled_while_it_writes,
);

#[test]
fn files_have_no_names() {
    let path = std::env::temp_dir().join(format!("scaledb-spill-{}", std::process::id()));
    let disk = Arc::new(RealDisk::open_with(&path, Submission::Cached).unwrap());
    let db = acc();
    db.set_temporary_files(disk.clone(), u64::MAX).unwrap();
    ok(&mut session(&db), ROWS);
    db.set_max_query_memory(1 << 20);
    let s = &mut small_session(&db);
    // a subquery looks at the counters while the rows of the sort are read
    let sql = "select a, (select value from scaledb_counters where name = 'bytes in temporary files now' and x.id > 0)
        from (select * from t order by a, id offset 0) x limit 1";
    let now = text(s, sql);
    assert!(now.starts_with("0|") && now.len() > 5, "{now}");
    assert!(disk.list().unwrap().is_empty());
    std::fs::remove_dir(&path).unwrap();
}
