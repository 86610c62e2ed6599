# SPDX-License-Identifier: Apache-2.0
#
# Builds libversola.so as it is released and calls the scripts that do the rest; `make help` lists the targets.
# The link flags live here and not in Package.swift: there they would apply to `swift test` as well and break it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := library

HEADER := include/versola.h
VERSION := $(shell sed -n 's/^\#define VERSOLA_VERSION_STRING "\(.*\)"/\1/p' $(HEADER))
ABI := $(shell sed -n 's/^\#define VERSOLA_ABI_VERSION //p' $(HEADER))
SONAME := libversola.so.$(ABI)
# The numbers after the ABI's are fixed: versola_version() tells the version.
LIBRARY := $(SONAME).0.0

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DESTDIR ?=
FILL_IN = -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	-e 's|@VERSION@|$(VERSION)|' -e 's|@VERSION_MAJOR@|$(firstword $(subst ., ,$(VERSION)))|' \
	-e 's|@LIBRARY@|$(LIBRARY)|' -e 's|@SONAME@|$(SONAME)|' \
	-e "s|@INCLUDEDIR_FROM_LIBDIR@|$$(realpath -m --relative-to='$(LIBDIR)' '$(INCLUDEDIR)')|"

# No Swift runtime to install and none that installs signal handlers; the libraries named by hand are those that
# FoundationEssentials leaves out when it is linked statically.
STATIC_RUNTIME := -Xswiftc -static-stdlib \
	-Xlinker -lswiftSynchronization -Xlinker -l_FoundationCollections -Xlinker -l_FoundationCShims

# SANITIZE=address and SANITIZE=thread build variants of their own beside the release library. A sanitizer's runtime comes
# with the program, so its symbols stay undefined here. ThreadSanitizer's understands Dispatch by standing in for the
# functions of a shared libdispatch: the Swift runtime is that of the toolchain then.
SANITIZE ?=
ifeq ($(SANITIZE),)
BUILD := build
SCRATCH := .build/release-abi
VARIANT_FLAGS := $(STATIC_RUNTIME) -Xswiftc -Osize -Xlinker -z -Xlinker defs -Xlinker --gc-sections
else ifeq ($(SANITIZE),thread)
BUILD := build/tsan
SCRATCH := .build/tsan-abi
VARIANT_FLAGS := --sanitize=thread -Xswiftc -O
else
BUILD := build/$(SANITIZE:address=asan)
SCRATCH := .build/$(SANITIZE:address=asan)
VARIANT_FLAGS := $(STATIC_RUNTIME) --sanitize=$(SANITIZE) -Xswiftc -O
endif

