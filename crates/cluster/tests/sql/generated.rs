//! Generated columns, partial indexes and enum types: what keeps them runs at the node of the session, and what they
//! say holds for all nodes, also when one has failed.

use super::{Three, code, ok, run, text};
use scaledb_scar::NodeId;

const ORDERS: &str = "create table orders (id int primary key, customer int not null, price int not null, \
    pieces int not null, state text not null, total int generated always as (price * pieces) stored)";

#[test]
fn generated_columns_are_computed_at_each_node_alike() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, ORDERS);
    ok(&mut b, "insert into orders values (1, 7, 5, 3, 'open'), (2, 7, 2, 2, 'open'), (3, 8, 1, 9, 'done')");
    assert_eq!(text(&mut c, "select id, total from orders order by id"), "1|15 2|4 3|9");
    ok(&mut c, "update orders set pieces = pieces + 1 where id = 1");
    assert_eq!(text(&mut a, "select total from orders where id = 1"), "20");
    assert_eq!(
        code(
            &mut b,
            "insert into orders (id, customer, price, pieces, state, total) values (4, 1, 1, 1, '', 1)"
        ),
        "428C9"
    );
    assert_eq!(code(&mut c, "update orders set total = 1"), "428C9");
    // an index of it, made at one node, kept by writes at another, read at the third
    ok(&mut b, "create unique index orders_total on orders (total)");
    ok(&mut a, "update orders set price = 7 where id = 2");
    assert_eq!(text(&mut c, "select id from orders where total = 14"), "2");
    assert_eq!(text(&mut c, "select id from orders where total = 4"), "");
    assert_eq!(code(&mut c, "update orders set price = 10, pieces = 2 where id = 3"), "23505");
    // one that comes later has its values in the rows that are there
    ok(&mut c, "alter table orders add column half int generated always as (price / 2) stored");
    assert_eq!(text(&mut a, "select id, half from orders order by id"), "1|2 2|3 3|0");
    ok(&mut b, "insert into orders values (5, 1, 8, 8, 'open')");
    assert_eq!(text(&mut c, "select total, half from orders where id = 5"), "64|4");
}

#[test]
fn partial_indexes_are_kept_by_writes_at_any_node() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, ORDERS);
    ok(
        &mut a,
        "insert into orders select i, i % 10, i, 1, case when i % 10 = 0 then 'open' else 'done' end \
        from generate_series(1, 200) i",
    );
    ok(&mut b, "create index orders_open on orders (customer) where state = 'open'");
    let plan = text(&mut c, "explain select id from orders where customer = 0 and state = 'open'");
    assert!(plan.contains("orders_open"), "{plan}");
    let open = "select count(*), sum(id) from orders where customer = 0 and state = 'open'";
    assert_eq!(text(&mut c, open), "20|2100");
    // rows that come into it, leave it, and move within it, at each node
    ok(&mut a, "update orders set state = 'done' where id = 10");
    ok(&mut b, "update orders set state = 'open', customer = 0 where id = 11");
    ok(&mut c, "update orders set customer = 1 where id = 20");
    ok(&mut a, "delete from orders where id = 30");
    assert_eq!(text(&mut b, open), "18|2051");
    assert_eq!(text(&mut c, "select id from orders where customer = 1 and state = 'open'"), "20");
}

#[test]
fn a_partial_unique_index_holds_between_nodes() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key, who int, state text)");
    ok(&mut b, "create unique index one_open on t (who) where state = 'open'");
    ok(&mut c, "insert into t values (1, 7, 'open'), (2, 7, 'done'), (3, 7, 'done')");
    assert_eq!(code(&mut a, "insert into t values (4, 7, 'open')"), "23505");
    assert_eq!(code(&mut b, "update t set state = 'open' where id = 2"), "23505");
    // two at once, at two nodes: one of them
    ok(&mut a, "begin; insert into t values (5, 8, 'open')");
    ok(&mut b, "begin; insert into t values (6, 8, 'open')");
    ok(&mut a, "commit");
    assert_eq!(code(&mut b, "commit"), "40001");
    assert_eq!(text(&mut c, "select id from t where who = 8 and state = 'open'"), "5");
    // the condition names the index that decides
    ok(
        &mut b,
        "insert into t values (9, 7, 'open') on conflict (who) where state = 'open' do update set who = 70",
    );
    assert_eq!(text(&mut a, "select id, who from t where state = 'open' order by id"), "1|70 5|8");
    ok(&mut c, "insert into t values (10, 8, 'open') on conflict (who) where state = 'open' do nothing");
    ok(&mut c, "insert into t values (11, 8, 'done') on conflict (who) where state = 'open' do nothing");
    assert_eq!(text(&mut b, "select id from t where who = 8 order by id"), "5 11");
    assert_eq!(code(&mut a, "insert into t values (12, 8, 'open') on conflict (who) do nothing"), "42P10");
    // who leaves makes room for another, whichever nodes they are at
    ok(&mut b, "update t set state = 'done' where id = 5");
    ok(&mut c, "insert into t values (13, 8, 'open')");
    assert_eq!(code(&mut a, "create unique index one_done on t (who) where state = 'done'"), "23505");
    assert_eq!(text(&mut b, "select string_agg(id::text, ',' order by id) from t"), "1,2,3,5,11,13");
}

