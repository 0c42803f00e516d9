-- subqueries that are looked up, members of large lists, conditions that ORs share, the order of joins
create table big (id int primary key, k int, v int, w numeric);
insert into big select i, case when i % 50 = 0 then null else i % 97 end, i % 13, i * 0.25 from generate_series(1, 3000) i;
create table probe (id int primary key, k int, v int);
insert into probe select i, case when i % 10 = 0 then null else i end, i % 7 from generate_series(1, 120) i;
-- the same subquery is asked often enough to be looked up
select count(*), sum(id) from probe p where exists (select 1 from big b where b.k = p.k);
select count(*), sum(id) from probe p where not exists (select 1 from big b where b.k = p.k);
select count(*), sum(id) from probe p where exists (select 1 from big b where b.k = p.k and b.v > p.v + 5);
select count(*), sum(id) from probe p where not exists (select 1 from big b where b.k = p.k and b.v = 12 - p.v);
select sum(s), count(s), count(*) from (select (select sum(b.v) from big b where b.k = p.k) s from probe p) q;
select sum(s), count(s), count(*) from (select (select count(*) from big b where b.k = p.k) s from probe p) q;
select sum(s), count(s), count(*) from (select (select count(*) + p.v from big b where b.k = p.k having count(*) <> 31) s from probe p) q;
select id, (select max(b.w) + p.v from big b where b.k = p.k and b.v < 5) from probe p where id between 90 and 104 order by id;
select id, (select b.id from big b where b.w = p.k * 0.25) as x from probe p where id between 8 and 12 order by id;
select count(*) from probe p where p.k = (select b.k from big b where b.k = p.k and b.v = 3 and b.id < 400);
select (select b.id from big b where b.k = p.k) from probe p;
select count(*) from probe p where p.v in (select b.v from big b where b.k = p.k);
select count(*) from probe p where p.v not in (select b.v from big b where b.k = p.k);
select count(*) from probe p where p.v not in (select case when b.v = 5 then null else b.v end from big b where b.k = p.k and b.v > 3);
select count(*) from probe p where p.id > (select avg(b.id) / 20 from big b where b.k = p.k);
select id from probe p where (select count(*) from big b where b.k = p.k and b.v = p.v) = 3 order by id;
select sum((select count(distinct b.v) from big b where b.k = p.k group by b.k)) from probe p;
-- a row that nobody asks for does not fail the statement
select sum((select 10 / min(b.id - 2999) from big b where b.k = p.k)) from probe p where id < 80 and id <> 2999 % 97;
select sum((select sum(10 / (b.id - 97)) from big b where b.k = p.k)) from probe p where id < 90;
-- two levels out
select count(*) from probe p where exists (select 1 from probe q where q.v = p.v and exists (select 1 from big b where b.k = q.k and b.v = p.v));
select count(*) from probe p where exists (select 1 from probe q where q.id = p.id + 1 and q.v < (select max(b.v) from big b where b.k = q.id and b.k <> p.k));
-- WITH inside, whose rows differ from row to row
select sum((with c as (select p.v as x) select count(*) from big b where b.k = p.k and b.v in (select x from c))) from probe p;
with recursive r(n) as (select 1 union all select n + 1 from r where n < 40 and (select count(*) from big b where b.k = r.n) > 0) select count(*), sum(n) from r;
-- a statement that writes
create table target as select id, k, 0 as n from probe;
update target t set n = (select count(*) from big b where b.k = t.k);
select sum(n), count(*) from target;
delete from target t where not exists (select 1 from big b where b.k = t.k);
select sum(n), count(*) from target;
-- members
select count(*) from big where id in (select k from probe);
select count(*) from big where k in (select k from probe);
select count(*) from big where k not in (select k from probe);
select count(*) from big where k not in (select k from probe where k is not null);
select count(*) from big where k not in (select k from probe where id < 0);
select count(*) from big where (k, v) in (select k, v from probe);
select count(*) from big where (k, v) not in (select k, v from probe);
select count(*) from big where (k, v) not in (select k, v from probe where k is not null);
select count(*) from big where v <> all (select v from probe where v < 4);
select count(*) from big where (k = any (select k from probe)) is null;
select count(*) from big where null in (select k from probe);
select count(*) from big where null in (select k from probe where id < 0);
-- conditions that all sides of an OR have
select count(*), sum(b.id) from big b, probe p where (b.k = p.k and p.v = 1 and b.v < 4) or (b.k = p.k and p.v = 2 and b.v > 7) or (p.v = 3 and b.k = p.k and b.v = 5);
select count(*), sum(b.id) from big b, probe p where (b.k = p.k and p.v = 1) or b.k = p.k;
select count(*), sum(b.id) from big b, probe p where (b.k = p.k and p.v = 1) or (b.k = p.k + 1 and p.v = 1);
select count(*) from big b join probe p on (b.k = p.k and p.v = 1 and b.v = 4) or (b.k = p.k and p.v = 4 and b.v = 1);
select count(*), count(p.id) from big b left join probe p on (b.k = p.k and p.v = 1 and b.v = 4) or (b.k = p.k and p.v = 4 and b.v = 1);
select count(*), count(p.id) from probe p left join big b on (b.k = p.k and p.v = 1 and b.v = 4) or (b.k = p.k and p.v = 4 and b.v = 1);
select count(*) from big where (v = 1 and k is null) or (v = 1 and null);
-- joins in another order
analyze;
analyze big;
analyze big, probe (id);
analyze nothing_here;
select count(*), sum(b.id + c.id + p.id) from big b, big c, probe p where b.k = p.k and c.id = b.id + 1 and p.v = 3 and c.v = 5;
select count(*), sum(b.id) from probe p, big b, probe q, probe r where b.k = p.k and q.id = p.v and r.k = q.v + 1;
select count(*) from probe p, probe q, big b where p.id < 4 and q.id < 3 and b.id < 10;
select p.id, b.id from probe p join big b on b.id = p.id where p.v = 2 order by b.id desc limit 3;
select count(*), count(b.id), count(c.id) from probe p left join big b on b.id = p.k left join big c on c.id = b.id + 10 and c.v = p.v where p.v < 5;
select count(*) from probe p full join (select * from big where id < 100) b on b.k = p.k;
select count(*) from probe p, lateral (select b.id from big b where b.k = p.k order by b.id limit 2) l, probe q where q.id = l.id;
