-- What statements do to a session: modes of transactions, settings, sequences, temporary tables.

-- modes
begin read only;
select current_setting('transaction_read_only'), current_setting('transaction_deferrable');
show transaction_read_only;
rollback;
begin isolation level serializable read only deferrable;
select current_setting('transaction_read_only'), current_setting('transaction_deferrable'), current_setting('transaction_isolation');
select name, setting from pg_settings where name like 'transaction%' order by 1;
commit;
select current_setting('transaction_read_only');
set default_transaction_read_only = true;
select current_setting('transaction_read_only'), current_setting('default_transaction_read_only');
create table ss_refused (a int);
begin read write;
create table ss_t (a int primary key, b int);
commit;
begin;
set transaction read write;
insert into ss_t values (1, 10);
commit;
insert into ss_t values (2, 20);
reset default_transaction_read_only;
insert into ss_t values (2, 20);
begin;
set local default_transaction_read_only = on;
rollback;
insert into ss_t values (3, 30);
begin;
set default_transaction_read_only = on;
rollback;
insert into ss_t values (4, 40);
set session characteristics as transaction read only;
show default_transaction_read_only;
insert into ss_t values (5, 50);
set session characteristics as transaction read write;
show default_transaction_read_only;
insert into ss_t values (5, 50);
select count(*) from ss_t;

-- units
show statement_timeout;
set statement_timeout = 3000;
show statement_timeout;
select setting, unit, vartype from pg_settings where name = 'statement_timeout';
set statement_timeout = '2min';
show statement_timeout;
select setting, unit from pg_settings where name = 'statement_timeout';
set statement_timeout = '90s';
show statement_timeout;
set statement_timeout = '36h';
show statement_timeout;
set statement_timeout = '1500us';
show statement_timeout;
set statement_timeout = '99999d';
set statement_timeout = '1 fortnight';
set statement_timeout = 0;
show statement_timeout;
set work_mem = 65536;
show work_mem;
select setting, unit, vartype from pg_settings where name = 'work_mem';
set work_mem = '1GB';
show work_mem;
set work_mem = '1048577kB';
show work_mem;
reset work_mem;
select current_setting('lock_timeout');
set lock_timeout = '1000';
select current_setting('lock_timeout');
reset lock_timeout;
select vartype from pg_settings where name in ('enable_seqscan', 'search_path', 'extra_float_digits', 'seq_page_cost', 'bytea_output') order by name;

-- settings of one's own stay known
set ss.own = 'a';
show ss.own;
begin;
set local ss.own = 'b';
set local ss.other = 'c';
select current_setting('ss.own'), current_setting('ss.other');
commit;
select current_setting('ss.own'), current_setting('ss.other');
reset ss.own;
select current_setting('ss.own'), current_setting('ss.own', true);
begin;
set ss.third = 'x';
rollback;
select current_setting('ss.never', true);
select current_setting('ss.never');

-- sequences of the session
create sequence ss_s;
select nextval('ss_s'), currval('ss_s'), lastval();
discard sequences;
select currval('ss_s');
select lastval();
select nextval('ss_s');
create sequence ss_gone;
select nextval('ss_gone');
select lastval();
drop sequence ss_gone;
select lastval();
select currval('ss_s');

-- temporary tables are written in transactions that only read
create temp table ss_temp (a int primary key, b text);
begin read only;
insert into ss_temp values (1, 'x'), (2, 'y');
update ss_temp set b = 'z' where a = 1;
delete from ss_temp where a = 2;
select * from ss_temp;
insert into ss_t values (9, 90);
rollback;
begin read only;
insert into ss_temp select a, 'from' from ss_t;
commit;
select count(*) from ss_temp;
begin read only;
truncate ss_temp;
insert into ss_temp values (1, 'again');
savepoint a;
with gone as (delete from ss_temp returning a) insert into ss_temp select a + 1, 'moved' from gone;
rollback to a;
commit;
select * from ss_temp;
begin read only;
with gone as (delete from ss_t returning a) insert into ss_temp select a, 'moved' from gone;
rollback;
begin read only;
truncate ss_t;
rollback;
begin read only;
create temp table ss_not (a int);
rollback;
drop table ss_temp;

-- two-phase commit is not there
begin;
insert into ss_t values (100, 1);
prepare transaction 'x';
select count(*) from ss_t where a = 100;
commit prepared 'x';
rollback prepared 'x';
begin;
commit prepared 'x';
rollback;
begin;
select 1/0;
prepare transaction 'x';
select 1;

-- foreign keys that refer to the table itself, before its keys
create table ss_tree (id int, parent int references ss_tree, primary key (id));
insert into ss_tree values (1, null), (2, 1);
insert into ss_tree values (3, 7);
create table ss_node (id int, other int references ss_node (code), code int unique, primary key (id));
insert into ss_node values (1, 5, 5);
create table ss_edge (a int, b int, c int, foreign key (b, c) references ss_edge (a, b), unique (a, b));
insert into ss_edge values (1, 1, 1), (2, 1, 1);
insert into ss_edge values (3, 1, 2);
create table ss_wrong (id int, parent int references ss_wrong);
select conname, contype from pg_constraint where conrelid in ('ss_tree'::regclass, 'ss_node'::regclass, 'ss_edge'::regclass) order by conrelid::regclass::text, 1;

-- foreign keys are disabled
create table ss_p (id int primary key);
create table ss_c (id int primary key, p int references ss_p on delete cascade);
insert into ss_c values (1, 1);
alter table ss_c disable trigger all;
insert into ss_c values (1, 1);
alter table ss_c enable trigger all;
insert into ss_c values (2, 2);
select * from ss_c;
insert into ss_p values (1), (2);
insert into ss_c values (2, 2);
alter table ss_p disable trigger all;
delete from ss_p where id = 1;
select * from ss_c order by 1;
alter table ss_p enable trigger all;
delete from ss_p where id = 2;
select * from ss_c order by 1;
begin;
alter table ss_c disable trigger all;
insert into ss_c values (7, 7);
rollback;
insert into ss_c values (7, 7);
alter table ss_c disable trigger user;
insert into ss_c values (7, 7);
drop table ss_c, ss_p, ss_tree, ss_node, ss_edge, ss_t;

-- types of names of routines
select 'array_in(cstring,oid,integer)'::regprocedure;
select typinput = 'array_in(cstring,oid,integer)'::regprocedure from pg_type where typname in ('_int4', 'int4') order by typname;
create function ss_f(a int, b text) returns int language sql as 'select 1';
select 'ss_f(int, text)'::regprocedure, 'ss_f(integer,text)'::regprocedure::oid = 'ss_f'::regproc::oid;
select 'ss_f(int)'::regprocedure;
select 'ss_f'::regprocedure;
select '-'::regprocedure, 0::regprocedure;
select oid::regprocedure from pg_proc where proname = 'ss_f';
drop function ss_f(int, text);
