-- Which rows a query finds, with and without an index of some rows that its conditions may imply.
create table i (id int primary key, k int default 1, n int, b bool, t text, x float8, c char(3), v numeric, j interval);
insert into i (id, n, b, t, x, c, v, j) select row_number() over (), n, b, t, x0::float8, c, v, j0::text::interval from
 (values (null), (-1), (3), (5), (6), (7), (8)) n(n),
 (values (null), (true), (false)) b(b),
 (values (null, null, null, null, null), ('a', '0', 'a', 0.99, '23 hours'), ('b', '-0', 'ab', 1, '1 day'), ('b ', '1', 'a b', 1.00, '24 hours'), ('c', 'nan', 'b', 1.01, '25 hours'), ('B', '2', '', 2, '1 month'))
 r(t, x0, c, v, j0);
create view q as select (select count(*) from i where k = 1 and n > 5) q1,
 (select count(*) from i where k = 1 and n >= 5) q2,
 (select count(*) from i where k = 1 and n < 5) q3,
 (select count(*) from i where k = 1 and n <= 5) q4,
 (select count(*) from i where k = 1 and n <> 5) q5,
 (select count(*) from i where k = 1 and n = 5) q6,
 (select count(*) from i where k = 1 and n in (3, 5)) q7,
 (select count(*) from i where k = 1 and n is not null) q8,
 (select count(*) from i where k = 1 and n is null) q9,
 (select count(*) from i where k = 1 and b) q10,
 (select count(*) from i where k = 1 and not b) q11,
 (select count(*) from i where k = 1 and b is true) q12,
 (select count(*) from i where k = 1 and b is not true) q13,
 (select count(*) from i where k = 1 and not (b is true)) q14,
 (select count(*) from i where k = 1 and b is false) q15,
 (select count(*) from i where k = 1 and b is not false) q16,
 (select count(*) from i where k = 1 and not (b is false)) q17,
 (select count(*) from i where k = 1 and b = false) q18,
 (select count(*) from i where k = 1 and b <> true) q19,
 (select count(*) from i where k = 1 and b is not null) q20,
 (select count(*) from i where k = 1 and t > 'b') q21,
 (select count(*) from i where k = 1 and t in ('a', 'b')) q22,
 (select count(*) from i where k = 1 and t is not null) q23,
 (select count(*) from i where k = 1 and x > 1) q24,
 (select count(*) from i where k = 1 and x <> 'nan') q25,
 (select count(*) from i where k = 1 and c = 'a') q26,
 (select count(*) from i where k = 1 and c > 'a') q27,
 (select count(*) from i where k = 1 and v >= 1.0) q28,
 (select count(*) from i where k = 1 and (n > 5 or b)) q29,
 (select count(*) from i where k = 1 and n > 5 and b) q30,
 (select count(*) from i where k = 1 and (b is null or n < 5)) q31,
 (select count(*) from i where k = 1 and j > interval '24 hours') q32,
 (select count(*) from i where k = 1 and n > 3) q33,
 (select count(*) from i where k = 1 and n > 7) q34,
 (select count(*) from i where k = 1 and n >= 6) q35,
 (select count(*) from i where k = 1 and n < 3) q36,
 (select count(*) from i where k = 1 and n < 7) q37,
 (select count(*) from i where k = 1 and n <= 3) q38,
 (select count(*) from i where k = 1 and n <> 3) q39,
 (select count(*) from i where k = 1 and n = 3) q40,
 (select count(*) from i where k = 1 and n = 7) q41,
 (select count(*) from i where k = 1 and n in (3, 7)) q42,
 (select count(*) from i where k = 1 and n in (6, 7)) q43,
 (select count(*) from i where k = 1 and n in (6, null)) q44,
 (select count(*) from i where k = 1 and n not in (5, 6)) q45,
 (select count(*) from i where k = 1 and n not in (5, null)) q46,
 (select count(*) from i where k = 1 and n = null) q47,
 (select count(*) from i where k = 1 and n between 6 and 8) q48,
 (select count(*) from i where k = 1 and not (n > 5)) q49,
 (select count(*) from i where k = 1 and not (n <= 5)) q50,
 (select count(*) from i where k = 1 and n > 5.5) q51,
 (select count(*) from i where k = 1 and n = 5.0) q52,
 (select count(*) from i where k = 1 and n > '3') q53,
 (select count(*) from i where k = 1 and n::bigint > 5) q54,
 (select count(*) from i where k = 1 and n > all ('{}'::int[])) q55,
 (select count(*) from i where k = 1 and n > any ('{6,7}'::int[])) q56,
 (select count(*) from i where k = 1 and n <> all ('{5}'::int[])) q57,
 (select count(*) from i where k = 1 and n is distinct from 5) q58,
 (select count(*) from i where k = 1 and n is not distinct from 5) q59,
 (select count(*) from i where k = 1 and coalesce(n, 6) > 5) q60,
 (select count(*) from i where k = 1 and not (b = true)) q61,
 (select count(*) from i where k = 1 and not (b is not true)) q62,
 (select count(*) from i where k = 1 and not not (b is true)) q63,
 (select count(*) from i where k = 1 and (b is true) = false) q64,
 (select count(*) from i where k = 1 and b is unknown) q65,
 (select count(*) from i where k = 1 and b is not unknown) q66,
 (select count(*) from i where k = 1 and b = null) q67,
 (select count(*) from i where k = 1 and (b or b is null)) q68,
 (select count(*) from i where k = 1 and case when b then false else true end) q69,
 (select count(*) from i where k = 1 and t = 'b') q70,
 (select count(*) from i where k = 1 and t > 'B') q71,
 (select count(*) from i where k = 1 and t >= 'b ') q72,
 (select count(*) from i where k = 1 and t like 'b%') q73,
 (select count(*) from i where k = 1 and t > 'a' and t < 'c') q74,
 (select count(*) from i where k = 1 and x >= 'nan') q75,
 (select count(*) from i where k = 1 and x = 'nan') q76,
 (select count(*) from i where k = 1 and x > 0) q77,
 (select count(*) from i where k = 1 and x = '-0') q78,
 (select count(*) from i where k = 1 and c = 'a  ') q79,
 (select count(*) from i where k = 1 and c = 'a'::text) q80,
 (select count(*) from i where k = 1 and c > 'a ') q81,
 (select count(*) from i where k = 1 and c <> 'a') q82,
 (select count(*) from i where k = 1 and v = 1) q83,
 (select count(*) from i where k = 1 and v > 1.00) q84,
 (select count(*) from i where k = 1 and v > 0.99) q85,
 (select count(*) from i where k = 1 and j = interval '1 day') q86,
 (select count(*) from i where k = 1 and j > interval '1 day') q87,
 (select count(*) from i where k = 1 and j >= interval '25 hours') q88,
 (select count(*) from i where k = 1 and (n > 6 or n < 0)) q89,
 (select count(*) from i where k = 1 and ((n > 7 and b) or (n > 6 and not b))) q90,
 (select count(*) from i where k = 1 and n > 5 and not b) q91,
 (select count(*) from i where k = 1 and (n = 5 or n is null)) q92;
