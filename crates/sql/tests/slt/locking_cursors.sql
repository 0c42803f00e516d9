-- a cursor that locks rows goes forward
create table t (a int, b int);
insert into t values (1, 2), (2, 3);
begin;
declare c cursor for select a from t order by a for update;
fetch c;
fetch relative 0 from c;
rollback;
begin;
declare c cursor for select a from t order by a;
fetch c;
fetch relative 0 from c;
rollback;
