# Which rules of the platform a pod breaks, as an admission webhook asks.
package bench.admission

deny contains message if {
	not name_is_good
	message := sprintf("the name %q is not allowed", [input.request.object.metadata.name])
}

deny contains message if {
	some label in {"app", "team", "environment", "cost-center"}
	not input.request.object.metadata.labels[label]
	message := sprintf("the label %v is missing", [label])
}

deny contains message if {
	environment := input.request.object.metadata.labels.environment
	not environment in {"development", "staging", "production"}
	message := sprintf("there is no environment %v", [environment])
}

deny contains "host namespaces are not allowed" if {
	some field in ["hostNetwork", "hostPID", "hostIPC"]
	input.request.object.spec[field] == true
}

deny contains "the default service account is not allowed" if {
	object.get(input.request.object.spec, "serviceAccountName", "default") == "default"
}

deny contains message if {
	some volume in input.request.object.spec.volumes
	path := volume.hostPath.path
	not path_is_allowed(path)
	message := sprintf("volume %v: the host path %v is not allowed", [volume.name, path])
}

deny contains message if {
	some volume in input.request.object.spec.volumes
	some kind, _ in volume
	kind in {"nfs", "iscsi", "glusterfs", "flexVolume"}
	message := sprintf("volume %v: %v volumes are not allowed", [volume.name, kind])
}

deny contains message if {
	some container in containers
	not image_is_allowed(container.image)
	message := sprintf("container %v: the image %v comes from elsewhere", [container.name, container.image])
}

deny contains message if {
	some container in containers
	image_tag(container.image) == "latest"
	message := sprintf("container %v: the image has no fixed tag", [container.name])
}

deny contains message if {
	some container in containers
	container.securityContext.privileged
	message := sprintf("container %v: it is privileged", [container.name])
}

deny contains message if {
	some container in containers
	not runs_as_other(container)
	message := sprintf("container %v: it may run as root", [container.name])
}

deny contains message if {
	some container in containers
	not container.securityContext.readOnlyRootFilesystem == true
	message := sprintf("container %v: its root filesystem can be written to", [container.name])
}

deny contains message if {
	some container in containers
	object.get(container, ["securityContext", "allowPrivilegeEscalation"], true)
	message := sprintf("container %v: it may escalate its privileges", [container.name])
}

deny contains message if {
	some container in containers
	some capability in container.securityContext.capabilities.add
	not capability in {"NET_BIND_SERVICE", "CHOWN"}
	message := sprintf("container %v: the capability %v is not allowed", [container.name, capability])
}

deny contains message if {
	some container in containers
	not "ALL" in object.get(container, ["securityContext", "capabilities", "drop"], [])
	message := sprintf("container %v: it keeps capabilities", [container.name])
}

deny contains message if {
	some container in containers
	some kind in ["requests", "limits"]
	some resource in ["cpu", "memory"]
	not container.resources[kind][resource]
	message := sprintf("container %v: it has no %v.%v", [container.name, kind, resource])
}

deny contains message if {
	some container in containers
	units.parse_bytes(container.resources.limits.memory) > units.parse_bytes("4Gi")
	message := sprintf("container %v: more than 4 GiB of memory", [container.name])
}

deny contains message if {
	some container in containers
	units.parse(container.resources.requests.cpu) > units.parse(container.resources.limits.cpu)
	message := sprintf("container %v: it requests more than its limit", [container.name])
}

deny contains message if {
	some container in input.request.object.spec.containers
	some probe in ["livenessProbe", "readinessProbe"]
	not container[probe]
	message := sprintf("container %v: it has no %v", [container.name, probe])
}

deny contains message if {
	some container in containers
	some port in container.ports
	port.containerPort < 1024
	message := sprintf("container %v: port %d is privileged", [container.name, port.containerPort])
}

deny contains message if {
	some container in containers
	some port in container.ports
	port.hostPort
	message := sprintf("container %v: it binds port %d of the host", [container.name, port.hostPort])
}

deny contains message if {
	some container in containers
	some variable in container.env
	regex.match(`(?i)(password|secret|token)`, variable.name)
	variable.value
	message := sprintf("container %v: %v holds a secret as plain text", [container.name, variable.name])
}

deny contains message if {
	names := [container.name | some container in containers]
	some name in names
	count([other | some other in names; other == name]) > 1
	message := sprintf("two containers are called %v", [name])
}

deny contains message if {
	input.request.object.metadata.labels.environment == "production"
	some container in containers
	not startswith(container.image, "registry.example.com/release/")
	message := sprintf("container %v: production runs releases alone", [container.name])
}

containers contains container if some container in input.request.object.spec.containers

containers contains container if some container in input.request.object.spec.initContainers

name_is_good if {
	name := input.request.object.metadata.name
	count(name) <= 63
	regex.match(`^[a-z]([-a-z0-9]*[a-z0-9])?$`, name)
}

path_is_allowed(path) if startswith(path, "/var/log/")

path_is_allowed("/etc/localtime")

image_is_allowed(image) if {
	some registry in {"registry.example.com/", "mirror.example.com/"}
	startswith(image, registry)
}

image_tag(image) := tag if {
	parts := split(image, "/")
	[_, tag] := split(parts[count(parts) - 1], ":")
} else := "latest"

runs_as_other(container) if container.securityContext.runAsNonRoot == true

runs_as_other(container) if container.securityContext.runAsUser > 0

runs_as_other(_) if input.request.object.spec.securityContext.runAsNonRoot == true
