-- indexes that are to become those of constraints
create table t (a int, b int);
create unique index t1 on t (a desc);
create unique index t2 on t (a nulls first);
create unique index t3 on t ((a + 1));
create unique index t4 on t (a) where b > 0;
create index t5 on t (a);
create unique index t6 on t (a asc nulls last);
create unique index t7 on t (a, b desc);
create unique index t8 on t (b desc nulls last);
alter table t add unique using index t1;
alter table t add unique using index t2;
alter table t add unique using index t3;
alter table t add unique using index t4;
alter table t add unique using index t5;
alter table t add primary key using index t7;
alter table t add unique using index t8;
alter table t add primary key using index t6;
alter table t add unique using index nope;
