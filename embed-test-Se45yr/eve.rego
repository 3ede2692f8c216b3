package p
import rego.v1
deny contains "not for Eve" if input.params.who == "Eve"
