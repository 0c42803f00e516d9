-- made by a generator: operators, signs and comments that touch; what PostgreSQL refuses is left out
select 1>>/*c*/--x
1 from (values (2)) v(a);
select 1--'
# -/**/---x
(2) from (values (2)) v(a);
select 1/*c*/<<- ---'
3/+2 from (values (2)) v(a);
select 2|--'
@ ---'
$q$3$q$::int from (values (2)) v(a);
select 1 %/* - */-/* - */a from (values (2)) v(a);
select $q$3$q$::int/*/* ' */*/+---x
.5 from (values (2)) v(a);
select 2/*c*/>>/* - */-a&/*c*/-(2) from (values (2)) v(a);
select a!=/*/* ' */*//*/* ' */*/$q$3$q$::int from (values (2)) v(a);
select (2)<=---x
1.5 from (values (2)) v(a);
select '[1,2,3]'::jsonb/*/* ' */*/<@/*/* ' */*/'[1]' from (values (2)) v(a);
select .5/*c*/<= 1.5 from (values (2)) v(a);
select (2)-/* - */-+/*c*/2 from (values (2)) v(a);
select (2)/*/* ' */*/%--'
+/* - */3 >> +1 from (values (2)) v(a);
select 1.5--'
>=--'
@ -.5 from (values (2)) v(a);
select 1/* - */|--'
- $q$3$q$::int from (values (2)) v(a);
select (2)|--'
$q$3$q$::int from (values (2)) v(a);
select a--x
>>/*/* ' */*/-/*/* ' */*/1 from (values (2)) v(a);
select .5/*/* ' */*/<>--x
--x
.5 from (values (2)) v(a);
select $q$3$q$::int>>/* - */@ -3--x
<>/* - */-+1.5 from (values (2)) v(a);
select (2)/*c*/<=/* - */@ - (2)*/*c*/~$q$3$q$::int from (values (2)) v(a);
select .5<=--x
-/**/---x
.5 from (values (2)) v(a);
select '[1,2,3]'::jsonb->--x
@ ---'
1 from (values (2)) v(a);
select .5%/* - */+/* - */(2) from (values (2)) v(a);
select 1.5 */*c*/-/**/-/* - */.5 from (values (2)) v(a);
select (2)/* - */+/*c*/$q$3$q$::int from (values (2)) v(a);
select $q$3$q$::int--x
=+--x
1>>3 from (values (2)) v(a);
select 2<>+-/*c*/3 from (values (2)) v(a);
select 1/* - */&--x
+-/*/* ' */*/$q$3$q$::int*/* - */-a from (values (2)) v(a);
select .5--x
//*/* ' */*/-+--x
2--'
>/*/* ' */*/~$q$3$q$::int from (values (2)) v(a);
select $q$3$q$::int!=--x
- ---x
1 from (values (2)) v(a);
select 1.5/*c*/-+-/*/* ' */*/1.5 from (values (2)) v(a);
select (2)>/*c*/-/**/-1 from (values (2)) v(a);
select 1.5/*c*/%/*/* ' */*/---x
1.5 from (values (2)) v(a);
select 2--'
=-$q$3$q$::int from (values (2)) v(a);
select a&/* - */- -1/*c*/*/*/* ' */*/~3 from (values (2)) v(a);
select 1<=/*/* ' */*/- -a from (values (2)) v(a);
select 1/*c*/<=+---x
a/* - */*/*c*/$q$3$q$::int from (values (2)) v(a);
select (2)*--x
~2 from (values (2)) v(a);
select (2)/* - */<=/* - */-/**/-1.5 from (values (2)) v(a);
select (2)+--x
-(2) from (values (2)) v(a);
select 1 >+-(2) from (values (2)) v(a);
select (2)/* - */>=/*c*/-/**/---x
a from (values (2)) v(a);
select 1--'
+--'
- ---'
$q$3$q$::int from (values (2)) v(a);
select '[1,2,3]'::jsonb->>--'
-+2 from (values (2)) v(a);
select .5---x
+/* - */a from (values (2)) v(a);
select 2 <=+---'
2 <</*/* ' */*/-+(2) from (values (2)) v(a);
select 1.5 -/* - */-+/*/* ' */*/1 from (values (2)) v(a);
select (2)--x
>= +-3 from (values (2)) v(a);
select 1-+-/* - */2 from (values (2)) v(a);
select (2)/* - */<= a from (values (2)) v(a);
select $q$3$q$::int/*c*/#1 from (values (2)) v(a);
select 1.5*--'
~(2) from (values (2)) v(a);
select .5/*c*/<=+-/*c*/(2) from (values (2)) v(a);
select '{"1":2}'::jsonb->>/*c*/- -/*c*/1 from (values (2)) v(a);
select 1--x
>> -/*/* ' */*/$q$3$q$::int from (values (2)) v(a);
select 2/* - */>-/**/-.5+/*/* ' */*/@ -2 from (values (2)) v(a);
select $q$3$q$::int/*/* ' */*/< -+1.5 from (values (2)) v(a);
select 3/*c*/%/*/* ' */*/~/*/* ' */*/3/*c*/<=+2 from (values (2)) v(a);
select 3/* - */%/* - */-/**/-/* - */.5<=/*c*/-/**/-$q$3$q$::int from (values (2)) v(a);
select (2)/*c*/<< -+--'
1--x
+/*c*/-/**/-(2) from (values (2)) v(a);
select (2)/*c*//--x
+/* - */(2) from (values (2)) v(a);
select 3/*/* ' */*/>>-/**/---'
2 >- -a from (values (2)) v(a);
select (2)<<---x
(2) from (values (2)) v(a);
select 2/*c*/<=/* - */-/**/- .5 from (values (2)) v(a);
select 3/*/* ' */*/=--x
@ -/* - */3 from (values (2)) v(a);
select 2/*/* ' */*/>>-+--x
1/*/* ' */*/% +-1 from (values (2)) v(a);
select '[1,2,3]'::jsonb -/* - */- ---'
2 from (values (2)) v(a);
select 3/*/* ' */*/+--'
@ -/* - */$q$3$q$::int from (values (2)) v(a);
select 3/*/* ' */*/*a from (values (2)) v(a);
select 3>=-/**/- (2) from (values (2)) v(a);
select 2>=- ---'
1 from (values (2)) v(a);
select 1--x
</*/* ' */*/3 from (values (2)) v(a);
select 1.5<=--x
/*/* ' */*/1 from (values (2)) v(a);
select 3--'
<<--x
~2 from (values (2)) v(a);
select 1--x
%2%--'
1.5 from (values (2)) v(a);
select $q$3$q$::int=+-2 |--'
-+1 from (values (2)) v(a);
select 1+-/**/-/* - */1.5 from (values (2)) v(a);
select 3/* - */+--x
- ---x
(2) from (values (2)) v(a);
select $q$3$q$::int/* - */=+-/* - */1.5 from (values (2)) v(a);
select 1.5>--x
@ - 2 from (values (2)) v(a);
select .5--x
* -+ a from (values (2)) v(a);
select .5/*c*/>+/* - */a from (values (2)) v(a);
select .5<> -/**/-$q$3$q$::int from (values (2)) v(a);
select .5=-+/*/* ' */*/1 from (values (2)) v(a);
select '{"1":2}'::jsonb ->--'
2 from (values (2)) v(a);
select .5/* - */+--'
---'
a from (values (2)) v(a);
select 3--'
- +--'
3--x
=1.5 from (values (2)) v(a);
select a>=/* - */@ -a from (values (2)) v(a);
select 1/*c*/% @ -/* - */2/*c*/!=--x
-+.5 from (values (2)) v(a);
select $q$3$q$::int +/*/* ' */*/~$q$3$q$::int >=+-(2) from (values (2)) v(a);
select 2--'
*/* - */+/*c*/3 from (values (2)) v(a);
select 1.5/*c*/>- (2) from (values (2)) v(a);
select .5*-/* - */1.5 from (values (2)) v(a);
select '[1,2,3]'::jsonb/*c*/->/* - */--'
'{1}' from (values (2)) v(a);
select (2) <<-/**/-a from (values (2)) v(a);
select (2)/*/* ' */*/<>--x
~a from (values (2)) v(a);
select (2)/*c*/<> /*c*/3 from (values (2)) v(a);
select 1--x
#/*c*//* - */2 from (values (2)) v(a);
select 1 //* - */---'
3 from (values (2)) v(a);
select (2)/* - */>=/* - */- -1.5 from (values (2)) v(a);
select (2)/*c*/= +---'
1.5 from (values (2)) v(a);
select 1/*c*/>=/*/* ' */*/- -/*c*/(2) from (values (2)) v(a);
select $q$3$q$::int!= -/**/---'
a from (values (2)) v(a);
select 3--x
=/*/* ' */*/+-.5 from (values (2)) v(a);
select '{"1":2}'::jsonb/* - */->>-/**/-1 from (values (2)) v(a);
select $q$3$q$::int--'
<</* - */+-/* - */a from (values (2)) v(a);
select (2)--x
>>--'
+-a from (values (2)) v(a);
select .5*--x
+- (2) from (values (2)) v(a);
select '[1,2,3]'::jsonb--x
---'
-/**/---'
'{1}' from (values (2)) v(a);
select '[1,2,3]'::jsonb/* - */-/*/* ' */*/~--x
2 from (values (2)) v(a);
select 1--x
!=/* - */1 from (values (2)) v(a);
select 1//*c*/+--'
1.5 from (values (2)) v(a);
select 1.5-+-/*c*/$q$3$q$::int from (values (2)) v(a);
select $q$3$q$::int<=/*c*/-/**/-/*c*/(2) from (values (2)) v(a);
select 1.5--x
+ +-a from (values (2)) v(a);
select 2/*c*/%/* - */~$q$3$q$::int from (values (2)) v(a);
select 1.5--'
> - -/*c*/$q$3$q$::int from (values (2)) v(a);
select a/*c*/=- a from (values (2)) v(a);
select 1.5</* - */- -(2)>>/*c*/-+3 from (values (2)) v(a);
select 1.5-/*c*/@ - 1.5 from (values (2)) v(a);
select 1!=/* - */.5 from (values (2)) v(a);
select 1/*c*/&--x
~$q$3$q$::int from (values (2)) v(a);
select 3>=--'
@ -/*c*/.5--'
%/*/* ' */*/-+3 from (values (2)) v(a);
select $q$3$q$::int--x
%/*c*/-/* - */1 from (values (2)) v(a);
select 1.5/* - */-/*c*/-/* - */$q$3$q$::int from (values (2)) v(a);
select (2)--'
|/*c*/~/*/* ' */*/1 from (values (2)) v(a);
select 1.5/*c*/>=+1 from (values (2)) v(a);
select 1/*c*/<<--'
-/**/---'
3 from (values (2)) v(a);
select 1 +--x
+/* - */2 from (values (2)) v(a);
select a>>--'
3 from (values (2)) v(a);
select 1.5/*/* ' */*/% /*c*/.5 from (values (2)) v(a);
select 3/*/* ' */*/* -/**/-/*/* ' */*/.5 from (values (2)) v(a);
select (2)%/*c*/-/*/* ' */*/3 from (values (2)) v(a);
select $q$3$q$::int<=+-$q$3$q$::int from (values (2)) v(a);
select .5-/*/* ' */*/@ -/*/* ' */*/$q$3$q$::int from (values (2)) v(a);
select a--'
+/*/* ' */*/- -.5 from (values (2)) v(a);
select '[1,2,3]'::jsonb->/* - */-/**/-/* - */1 from (values (2)) v(a);
select a <= 2 from (values (2)) v(a);
select a--'
<> +-/*c*/.5 from (values (2)) v(a);
select 1--'
>--x
@ ---x
1.5 from (values (2)) v(a);
select 1.5/* - */%/* - */~/*/* ' */*/2 from (values (2)) v(a);
select 3/* - */*/*/* ' */*/@ -/*/* ' */*/(2) from (values (2)) v(a);
select '[1,2,3]'::jsonb<@/*c*/--x
'[1]' from (values (2)) v(a);
select a+/*c*/+-/*/* ' */*/1 from (values (2)) v(a);
select 3<>--x
a from (values (2)) v(a);
select '{"1":2}'::jsonb--'
#-/*/* ' */*/'{1}' from (values (2)) v(a);
select (2)=+1 from (values (2)) v(a);
select 1.5/*/* ' */*/<+1 from (values (2)) v(a);
select '[1,2,3]'::jsonb->>--x
+-2 from (values (2)) v(a);
select 2!=--'
-/**/-(2) from (values (2)) v(a);
select (2)=/*/* ' */*/2 from (values (2)) v(a);
select '[1,2,3]'::jsonb/* - */@>/* - */'1' from (values (2)) v(a);
select .5=(2) from (values (2)) v(a);
select 2 <>/*c*/-+/* - */$q$3$q$::int from (values (2)) v(a);
select 2--x
>>-+--x
2 from (values (2)) v(a);
select $q$3$q$::int& +3 from (values (2)) v(a);
select a =/*/* ' */*/-/**/-/* - */1 from (values (2)) v(a);
select 1.5--x
---x
-+/*/* ' */*/.5 from (values (2)) v(a);
select a>/*c*/+-2 from (values (2)) v(a);
select (2)--'
#---'
$q$3$q$::int from (values (2)) v(a);
select 3|--'
-/**/---'
3 from (values (2)) v(a);
select $q$3$q$::int<<- -1>--'
.5 from (values (2)) v(a);
select 1 |--x
+--x
1 from (values (2)) v(a);
select .5 <>+ 1.5 from (values (2)) v(a);
select a/*/* ' */*/%/*c*/@ - 1 from (values (2)) v(a);
select '[1,2,3]'::jsonb--x
->1 from (values (2)) v(a);
select .5 >=+/*c*/2 from (values (2)) v(a);
select a =-+/* - */a from (values (2)) v(a);
select (2)=/*/* ' */*/-/**/-1.5 */*c*/@ -3 from (values (2)) v(a);
select a--x
>>/*/* ' */*/2 from (values (2)) v(a);
select 2/* - */#--'
+-$q$3$q$::int from (values (2)) v(a);
select 1/*/* ' */*/<--x
-/**/-2 from (values (2)) v(a);
select $q$3$q$::int|/* - */-+$q$3$q$::int from (values (2)) v(a);
select .5/*c*/<=/*c*/@ - .5 from (values (2)) v(a);
select 2--'
+--x
-/**/-/* - */$q$3$q$::int >+-(2) from (values (2)) v(a);
select a%/*c*/+---x
1.5 from (values (2)) v(a);
select a/* - */>=--x
~$q$3$q$::int from (values (2)) v(a);
select 1+ -/**/---'
1.5 from (values (2)) v(a);
select '[1,2,3]'::jsonb/* - */-> +/* - */1 from (values (2)) v(a);
select 1<>/* - */~--'
(2) from (values (2)) v(a);
select (2) !=/* - */-/* - */$q$3$q$::int from (values (2)) v(a);
select a/*/* ' */*/>=/* - */- -2 from (values (2)) v(a);
select 2/* - */>>+(2) from (values (2)) v(a);
select .5<>--'
+--'
1.5 from (values (2)) v(a);
select '[1,2,3]'::jsonb ->--'
---'
2 from (values (2)) v(a);
select a <>/*c*/- - .5 +/*c*/+1 from (values (2)) v(a);
select (2)/*c*/<<+- a from (values (2)) v(a);
select 3--x
|--'
@ -/*c*/a from (values (2)) v(a);
select a/*c*/*--x
 1.5 from (values (2)) v(a);
