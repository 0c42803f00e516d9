-- U&'..' and U&"..", with UESCAPE and without
select U&'a\b!0061' UESCAPE '!';
select U&'a\\b!!c!0061\' UESCAPE '!', U&'!0061\+000062' uescape '\';
select U&'d\0061t\+000061' as a, U&'\D83D\DE00', U&'', U&'a''b\0027' as q;
select U&'a\\b', U&'tricky' UESCAPE '!', U&'\+01F600!' uescape '\';
select U&'a'
'\0062';
select U&'a!'
'0062' uescape '!';
select U&'a!'
'0062\' uescape '!', 'a'-'b', U&'\0061' || 'c';
select U&"d\0061t\+000061" from (select 1 as data, 2 as dat) x;
select U&"d!0061t!+000061" UESCAPE '!' from (select 1 as data, 2 as data2) x;
select U&"d\q!0061" UESCAPE '!' from (select 1 as "d\qa") x;
select U&'wrong: \061';
select U&'wrong: \+0061';
select U&'wrong: +0061' UESCAPE '+';
select U&'wrong: \db99';
select U&'wrong: \db99xy';
select U&'wrong: \db99\\';
select U&'wrong: \db99\0061';
select U&'wrong: \+00db99\+000061';
select U&'wrong: \+2FFFFF';
select U&'wrong: \de00';
select U&'zero: \0000';
select U&'a\', E'b\\', 1;
select U&'abc' UESCAPE '';
select U&'abc' UESCAPE 'ab';
select U&"wrong: \061";
create function unicoded() returns text language sql as $$ select U&'a\b!0061' uescape '!' $$;
select unicoded();
create view unicoded_view as select U&'a\b!0061' uescape '!' as a, U&'\0061\\' as b;
select * from unicoded_view;
