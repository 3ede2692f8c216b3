# The front door: every target is a line of Meson and Ninja, or one script. `make help` lists them.
#
# Variables: BUILD=folder of the build (others are named after it), JOBS=compilers at a time, SECONDS=for each fuzzer,
# PREFIX= and DESTDIR= for install, MAESTRO_INSTALL=no in the environment to install no packages.

BUILD   ?= build
PREFIX  ?= /usr/local
SECONDS ?= 600
NINJA   := ninja $(if $(JOBS),-j$(JOBS))
ASAN    := $(BUILD)-asan
TSAN    := $(BUILD)-tsan
RELEASE := $(BUILD)-release
export BUILD

.PHONY: all quickstart examples test test-long asan tsan fuzz bench coverage analyse tidy trace install clean help build-asan-programs

all: $(BUILD)/build.ninja ## build the program, build/maestro, and everything else that is compiled
	@$(NINJA) -C $(BUILD)

quickstart: ## install what is missing, build, and show maestro at work on the examples
	@tools/quickstart $(BUILD)

examples: all ## play the gallery: one small example for each feature, as in examples/transcripts
	@tools/examples --build $(BUILD)

test: ## install what is missing, build, and run every test; the last line counts them
	@tools/install-deps build test
	@$(MAKE) --no-print-directory all build-asan-programs
	@test/run --build $(BUILD) --sanitized $(ASAN)

test-long: ## what takes too long for every change: fuzzers, coverage, the analyser
	@tools/install-deps build test long fuzz
	@SECONDS_EACH=$(SECONDS) test/run --long

asan: all build-asan-programs ## the tests under the address and undefined-behaviour sanitizers
	@test/run --build $(BUILD) --sanitized $(ASAN) --suite asan/

tsan: all $(TSAN)/build.ninja ## the tests under the thread sanitizer
	@$(NINJA) -C $(TSAN)
	@test/run --build $(BUILD) --sanitized $(TSAN) --suite tsan/

fuzz: ## run every fuzzer for SECONDS=600 each
	@tools/install-deps build fuzz
	@test/fuzz/run $(SECONDS)

bench: $(RELEASE)/build.ninja ## measure a release build
	@$(NINJA) -C $(RELEASE)
	@meson test -C $(RELEASE) --no-rebuild --benchmark --verbose

coverage: ## which lines the tests reach
	@tools/install-deps build test long
	@test/long/coverage

analyse: all ## the static analyser over every source; make test has a part of it
	@tools/analyse --build $(BUILD)

tidy: ## check the rules of the source tree
	@tools/tidy --build $(BUILD)

trace: ## which requirements the last `make test` proved
	@tools/trace docs/requirements.md --report $(BUILD)/report.jsonl

install: $(BUILD)/build.ninja ## install the program below PREFIX=/usr/local
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@$(NINJA) -C $(BUILD)
	@meson install -C $(BUILD) --no-rebuild

clean: ## remove every build folder
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-release $(BUILD)-coverage $(BUILD)-fuzz

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

build-asan-programs: $(ASAN)/build.ninja
	@$(NINJA) -C $(ASAN)

# The plain build has no warning. What sanitizers and more optimization add makes GCC warn of things that are not there.
$(ASAN)/build.ninja:    OPTIONS := -Db_sanitize=address,undefined -Dwerror=false
$(TSAN)/build.ninja:    OPTIONS := -Db_sanitize=thread -Dwerror=false
$(RELEASE)/build.ninja: OPTIONS := --buildtype=release -Dwerror=false
%/build.ninja:
	@command -v meson >/dev/null || { echo "meson is missing: tools/install-deps build installs it" >&2; exit 69; }
	@meson setup $* $(OPTIONS)