select a/* - */<>a from (values (2)) v(a);
select a--'
<>- 1.5 from (values (2)) v(a);
select 1/*c*/<=/* - */~--x
(2)--x
%2 from (values (2)) v(a);
select $q$3$q$::int--x
/- -/*c*/1 from (values (2)) v(a);
select 3 #/*/* ' */*/- (2) from (values (2)) v(a);
select 2 + ~1 from (values (2)) v(a);
select (2)& - -3 from (values (2)) v(a);
select 1.5>=--'
+-/*c*/1//*c*/~(2) from (values (2)) v(a);
select 3/* - */---'
-+1.5 from (values (2)) v(a);
select '{"1":2}'::jsonb--x
->+--'
2 from (values (2)) v(a);
select a/*/* ' */*/=- -/*/* ' */*/2 from (values (2)) v(a);
select (2)/*/* ' */*/<>/*/* ' */*/- 2 from (values (2)) v(a);
select 1 #/*c*/-/**/- 2 from (values (2)) v(a);
select 1.5--x
++--'
3 from (values (2)) v(a);
select 2%--x
-+2 from (values (2)) v(a);
select $q$3$q$::int<=-+/* - */(2) from (values (2)) v(a);
select 2--'
&/*/* ' */*/+-/*c*/1 from (values (2)) v(a);
select '[1,2,3]'::jsonb/*/* ' */*/->>/*/* ' */*/-+2 from (values (2)) v(a);
select 3/* - */*/* - */+3 from (values (2)) v(a);
select '{"1":2}'::jsonb/* - */->- -1 from (values (2)) v(a);
select 3/*/* ' */*/<=/*/* ' */*/~3 from (values (2)) v(a);
select a!= -/*c*/3--x
+/*c*/- -.5 from (values (2)) v(a);
select 3/*c*/|--x
@ -2/* - */!=--'
@ -.5 from (values (2)) v(a);
select 2--'
%/*/* ' */*/-/*c*/1.5 from (values (2)) v(a);
select $q$3$q$::int--'
//* - */+ 1 from (values (2)) v(a);
select 3--x
!=/*/* ' */*//*/* ' */*/3 from (values (2)) v(a);
select 2--'
&/*c*//* - */$q$3$q$::int from (values (2)) v(a);
select .5--'
>/*c*/-+--'
1.5/*/* ' */*/---x
+a from (values (2)) v(a);
select a+/*c*/1.5 from (values (2)) v(a);
select 3/*c*/---x
+$q$3$q$::int from (values (2)) v(a);
select 3/* - */=--x
-(2) from (values (2)) v(a);
select 1.5+/* - */+(2)--x
>= -$q$3$q$::int from (values (2)) v(a);
select a # - ---x
2 from (values (2)) v(a);
select $q$3$q$::int/*c*/-/*/* ' */*/--'
$q$3$q$::int from (values (2)) v(a);
select 3/*c*/<</*/* ' */*/+---x
$q$3$q$::int from (values (2)) v(a);
select .5/* - */= 3 from (values (2)) v(a);
select $q$3$q$::int--'
*/*/* ' */*/~/*/* ' */*/a from (values (2)) v(a);
select $q$3$q$::int<-/**/-/*/* ' */*/2 from (values (2)) v(a);
select 1*- -3/* - */=2 from (values (2)) v(a);
select .5*--'
+-a from (values (2)) v(a);
select 3/*c*/| (2) from (values (2)) v(a);
select 1.5=--'
-3--'
&/*c*/-$q$3$q$::int from (values (2)) v(a);
select 1/*c*/%/*c*/---'
.5 from (values (2)) v(a);
select 1/*/* ' */*/>=-+a from (values (2)) v(a);
select $q$3$q$::int=/*c*/+-a from (values (2)) v(a);
select a* -/**/-.5--x
<>/*/* ' */*/-.5 from (values (2)) v(a);
select a/*c*/-/*/* ' */*/-+/*/* ' */*/1.5 from (values (2)) v(a);
select 3-/* - */-+ a from (values (2)) v(a);
select '[1,2,3]'::jsonb -/*/* ' */*//*/* ' */*/2 from (values (2)) v(a);
select 1/*c*/+/*/* ' */*/-$q$3$q$::int from (values (2)) v(a);
select (2)/* - */&--'
-/**/-/* - */$q$3$q$::int from (values (2)) v(a);
select a>= ---'
$q$3$q$::int from (values (2)) v(a);
select '[1,2,3]'::jsonb/*/* ' */*/->--x
+--x
1 from (values (2)) v(a);
select 1#--x
~3 //*/* ' */*/1 from (values (2)) v(a);
select .5 +--'
+ .5--'
+--x
+1.5 from (values (2)) v(a);
select (2)/*c*/= @ -2 from (values (2)) v(a);
select '[1,2,3]'::jsonb -/* - */- - 2 from (values (2)) v(a);
select .5<--'
- -/* - */(2) from (values (2)) v(a);
select a--x
>/*c*/- -/*c*/3 from (values (2)) v(a);
select a/*/* ' */*/>>--x
+--'
1--'
!= -/**/-(2) from (values (2)) v(a);
select 1</*/* ' */*/-/**/-/*/* ' */*/.5 from (values (2)) v(a);
select $q$3$q$::int--'
|/* - */+- 1 from (values (2)) v(a);
select $q$3$q$::int<>/*/* ' */*/-+--x
1.5--x
*/*/* ' */*/~1 from (values (2)) v(a);
select 1--'
>--x
-/**/-3 from (values (2)) v(a);
select '[1,2,3]'::jsonb->-1 from (values (2)) v(a);
select 2--'
<-.5 from (values (2)) v(a);
select a%--'
~$q$3$q$::int from (values (2)) v(a);
select '[1,2,3]'::jsonb--'
->-/**/-1 from (values (2)) v(a);
select 1/*/* ' */*/#--x
- ---x
(2) from (values (2)) v(a);
select a--x
</*c*/-+/*c*/1 from (values (2)) v(a);
select '[1,2,3]'::jsonb||--x
---x
'1' from (values (2)) v(a);
select '{"1":2}'::jsonb/*/* ' */*/->>+2 from (values (2)) v(a);
select $q$3$q$::int &/*c*/-+2 from (values (2)) v(a);
select 3--'
//* - */+---x
3 from (values (2)) v(a);
select $q$3$q$::int>/* - */@ -/*/* ' */*/a from (values (2)) v(a);
select 1.5+--x
-/* - */a from (values (2)) v(a);
select 1+--x
~--x
3 from (values (2)) v(a);
select $q$3$q$::int--x
/--'
~1=- -a from (values (2)) v(a);
select $q$3$q$::int--x
*--x
+---'
1& - -1 from (values (2)) v(a);
select .5</* - */-/*/* ' */*/2 from (values (2)) v(a);
select 2 >=--'
- -3 from (values (2)) v(a);
select .5/*c*/<--x
-+--'
2--'
+/*c*/-/**/-2 from (values (2)) v(a);
select .5/* - */--/**/- $q$3$q$::int|--'
-+2 from (values (2)) v(a);
select 2/*c*/<<+a/* - */<> @ -.5 from (values (2)) v(a);
select $q$3$q$::int/*/* ' */*/>+-/*/* ' */*/.5 from (values (2)) v(a);
select 1--x
%--x
+1.5--'
!= @ -.5 from (values (2)) v(a);
select (2) #/* - */-+--x
1 from (values (2)) v(a);
select $q$3$q$::int/*/* ' */*/>/* - */@ -/*/* ' */*/2 from (values (2)) v(a);
select .5--x
>/* - */+-1.5 from (values (2)) v(a);
select 1--x
>> -+/*c*/a from (values (2)) v(a);
select 3<>+-/* - */1 from (values (2)) v(a);
select 2!=/* - */@ - (2) from (values (2)) v(a);
select a<>- -/*c*/1 from (values (2)) v(a);
select 1.5=/*c*/- -/*c*/$q$3$q$::int from (values (2)) v(a);
select 2<>/*/* ' */*/~$q$3$q$::int/*c*/&/* - */-/**/-a from (values (2)) v(a);
select 2/*/* ' */*/=--x
- ---x
.5 from (values (2)) v(a);
select 2++/*/* ' */*/1 from (values (2)) v(a);
select 1.5/* - */<>+-a from (values (2)) v(a);
select 3*/* - */~3 from (values (2)) v(a);
select .5--'
>/*/* ' */*/+/*/* ' */*/$q$3$q$::int from (values (2)) v(a);
select '[1,2,3]'::jsonb ->>/*c*/'[1]' from (values (2)) v(a);
select 1.5/* - */>=- ---'
1.5 from (values (2)) v(a);
select 1.5/*c*/-/* - */- $q$3$q$::int from (values (2)) v(a);
select 2/*c*/=--'
+---'
a from (values (2)) v(a);
select 3%/* - */---x
$q$3$q$::int from (values (2)) v(a);
select .5>=/*/* ' */*/+-$q$3$q$::int from (values (2)) v(a);
select '{"1":2}'::jsonb<@/* - *//* - */'[1]' from (values (2)) v(a);
select (2)=/*c*/a from (values (2)) v(a);
select 1/*c*/|/*c*/+-a from (values (2)) v(a);
select 1/* - */+--'
+/*c*/$q$3$q$::int from (values (2)) v(a);
select 1.5*/*/* ' */*/+--x
(2) from (values (2)) v(a);
create table n (a int check (a>-5), b int default 2-+1, constraint c check (b<>-1 and a>=-/* x */100), unique(a));
insert into n values (-5);
insert into n values (-4), (0), (3);
table n;
insert into n values (1, -1);
select a from n where a>-5 and a<>-/**/3 order by a*-1;
create index n_i on n ((a- -b)) where a>-10;
create view v as select a>-1 as p, a+-1 as q from n;
select * from v order by q;
prepare p(int) as select a from n where a>=-$1 order by a;
execute p(1);
update n set a=-a where a>-1 and a<>0;
select a from n order by a;
do $$ declare x int:=-1; y int=-2; begin if x<>-1 or y>=-1 then raise exception 'no'; end if; for i in -2..-1 loop x:=x+-i; end loop; x:=-x; if x>-1 or x<>-(2) then raise exception '%', x; end if; end $$;
create function f(a int default -1, b int=-2) returns int language sql as 'select a*-b';
select f(), f(b=>-3), f(b:=-4);
create function g(x int) returns int language plpgsql as $$ begin return case when x>-1 then x-+1 else x<<-/**/-1 end; end $$;
select g(5);
select (array[1,2,3])[1:+2], '{1,2}'::int[]||-3, 2::int4-1;
select 'x'||/*c*/'y' --z
||'w';
select 1<>--c
2;
select 1 - -- c
1;
create view neg as select - -a as x, -(-a) as y, - - - 1 as z, + -a as w, 2 - -a as v from n;
select * from neg order by x;
create table neg2 (a int default - -1, check (a > - -0));
insert into neg2 default values;
table neg2;
select - - 1, -(-1), +-+1, 2*-+-1;
select '2020-01-01'::date-+1, interval '1 day'*-1;
select 1 where 2>-
1;
select 123abc;
select 0x1F;
select 0b11, 0o17;
select 100_000;
select 1e, 2;
select 1.5e+ 2;
select a from n where a=1x;
select 1.5e3, 1e-2, .5e1, 1.;
create view neg4 as select @ - -a as x, ~ -a as y, - @ a as v, - - a + 1 as w, - -a * 2 as u from n;
select * from neg4 order by x, y;
select - -2 ^ 2, -2 ^ 2, - - - 3 - - - 4, ~ ~ 5, @ - @ -3;
select @ -5 + 3, ~ 1 + 1, |/ 9.0::float8 + 7, @ -2 * 3 - 10, -2 ^ 2, @ -5 = 5, - 2 ^ - 2, -'1'::int ^ 2, @ -5 | 3, -(2) * 3 ^ -a from (values (2)) v(a);
create view neg5 as select @ -a + 3 as x, -a ^ 2 as y, ~ a - 1 as z, -a ^ -2 as w from n where a <> 0;
select * from neg5 order by x, y;
select -(array[1, 2])[1], -a[1] from (values (array[5])) v(a);
