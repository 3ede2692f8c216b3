package maestro.policies.data_sovereignty_eu

# Work on data of the European Union runs on executors in its regions.
default allow := false

# Nothing is placed yet.
allow if input.hook == "run-start"

allow if startswith(input.placement.region, "eu-")

reasons contains sprintf("region %q is not in the European Union", [input.placement.region]) if not allow
