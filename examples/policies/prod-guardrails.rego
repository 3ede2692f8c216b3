package maestro.policies.prod_guardrails

# Production changes keep to the blast-radius budget of their workflow.
default allow := false

allow if input.run.blast_radius.used <= input.run.blast_radius.budget

allow if not input.run.blast_radius

obligations contains {"kind": "notify", "to": "operations"} if input.phase == "post-flight"
