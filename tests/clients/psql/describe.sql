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
create materialized view psql_m as select id, name from psql_d;
create unique index psql_m_id on psql_m (id);
\d psql_m
\dm psql_*
drop materialized view psql_m;
\dn
\d psql_nowhere
drop view psql_v;
create table psql_o (id bigint generated always as identity, owner int references psql_d on delete cascade, tag text unique, check (owner > 0));
\d psql_o
\d psql_d
\d psql_o_id_seq
\d psql_o_tag_key
\df psql_*
\dT psql_*
\dp psql_none
\dx psql_none
drop table psql_o, psql_d;
