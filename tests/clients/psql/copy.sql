-- COPY in both directions
create table psql_c (id int primary key, v text);
copy psql_c from stdin;
1	one
2	\N
3	tab\tand \\
\.
copy psql_c (id, v) from stdin with (format csv, header);
id,v
4,"a ""quoted"", value"
5,
\.
select * from psql_c order by id;
copy psql_c to stdout;
copy (select id, v from psql_c where id > 3 order by id) to stdout with csv header;
copy psql_c from stdin;
6	six
6	again
\.
copy psql_c from stdin;
no number	x
\.
select count(*) from psql_c;
drop table psql_c;
