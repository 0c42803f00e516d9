-- paths as a type
select '$'::jsonpath, 'strict $.a.b[*]'::jsonpath, 'lax $.*.**{2 to last}'::jsonpath;
select jsonpath '$.g ? (@.a == 1 || !(@.x >= 123 || @.a == 4) && @.b == 7)';
select '$.a[$a + 1, ($b[*]) to -($[0] * 2)]'::jsonpath, '-$.a.b * (2 - -1)'::jsonpath;
select '$ ? (@ starts with $var && @ like_regex "^a.*" flag "im" && exists (@.b))'::jsonpath;
select '"\b\f\r\n\t\v\"\''\\\u0041\x42\u{43}"'::jsonpath, '$.foo\x50\t\"bar."a b"'::jsonpath;
select 'null.type()'::jsonpath, '(1).type()'::jsonpath, '$.keyvalue().key.datetime("HH24").abs()'::jsonpath;
select ''::jsonpath;
select '1a'::jsonpath;
select '$ +'::jsonpath;
select '@ + 1'::jsonpath;
select 'last'::jsonpath;
select '"\u0000"'::jsonpath;
select '"\ud83d"'::jsonpath;
select '$ ? (@ like_regex "(")'::jsonpath;
select '$ ? (@ like_regex "a" flag "x")'::jsonpath;
select '$ ? (@ like_regex "a" flag "b")'::jsonpath;
select '$.**{3000000000}'::jsonpath;
select pg_typeof('$'::jsonpath), pg_typeof('{$}'::jsonpath[]);
select '{$.a,"strict $[*]"}'::jsonpath[];
select oid, typname, typlen, typtype, typcategory, typarray, typinput, typoutput, typreceive, typsend from pg_type where typname in ('jsonpath', '_jsonpath') order by oid;
select '$.a'::text::jsonpath, '$.a'::jsonpath::text, '$.a'::jsonpath::varchar(3);
select '$.a'::jsonpath::jsonb;
select '$.a'::jsonpath = '$.a'::jsonpath;
select '$.a'::jsonpath is null, null::jsonpath is null, coalesce(null, '$.b'::jsonpath);
create table paths (id int primary key, p jsonpath, ps jsonpath[]);
insert into paths values (1, '$.a', '{$,$.b}'), (2, 'strict $[last]', null), (3, null, '{}');
insert into paths values (4, '$$', null);
select * from paths order by id;
update paths set p = '$.c ? (@ > 1)' where id = 3;
select id, jsonb_path_query_array('{"a": 1, "c": [1, 2, 3]}', p, '{}', true) from paths order by id;
create index on paths (p);
alter table paths add check (jsonb_path_exists('{"a": 1}', p) or id > 1);
alter table paths alter p type text;
select * from paths order by id;
drop table paths;

-- operators
select jsonb '{"a": 12}' @? '$.a', jsonb '{"a": 12}' @? '$.b', jsonb '{"a": 12}' @? 'strict $.b', jsonb '{"a": 12}' @? '$.b + 2';
select jsonb '[1, 2, 3]' @@ '$[*] > 2', jsonb '[1]' @@ '$[*]', jsonb 'null' @@ '$', jsonb '[]' @@ '$[*] == 1';
select jsonb '["1", 2, 0, 3]' @? '-$[*]', jsonb '["1", 2, 0, 3]' @? 'strict -$[*]', jsonb '1' @? '$x == 1';
select null::jsonb @? '$', jsonb '1' @@ null;
select '{"a": 1}' @? '$.a';
select jsonb '1' @? '$.a'::text;
select v from (values (jsonb '{"a": 1}'), ('{"a": 2}'), ('[{"a": 3}]')) t(v) where v @@ '$.a >= 2' order by 1;

