-- what psql asks the catalogs
create table psql_d (id serial primary key, name varchar(20) not null default 'x', price numeric(10, 2));
create unique index psql_d_name on psql_d (name);
create view psql_v as select id, name from psql_d where price > 1;
\d psql_d
\d psql_v
\dt psql_*
\di psql_*
\dv psql_*
\ds psql_*
\dn
\d psql_nowhere
drop view psql_v;
drop table psql_d;
