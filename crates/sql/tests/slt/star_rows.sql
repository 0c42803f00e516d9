-- Whole rows by a star behind the name of a table, and rows whose columns have one name.

create table t (a int primary key, b text);
create table u (x int not null, y text);
insert into t values (1, 'one'), (2, null), (3, 'three');
insert into u values (1, 'eins'), (1, 'uno'), (3, 'drei');
select count(t.*) from t;
select count(t.*), count(t), count(*) from t where b is null;
select t.a, count(u.*) from t left join u on u.x = t.a group by t.a order by t.a;
select array_agg(t.* order by a) from t;
select row_to_json(t.*) from t order by a;
select json_agg(t.*) from (select * from t order by a) t;
select (t.*)::text from t order by a;
select (select (u.*)::text from u where u.y = 'drei') from t where a = 1;
select count(v.*) from t;
select (t.*) is null from t order by a;
select (t.*) is not null from t order by a;
select foo from (select 'xyzzy', 1, null offset 0) as foo;
select foo from (select a, a from t order by a) as foo;
select count(foo) from (select 1, 2) as foo;
select row_to_json(foo) from (select 1 as a, 2 as a) as foo;
select foo.a from (select 1 as a, 2 as a) as foo;
