-- Which expressions keep the modifiers of types.

create table t(q int, n numeric(10,2), m numeric(10,3), v varchar(5), w varchar(7), ts timestamp(3), iv interval(2), va varchar(5)[], na numeric(6,1)[], tx text, tz timestamptz(1), ti time(2));
create table n(b numeric(10,2));
insert into n values (1.5);
create table m as select max(b) mb from n;
insert into m values (1.239);
select mb from m;
create view cols as select attrelid::regclass::text r, string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum) from pg_attribute where attrelid::regclass::text like 'r%' and attnum > 0 group by 1;
create view r01 as select max(n) n1, min(v) v1, max(w) w1, sum(n) s1, avg(n) a1, (array_agg(n))[1] g1, array_agg(n) ga, array_agg(v) gv, max(ts) mts, min(iv) miv, max(tz) mtz, max(ti) mti, max(va) mva, mode() within group (order by n) md, percentile_disc(0.5) within group (order by n) pd, percentile_disc(array[0.5]) within group (order by n) pda from t;
create view r02 as select case when q = 1 then v else 'abc' end k1, case when q = 1 then v end k2, case when q = 1 then v else null end k3, case when q = 1 then v else v end k4, case when q = 1 then v else w end k5, case when q = 1 then n else 1.5 end k6, case when q = 1 then n else n end k7, case when q = 1 then 1.5 else n end k8, case when q = 1 then n end k9, case when q = 1 then v when q = 2 then null else v end k13, case when q = 1 then v else tx end k14 from t;
create view r03 as select coalesce(v, 'x') k1, coalesce(v, w) k2, coalesce(v, v) k3, coalesce(n, 0) k4, coalesce(n, n) k5, coalesce(n, m) k6, greatest(n, n) k8, greatest(n, m) k9, least(v, v) k10, least(v, 'x') k11, nullif(v, 'x') k12, nullif(n, 0) k13, array[n, n] k15, array[n, m] k16, array[v, 'x'] k17, array[n, null] k18, greatest(n, null) k19 from t;
create view r04 as select (select n from t) k19, (select v from t) k20, array(select n from t) k21, n + n k23, n * 2 k24, -n k25, v || 'x' k26, upper(v) k28, va[1] k29, na[1] k30, na[1:2] k31, abs(n) k33, coalesce(n) k34, date_trunc('day', ts) k36, ts + interval '1 day' k37, greatest(ts, ts) k38, array[array[n],array[n]] k39, (array[n,n])[1] k40, array_append(na, 1) k41, na || 1.25 k42, array_cat(na, na) k43 from t;
create view r05 as select n k1, n k2, v k3, v k4, v k8, n k9 from t union select n, m, v, w, 'x', null from t;
create view r06 as select n k1, null k2, 'x' k3, n k4 from t union all select 1, n, v, null from t;
create view r07 as select * from (values (1::numeric(5,2), 'a'::varchar(3), null, 'x', 1::numeric(5,2)), (2::numeric(5,2), 'b'::varchar(4), 'c'::varchar(4), 'c'::varchar(4), null)) x(a,b,d,e,f);
create view r08 as select first_value(n) over () k1, lag(v, 1, 'x') over () k3, nth_value(n, 1) over () k4, max(n) over () k5, lead(n,1,n) over () k8 from t;
create view r09 as select unnest(na) k1, unnest(va) k2 from t;
create view r10 as with w as (select n, v from t) select a.n, coalesce(a.v, b.v) c from w a join w b using (n);
create view r11 as select k, n from (select 1::numeric(4,1) k, n from t) x full join (select 2::numeric(4,2) k from t) y using (k);
create view r12 as with recursive w(n, c) as (select n, v from t union all select n, c from w) select * from w;
create view r13 as with recursive w(n, c) as (select n, v from t union all select n+1, c from w) select * from w;
create view r14 as select n::numeric k1, v::text k2, v::varchar k4, n::numeric(10,2) k6, v::varchar(5) k7, '1'::numeric(5,1) k9, (n) k11, ts::timestamp k13, na::numeric[] k14, na::numeric(5,1)[] k15 from t;
create view r15 as select min(n) filter (where true) k1, max(n order by n) k2, max(distinct v) k3, any_x.* from t, (select min(n) q from t) any_x group by any_x.q;
select * from cols order by 1;
select array_append('{a}'::varchar(1)[], 'abc');