-- modes
select jsonb_path_query('{"a": [1, {"b": 2}]}', 'lax $.a.b'), jsonb_path_query('[{"a": 1}, {}, 3]', '$.a');
select jsonb_path_query('{"a": [1, {"b": 2}]}', 'strict $.a.b');
select jsonb_path_query('[{"a": 1}, {}, 3]', 'strict $[*].a');
select jsonb_path_query('[{"a": 1}, {}, 3]', 'strict $[*].a', silent => true);
select jsonb_path_query('1', 'strict $[*]');
select jsonb_path_query('1', 'strict $.*');
select jsonb_path_query('1', 'strict $[0]');
select jsonb_path_query('1', 'strict $.size()');
select jsonb_path_query('[1]', 'strict $[1]');
select jsonb_path_query('[1]', '$["a"]');
select jsonb_path_query('[1]', '$[10000000000]');
select jsonb_path_query('{}', 'strict $.a');
select jsonb_path_query('{"a": [[1, [2]], 3]}', '$.a[*]'), jsonb_path_query('[[1], [2]]', 'strict $[*][*]');

-- accessors
select jsonb_path_query('{"a": 1, "bb": [2, {"c": null}]}', '$.*');
select jsonb_path_query('{"a": 1, "bb": [2, {"c": null}]}', '$.**');
select jsonb_path_query('{"a": 1, "bb": [2, {"c": null}]}', 'strict $.**{2 to last}');
select jsonb_path_query('{"a": 1, "bb": [2, {"c": null}]}', '$.**{last}');
select jsonb_path_query('{"a": 1, "bb": [2, {"c": null}]}', 'strict $.**.c');
select jsonb_path_query_array('[0, 1, 2, 3, 4, 5]', '$[0, last, 1 to 2, last - 1 to last, 1.9, -1, 5 to 3]');
select jsonb_path_query_array('[[1, 2], [3, 4, 5]]', '$[*][last]'), jsonb_path_query_array('[1, 2, [3, 4]]', '$[$[last][last] - 2]');
select jsonb_path_query_array('[5, 6, [7, 8, 9]]', '$[($[2][0]) ? (last == 2) - 7]');
select jsonb_path_query('[]', '$[last]'), jsonb_path_query_first('[]', '$[last]');
select jsonb_path_query_array('[1, 2, 3]', '$[last ? (@.type() == "number")]');

-- filters and predicates
select jsonb_path_query('[1, "1", 2, "2", null, true, [3], {}]', '$[*] ? (@ == 1 || @ == "2" || @ == null)');
select jsonb_path_query('[1, "2", null]', '$[*] ? (@ != null)'), jsonb_path_query('[1, 2, 3]', '$ ? (@[*] > 2)');
select jsonb_path_query_array('[1, "a", null, {}]', '$[*] ? ((@ > 0) is unknown)'), jsonb_path_query_array('[1, "a", null, {}]', 'strict $[*] ? (!(@ > 0))');
select jsonb_path_query_array('["abc", "abd", 1, "aBC", "xabc"]', '$[*] ? (@ starts with "ab")'), jsonb_path_query_array('["abc"]', '$[*] ? (@ starts with $p)', '{"p": "a"}');
select jsonb_path_query_array('["abc", "abd", 1, "aBC", "a\nc"]', '$[*] ? (@ like_regex "^a.c")'), jsonb_path_query_array('["abc", "aBC", "a\nc", "x\nab"]', '$[*] ? (@ like_regex "^a.?[bc]" flag "ism")'), jsonb_path_query_array('["a.c", "abc"]', '$[*] ? (@ like_regex "A.C" flag "iq")');
select jsonb_path_query_array('[{"a": 1}, {"b": 2}, {"a": {"b": 3}}]', '$[*] ? (exists (@.a.b) || exists (@.b ? (@ > 1)))');
select jsonb_path_query_array('[{"a": 1}, {"b": 2}]', 'strict $[*] ? (exists (@.a))'), jsonb_path_query_array('[{"a": 1}, {"b": 2}]', 'strict $[*] ? ((exists (@.a)) is unknown)');
select x, y, jsonb_path_query_first(jsonb_build_object('x', x, 'y', y), '$.x == true && $.y == true') a, jsonb_path_query_first(jsonb_build_object('x', x, 'y', y), '$.x == true || $.y == true') o from (values (jsonb 'true'), ('false'), ('"null"')) x(x), (values (jsonb 'true'), ('false'), ('"null"')) y(y) order by 1, 2;
select jsonb_path_query('{"a": {"b": 1}}', '$.** ? (@.b == 1)'), jsonb_path_query('[1, 2, 3]', '($[*] > 2) ? (@ == true)');
select jsonb_path_query('{"c": {"a": 2, "b": 1}}', '$.** ? (@.a == 1 + 1)'), jsonb_path_query('2', '$ == "2"'), jsonb_path_query('[1, 2]', '!($[*] == 3)');
select jsonb_path_query('"a"', '$ < "b"'), jsonb_path_query('"é"', '$ > "z"'), jsonb_path_query('true', '$ > false'), jsonb_path_query('[]', 'strict $ == $'), jsonb_path_query('{}', '$ == $');

