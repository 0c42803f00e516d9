-- SET TRANSACTION with a word of scope before it
begin;
set session transaction isolation level serializable, read only;
select current_setting('transaction_read_only');
commit;
begin;
set local transaction read only;
select current_setting('transaction_read_only');
rollback;
set local transaction isolation level serializable read only deferrable;
set local session authorization default;
set local session x = 1;
-- a privilege that tables had once
create table t (a int primary key, name varchar(20), code text);
select has_table_privilege('t', 'RULE'), has_table_privilege('t', 'rule, select'), has_table_privilege('t', 'Rule with grant option');
select has_schema_privilege('public', 'RULE');
-- words
select count(*), count(distinct word), min(word), max(word) from pg_get_keywords();
select catcode, barelabel, catdesc, baredesc, count(*), min(word), max(word) from pg_get_keywords() group by 1, 2, 3, 4 order by 1, 2;
select string_agg(word, ',') from (select word from pg_get_keywords() where word <> all ('{abort,add}'::text[]) order by 1 limit 5) w;
-- the type of a table's rows
create schema other;
create table other.t (b int);
create view other.v as select * from other.t;
create sequence other.s;
select 't'::regtype, 'other.t'::regtype, 'other.v'::regtype, to_regtype('other.v'), to_regtype('other.s') is null, to_regtype('nosuch') is null;
select 't'::regtype::oid = reltype, reltype::regtype, format_type(reltype, null), format_type(reltype, -1) from pg_class where oid = 't'::regclass;
select 'other.s'::regtype;
select 'nosuch'::regtype;
set search_path = other, public;
select 't'::regtype::oid = reltype, reltype::regtype from pg_class where oid = 'other.t'::regclass;
select reltype::regtype from pg_class where oid = 'public.t'::regclass;
reset search_path;