#[test]
fn they_hold_when_a_node_has_failed() {
    let mut three = Three::start();
    {
        let [mut a, mut b, mut c] = three.sessions();
        ok(&mut a, ORDERS);
        ok(&mut b, "create unique index one_open on orders (customer) where state = 'open'");
        ok(&mut c, "create index by_total on orders (total)");
        for id in 0..30 {
            let sql = format!("insert into orders values ({id}, {id}, {id}, 2, 'open')");
            ok([&mut a, &mut b, &mut c][id % 3], &sql);
        }
        ok(&mut c, "update orders set state = 'done' where id < 10");
    }
    // the node that leads, and is primary of a third of the entries
    three.databases.remove(0);
    three.cluster.kill(NodeId(0));
    let mut sessions = [0, 1].map(|node| three.databases[node].session("postgres", "postgres"));
    for session in &mut sessions {
        for id in 0..30 {
            let open = format!("select total from orders where customer = {id} and state = 'open'");
            let expected = if id < 10 { String::new() } else { (2 * id).to_string() };
            assert_eq!(text(session, &open), expected, "{id}");
            assert_eq!(
                text(session, &format!("select id from orders where total = {}", 2 * id)),
                id.to_string()
            );
        }
        assert_eq!(code(session, "insert into orders values (100, 29, 1, 1, 'open')"), "23505");
    }
    let [b, c] = &mut sessions;
    for id in 0..10 {
        ok(b, &format!("insert into orders values ({}, {id}, 100, {id}, 'open')", 200 + id));
        assert_eq!(code(c, &format!("update orders set state = 'open' where id = {id}")), "23505");
    }
    assert_eq!(text(c, "select count(*), sum(total) from orders where state = 'open'"), "30|5280");
    drop(run(b, "select 1"));
}

#[test]
fn indexes_on_expressions_are_kept_by_writes_at_any_node() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create table u (id int primary key, email text, n int)");
    ok(&mut a, "insert into u select i, 'E' || i, i from generate_series(1, 100) i");
    ok(&mut b, "create unique index u_lower on u (lower(email))");
    ok(&mut c, "create index u_rest on u ((n % 10), id)");
    let plan = text(&mut a, "explain select id from u where lower(email) = 'e7'");
    assert!(plan.contains("u_lower"), "{plan}");
    assert_eq!(text(&mut a, "select id from u where lower(email) = 'e7'"), "7");
    assert_eq!(code(&mut b, "insert into u values (200, 'e7', 1)"), "23505");
    ok(&mut c, "update u set email = 'New', n = 5 where id = 7");
    ok(&mut a, "insert into u values (200, 'e7', 1)");
    assert_eq!(text(&mut b, "select id from u where lower(email) in ('new', 'e7') order by id"), "7 200");
    assert_eq!(text(&mut c, "select count(*), max(id) from u where n % 10 = 5"), "11|95");
    // two at once, at two nodes: one of them
    ok(&mut a, "begin; insert into u values (300, 'TWO', 1)");
    ok(&mut b, "begin; insert into u values (301, 'two', 1)");
    ok(&mut a, "commit");
    assert_eq!(code(&mut b, "commit"), "40001");
    let upsert = "insert into u values (302, 'Two', 9) on conflict (lower(email)) do update set n = 99 returning id, n";
    assert_eq!(text(&mut c, upsert), "300|99");
    ok(&mut b, "drop index u_lower");
    ok(&mut c, "insert into u values (303, 'two', 1)");
    assert_eq!(text(&mut a, "select id from u where lower(email) = 'two' order by id"), "300 303");
}