-- arithmetic
select jsonb_path_query('[1, 2.5, 4]', '$[0] + $[1] * $[2] - 1 % 3'), jsonb_path_query('7', '$ / 2'), jsonb_path_query('[1, 2]', '-$'), jsonb_path_query('{"a": [2]}', '$.a * 3');
select jsonb_path_query('0', '1 / $');
select jsonb_path_query('0', '1 % $');
select jsonb_path_query('[1, 2]', '3 * $');
select jsonb_path_query('1', '$ + "2"');
select jsonb_path_query('[1, "2", 3]', '+$');
select jsonb_path_query('[1, "2", 3]', '+$', silent => true);
select jsonb_path_query('[1, 2, 0, 3]', '$[*] ? (2 / @ > 0)'), jsonb_path_query('[1, 2, 0, 3]', '$[*] ? ((2 / @ > 0) is unknown)');

-- methods
select jsonb_path_query('[null, 1, true, "a", [], {}]', '$[*].type()');
select jsonb_path_query_array('[1, [], [1, 2], {}]', '$[*].size()'), jsonb_path_query_array('[0, -2, -3.4, 5.6]', '$[*].abs()'), jsonb_path_query_array('[0, -2, -3.4, 5.6]', '$[*].floor()'), jsonb_path_query_array('[0, -2, -3.4, 5.6]', '$[*].ceiling()');
select jsonb_path_query_array('[1.23, "4.5", "1e3"]', '$[*].double()');
select jsonb_path_query('"1.23aaa"', '$.double()');
select jsonb_path_query('"inf"', '$.double()');
select jsonb_path_query('1e1000', '$.double()');
select jsonb_path_query('true', '$.double()');
select jsonb_path_query('{}', '$.abs()');
select jsonb_path_query('{"a": 1, "b": [1, 2], "c": {"a": "bbb"}}', '$.keyvalue()');
select jsonb_path_query('[{"a": 1, "b": [1, 2]}, {"c": {"a": "bbb"}}]', '$[*].keyvalue()');
select jsonb_path_query('{"a": 1.5, "bcd": {"x": {"y": 12345678}, "z": []}}', '$.keyvalue().value.keyvalue().value.keyvalue()');
select jsonb_path_query('{"a": {"b": 1}}', '$.keyvalue().keyvalue()'), jsonb_path_query('{"a": {"b": 1}}', '$v.keyvalue()', '{"v": {"x": 1}}');
select jsonb_path_query('{"a": {"b": 1}}', '$.keyvalue().*'), jsonb_path_query('{"a": {"b": 1}}', '$.keyvalue().**.b');
select jsonb_path_query('[{"a": 1}]', 'strict $.keyvalue()');
select jsonb_path_query('1', '$.keyvalue()');

