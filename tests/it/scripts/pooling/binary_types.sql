# Types of parameters whose context gives them none: MySQL keeps that of a number for strings and NULL that come after it.
a prepare s : SELECT ? AS x, CHARSET(?), ? + 1
a execute s 'a' 'a' 'a'
a execute s 1.5 'a' 2
a prepare n : SELECT ? AS x, CHARSET(?), ? + 1
a execute n 1 1 1
= 1 | binary | 2
a: DO 1
a execute n keep 3 3 3
= 3 | binary | 4
@end shuffled mysql
a execute n 'a' 'a' 'a'
[mysql] = 0 | binary | 1 W2
a: SELECT GET_LOCK('$N.a', 0)
= 1
a execute n keep 'b' 'b' 'b'
[mysql] = 0 | binary | 1 W2
a execute n 1.5 1.5 1.5
a execute n null null null
= NULL | binary | NULL
a execute n keep null null null
= NULL | binary | NULL
