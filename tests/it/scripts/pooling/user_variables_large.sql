# Many user variables at once, and large ones: those that are not taken along keep a session where it is.
a: SET @n0 = REPEAT('a', 6000), @n1 = REPEAT('b', 6000), @n2 = REPEAT('c', 6000), @n3 = REPEAT('d', 6000), @n4 = REPEAT('e', 6000), @n5 = REPEAT('f', 6000), @n6 = REPEAT('g', 6000), @n7 = REPEAT('h', 6000), @n8 = REPEAT('i', 6000), @n9 = REPEAT('j', 6000), @n10 = REPEAT('k', 6000), @n11 = REPEAT('l', 6000), @n12 = REPEAT('m', 6000), @n13 = REPEAT('n', 6000), @n14 = REPEAT('o', 6000), @n15 = REPEAT('p', 6000), @n16 = REPEAT('q', 6000), @n17 = REPEAT('r', 6000), @n18 = REPEAT('s', 6000), @n19 = REPEAT('t', 6000), @n20 = REPEAT('u', 6000), @n21 = REPEAT('v', 6000), @n22 = REPEAT('w', 6000), @n23 = REPEAT('x', 6000), @n24 = REPEAT('y', 6000), @n25 = REPEAT('z', 6000), @n26 = REPEAT('a', 6000), @n27 = REPEAT('b', 6000), @n28 = REPEAT('c', 6000), @n29 = REPEAT('d', 6000), @n30 = REPEAT('e', 6000), @n31 = REPEAT('f', 6000), @n32 = REPEAT('g', 6000), @n33 = REPEAT('h', 6000), @n34 = REPEAT('i', 6000), @n35 = REPEAT('j', 6000), @n36 = REPEAT('k', 6000), @n37 = REPEAT('l', 6000), @n38 = REPEAT('m', 6000), @n39 = REPEAT('n', 6000)
a: SELECT GET_LOCK('$N.a', 0)
= 1
a: SELECT LENGTH(@n0), @n1 = REPEAT('b', 6000), LENGTH(@n39)
= 6000 | 1 | 6000
b: SET @n0 = REPEAT('a', 60000), @n1 = REPEAT('b', 60000), @n2 = REPEAT('c', 60000), @n3 = REPEAT('d', 60000), @n4 = REPEAT('e', 60000), @n5 = REPEAT('f', 60000), @n6 = REPEAT('g', 60000), @n7 = REPEAT('h', 60000), @n8 = REPEAT('i', 60000), @n9 = REPEAT('j', 60000), @n10 = REPEAT('k', 60000), @n11 = REPEAT('l', 60000), @n12 = REPEAT('m', 60000), @n13 = REPEAT('n', 60000), @n14 = REPEAT('o', 60000), @n15 = REPEAT('p', 60000), @n16 = REPEAT('q', 60000), @n17 = REPEAT('r', 60000), @n18 = REPEAT('s', 60000), @n19 = REPEAT('t', 60000), @n20 = REPEAT('u', 60000), @n21 = REPEAT('v', 60000), @n22 = REPEAT('w', 60000), @n23 = REPEAT('x', 60000), @n24 = REPEAT('y', 60000), @n25 = REPEAT('z', 60000), @n26 = REPEAT('a', 60000), @n27 = REPEAT('b', 60000), @n28 = REPEAT('c', 60000), @n29 = REPEAT('d', 60000), @n30 = REPEAT('e', 60000), @n31 = REPEAT('f', 60000), @n32 = REPEAT('g', 60000), @n33 = REPEAT('h', 60000), @n34 = REPEAT('i', 60000), @n35 = REPEAT('j', 60000), @n36 = REPEAT('k', 60000), @n37 = REPEAT('l', 60000), @n38 = REPEAT('m', 60000), @n39 = REPEAT('n', 60000)
b: SELECT LENGTH(@n0), @n1 = REPEAT('b', 60000), LENGTH(@n39)
= 60000 | 1 | 60000
b reset
b: SELECT @n0, @n39
= NULL | NULL
b: SET @small = 1
b: SELECT @small
= 1
