-- intervals: the fields of the type say what a number without a unit is
select interval '90' day, interval '1' year, interval '3' month, interval '5' hour, interval '7' minute, interval '8' second;
select cast('5' as interval hour), '5'::interval hour, '5'::text::interval hour;
select interval '1 2:03' minute to second, interval '1 2:03' hour to minute, interval '1 2:03' day to second;
select interval '1 2' day to hour, interval '1 2 hours', interval '1-2' year to month, interval '1 2:03:04' day to minute;
select interval(0) '1.6 seconds', interval(0) '1 day 01:23:45.6789', '1.23456'::interval(3), interval '1.26' second(1);
-- subscripts and slices
select (array[1,2,3])[2], (array[1,2,3])[4], (array[1,2,3])[null], (array[[1,2],[3,4]])[2][1], (array[[1,2],[3,4]])[1];
select (array[1,2,3])[1:2][2], (array[[1,2],[3,4]])[1:2][2], (array[[1,2],[3,4]])[2][1:1], (array[[1,2],[3,4]])[:1][:];
select (array[1,2,3])[2:], (array[1,2,3])[:2], (array[1,2,3])[:], (array[1,2,3])[5:2], (array[1,2,3])[null:2], (array[[1,2],[3,4]])[1:1];
select ('[0:2]={7,8,9}'::int[])[0:1], ('[2:3][0:1]={{1,2},{3,4}}'::int[])[3][0:0], (array[[[1,2],[3,4]],[[5,6],[7,8]]])[2:2][:][2:];
select (array[1,2])[1][1][1][1][1][1][1];
select ('[1,"2"]'::jsonb)['1'], ('[1,"2"]'::jsonb)[-1], ('{"a":{"b":[1,2]}}'::jsonb)['a']['b'][1], ('{"1":5}'::jsonb)[1], ('[1]'::jsonb)['x'];
select ('[1]'::jsonb)[1.5];
select ('[1]'::jsonb)[1:2];
-- numbers
select 10/nullif(4,2.2), pg_typeof(nullif(4,2.2)), nullif(1,1), nullif('a','b'), pg_typeof(nullif('a','b'));
select (-1.0)^1000000000000001, (-1.0)^1000000000000000, 1.0^1000000000000001;
select round(4.5e131071,-131072), trunc(5.5e131071,-131072), round(1234.5,-2), length(round(0.5,5000)::text);
select round(5.5e131071,-131072);
select (-9223372036854775808)/(-1);
select (-2147483648)/(-1);
select pg_typeof(-9223372036854775808), pg_typeof(-2147483648), pg_typeof(-9223372036854775809), (-2147483648) - 1::int8;
select asinh(1.7e308), acosh(1e300), asinh(-1.7e308);
-- series
select * from generate_series(0::numeric,'nan',10);
select * from generate_series(0::numeric,'inf',10);
select * from generate_series(0::numeric,10,'nan');
select * from generate_series('nan'::numeric,10,1);
select * from generate_series(1,2,0);
select count(*) from generate_series(2147483647,-1);
select * from generate_series(9223372036854775806,9223372036854775807);
select * from generate_series('2024-01-31'::timestamp,'2024-04-30','1 month');
-- zones that changed their offset
select '2012-01-01 00:00'::timestamp at time zone 'MSK' at time zone 'UTC', '2016-01-01 00:00'::timestamp at time zone 'MSK' at time zone 'UTC';
select timestamptz '2012-07-01 00:00 MSK' at time zone 'UTC', timestamptz '2009-07-01 00:00 MSD' at time zone 'UTC', timestamptz '2008-07-01 00:00 VET' at time zone 'UTC';
select timestamptz '2012-07-01 00:00 EST' at time zone 'UTC', timestamptz '2012-07-01 00:00 NZST' at time zone 'UTC';
select age('2023-03-30 18:30'::timestamp, '2024-02-29 12:34:56.789'::timestamp), age('2024-02-29 12:34:56.789'::timestamp, '2023-03-30 18:30'::timestamp);
-- templates
select to_char(100,'FM999.'), to_char(100,'999.'), to_char(0,'FM9.'), to_char(-1.5,'FM9.'), to_char(12345,'999.'), to_char(1.5,'FM9.9');
select to_char(interval '1 day', 'Month');
select to_char(interval '1 day 2 hours', 'DD HH24');
-- paths of one dimension
select '{"a":1}'::jsonb #- '{{a,b},{c,d}}';
select jsonb_set('[]', '{a,b}', '1', false);
