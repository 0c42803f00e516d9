-- rows of a scan that go to their groups by their bytes, and those that cannot
create table m (id int primary key, c char(3), v varchar(40), t text, b bool, s int2, i int, l int8, d date,
  ts timestamp, tz timestamptz, n numeric(15,2), x numeric(18,0), y numeric(12,4), z numeric, h numeric(5,-2), f float8,
  nn int not null, w numeric(10,2) not null);
select c, count(*), sum(n), avg(n) from m group by c;
select count(*), count(n), sum(n), avg(n), min(n), max(n), sum(n * y), count(*) filter (where i > 3) from m;
insert into m select g, case when g % 5 = 0 then null else chr(97 + g % 3) || ' ' end,
  case when g % 7 = 0 then null else repeat('v', g % 4 * 10) end, repeat('long text ', g % 3), g % 2 = 0, g % 4, g % 6 - 2,
  (g % 3) * 10000000000, date '2020-01-01' + g % 3, timestamp '2020-01-01 10:00' + g % 4 * interval '1 hour',
  timestamptz '2020-01-01 10:00+00' + g % 2 * interval '1 hour', case when g % 11 = 0 then null else g * 1.25 end,
  g * 3, case when g % 13 = 0 then null else g / 8.0 end, g / 4.0, g * 100, g / 2.0, g % 3, g + 0.5
  from generate_series(1, 300) g;
select c, count(*), count(n), sum(n), avg(n), min(n), max(n) from m group by c order by c;
select v, sum(w), sum(n * (1 - y)), sum(n * (1 - y) * (1 + y)), avg(n * (1 - y)), count(v) from m group by v order by v;
select t, b, sum(w), count(*), sum(s), sum(i), sum(l), avg(i), avg(l), avg(s) from m group by t, b order by t, b;
select s, sum(x * 2), sum(x * 2.5), sum(x + 1), sum(1 - x), sum(-x), sum(n + y), sum(n - y), sum(y - n), min(x * x)
  from m group by s order by s;
select i, max(t), min(v), max(c), min(d), max(ts), min(tz), bool_and(b), bool_or(b), max(f), sum(f) from m group by i order by i;
select l, sum(z), avg(z), sum(z * 2), sum(n * z), sum(h), sum(h * 2), avg(h) from m group by l order by l;
select d, variance(n), stddev(n), var_pop(w), stddev_pop(i), corr(f, s), regr_count(f, i) from m group by d order by d;
select ts, tz, count(*) filter (where n > 100), sum(n) filter (where c = 'a'), sum(n) filter (where v is null),
  sum(w) filter (where i > 0 or b), sum(w) filter (where f > 20) from m group by ts, tz order by ts, tz;
select n, count(*) from m where id <= 40 group by n order by n;
select h, count(*) from m where id <= 10 group by h order by h;
select y, n, count(*) from m where id between 5 and 30 group by y, n order by y, n;
select z, count(*) from m where id <= 10 group by z order by z;
select f, count(*) from m where id <= 10 group by f order by f;
select nn, array_agg(n order by id), array_agg(distinct s), count(distinct i), sum(distinct i), string_agg(c, ',' order by id)
  from m where id < 30 group by nn order by nn;
select nn, cardinality(array_agg(n)), length(json_agg(s)::text), length(string_agg(c, ',')) from m where id < 30 group by nn order by nn;
select nn + 1, sum(w) from m group by nn + 1 order by 1;
select upper(c), sum(w) from m group by upper(c) order by 1;
select c, nn, sum(w), grouping(c, nn) from m group by rollup (c, nn) order by c, nn, 4;
select c, nn, count(*) from m group by grouping sets ((c), (nn), ()) order by c, nn, 3;
select c, sum(w) from m where n > 200 and b group by c order by c;
select c, sum(w) from m where f > 100 group by c order by c;
select c, sum(w) from m where id > 1000 group by c order by c;
select sum(w), count(*), avg(w) from m where id > 1000;
select c, sum(w) from m group by c having sum(w) > 8000 order by c;
select nn from m group by nn order by nn;
select distinct c, nn from m order by c, nn;
select (select sum(k.w) from m k where k.nn = m.nn and k.id < 20) from m where id < 5 order by id;
select sum(w + 0.1), sum(w * 1.10), sum(w * 0), sum(w - w), sum(3 * w + 2 * w) from m;
select sum(case when b then w else 0 end), sum(coalesce(n, 0)), sum(abs(n)) from m;
select sum(w * null::numeric), count(w * null::numeric), count(n * y), count(n + null) from m;
select sum(w / 0) from m where id > 1000;
select sum(w / (id - 5)) from m;
-- numbers that are no short ones
insert into m (id, n, x, y, z, nn, w) values (1001, 'NaN', 1, 1, 1, 0, 1), (1002, 1, 'NaN', 1, 'NaN', 1, 1),
  (1003, 1, 1, 1, 'Infinity', 2, 1);
select nn, sum(n), avg(n), min(n), max(n), count(n), sum(x), sum(n * x), sum(z), max(x) from m group by nn order by nn;
select n, count(*) from m where id > 290 group by n order by n;
select sum(n) from m;
select max(n), min(n), sum(n) filter (where n < 100) from m;
delete from m where id > 1000;
insert into m (id, x, z, nn, w) values (2001, 999999999999999999, 99999999999999999999999999, 0, 1), (2002, 999999999999999999, 1, 0, 2),
  (2003, -999999999999999999, 1, 1, 2), (2004, 999999999999999999, 1, 2, 2), (2005, 5, 1, 0, 99999999.99);
select nn, sum(x), avg(x), sum(x * x), sum(x * w), sum(x * 10), sum(x + 0.0001), sum(x - 0.01), sum(z), min(x * x), max(x * x)
  from m group by nn order by nn;
select sum(x * x * x), sum(x * x * x * x), sum(x + x + x + x + x + x + x + x + x + x), sum(x * 1.000000000000000001) from m;
select sum(x * 1.0000000000000000000000000000000001) from m where nn = 0;
select sum(w * 0.000000000000000001), sum(w + 0.000000000000000000000001) from m;
-- columns that a table got later, and a table of which the group is the key
alter table m add column later numeric(8,3) default 1.5, add column word text default 'same';
insert into m (id, nn, w, later, word) values (3001, 0, 1, null, 'other'), (3002, 1, 1, 2.25, null);
select word, sum(later), sum(later * w), count(later), count(*) from m group by word order by word;
select later, count(*) from m group by later order by later;
create table p (a int, b int, q numeric(15,2), primary key (a, b));
insert into p select g / 4, g % 4, g from generate_series(0, 199) g;
select a, sum(q), count(*) from p group by a having sum(q) > 700 order by a;
select a, b, sum(q) from p where a < 2 group by a, b order by a, b;
select b, sum(q) from p group by b order by b;
select count(*), sum(s), max(s) from (select a, sum(q) as s from p group by a) k;
prepare k (numeric, int) as select b, sum(q * $1), count(*) filter (where a < $2) from p group by b order by b;
execute k (1.5, 10);
execute k (null, null);
execute k ('NaN', 0);
execute k (1e30, 3);
deallocate k;
