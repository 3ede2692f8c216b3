# c1

# c2
package a # c3
# c4

# c5
import data.b # c6
# c7
import data.a

# c8

import data.z
# c9
import data.y
# c10

# c11
x := 1

# METADATA
# title: foo
y := 2
# c12
z if { # c13
  # c14

  # c15
  a := 1

  # c16
  # c17
  b := {  # c18
    # c19
    "a": 1, # c20

    # c21
    "b": 2 # c22
  } # c23
  # c24
  c := [
    # c25
    1, 2 # c26
    # c27
  ]
  # c28
} # c29
w if { a := 1 # c30
  b := 2 } # c31
v if { a := 1 } # c32
u := [ 1, # c33
  2] # c34
t := f(1, # c35
  2) # c36
s if {
  x := [y | # c37
    y := 1 # c38
    # c39
    z := 2
  ] # c40
  every a in b { # c41
    # c42
    a == 1 # c43
    # c44
  } # c45
}
r := 1 if false
