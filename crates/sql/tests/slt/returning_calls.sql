-- procedures that return something, in functions in SQL; VARIADIC is last
create procedure swap(inout a int, inout b int) language sql as $$ select b, a $$;
create procedure swapped(inout b int, inout a int) language sql as $$ call swap(a, b) $$;
create procedure swapped(inout b int, inout a int) language plpgsql as $$ begin call swap(a, b); end $$;
call swapped(1, 2);
create procedure rest(a variadic int[], b out int) language sql as $$ select a[1] $$;
create function rest(a variadic int[], b out int) language sql as $$ select a[1] $$;
select rest(7, 8);
