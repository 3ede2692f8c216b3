package maestro.guard

import rego.v1

default allow := false

allow if {
	input.user == "ada"
	some job in input.jobs
	not job.frozen
}
