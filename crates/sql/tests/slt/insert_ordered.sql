-- what has no type of its own in the query of an INSERT gets that of its column, whatever stands around the select list
create table target (u int, n int, d timestamptz);
create table source (id int, name text);
insert into source values (2, 'b'), (1, 'a'), (3, 'c');
prepare a as insert into target (u, n) select id, $1 as n from source where name in ($2, $3) order by id;
execute a (7, 'a', 'c');
insert into target (u, d) select id, '2020-01-01' as d from source order by id limit 2;
insert into target (u, d) select id, null as d from source group by id order by id desc limit 1;
insert into target (u, d) with x as (select 1) select id, '2020-01-02' from source, x order by id fetch first row only;
prepare b as insert into target (u, n) with x as (select 5 as id) select id, $1 from x;
execute b (8);
select u, n, d::date from target order by u, n, d;
-- what is compared is text
insert into target (u, n) select id, '5' as n from source order by n;
insert into target (u, n) select id, '5' from source order by 2;
insert into target (u, d) select distinct id, '2020-01-01' from source;
prepare c as insert into target (u, n) select id, $1 as n from source order by n;
create table words (id int, w text);
prepare d as insert into words select id, $1 as w from source order by w, id;
execute d ('x');
select * from words order by id;
