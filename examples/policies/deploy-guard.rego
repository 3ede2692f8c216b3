# Asked at every hook of every run: maestro run --policy examples/policies/deploy-guard.rego FILE
package maestro.policies.deploy_guard

is_production if input.labels.stage == "production"

approvers := {"user:ana", "user:ben"}

# Before a run is made.
deny contains "a change of production needs a parameter 'ticket'" if {
	input.hook == "run-start"
	is_production
	not input.run.params.ticket
}

# Before a step is handed to its runner.
deny contains msg if {
	input.hook == "step-dispatch"
	is_production
	input.step.runner in {"shell", "http"}
	msg := sprintf("step %s: the runner %q is not for production", [input.step.id, input.step.runner])
}

# Before a step that is done counts as a success.
deny contains msg if {
	input.hook == "step-end"
	some finding in input.step.output.findings
	finding.severity == "critical"
	msg := sprintf("step %s reports a critical finding: %s", [input.step.id, finding.title])
}

# Before a signal is taken.
deny contains sprintf("%s may not approve", [input.actor]) if {
	input.hook == "signal"
	input.signal.kind == "approval"
	not input.actor in approvers
}

# Before a paused run goes on.
deny contains sprintf("%s may not resume a change of production", [input.actor]) if {
	input.hook == "run-resume"
	is_production
	not input.actor in approvers
}
