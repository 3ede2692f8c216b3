package maestro.api

# Who may do what over the API, by the role of the key. Another policy can take the place of this one: 'maestro server --access
# FILE'. It is asked for every request with what this one reads, and has to define allow in a package below maestro. That a key
# reaches its own tenant alone is not up to a policy.

default allow := false

allow if input.caller.role == "admin"

allow if input.verb in permitted[input.caller.role]

reasons contains sprintf("the role %s does not permit %s", [input.caller.role, input.verb]) if not allow

viewing := {"root.read", "workflow.read", "execution.read", "event.read", "executor.read", "tenant.read", "policy.read"}

steering := {
	"execution.start", "execution.pause", "execution.resume", "execution.cancel", "execution.resolve", "execution.retry",
	"execution.compensate", "execution.approve", "execution.signal", "execution.trigger", "execution.rebind", "schedule.override", "policy.review",
	"workflow.validate",
}

writing := {"workflow.create", "workflow.activate", "workflow.deactivate", "workflow.delete", "workflow.validate"}

working := {"executor.exchange"}

# Keys, secrets and tokens of triggers (key.read, key.create, key.revoke, secret.read, secret.set, secret.remove, trigger.token) are
# for admins alone. Whatever a policy says: a key is made of no other tenant than the caller's, and of no higher role.

# A step that is under way, with the credential that it was handed: about its own run and no other.
attempting := {"execution.read", "event.read", "execution.signal"}

permitted := {
	"viewer": viewing,
	"operator": viewing | steering,
	"author": viewing | writing,
	"worker": working,
	"attempt": attempting,
}
