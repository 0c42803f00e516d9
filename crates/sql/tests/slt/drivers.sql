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
-- can lower be called with a type?
select exists(select * from pg_proc where proname = 'lower' and proargtypes = array['character varying'::regtype]::oidvector) or exists(select * from pg_proc join pg_cast on array[casttarget]::oidvector = proargtypes where proname = 'lower' and castsource = 'character varying'::regtype);
select exists(select * from pg_proc where proname = 'lower' and proargtypes = array['text'::regtype]::oidvector);
select exists(select * from pg_proc where proname = 'lower' and proargtypes = array['uuid'::regtype]::oidvector) or exists(select * from pg_proc join pg_cast on array[casttarget]::oidvector = proargtypes where proname = 'lower' and castsource = 'uuid'::regtype);
select array[1, 2]::oidvector, array['1', '22']::int2vector, array[1, 2]::oidvector = '1 2'::oidvector;
-- functions of the system
select oid, proname, proargtypes, pronargs, prorettype::regtype, provolatile, proisstrict, prokind, proretset, provariadic::regtype, proargnames from pg_proc where proname in ('lower', 'abs', 'concat', 'string_agg', 'make_date', 'to_char', 'now', 'clock_timestamp') and oid < 4000 order by 1;
select oid::regprocedure, pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid), pg_get_function_result(oid), pg_function_is_visible(oid) from pg_proc where proname in ('lower', 'concat', 'make_date', 'jsonb_set', 'parse_ident', 'jsonb_path_exists', 'sum') and oid < 4100 order by oid;
select 'now'::regproc, 'pg_catalog.now'::regproc::oid, 'lower(text)'::regprocedure::oid, 870::regproc, 870::regprocedure;
select 'lower'::regproc;
select 'lower(uuid)'::regprocedure;
select to_regproc('now'), to_regproc('lower'), to_regprocedure('lower(text)'), to_regprocedure('lower(uuid)');
select has_function_privilege('lower(text)', 'execute'), has_function_privilege(870, 'execute');
create function now(int) returns int language sql as 'select 1';
select 'now'::regproc;
select 'now(int)'::regprocedure, 'public.now'::regproc;
-- casts
select oid, castsource::regtype, casttarget::regtype, castfunc, castcontext, castmethod from pg_cast where castsource in ('varchar'::regtype, 'int4'::regtype, 'timestamptz'::regtype, 'json'::regtype) and casttarget in ('text'::regtype, 'int8'::regtype, 'bool'::regtype, 'date'::regtype, 'jsonb'::regtype) order by 1;
-- a function of a table's rows, as if it were a column
create table person (id int, first text, last text);
create function full_name(p person) returns text language sql immutable as $$ select p.first || ' ' || p.last $$;
create function id(p person) returns int language sql as $$ select -1 $$;
insert into person values (1, 'Ann', 'Lee'), (2, 'Bob', 'Ray');
select p.full_name, p.id from person p where p.full_name like 'B%';
select person.full_name, count(*) from person group by person.full_name order by person.full_name desc;
select (select q.full_name from person q where q.id = p.id) from person p order by p.full_name;
select p.nosuch from person p;
select nosuch.full_name from person;
create view names as select p.full_name from person p;
select * from names order by 1;
drop function full_name(person);
-- defaults that are no numbers that one can write
create table defaults (a numeric(5, 2) default 'NaN', b numeric default 'Infinity', c numeric default '-Infinity', d numeric default '7.50', e float8 default 'NaN', f int default '-7');
select attname, pg_get_expr(adbin, adrelid) from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum where adrelid = 'defaults'::regclass order by adnum;
