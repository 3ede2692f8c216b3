package maestro.policies.sast_required

# A build is admitted if it names the commit it builds; its success counts if it reports a scan without findings.
default allow := false

allow if {
	input.phase == "pre-flight"
	input.run.payload.commit
}

allow if {
	input.phase == "post-flight"
	count(object.get(input.step.output, "findings", [])) == 0
}
