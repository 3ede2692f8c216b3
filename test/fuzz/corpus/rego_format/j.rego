package a
f(a, [
 1,2]) := 1 if x > 1
f(a, [
 1,2]) if {
 x > 1 }
p if {
 z := 3

 # last

 # last 2
}
q if {
 # only
 true
}
q if { # only
 true
}
r if {
 a == 1
 # x
 # y

 b == 1



 # z
 c == 1
 d == 1 # t


}
# foo
# bar

# baz


# qux
s := 1
t if { a } else if { true }
u := 1 if { a } else := 2 if { true }
v := 1 if { a } else := 2 if {
 b }
