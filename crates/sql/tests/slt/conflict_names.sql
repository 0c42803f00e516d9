-- the name of a table in the condition of ON CONFLICT
create table fruit (key int, name text);
create unique index fruit_key on fruit (key) where name like '%berry';
insert into fruit as f values (23, 'Blackberry') on conflict (key) where f.name like '%berry' do nothing;
insert into fruit as f values (23, 'Blueberry') on conflict (key) where name like '%berry' and f.name = 'x' do nothing;
insert into fruit as f values (23, 'Raspberry') on conflict (key) where f.name like '%berry' do update set name = excluded.name || '!berry' where f.name like 'Black%' returning f.*;
insert into fruit as f values (23, 'Raspberry') on conflict (key) where fruit.name like '%berry' do nothing;
insert into fruit values (23, 'Raspberry') on conflict (key) where fruit.name like '%berry' do nothing;
create unique index fruit_upper on fruit (upper(name));
insert into fruit as f values (24, 'raspberry!berry') on conflict (upper(f.name)) do nothing;
select * from fruit;