#[test]
fn enum_types_are_known_at_all_nodes() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create type mood as enum ('sad', 'ok', 'happy')");
    ok(&mut b, "create table t (id int primary key, m mood default 'ok', ms mood[])");
    ok(&mut c, "create index t_m on t (m); insert into t values (1, 'happy', '{sad}'), (2, default, null)");
    assert_eq!(text(&mut a, "select id, m, ms from t order by m"), "2|ok|NULL 1|happy|{sad}");
    // a label that one node adds, another one writes, and the third one reads
    ok(&mut a, "alter type mood add value 'fine' after 'ok'");
    ok(&mut b, "insert into t values (3, 'fine', '{fine}')");
    assert_eq!(text(&mut c, "select id from t where m > 'ok' order by m"), "3 1");
    ok(&mut c, "alter type mood rename value 'ok' to 'well'");
    assert_eq!(text(&mut a, "select m from t order by m"), "well fine happy");
    assert_eq!(code(&mut b, "insert into t values (4, 'ok')"), "22P02");
    assert_eq!(code(&mut a, "create type mood as enum ('x')"), "42710");
    assert_eq!(code(&mut b, "drop type mood"), "2BP01");
    ok(&mut b, "drop table t; drop type mood");
    assert_eq!(code(&mut c, "select 'sad'::mood"), "42704");
    let block =
        "do $$ begin create type mood as enum ('x'); exception when duplicate_object then null; end $$";
    for session in [&mut a, &mut b, &mut c] {
        ok(session, block);
    }
    assert_eq!(text(&mut c, "select enum_range(null::mood)"), "{x}");
}

#[test]
fn bookings_at_several_nodes_do_not_overlap() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(
        &mut a,
        "create table booking (id int primary key, room int, during int4range, off bool default false, \
         exclude using gist (room with =, during with &&) where (not off))",
    );
    ok(&mut b, "insert into booking values (1, 1, '[10,20)'), (2, 1, '[20,30)'), (3, 2, '[10,20)')");
    assert_eq!(code(&mut c, "insert into booking values (4, 1, '[19,21)')"), "23P01");
    ok(&mut c, "insert into booking values (4, 1, '[19,21)', true), (5, 1, '[5,10)', false)");
    assert_eq!(code(&mut a, "update booking set off = false where id = 4"), "23P01");
    assert_eq!(code(&mut b, "update booking set room = 1 where id = 3"), "23P01");
    // two at once, at two nodes, neither of which has seen the other: one of them
    ok(&mut a, "begin; insert into booking values (6, 1, '[40,50)')");
    ok(&mut b, "begin; insert into booking values (7, 1, '[45,55)')");
    ok(&mut a, "commit");
    assert_eq!(code(&mut b, "commit"), "40001");
    assert_eq!(code(&mut b, "insert into booking values (7, 1, '[45,55)')"), "23P01");
    let skipped =
        "insert into booking values (7, 1, '[45,55)'), (8, 1, '[50,55)') on conflict do nothing returning id";
    assert_eq!(text(&mut c, skipped), "8");
    assert_eq!(text(&mut a, "select id from booking where room = 1 and during @> 50"), "8");
    ok(&mut b, "alter table booking drop constraint booking_room_during_excl");
    ok(&mut c, "insert into booking values (9, 1, '[10,20)')");
    let again = "alter table booking add exclude using gist (room with =, during with &&)";
    assert_eq!(code(&mut a, again), "23P01");
}

#[test]
fn schemas_are_known_at_all_nodes() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create schema app; create table t (id int); insert into t values (1)");
    ok(&mut b, "create table app.t (id serial primary key, n int); insert into app.t (n) values (7)");
    ok(&mut c, "set search_path = app, public");
    assert_eq!(text(&mut c, "select id, n from t"), "1|7");
    assert_eq!(text(&mut a, "select id from t"), "1");
    ok(&mut c, "create view v as select n from t");
    assert_eq!(text(&mut b, "select n from app.v"), "7");
    ok(&mut a, "alter schema app rename to other");
    assert_eq!(text(&mut b, "select n from other.v"), "7");
    assert_eq!(text(&mut c, "select id from t"), "1");
    // what a transaction has found is what its commit compares, whichever node makes something else of its name
    ok(&mut c, "set search_path = more, other; begin; insert into public.t select n from t");
    ok(&mut b, "create schema more; create table more.t (n int)");
    assert_eq!(code(&mut c, "commit"), "40001");
    ok(&mut b, "drop schema more, other cascade");
    assert_eq!(code(&mut a, "select * from other.t"), "42P01");
}

