-- a recursive query has as many rows as are asked for
with recursive t(n) as (select 1 union all select n+1 from t) select n from t limit 5;
with recursive t(n) as (select 1 union select n+1 from t) select n from t limit 5;
with recursive t(n) as (select 1 union all select n+1 from t) select n from t offset 3 limit 2;
with recursive t(n) as (select 1 union all select n+1 from t) select n from t where n % 3 = 0 limit 3;
with recursive t(n) as (select 1 union all select n+1 from t) select n from t limit 0;
with recursive t(n) as (select 1 union all select n+1 from t) select a.n, b.x from t a, (values (1), (2)) b(x) limit 5;
with recursive t(n) as (select 1 union all select n+1 from t) select a.n, b.n from t a, t b limit 4;
with recursive t(n) as (select 1 union all select n+1 from t) select a.n, b.n from t a join lateral (select n from t where n > a.n limit 2) b on true limit 5;
with recursive t(n) as (select 1 union all select n+1 from t) select exists(select 1 from t), (select n from t limit 1), (select n from t offset 7 limit 1);
with recursive t(n) as (select 1 union all select n+1 from t) select x, (select n * 10 from t where n = x limit 1) from generate_series(1, 4) x;
with recursive t(n) as (select 1 union all select n+1 from t) select n from t union all select -1 limit 3;
with recursive t(n) as (select 1 union all select n+1 from t), u(m) as (select n from t limit 4) select sum(m), count(*) from u;
with recursive t(n) as (select 1 union all select n+1 from t), u(m, k) as (select 1, 0 union all select m * 2, (select n from t where n > m limit 1) from u where m < 40) select m, k from u order by m;
with recursive t(n) as (select 1 union all select n+1 from t where n < 10) select (select count(*) from t), (select sum(n) from t), n from t limit 3;
with recursive t(n, p) as (values (1, '') union all select m, p || m from t, generate_series(1, 2) m) select count(*), count(distinct p), max(length(p)) from (select p from t limit 8) q;
-- what is read to its end is the same as before
with recursive t(n) as (select 1 union all select n+1 from t where n < 1000) select count(*), sum(n), max(n) from t;
with recursive t(n) as (select 1 union select n % 17 + 1 from t) select count(*), sum(n) from t;
with recursive t(n) as (select 1 union all select n+1 from t where n < 4) select a.n, b.n from t a join t b on b.n = a.n + 1 order by 1;
with recursive t(n) as (select 1 union all select n+1 from t where n < 4) select a.n, b.n from t a left join t b on b.n = a.n + 1 order by 1;
with recursive t(n) as (select 1 union all select n+1 from t where n < 5) select n, (select count(*) from t u where u.n < t.n) from t order by 1;
-- one that is not asked for is not evaluated
with recursive t(n) as (select 1 union all select n+1 from t) select 1 as one;
-- the rest of a query that refers to itself
with recursive t(n) as (select 1 union all select n+1 from t limit 3) select n from t;
with recursive t(n) as (select 1 union all select n+1 from t order by 1) select n from t;
with recursive t(n) as (select 1 union all select n+1 from t offset 1) select n from t;
with recursive t(n) as (select 3 union all select 1 union all select 2 order by 1 limit 2) select n from t;
with recursive t(n) as (select 3 union select 1 order by 1 limit 1), u as (select n from t) select n from u;
-- what is cheap is looked at first
create table cheap (id int primary key, v int);
insert into cheap select i, i % 10 from generate_series(1, 50) i;
select id from cheap a where (select 10 / (a.v - 3) from cheap b where b.id = a.id) > 0 and a.v > 3 and a.id < 20 order by id;
select a.id from cheap a join cheap b on b.id = a.id + 1 where exists (select 10 / (a.v - 3) from cheap c where c.v = a.v) and b.v = 5 order by 1;
