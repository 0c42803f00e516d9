-- Row-level security: who sees which rows.
drop role if exists rs_owner, rs_a, rs_b, rs_group, rs_exempt;
create role rs_owner; create role rs_a; create role rs_b; create role rs_group; create role rs_exempt bypassrls;
grant rs_group to rs_b;
grant all on schema public to public;
create procedure said(sql text) language plpgsql as $$ declare c text; m text; d text; h text; begin execute sql; perform set_config('my.said', 'ok', false); exception when others then get stacked diagnostics c = returned_sqlstate, m = message_text, d = pg_exception_detail, h = pg_exception_hint; perform set_config('my.said', replace(concat_ws(' | ', c, m, nullif(d, ''), nullif(h, '')), chr(10), '; '), false); end $$;
create sequence told;
grant all on sequence told to public;
create function leak(text) returns boolean cost 0.0000001 language plpgsql as $$ begin perform nextval('told'); return true; end $$;
create function leaks() returns bigint language plpgsql as $$ declare n bigint; begin select case when is_called then last_value else 0 end into n from told; perform setval('told', 1, false); return n; end $$;

set session authorization rs_owner;
create table docs (id int primary key, owner text, level int not null, title text);
grant all on docs to public;
insert into docs values (1, 'rs_a', 1, 'a one'), (2, 'rs_a', 2, 'a two'), (3, 'rs_b', 1, 'b one'), (4, 'rs_b', 3, 'b three'), (5, null, 1, 'nobody');
-- policies that are not enabled say nothing
create policy own on docs using (owner = current_user);
set session authorization rs_a;
select id from docs order by id;
set session authorization rs_owner;
alter table docs enable row level security;
select id from docs order by id;
set session authorization rs_a;
select id from docs order by id;
select id from docs where leak(title) order by id;
select leaks();
select id from docs where 1 / (level - 3) <> 7 order by id;
select count(*), min(id), max(level) from docs;
select id from docs where id = 3;
select id from docs where id = 1 and leak(title);
select id from docs where id = 5 and leak(title);
select id from docs where id in (1, 3, 4, 5) and leak(title);
select id from docs where id between 2 and 5 and leak(title) order by id;
select leaks();
table docs;
select d.id, e.id from docs d full join docs e on d.id = e.id + 1 order by 1, 2;
select (select title from docs where id = 3), exists (select from docs where id = 4), array(select id from docs order by id);
select x.id from (values (1), (3), (4)) as v(n) left join docs x on x.id = v.n order by 1;
select v.n from (values (1), (3), (4)) as v(n) where v.n in (select id from docs) order by 1;
select v.n, l.title from (values (1), (3), (4)) as v(n), lateral (select title from docs where id = v.n and leak(title)) l;
select leaks();
with d as (select * from docs) select count(*) from d;
with d as materialized (select * from docs) select count(*) from d;
select id from docs union all select id from docs order by 1;
select owner, count(*) from docs group by owner;
select id, row_number() over (order by id) from docs;
select docs from docs order by id limit 1;
set session authorization rs_b;
select id from docs order by id;
reset session authorization;
select id from docs order by id;
set session authorization rs_exempt;
select id from docs order by id;
select row_security_active('docs');
set session authorization rs_a;
select row_security_active('docs'), row_security_active('docs'::regclass), row_security_active('pg_class');
set session authorization rs_owner;
select row_security_active('docs');

-- FORCE: the owner, too
alter table docs force row level security;
select row_security_active('docs');
select id from docs order by id;
set row_security = off;
call said('select id from docs');
show my.said;
reset row_security;
alter table docs no force row level security;
select id from docs order by id;

-- row_security off: an error in the place of rows that are not all there
set session authorization rs_a;
set row_security = off;
select id from docs;
call said('select id from docs');
show my.said;
delete from docs;
reset row_security;
select id from docs order by id;
set session authorization rs_exempt;
set row_security = off;
select count(*) from docs;
reset row_security;

-- several permissive policies, and restrictive ones
set session authorization rs_owner;
create policy low on docs for select to rs_group using (level = 1);
set session authorization rs_b;
select id from docs order by id;
set session authorization rs_a;
select id from docs order by id;
set session authorization rs_owner;
create policy few on docs as restrictive using (id < 4);
set session authorization rs_b;
select id from docs order by id;
set session authorization rs_owner;
drop policy own on docs;
set session authorization rs_a;
select id from docs order by id;
set session authorization rs_owner;
drop policy low on docs;
set session authorization rs_b;
-- restrictive ones alone let nothing through
select id from docs order by id;
set session authorization rs_owner;
drop policy few on docs;
set session authorization rs_b;
-- default deny
select id from docs order by id;
insert into docs values (10, 'rs_b', 1, 'x');
update docs set level = 2;
delete from docs;
set session authorization rs_owner;
select count(*) from docs;