# What `make fuzz` runs, and for how long each.
TARGET ?= $(notdir $(wildcard Tests/Fuzz/corpus/*))
SECONDS ?= 60

# nodelete: a Swift runtime cannot be unloaded. lld comes with the toolchain; gold, its default, is gone from newer
# distributions.
LINK_FLAGS := -Xswiftc -use-ld=lld -Xlinker --version-script=$(CURDIR)/include/versola.map -Xlinker -soname=$(SONAME) \
	-Xlinker -z -Xlinker nodelete $(VARIANT_FLAGS)

.PHONY: help library test endurance pythons lint format install fuzz tsan fleet demo wheel clean

help: ## lists the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20
	@echo "Variables: DESTDIR, PREFIX, LIBDIR, INCLUDEDIR (install); SANITIZE=address or thread (library)"

library: ## the release library, stripped, its debug information beside it (default)
	@mkdir -p $(BUILD)
	@# SwiftPM does not watch the export map.
	@built=$(SCRATCH)/release/libversola.so; [[ $$built -nt include/versola.map ]] || rm -f $$built
	@swift build -c release --product versola --scratch-path $(SCRATCH) \
		--disable-local-rpath $(LINK_FLAGS)
	@built=$(SCRATCH)/release/libversola.so; target=$(BUILD)/$(LIBRARY); \
	if [[ ! $$target -nt $$built ]]; then \
		objcopy --only-keep-debug $$built $$target.debug; chmod a-x $$target.debug; \
		strip --strip-unneeded -o $$target.new $$built; \
		objcopy --add-gnu-debuglink=$$target.debug $$target.new; \
		mv $$target.new $$target; \
	fi
	@ln -sf $(LIBRARY) $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $(BUILD)/libversola.so
	@echo "$(BUILD)/$(LIBRARY): $$(stat -c %s $(BUILD)/$(LIBRARY)) bytes"

test: ## everything that is tested, as the README says; scripts/test STAGE... runs a part
	@scripts/setup test
	@scripts/test

endurance: export VERSOLA_TEST_FULL := 1
endurance: export VERSOLA_LIBRARY := $(CURDIR)/build/$(SONAME)
endurance: library ## the long form of what runs for minutes: kills at any instant, 10,000 clients, every way to exit 200 times
	@scripts/setup test
	@.venv/bin/python -m pytest -q -s Tests/Integration/test_processes.py Tests/Integration/test_kill.py
	@.venv/bin/python -m pytest -q -s bindings/python/tests/test_exit.py bindings/python/tests/test_process.py
	@$(MAKE) --no-print-directory install PREFIX=$(CURDIR)/build/installed
	@.venv/bin/python Tests/abi/run.py --no-valgrind

pythons: library ## the Python tests on every CPython 3.9 or later of this machine
	@scripts/pythons

lint: ## style, licence headers, shell and Python checks
	@scripts/lint

format: ## rewrites Swift and Python sources in the house style
	@swift format --in-place --recursive Package.swift Sources Tests Benchmarks
	@.venv/bin/ruff check --quiet --select I --fix .
	@.venv/bin/ruff format --quiet .

install: library ## library, header, pkg-config file and CMake package below DESTDIR and PREFIX
	@install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/cmake/versola $(DESTDIR)$(INCLUDEDIR)
	@install -m 644 $(BUILD)/$(LIBRARY) $(DESTDIR)$(LIBDIR)/
	@ln -sf $(LIBRARY) $(DESTDIR)$(LIBDIR)/$(SONAME)
	@ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libversola.so
	@install -m 644 $(HEADER) $(DESTDIR)$(INCLUDEDIR)/
	@sed $(FILL_IN) packaging/versola.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/versola.pc
	@for file in versolaConfig.cmake versolaConfigVersion.cmake; do \
		sed $(FILL_IN) packaging/cmake/$$file.in > $(DESTDIR)$(LIBDIR)/cmake/versola/$$file; \
	done

fuzz: ## feeds what comes from outside to libFuzzer; TARGET= one only, SECONDS=60 for each
	@VERSOLA_FUZZ=1 swift build -c release --product Fuzz --scratch-path .build/fuzz \
		--sanitize=fuzzer -Xswiftc -sanitize=fuzzer,address -Xswiftc -enable-testing -Xswiftc -use-ld=lld
	@for target in $(TARGET); do \
		kept=build/fuzz/$$target; mkdir -p $$kept/corpus; \
		echo "fuzzing $$target for $(SECONDS) s; what fails is kept in $$kept"; \
		SWIFT_BACKTRACE=enable=no FUZZ_TARGET=$$target .build/fuzz/release/Fuzz -max_total_time=$(SECONDS) -timeout=10 -max_len=20000 \
			-dict=Tests/Fuzz/words -verbosity=0 -print_final_stats=1 -artifact_prefix=$$kept/ $$kept/corpus Tests/Fuzz/corpus/$$target; \
	done

tsan: ## the unit tests under ThreadSanitizer
	@swift test --sanitize=thread --scratch-path .build/tsan $(TSAN_FLAGS)

demo: ## signs in on a real provider with examples/python/signin.py
	@scripts/setup
	@$(MAKE) --no-print-directory library
	@.venv/bin/python scripts/demo.py

fleet: ## docs/fleet.*: 100,000 clients on virtual time through outages and rate limits
	@swift build -c release --product fleet --scratch-path .build/fleet -Xswiftc -enable-testing
	@figures=$$(mktemp); trap 'rm -f "$$figures"' EXIT; \
	.build/fleet/release/fleet > "$$figures"; .venv/bin/python scripts/fleet-report < "$$figures"

wheel: library ## the Python package with the library inside, in dist/
	@rm -rf dist && VERSOLA_LIBRARY=$(CURDIR)/$(BUILD)/$(SONAME) .venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist bindings/python

clean: ## removes build products; .venv stays
	@rm -rf .build build dist
