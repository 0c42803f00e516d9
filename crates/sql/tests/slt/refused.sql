create table t (a int, b int);
insert into t values (1, 2), (3, 4);
select 1 'one';
select a as 'lbl' from t;
select 'a' 'b';
select 'a'
'b';
select 'a' -- c
'b';
select 'a' /* c */
'd';
select 'a'
/* c */ 'd';
create table foo (with int);
create table foo (a int, left text);
create table user (a int);
create table select (a int);
create table foo ("with" int, "left" text);
create view end as select 1;
create view ev (then) as select 1;
alter table t add column all int;
alter table t rename a to order;
alter table t rename a to "order";
alter table t rename "order" to a;
create table s.user (a int);
create table public.user (day int, year int, values int, name text, "user" text);
drop table public."user";
select * from (select 1);
select * from (values (1));
select * from t, lateral (select a) where true;
select * from ((select 1) x);
select * from (select 1) as x;
select * from (t join t u on true);
select distinct from t;
select row() = row();
create table xs (xmin int);
create table xs as select 1 as ctid;
alter table t add column tableoid int;
alter table t rename a to cmax;
select a.x as values, a.x as year from (select 1 as x) as a;
select a from t as "left" order by a;
create table c11 (f 'int');
select 5day;
select 5 day;