-- policies read other tables, by the privileges of who asks
create table members (who text, what int);
insert into members values ('rs_a', 1), ('rs_a', 3), ('rs_b', 4);
create policy member on docs using (exists (select from members m where m.what = docs.id and m.who = current_user));
set session authorization rs_a;
select id from docs order by id;
set session authorization rs_owner;
grant select on members to rs_a, rs_b;
set session authorization rs_a;
select id from docs order by id;
select id from docs where leak(title) order by id;
select leaks();
set session authorization rs_owner;
-- the table that the policy reads has policies itself
alter table members enable row level security;
create policy one on members using (what < 3);
set session authorization rs_a;
select id from docs order by id;
set session authorization rs_owner;
drop policy one on members;
alter table members disable row level security;

-- recursion
create policy again on members using (exists (select from docs));
alter table members enable row level security;
set session authorization rs_a;
select id from docs;
select * from members;
call said('select * from members');
show my.said;
set session authorization rs_owner;
alter policy again on members using (who in (select who from members));
set session authorization rs_a;
select * from members;
call said('select * from members');
show my.said;
set session authorization rs_owner;
select count(*) from members;
drop policy again on members;
alter table members disable row level security;

-- views read as their owners do; those of the invoker as the invoker does
create view by_owner as select id, title from docs;
create view by_invoker with (security_invoker) as select id, title from docs;
grant select on by_owner, by_invoker to public;
set session authorization rs_a;
select id from by_owner order by id;
select id from by_invoker order by id;
create view of_a as select id, title from docs;
grant select on of_a to public;
set session authorization rs_b;
select id from of_a order by id;
select id from by_invoker order by id;
select current_user, id from by_owner where leak(title) order by id;
select leaks();
set session authorization rs_owner;
select id from of_a order by id;

-- functions
create function of_owner() returns setof int language sql security definer as 'select id from docs order by id';
create function of_caller() returns setof int language sql as 'select id from docs order by id';
create function pl_owner() returns bigint language plpgsql security definer as 'begin return (select count(*) from docs); end';
create function pl_caller() returns bigint language plpgsql as 'begin return (select count(*) from docs); end';
set session authorization rs_a;
select array(select of_owner()), array(select of_caller()), pl_owner(), pl_caller();
set session authorization rs_b;
select array(select of_owner()), array(select of_caller()), pl_owner(), pl_caller();
set session authorization rs_owner;
select array(select of_owner()), array(select of_caller()), pl_owner(), pl_caller();

-- prepared statements follow the role
reset session authorization;
prepare p as select id from docs order by id;
execute p;
set role rs_a;
execute p;
set role rs_b;
execute p;
reset role;
execute p;
set role rs_a;
begin;
execute p;
set local role rs_b;
execute p;
rollback;
execute p;
set row_security = off;
execute p;
reset row_security;
execute p;
reset role;
do $$ declare r text; n bigint; all_of text = ''; begin for i in 1..2 loop foreach r in array array['rs_a', 'rs_b', 'none'] loop perform set_config('role', r, false); select count(*) into n from docs; all_of = all_of || ' ' || n; end loop; end loop; perform set_config('my.said', all_of, false); end $$;
show my.said;

-- settings are asked when the statement runs
create table tenants (tenant int, id int, v text, primary key (tenant, id));
insert into tenants select t, i, t || '/' || i from generate_series(1, 3) t, generate_series(1, 4) i;
create index on tenants (id);
alter table tenants enable row level security;
create policy own on tenants using (tenant = current_setting('app.tenant')::int);
grant all on tenants to rs_a;
set role rs_a;
select * from tenants;
set app.tenant = '2';
prepare t(int) as select v from tenants where id = $1;
execute t(1);
set app.tenant = '3';
execute t(1);
select count(*) from tenants;
select v from tenants where tenant = 1;
select v from tenants where tenant = 1 and id = 1;
select v from tenants where tenant = 3 and id = 1;
set app.tenant = 'x';
select count(*) from tenants;
set app.tenant = '1';
insert into tenants values (2, 9, 'no');
insert into tenants values (1, 9, 'yes');
update tenants set tenant = 2 where id = 9;
update tenants set v = 'all';
delete from tenants;
reset role;
select tenant, count(*), max(v) from tenants group by tenant order by tenant;

-- cursors keep what they were opened for
set role rs_a;
begin;
declare c cursor for select id from docs order by id;
fetch 1 from c;
reset role;
fetch 1 from c;
fetch 1 from c;
commit;
drop view of_a;
reset session authorization;
drop function of_owner(), of_caller(), pl_owner(), pl_caller();
drop table tenants, docs, members cascade;
drop sequence told cascade;
drop function leak, leaks;
revoke all on schema public from public; 
drop procedure said;
drop role rs_owner, rs_a, rs_b, rs_group, rs_exempt;
