-- FOREACH over slices of arrays
create function sliced0(anyarray) returns text language plpgsql as $$ declare x int; r text := ''; begin foreach x slice 0 in array $1 loop r := r || x || ';'; end loop; return r; end $$;
create function sliced1(anyarray) returns text language plpgsql as $$ declare x int[]; r text := ''; begin foreach x slice 1 in array $1 loop r := r || x::text || ';'; end loop; return r; end $$;
create function sliced2(anyarray) returns text language plpgsql as $$ declare x int[]; r text := ''; begin foreach x slice 2 in array $1 loop r := r || x::text || ';'; end loop; return r; end $$;
select sliced0(array[[1, 2], [3, 4]]), sliced1(array[[1, 2], [3, 4]]), sliced2(array[[1, 2], [3, 4]]);
select sliced1(array[1, 2, 3]);
select sliced2(array[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), sliced1(array[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]);
select sliced1('[2:3][5:6]={{1,2},{3,4}}'::int[]);
select sliced2(array[1, 2, 3]);
select sliced1('{}'::int[]);
select sliced0('{}'::int[]);
create function sliced_wrong() returns text language plpgsql as $$ declare x int[]; begin foreach x slice y in array array[1] loop null; end loop; end $$;
create function sliced_value(anyarray) returns text language plpgsql as $$ declare x int; begin foreach x slice 1 in array $1 loop null; end loop; return x; end $$;
select sliced_value(array[1, 2]);
create function sliced_array(anyarray) returns text language plpgsql as $$ declare x int[]; begin foreach x in array $1 loop null; end loop; return x; end $$;
select sliced_array(array[1, 2]);
