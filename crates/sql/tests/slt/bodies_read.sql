-- SQL in a body is read when the function is made
create table run (a int, b text);
insert into run values (1, 'one'), (2, 'two'), (3, 'three');
create function wrong() returns int language plpgsql as $$ begin perform a b c; return 1; end $$;
create function wrong() returns int language plpgsql as $$ declare x int; begin select a b c into x; return x; end $$;
create function wrong() returns int language plpgsql as $$ begin insert into run valuess (1); return 1; end $$;
create function wrong() returns int language plpgsql as $$ begin if a b c then return 1; end if; return 2; end $$;
create function wrong() returns int language plpgsql as $$ begin return a b c; end $$;
create function wrong() returns int language plpgsql as $$ declare x int := a b c; begin return x; end $$;
create function wrong() returns int language plpgsql as $$ declare x int; begin x := a b c; return x; end $$;
create function wrong() returns setof int language plpgsql as $$ begin return query select a b c; end $$;
create function wrong() returns int language plpgsql as $$ declare r record; begin for r in select i fought the law loop return 1; end loop; return 2; end $$;
create function wrong() returns int language plpgsql as $$ begin for i in 1 .. a b c loop return 1; end loop; return 2; end $$;
create function wrong() returns int language plpgsql as $$ declare c cursor for select a b c; begin return 1; end $$;
create function wrong() returns int language plpgsql as $$ declare c refcursor; begin open c for select a b c; return 1; end $$;
create function wrong() returns int language plpgsql as $$ begin raise notice '%', a b c; return 1; end $$;
create function wrong() returns int language plpgsql as $$ begin begin return 1; exception when others then return a b c; end; end $$;
create function wrong() returns int language plpgsql as $$ begin execute a b c; return 1; end $$;
create function wrong() returns int language plpgsql as $$ begin execute 'a b c'; return 1; end $$;
select wrong();
drop function wrong();
create function wrong() returns int language plpgsql as $$ begin return nothing(); end $$;
select wrong();
drop function wrong();
set check_function_bodies = off;
create function wrong() returns int language plpgsql as $$ begin if false then return a b c; end if; return 1; end $$;
select wrong();
reset check_function_bodies;
do $$ begin if true then perform a b c; end if; end $$;
-- where GET DIAGNOSTICS stands, and what it may assign to
create function here() returns text language plpgsql as $$ declare stack text; begin
  perform 1; get diagnostics stack =
    pg_context; return substring(stack from 'function (.*?) line') || substring(stack from ' line \d+ at [A-Z ]*'); end $$;
select here();
create function whole(x run) returns void language plpgsql as $$ begin get diagnostics x = row_count; end $$;
create function part(x run) returns int language plpgsql as $$ begin perform 1 from run; get diagnostics x.a = row_count; return x.a; end $$;
select part(run) from run where a = 1;
do $$ declare r record; begin get diagnostics r = row_count; end $$;
create function constant() returns refcursor language plpgsql as $$ declare rc constant refcursor; begin open rc for select 1; return rc; end $$;
select constant();
create function named() returns refcursor language plpgsql as $$ declare rc constant refcursor := 'named'; begin open rc for select 1; return rc; end $$;
select named();
