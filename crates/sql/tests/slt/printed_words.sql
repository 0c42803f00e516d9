-- words of the system are printed as PostgreSQL prints them, however they were written
create table words (a date default current_date, b time default current_time, c time default CURRENT_time(3), d timestamp default NOW(), e timestamptz default current_timestamp(2), f timestamp default LocalTimestamp, g timestamp default localtimestamp(1), h time default LOCALTIME, u text default current_user, r text default Current_Role);
select column_name, column_default from information_schema.columns where table_name = 'words' order by ordinal_position;
create table word (x text check (LENGTH(x) > 3), t timestamptz check (t < Current_Timestamp), y text generated always as (UPPER(x)) stored, "Lower" int);
create index on word (LOWER(x));
create index word_p on word (x) where LENGTH(x) > 1;
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'word'::regclass and indpred is null;
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'word'::regclass order by conname;
select generation_expression from information_schema.columns where table_name = 'word' and column_name = 'y';
create function "MAX"(int) returns int language sql immutable as 'select $1';
create table own (n int default "MAX"(1), m float8 default GREATEST(PI(), pi()), l text default Current_Schema);
select column_default from information_schema.columns where table_name = 'own' order by ordinal_position;
create table kinds (a time default ('now'::text)::time(3) with time zone, b timestamp default ('now'::text)::timestamp(3) with time zone, c time default ('now'::text)::time(3) without time zone, d timestamp default ('now'::text)::timestamp(3) without time zone, e timestamptz default ('now'::text)::timestamptz(3), f numeric default ('1'::text)::NUMERIC(5,2), g text default ('1'::text)::varchar(5), h text default ('a'::text)::char(3), j interval default ('1 day'::text)::interval(3), k timestamptz default ('now'::text)::TIMESTAMP WITH TIME ZONE);
select column_name, column_default from information_schema.columns where table_name = 'kinds' and column_name not in ('g', 'h') order by ordinal_position;