select * from q;
create index z on i (k) where n > 5;
select * from q;
drop index z;
create index z on i (k) where n >= 5;
select * from q;
drop index z;
create index z on i (k) where n < 5;
select * from q;
drop index z;
create index z on i (k) where n <= 5;
select * from q;
drop index z;
create index z on i (k) where n <> 5;
select * from q;
drop index z;
create index z on i (k) where n = 5;
select * from q;
drop index z;
create index z on i (k) where n in (3, 5);
select * from q;
drop index z;
create index z on i (k) where n is not null;
select * from q;
drop index z;
create index z on i (k) where n is null;
select * from q;
drop index z;
create index z on i (k) where b;
select * from q;
drop index z;
create index z on i (k) where not b;
select * from q;
drop index z;
create index z on i (k) where b is true;
select * from q;
drop index z;
create index z on i (k) where b is not true;
select * from q;
drop index z;
create index z on i (k) where not (b is true);
select * from q;
drop index z;
create index z on i (k) where b is false;
select * from q;
drop index z;
create index z on i (k) where b is not false;
select * from q;
drop index z;
create index z on i (k) where not (b is false);
select * from q;
drop index z;
create index z on i (k) where b = false;
select * from q;
drop index z;
create index z on i (k) where b <> true;
select * from q;
drop index z;
create index z on i (k) where b is not null;
select * from q;
drop index z;
create index z on i (k) where t > 'b';
select * from q;
drop index z;
create index z on i (k) where t in ('a', 'b');
select * from q;
drop index z;
create index z on i (k) where t is not null;
select * from q;
drop index z;
create index z on i (k) where x > 1;
select * from q;
drop index z;
create index z on i (k) where x <> 'nan';
select * from q;
drop index z;
create index z on i (k) where c = 'a';
select * from q;
drop index z;
create index z on i (k) where c > 'a';
select * from q;
drop index z;
create index z on i (k) where v >= 1.0;
select * from q;
drop index z;
create index z on i (k) where n > 5 or b;
select * from q;
drop index z;
create index z on i (k) where n > 5 and b;
select * from q;
drop index z;
create index z on i (k) where b is null or n < 5;
select * from q;
drop index z;
create index z on i (k) where j > interval '24 hours';
select * from q;
drop index z;
-- joined: a condition of an outer join is none of its rows
create table o (k int, n int);
insert into o values (1, 5), (1, 7), (2, 7), (null, null);
create index z on i (k) where n > 5;
select o.n, count(i.id) from o left join i on i.k = o.k and i.n > 5 group by 1 order by 1;
select o.n, count(i.id) from o left join i on i.k = o.k where i.n > 5 group by 1 order by 1;
select o.n, count(i.id) from o left join i on i.k = o.k and o.n > 5 group by 1 order by 1;
select o.n, count(i.id) from o left join i on i.k = o.k where i.n > 5 or i.n is null group by 1 order by 1;
select count(*), count(i.id) from i right join o on i.k = o.k and i.n > 6;
select count(*), count(i.id) from i full join o on i.k = o.k and i.n = o.n where i.n > 5 or i.id is null;
select o.n, (select count(*) from i where i.k = o.k and i.n > o.n) from o order by 1;
select o.n, (select count(*) from i where i.k = o.k and i.n = o.n) from o order by 1;
select count(*) from o where exists (select from i where i.k = o.k and i.n = 7);
select count(*) from o where o.k not in (select k from i where n > 5 and k is not null);
delete from i where k = 1 and n > 7;
update i set n = n + 1 where k = 1 and n > 6;
select n, count(*) from i where k = 1 and n > 5 group by n order by n;
-- prepared: a parameter is not known, also where the same text was run with a literal
prepare p as select count(*) from i where k = $1 and n > $2;
execute p (1, 5);
execute p (1, 3);
execute p (1, 7);
execute p (1, null);
select count(*) from i where k = 1 and n > 5;
select count(*) from i where k = 1 and n > 3;
select count(*) from i where k = 1 and n > 6;
select count(*) from i where k = 1 and n > -5;
select count(*) from i where k = 1 and n > 5;
select count(*) from i where k = 1 and n > 3;
prepare pi as select count(*) from i where k = $1 and n > 5;
execute pi (1);
prepare pn as select count(*) from i where k = 1 and n = any ($1);
execute pn ('{3,8}');
execute pn ('{}');
-- a foreign key takes the index of all rows, of both kinds that are there
create table fp (id int primary key, code text);
create unique index fp_some on fp (code) where id > 0;
alter table fp add constraint fp_all unique (code);
create table fc (code text references fp (code));
insert into fp values (-1, 'z'), (1, 'y');
insert into fc values ('z'), ('y');
insert into fc values ('x');
delete from fp where code = 'z';
-- dates in other settings than those of the index
create table dt (id int, k int, d date);
insert into dt values (1, 1, '2024-01-01'), (2, 1, '2024-01-20'), (3, 1, '2024-02-20');
create unique index dt_k on dt (k, id) where d < '01/02/2024';
select id from dt where k = 1 and d < '01/02/2024' order by id;
set datestyle = 'iso, dmy';
select id from dt where k = 1 and d < '01/02/2024' order by id;
insert into dt values (1, 1, '2024-01-20'), (2, 1, '2023-01-01');
insert into dt values (2, 1, '2024-01-20') on conflict (k, id) where d < '2024-01-02' do nothing;
insert into dt values (2, 1, '2023-01-20') on conflict (k, id) where d < '2024-01-02' do nothing;
select * from dt order by id, d;
reset datestyle;
