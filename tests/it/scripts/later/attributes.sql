@also observed
a qattr long='$REP(x,70000)' : SELECT GET_LOCK('$Nl',0)
= 1
