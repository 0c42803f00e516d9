-- lists of definitions without a name before them
create table run (a int, b text);
insert into run values (1, 'one'), (2, 'two;'), (3, 'three');
create function last_of(text) returns int language plpgsql as $$ declare x int; begin execute $1 into x; return x; end $$;
create function dynamic(int) returns setof record language plpgsql as $$ begin return query execute 'select $1, $1 * 2 union all select 0, 0' using $1; end $$;
select * from dynamic(3) as (a int, b int) order by a;
select dynamic.b, a from dynamic(3) as (a int, b int) where a > 0;
select r.a, d.* from run r, lateral dynamic(r.a) as (x int, y int) where d.x > 0;
select r.a, dynamic.* from run r, lateral dynamic(r.a) as (x int, y int) where x > 0 order by a;
select * from run r join dynamic(2) as (x int, "Y" int) on x = a;
select * from json_to_record('{"a": 1, "b": "x"}') as (a int, b text);
select * from jsonb_to_recordset('[{"a": 1, "b": {"c": 2}}, {"a": 5}]') as (a numeric(4,2), b jsonb) order by a;
with w(a, b) as (select 1, 2), v (c) as (values (3)) select * from w, v;
select * from dynamic(3) as d(a int, b int), dynamic(4) as (c int, d int) where a > 0 and c > 0;
select * from public.dynamic(3) as (a int, b int) where a = 3;
select * from dynamic(3) as (a int);
select * from dynamic(3) as (a int, a int);
select * from last_of('select 1') as (a int);