#[test]
fn routines_run_at_all_nodes() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(
        &mut a,
        "create table acc (id int primary key, n int); insert into acc select g, 100 from generate_series(1, 6) g",
    );
    ok(&mut a, "create table log (id int, was int, is_now int, primary key (id, is_now))");
    ok(
        &mut b,
        "create function move(f int, t int, k int) returns int language plpgsql as $$ declare x int; begin \
         update acc set n = n - k where id = f returning n into x; update acc set n = n + k where id = t; return x; end $$",
    );
    ok(
        &mut c,
        "create function note() returns trigger language plpgsql as $$ begin insert into log values (new.id, old.n, new.n); \
         return null; end $$; create trigger note after update on acc for each row execute function note()",
    );
    assert_eq!(text(&mut a, "select move(1, 2, 10)"), "90");
    assert_eq!(text(&mut b, "select move(3, 4, 20)"), "80");
    assert_eq!(text(&mut c, "select move(5, 6, 30)"), "70");
    assert_eq!(
        text(
            &mut a,
            "select sum(n), (select count(*) from log), (select sum(was - is_now) from log) from acc"
        ),
        "600|6|0"
    );
    // what a transaction has called is what its commit compares
    ok(&mut a, "begin; select move(1, 2, 1)");
    ok(&mut b, "create or replace function move(f int, t int, k int) returns int language sql as 'select 0'");
    assert_eq!(code(&mut a, "commit"), "40001");
    assert_eq!(text(&mut a, "select move(1, 2, 1)"), "0");
    ok(&mut c, "drop function move(int, int, int); drop trigger note on acc");
    assert_eq!(code(&mut b, "select move(1, 2, 1)"), "42883");
    ok(&mut b, "update acc set n = 0 where id = 1");
    assert_eq!(text(&mut a, "select count(*) from log"), "6");
}

#[test]
fn domains_are_known_at_all_nodes() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(
        &mut a,
        "create domain pos int default 3 check (value > 0); create domain small pos check (value < 10)",
    );
    ok(&mut b, "create table t (id int primary key, p pos, s small, ps pos[])");
    ok(
        &mut c,
        "create index t_p on t (p); insert into t values (1, 12, 5, '{7}'), (2, default, default, null)",
    );
    assert_eq!(
        text(&mut a, "select id, p, s, ps, pg_typeof(p) from t order by p"),
        "2|3|3|NULL|pos 1|12|5|{7}|pos"
    );
    for session in [&mut a, &mut b, &mut c] {
        assert_eq!(code(session, "insert into t values (3, 0)"), "23514");
        assert_eq!(code(session, "insert into t (id, s) values (3, 10)"), "23514");
    }
    // arrays of the domain keep it from getting more demands, as in PostgreSQL
    assert_eq!(code(&mut c, "alter domain pos add check (value < 90)"), "0A000");
    ok(&mut c, "alter table t drop column ps");
    // a constraint that one node adds, all keep; and rows of all nodes are looked at
    ok(&mut b, "insert into t values (4, 20)");
    assert_eq!(code(&mut a, "alter domain pos add check (value < 20)"), "23514");
    ok(&mut a, "alter domain pos add constraint thirty check (value <> 30)");
    assert_eq!(code(&mut b, "insert into t values (5, 30)"), "23514");
    assert_eq!(code(&mut c, "update t set p = 30 where id = 4"), "23514");
    // a transaction that has made values by what the domain demanded before does not commit, at whatever node
    ok(&mut c, "begin; insert into t values (6, 31)");
    ok(&mut a, "alter domain pos add constraint more check (value <> 31)");
    assert_eq!(code(&mut c, "commit"), "40001");
    assert_eq!(text(&mut b, "select count(*) from t where p = 31"), "0");
    ok(&mut c, "alter domain pos rename to positive");
    assert_eq!(text(&mut a, "select pg_typeof(p) from t where id = 1"), "positive");
    assert_eq!(code(&mut b, "drop domain positive"), "2BP01");
    ok(&mut b, "drop domain positive cascade");
    assert_eq!(text(&mut c, "select * from t order by id"), "1 2 4");
    assert_eq!(code(&mut a, "select 1::small"), "42704");
}
