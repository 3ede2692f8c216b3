package a

deny contains msg if {
	input.cost > 10.5
	msg := sprintf("%v is too much", [input.cost])
}

f(x) := y if y := x + 1

else_case := 1 if false

else := 2
