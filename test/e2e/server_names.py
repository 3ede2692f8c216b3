#!/usr/bin/env python3
"""Names of machines that nobody resolves, as where a resolver is away: what asks for one waits for it, and nothing else does."""
import signal

from maestro_test import case, main
from server_test import HELLO, Server, preloaded

# In place of the library's: whatever is 'slow' is looked up for ever.
RESOLVER = """#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    int (*resolve)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    while (name && strstr(name, "slow")) {
        close(creat(getenv("ASKED"), 0600));
        pause();
    }
    return resolve(name, service, hints, found);
}
"""

ASKING = """workflow: %s
jobs:
  a:
    tasks:
      - { name: ask, run: http, input: { url: "%s" }, timeout: %s }
"""


class Resolver:
    def __init__(self, t):
        self.asked = t.folder / "asked"
        self.env = {**preloaded(t, "resolver", RESOLVER), "ASKED": str(self.asked)}


@case("")
def a_request_whose_name_nobody_resolves_ends_in_its_time_and_keeps_no_other_waiting(t):
    resolver = Resolver(t)
    server = Server(t, env=resolver.env)
    server.define(ASKING % ("slow", "http://slow.example/", "1s"))
    server.define(ASKING % ("fast", f"http://127.0.0.1:{server.port}/healthz", "1m"))
    slow = server.begin("slow", wait="30s")
    t.equal((slow["status"], slow["steps"][0]["errorDetails"]["cause"]), ("FAILED", "timeout"), f"{slow}")
    t.equal(server.begin("fast", wait="30s")["status"], "COMPLETED")


@case("")
def a_server_ends_though_a_step_and_its_collector_have_names_that_nobody_resolves(t):
    resolver = Resolver(t)
    server = Server(t, "--otlp", "http://slow.example:4318", env=resolver.env)
    server.define(HELLO)
    server.define(ASKING % ("slow", "http://slow.example/", "1m"))
    t.equal(server.begin("hello", {"who": "x"}, wait="30s")["status"], "COMPLETED")
    server.begin("slow")
    t.until(resolver.asked.exists, "somebody waits for the name")
    t.equal(server.stop().code, 0)


@case("")
def a_worker_ends_though_nobody_resolves_the_name_of_its_server(t):
    resolver = Resolver(t)
    worker = t.start("worker", "--server", "http://slow.example:8080", "--executor", "far", env=resolver.env)
    t.until(resolver.asked.exists, "it asks for the name")
    worker.send_signal(signal.SIGTERM)
    t.equal(t.end(worker).code, 0)


main()
