# Who may do what to which workflow, as a policy at every hook: for measuring what a verdict costs.
package maestro.bench

default allow := false

# An actor has roles; of a name that nobody knows, those of everybody.
roles := object.get(actors, input.actor, ["everybody"])

actors := {
	"user:bench": ["operator"],
	"engine": ["engine"],
	"executor:bench": ["engine"],
}

grants := {
	"operator": {"run-start", "run-resume", "signal", "step-dispatch", "step-end"},
	"engine": {"step-dispatch", "step-end"},
	"everybody": {"step-dispatch", "step-end"},
}

allow if {
	some role in roles
	input.hook in grants[role]
	input.tenant == "default"
	not input.labels.frozen
}

deny contains sprintf("runner %q is not trusted", [input.step.runner]) if input.step.runner in {"shell", "http"}