-- dates and times
set timezone = 'UTC';
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.5+3", "2017-03-10 12:34:56", "2017-03-10T12:34:56+3:10"]', '$[*].datetime()');
select jsonb_path_query('["2017-03-10", "12:34:56", "12:34:56.5+3", "2017-03-10 12:34:56", "2017-03-10T12:34:56+3:10"]', '$[*].datetime().type()');
select jsonb_path_query('"10-03-2017 12:34 +05:20"', '$.datetime("dd-mm-yyyy HH24:MI TZH:TZM")'), jsonb_path_query('"10.03.2017"', '$.datetime("dd.mm.yyyy")'), jsonb_path_query('"12:34"', '$.datetime("HH24:MI")');
select jsonb_path_query('"bogus"', '$.datetime()');
select jsonb_path_query('1', '$.datetime()');
select jsonb_path_query('"12:34"', '$.datetime("aaa")');
select jsonb_path_query('"12:34"', '$.datetime("aaa")', silent => true);
select jsonb_path_query('"aaaa"', '$.datetime("HH24")');
select jsonb_path_query('"10-03-2017 12:34"', '$.datetime("dd-mm-yyyy")');
select jsonb_path_query('"10-03-2017"', '$.datetime("dd-mm-yyyy HH24")');
select jsonb_path_query('"10/03/2017"', '$.datetime("dd-mm-yyyy")');
select jsonb_path_query('"2017-02-30"', '$.datetime("yyyy-mm-dd")');
select jsonb_path_query('"20 +1"', '$.datetime("DD TZH")');
select jsonb_path_query('"+1"', '$.datetime("TZH")');
select jsonb_path_query_array('["2017-03-10", "2017-03-11", "12:34:56", "2017-03-10 00:00:00", "2017-03-10 12:34:56"]', '$[*].datetime() ? (@ >= "10.03.2017".datetime("dd.mm.yyyy"))');
select jsonb_path_query('["2017-03-10 03:00:00+03"]', '$[*].datetime() ? (@ == "10.03.2017".datetime("dd.mm.yyyy"))', silent => true);
select jsonb_path_query_tz('["2017-03-10 03:00:00+03", "2017-03-10 01:00:00", "12:00:00"]', '$[*].datetime() ? (@ >= "10.03.2017".datetime("dd.mm.yyyy"))');
select jsonb_path_exists_tz('["12:35:00+01"]', '$[*].datetime() ? (@ < "12:35".datetime("HH24:MI"))'), jsonb_path_match_tz('"2017-03-10"', '$.datetime() < "2017-03-10 00:00:01+00".datetime()'), jsonb_path_query_first_tz('"2017-03-10"', '$.datetime()'), jsonb_path_query_array_tz('"2017-03-10"', '$.datetime()');
select jsonb_path_query('"1000000-01-01"', '$.datetime() > "2020-01-01 12:00:00".datetime()'::jsonpath);
reset timezone;

-- functions
select jsonb_path_exists('[1, 2]', '$[*] ? (@ > $x)', '{"x": 1}'), jsonb_path_exists('[1, 2]', '$[*] ? (@ > $x)', vars => '{"x": 2}');
select jsonb_path_exists('{}', 'strict $.a', silent => true), jsonb_path_match('{}', 'strict $.a', '{}', true), jsonb_path_match('1', '$', silent => true), jsonb_path_match('true', '$'), jsonb_path_match('null', '$');
select jsonb_path_exists('{}', 'strict $.a');
select jsonb_path_match('1', '$');
select jsonb_path_match('[true, true]', '$[*]');
select jsonb_path_query('1', '$x');
select jsonb_path_query('1', '$x', '{"y": 1}', true);
select jsonb_path_query('1', '$', '[]');
select jsonb_path_query('1', '$', '1', true);
select * from jsonb_path_query('[1, 2, 3]', '$[*] ? (@ > $min)', '{"min": 1}');
select * from jsonb_path_query('[1, 2, 3]', '$[*]') with ordinality as t(item, n) where item > '1' order by n;
select t.id, q from (values (1, jsonb '[1, 2]'), (2, '[]'), (3, null)) t(id, j), jsonb_path_query(j, '$[*]') q order by 1, 2;
select t.id, q from (values (1, jsonb '[1, 2]'), (2, '[]')) t(id, j) left join lateral jsonb_path_query(j, '$[*]') q on true order by 1, 2;
select jsonb_path_query_array('[{"a": 1}, {"a": 2}]', '$[*].a ? (@ > 1)'), jsonb_path_query_array('[]', '$.a'), jsonb_path_query_first('[1, 2]', '$[*]'), jsonb_path_query_first('[1, 2]', '$[*] ? (@ > 5)'), jsonb_path_query_array('[{"a": 1}, {"b": 2}]', 'strict $[*].a', silent => true);
select jsonb_path_query(null, '$'), jsonb_path_exists('1', null), jsonb_path_query_array('1', '$', null);
select jsonb_path_query('1', '$'::text);
select jsonb_path_query('1');
prepare q(jsonb, jsonpath) as select jsonb_path_query_array($1, $2);
execute q('[1, 2]', '$[*] + 1');
execute q('[1, 2]', '$[0] + 1');
execute q('[1, 2]', '$[');
create view found as select jsonb_path_query('[1, 2, 3]', '$[*] ? (@ > 1)') as item;
select * from found;
drop view found
