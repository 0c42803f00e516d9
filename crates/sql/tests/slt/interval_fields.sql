-- what a number without a unit means where literals are of columns that have fields
create table i (id int primary key, a interval hour, b interval year, c interval minute, d interval minute to second, e interval(0), f interval hour[], g interval);

insert into i values (1, '5', '5', '5', '1:2', '1.6', '{5,6}', '5');

insert into i (id, a, b) values (2, '1', '2'), (3, '3', '4');

insert into i select 4, '7', '8';

insert into i (id, a) values (5, '1 day 2:03');

select * from i order by id;

update i set a = '7', b = '1-2', d = '3' where id = 2;

update i set (a, b) = ('8', '9') where id = 3;

insert into i (id, a) values (1, '4') on conflict (id) do update set a = '9', c = excluded.a;

merge into i using (values (4), (6)) v (id) on i.id = v.id when matched then update set a = '11' when not matched then insert (id, a) values (v.id, '12');

select id, a, b, c, d from i order by id;

select id from i where a = '11' order by id;

select id from i where a = '11:00' order by id;

select id from i where a between '10:00' and '12:00' order by id;

prepare p (interval) as insert into i (id, a) values (7, $1);

execute p ('5');

prepare q as insert into i (id, a) values (8, $1);

execute q ('5');

execute q ('6:00');

select id, a from i where id > 6 order by id;

create domain hours as interval hour;

create table j (id int, h hours, k time(0), l timestamp(0));

insert into j values (1, '5', '12:00:00.6', '2020-01-01 00:00:00.6');

update j set h = '6', k = '12:00:01.6' where id = 1;

select * from j;
