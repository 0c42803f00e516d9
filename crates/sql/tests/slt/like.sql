-- CREATE TABLE (LIKE ..).

create table src (
  id int primary key generated always as identity (start 100 increment 5),
  name varchar(20) not null default 'none' unique,
  n int check (n > 0),
  twice int generated always as (n * 2) stored,
  at timestamptz default '2024-01-01 00:00:00+00'
);
create index on src (lower(name));
create index on src (n desc) where n > 10;
create unique index src_pair on src (n, at);
comment on column src.n is 'a number';
comment on table src is 'the source';
insert into src (name, n) values ('a', 1);
create table bare (like src);
insert into bare values (1, null);
insert into bare values (1, 'x');
insert into bare (id, name, n, twice) values (1, 'x', -5, 7);
select * from bare order by n;
select column_name, data_type, is_nullable, column_default, is_identity, is_generated from information_schema.columns where table_name = 'bare' order by ordinal_position;
select count(*) from pg_constraint where conrelid = 'bare'::regclass;
create table filled (like src including all);
insert into filled (name, n) values ('b', 3) returning *;
insert into filled (name, n) values ('b', 4);
insert into filled (name, n) values ('c', -4);
insert into filled (n) values (20) returning name, twice;
select column_name, is_nullable, column_default, identity_generation, is_generated, generation_expression from information_schema.columns where table_name = 'filled' order by ordinal_position;
select indexname from pg_indexes where tablename = 'filled' order by 1;
select conname, contype from pg_constraint where conrelid = 'filled'::regclass order by 1;
select col_description('filled'::regclass, 3), obj_description('filled'::regclass);
select nextval(pg_get_serial_sequence('filled', 'id'));
select nextval(pg_get_serial_sequence('src', 'id'));
select n from filled where n > 10 order by n desc;
create table part (x int, like src including defaults including constraints excluding defaults, y text);
select column_name, column_default from information_schema.columns where table_name = 'part' order by ordinal_position;
insert into part (id, name, n) values (1, 'a', 0);
create table dup (n text, like src);
create table dup (like src, like bare);
create table two (like src including indexes, like (a int));
create table own (like src including all, primary key (n));
create table both_checks (check (n > 5), like src including constraints);
insert into both_checks (id, name, n) values (1, 'x', 3);
create table missing (like nothing);
create table wrong (like src including everything);
create table wrong (like src including);
create view v as select id, name as other from src;
create table of_view (like v);
insert into of_view values (null, null);
select column_name, data_type, character_maximum_length, is_nullable from information_schema.columns where table_name = 'of_view' order by ordinal_position;
create sequence s;
create table of_sequence (like s);
create temp table tmp (like src including all);
insert into tmp (name, n) values ('t', 1) returning id;
create table if not exists bare (like nothing);
create schema other;
create table other.copy (like public.src including all);
select pg_get_serial_sequence('other.copy', 'id');
insert into other.copy (name, n) values ('o', 11) returning id, twice;
create type mood as enum ('sad', 'ok');
create table with_mood (m mood default 'ok', ms mood[]);
create table like_mood (like with_mood including defaults);
insert into like_mood default values returning *;
create table serial_src (id serial, a int);
create table serial_copy (like serial_src including defaults);
insert into serial_copy (a) values (1) returning id;
insert into serial_src (a) values (1) returning id;
create table "like" ("like" int, b int);
select "like" from "like";
select pg_get_viewdef('nothing');
select pg_get_viewdef('src');
