-- frames whose bounds begin with a literal
create table spans (a int, d timestamp);
insert into spans select n, timestamp '2024-01-01' + n * interval '10 hours' from generate_series(1, 6) n;
create view framed as select a, sum(a) over (order by d range between '1 day'::interval preceding and '10 hours'::interval following) from spans;
select * from framed order by a;
select a, sum(a) over (order by d range between '1 day'::interval preceding and '10 hours'::interval following exclude current row) from spans order by a;
select a, sum(a) over (order by d range between cast('1 day' as interval) preceding and '10 ' || 'hours' following) from spans order by a;
select a, sum(a) over (order by d range '1 day'::interval preceding) from spans where 'a' || 'b' between 'a' || 'a' and 'c' || 'd' order by a;
select a, sum(a) over (order by d range between '20 hours' preceding and '10 hours' preceding) from spans order by a;
select a, sum(a) over (order by a rows between '1'::int preceding and '1'::text::int following) from spans order by a;
