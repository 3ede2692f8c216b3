package a
a := 1
b := 2

c := 3


d := 4
e if {
  x := 1

  y := 2


  z := 3
}
f := 5
g if { input.x }
h := {
 "a": 1 }
i := 7
# comment j
j := 8
k := 9 # trailing k
l := 10
# comment after l

m := 11
default n := 1
o := 1
default p := 1
default q := 1
import data.foo
r if {
  # first comment
  x := 1 # trailing x
  # before y
  y := 2

  # before z
  z := 3
  # last
}

s if { # on the brace
  x := 1
}
t if x == 1 # trailing t
t if x == 2
# end comment

# very end
