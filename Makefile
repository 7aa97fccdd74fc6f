# SPDX-License-Identifier: Apache-2.0
# One graph: every folder's module.mk declares libraries, programs and tests; the rules are here.
# `make help` lists the targets.
MAKEFLAGS += --no-builtin-rules --warn-undefined-variables
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all
SHELL := /bin/bash

# Runs one job for each processor, unless the caller gives -j. While make reads this file, MAKEFLAGS does not have the
# caller's -j yet.
JOBS := $(shell nproc)
ifeq ($(filter -j% --jobs%,$(shell tr '\0' ' ' </proc/$$PPID/cmdline; echo " $$MAKEFLAGS")),)
MAKEFLAGS += -j$(JOBS)
endif

VERSION := $(strip $(shell cat VERSION))

# What a packager may set.
FLAVOR ?= release
DESTDIR ?=
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec/ipu-container-toolkit
MANDIR ?= $(PREFIX)/share/man
SYSTEMDUNITDIR ?= $(PREFIX)/lib/systemd/system
# Empty to install programs with their debugging information.
INSTALL_STRIP ?= -s
DOCDIR ?= $(PREFIX)/share/doc/ipu-container-toolkit
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
# No engine reads this folder. To use the hooks, name it (podman --hooks-dir) or copy them.
HOOKSDIR ?= $(PREFIX)/share/ipu-container-toolkit/hooks.d
SLURMDIR ?= $(PREFIX)/share/ipu-container-toolkit/slurm
# logrotate reads no other folder.
LOGROTATEDIR ?= /etc/logrotate.d
# Where bash, zsh and fish look for completions.
COMPLETIONS = $(PREFIX)/share/bash-completion/completions/ipuctl $(PREFIX)/share/zsh/site-functions/_ipuctl \
  $(PREFIX)/share/fish/vendor_completions.d/ipuctl.fish
SYSCONFDIR ?= /etc/ipu-container-toolkit
STATEDIR ?= /var/lib/ipu-container-toolkit
RUNDIR ?= /run/ipu-container-toolkit
# Uses ccache if it is installed. ccache needs this sloppiness for precompiled headers.
ifneq ($(filter default undefined,$(origin CXX)),)
CXX := $(if $(shell command -v ccache),ccache )$(if $(filter fuzz,$(FLAVOR)),clang++-14,g++)
endif
export CCACHE_SLOPPINESS := pch_defines,time_macros
export CCACHE_BASEDIR := $(CURDIR)
AR := $(if $(filter default undefined,$(origin AR)),ar,$(AR))
CXXFLAGS ?=
CPPFLAGS ?=
LDFLAGS ?=
PKG_CONFIG ?= pkg-config
PROTOC ?= protoc
V ?= 0
# 0: builds without precompiled headers, so that every unit must include all that it uses.
PCH ?= $(if $(filter fuzz,$(FLAVOR)),0,1)
# How many sources are compiled as one unit. 1: each alone, so that it must include all that it uses.
GROUP ?= $(if $(filter fuzz,$(FLAVOR)),1,8)
TESTS_MUST_RUN ?= $(if $(filter true,$(CI)),1,0)
CI ?= false
# 1: uninstalls also what is in use.
FORCE ?=
# Select tests by name, and a folder of unit tests: `make check-unit ROOM=hook/ledger TEST='Queue*'`.
TEST ?=
ROOM ?=
# With it, check goes on with the tests of check-long: with the group more, and with what can end within these seconds.
CHECK_SECONDS ?=
# How long `make fuzz` tries each target.
FUZZ_SECONDS ?= 60
export TESTS_MUST_RUN TEST ROOM FLAVOR CHECK_SECONDS FUZZ_SECONDS

O := build/$(FLAVOR)
GEN := $(O)/gen

# All flavours have the same rules, and each a folder of its own.
# Release programs have line tables, enough for a backtrace; for a debugger there is FLAVOR=debug.
FLAVOR_CXX_release := -O2 -g1 -D_FORTIFY_SOURCE=2
FLAVOR_CXX_debug := -O0 -g3 -Werror
FLAVOR_CXX_asan := -O1 -g -Werror -fsanitize=address,undefined -fno-omit-frame-pointer
FLAVOR_CXX_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
  -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS
FLAVOR_CXX_tsan := -O1 -g -Werror -fsanitize=thread -fno-omit-frame-pointer
# Additional flags for the tests' own objects. -O1 without line tables compiles fastest, and the models take seconds
# with it.
TEST_CXX_release := -O1 -g0
TEST_CXX_debug :=
TEST_CXX_asan :=
TEST_CXX_tsan :=
TEST_CXX_fuzz :=
FLAVOR_LD_release :=
FLAVOR_LD_debug :=
FLAVOR_LD_asan := -fsanitize=address,undefined
FLAVOR_LD_tsan := -fsanitize=thread
FLAVOR_LD_fuzz := -fsanitize=address,undefined
ifeq ($(origin FLAVOR_CXX_$(FLAVOR)),undefined)
$(error FLAVOR=$(FLAVOR) is unknown: use release, debug, asan, tsan or fuzz)
endif
# The sanitizers cannot be linked statically.
STATIC := $(if $(filter asan tsan fuzz,$(FLAVOR)),,-static-pie)
# Where static programs of the product begin, but for BARE ones: see base/memory.h.
ENTRY := $(if $(and $(STATIC),$(filter x86_64%,$(shell $(CXX) -dumpmachine))),-Xlinker -emap_program)

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor \
  -Wold-style-cast -Woverloaded-virtual -Wformat=2 -Wundef -Wunused-result
HARDENING := -fPIE -fstack-protector-strong
# The linker leaves out the functions that a program does not call.
SECTIONS := -ffunction-sections -fdata-sections
ALL_CXXFLAGS = -std=c++20 $(HARDENING) $(SECTIONS) -ffile-prefix-map=$(CURDIR)=. $(WARNINGS) \
  $(FLAVOR_CXX_$(FLAVOR)) $(CXXFLAGS)
# Generated code reads what a controller sends.
GEN_CXXFLAGS = -std=c++20 $(HARDENING) $(SECTIONS) $(FLAVOR_CXX_$(FLAVOR)) -w $(CXXFLAGS)
ALL_CPPFLAGS = -I. $(CPPFLAGS)
ALL_LDFLAGS = -Wl,-z,relro,-z,now -Wl,--gc-sections $(FLAVOR_LD_$(FLAVOR)) $(LDFLAGS)

empty :=
space := $(empty) $(empty)
, := ,
hash := \#
define nl


endef

# A room directly below cmd is a program. Every other room is a library, named after its folder with dashes
# (hook-ledger). rooms.conf says what a room may use. The module.mk of its top folder says all else.
LIBS :=
BINS :=
TESTS :=
BENCHES :=
FUZZERS :=
ALL_OBJS :=
dashed = $(subst /,-,$(1))
define library_room
LIBS += $(call dashed,$(1))
LIB_$(call dashed,$(1))_SRCS := $(wildcard $(1)/*.cc $(1)/internal/*.cc $(1)/internal/*/*.cc)
LIB_$(call dashed,$(1))_DEPS := $(call dashed,$(2))
endef
define program_room
BINS += $(notdir $(1))
BIN_$(notdir $(1))_SRCS := $(wildcard $(1)/*.cc)
BIN_$(notdir $(1))_DEPS := $(call dashed,$(2))
endef
# The lines of the table as words "KIND:FOLDER:ROOM:...".
room_lines := $(shell awk '$$1 == "room" { line = ($$2 ~ /^cmd\/[^\/]*$$/ ? "program:" : "library:") $$2; \
  for (i = 4; i <= NF; ++i) line = line ":" $$i; print line }' rooms.conf)
declare_room = $(eval $(call $(word 1,$(1))_room,$(word 2,$(1)),$(wordlist 3,$(words $(1)),$(1))))
$(foreach line,$(room_lines),$(call declare_room,$(subst :, ,$(line))))
include $(wildcard $(addsuffix /module.mk,base netns vipu hook cmd tests))

# Each step of a build prints "[n/N] WHAT FILE". The first step learns N from `make -n`. That make gets STEPS=1, so that
# neither it nor a make below it counts again.
STEPS = $(eval STEPS := $(shell $(MAKE) --no-print-directory -n STEPS=1 V=0 PKG_CONFIG=: $(MAKECMDGOALS) 2>/dev/null | grep -c '^printf .* \[%d/%d\]'))$(STEPS)
step = $(eval DONE += x)$(words $(DONE))
DONE :=
ifeq ($(V),1)
say =
else
say = @printf '  [%d/%d] %-7s %s\n' $(step) $(STEPS) $(1) '$(2)';
endif

# Recipes ask pkg-config when they run, so that `make deps` can install it first. They ask once for each package,
# because that takes up to a second. Other projects' headers are system headers, so that they cause no warnings.
# NAME,OPTIONS,PACKAGE
ask_pkg = $(if $(filter undefined,$(origin $(1)~$(3))),$(eval $(1)~$(3) := $$(shell $(PKG_CONFIG) $(2) $(3))))$($(1)~$(3))
pkg_cflags = $(patsubst -I%,-isystem%,$(foreach p,$(1),$(call ask_pkg,cflags,--cflags,$(p))))
pkg_libs = $(foreach p,$(2),$(call ask_pkg,libs$(1),$(1) --libs,$(p)))

# ---- libraries and programs --------------------------------------------------------------------
# LIB_x_SRCS, LIB_x_DEPS (our libraries), LIB_x_PKGS (pkg-config), LIB_x_PROTOS (generated first).
# The precompiled headers hold what most units include. Units that include JSON have one of their own.
JSON_UNITS := $(shell grep -rlE '"base/json(_rewrite)?\.h"' --include='*.cc' base netns vipu hook cmd)
# Sources are compiled in groups of GROUP files, because headers and templates take most of the time, and the files of a
# group share them. A group is a generated file that includes its sources. Therefore the names in the unnamed namespaces of
# one folder must differ. The files of ALONE are in no group: rlimit.cc would take libcap, which makes system calls before
# main(), into programs that need none of it.
ALONE := base/version.cc base/rlimit.cc hook/config/paths.cc cmd/ipu-container-runtime/site.cc cmd/ipu-container-poststop/site.cc
GROUP_AFTER := $(shell echo $$(($(GROUP) + 1)))
# The words of a list as "a,b,c d,e": one word for each group.
joined = $(if $(1),$(subst $(space),$(,),$(wordlist 1,$(GROUP),$(1))) $(call joined,$(wordlist $(GROUP_AFTER),$(words $(1)),$(1))))
split = $(subst $(,), ,$(1))
groups = $(call joined,$(filter-out $(GEN)/% $(ALONE),$(1)))
# NAME,GROUP: the generated file, without ".cc". It is named after the group's first source.
group_file = $(O)/groups/$(if $(filter $(1),$(TESTS) $(BENCHES) $(FUZZERS)),tests/)$(1)/$(basename $(firstword $(call split,$(2))))
group_text = $(foreach f,$(call split,$(1)),$(hash)include "$(f)"$(nl))
define group
$(if $(call differ,$(file <$(1).cc),$(call group_text,$(2))),$(shell mkdir -p $(dir $(1)))$(file >$(1).cc,$(call group_text,$(2))))
$(1).o: private PCH_OF_GROUP := $(if $(filter $(call split,$(2)),$(JSON_UNITS)),json,std)
endef
differ = $(subst x$(strip $(1))x,,x$(strip $(2))x)
write_groups = $(foreach g,$(call groups,$(2)),$(eval $(call group,$(call group_file,$(1),$(g)),$(g))))
# NAME,SOURCES: the objects of a library or a program
objs = $(patsubst %.cc,%.o,$(filter $(GEN)/%,$(2))) $(patsubst %.cc,$(O)/%.o,$(filter $(ALONE),$(2))) \
  $(foreach g,$(call groups,$(2)),$(call group_file,$(1),$(g)).o)

# The given libraries, and all that they need.
all_libs = $(sort $(foreach d,$(1),$(LIB_$(d)_ALL)))
archives = $(foreach d,$(call all_libs,$(1)),$(O)/lib$(d).a)
packages = $(sort $(foreach d,$(call all_libs,$(1)),$(LIB_$(d)_PKGS)))
protos = $(foreach d,$(call all_libs,$(1)),$(LIB_$(d)_PROTOS))
# LIB_x_ALL needs the LIB_y_ALL of each y in LIB_x_DEPS. So LIBS names each library after those that it needs.
define library
LIB_$(1)_PKGS ?=
LIB_$(1)_PROTOS ?=
LIB_$(1)_ALL := $(sort $(1) $(foreach d,$(LIB_$(1)_DEPS),$(if $(LIB_$(d)_ALL),$(LIB_$(d)_ALL),$(error $(1) stands before $(d), which it needs))))
$(call objs,$(1),$(LIB_$(1)_SRCS)): private PKGS = $$(call packages,$(1))
$(call objs,$(1),$(LIB_$(1)_SRCS)): | $$(call protos,$(1))
$(O)/lib$(1).a: $(call objs,$(1),$(LIB_$(1)_SRCS))
ALL_OBJS += $(call objs,$(1),$(LIB_$(1)_SRCS))
endef

# BIN_x_SRCS, BIN_x_DEPS, BIN_x_PKGS, BIN_x_DIR (where it is installed), BIN_x_MODE (its permissions), BIN_x_STATIC (yes or empty), BIN_x_BARE
# (not empty: without the C library, with a start of its own), BIN_x_ARCHIVES (packages that are linked from their archives into a program that is not static).
define program
BIN_$(1)_PKGS ?=
BIN_$(1)_STATIC ?=
BIN_$(1)_MODE ?= 0755
BIN_$(1)_ARCHIVES ?=
BIN_$(1)_FLAGS ?=
BIN_$(1)_BARE ?=
$(call objs,$(1),$(BIN_$(1)_SRCS)): private PKGS = $$(call packages,$$(BIN_$(1)_DEPS)) $$(BIN_$(1)_PKGS)
$(call objs,$(1),$(BIN_$(1)_SRCS)): private FLAGS = $$(BIN_$(1)_FLAGS)
$(call objs,$(1),$(BIN_$(1)_SRCS)): | $$(call protos,$$(BIN_$(1)_DEPS))
$(O)/bin/$(1): private PKGS = $$(call packages,$$(BIN_$(1)_DEPS)) $$(BIN_$(1)_PKGS)
$(O)/bin/$(1): private LINK = $$(if $$(BIN_$(1)_STATIC),$(STATIC) $$(if $$(BIN_$(1)_BARE),-nostdlib,$(if $(filter $(1),$(BINS)),$$(if $$(filter base,$$(call all_libs,$$(BIN_$(1)_DEPS))),$(ENTRY)))),-pie)
$(O)/bin/$(1): private BARE = $$(BIN_$(1)_BARE)
$(O)/bin/$(1): private PKG_STATIC = $$(if $$(BIN_$(1)_STATIC),$(if $(STATIC),--static))
$(O)/bin/$(1): private ARCHIVES = $(if $(STATIC),$$(BIN_$(1)_ARCHIVES))
$(O)/bin/$(1): $(call objs,$(1),$(BIN_$(1)_SRCS)) $$(call archives,$$(BIN_$(1)_DEPS))
ALL_OBJS += $(call objs,$(1),$(BIN_$(1)_SRCS))
endef

FLAGS :=
$(foreach l,$(LIBS),$(eval LIB_$(l)_DEPS ?=)$(eval LIB_$(l)_ALL :=))
# Targets that build nothing write no groups.
ifneq ($(filter-out help clean uninstall format lint deps,$(or $(MAKECMDGOALS),all)),)
$(foreach l,$(LIBS),$(call write_groups,$(l),$(LIB_$(l)_SRCS)))
$(foreach b,$(BINS) $(TESTS) $(BENCHES) $(FUZZERS),$(call write_groups,$(b),$(BIN_$(b)_SRCS)))
endif
$(foreach l,$(LIBS),$(eval $(call library,$(l))))
$(foreach b,$(BINS) $(TESTS) $(BENCHES) $(FUZZERS),$(eval $(call program,$(b))))

# ---- rules ---------------------------------------------------------------------------------------
# Every object depends on the flags, which change only when the command line does. With the plus signs, `make -n` runs
# these recipes too: else the count of steps would take the files for new ones. The count runs beside the build, so each
# make has a temporary file of its own.
$(O)/flags: FORCE
	+@mkdir -p $(@D); echo '$(CXX) $(ALL_CPPFLAGS) $(ALL_CXXFLAGS) $(GEN_CXXFLAGS) $(TEST_CXX_$(FLAVOR)) $(ALL_LDFLAGS) $(PCH) $(GROUP)' >$@.$$$$; cmp -s $@.$$$$ $@ && rm $@.$$$$ || mv $@.$$$$ $@

# Few objects depend on where things are installed, or on the version.
$(O)/paths: FORCE
	+@mkdir -p $(@D); echo '$(VERSION) $(BINDIR) $(LIBEXECDIR) $(SYSCONFDIR) $(STATEDIR) $(RUNDIR) $(SLURMDIR)' >$@.$$$$; cmp -s $@.$$$$ $@ && rm $@.$$$$ || mv $@.$$$$ $@

COMPILE = $(CXX) $(ALL_CPPFLAGS) -isystem $(GEN) $(ALL_CXXFLAGS) $(FLAGS)
# ccache needs -fpch-preprocess.
use_pch = $(if $(filter 1,$(PCH)),-Winvalid-pch -fpch-preprocess -include $(O)/pch/$(1).h)

pchs = $(if $(filter 1,$(PCH)),$(patsubst %,$(O)/pch/%.h.gch,$(1)))
$(O)/pch/std.h.gch: PKGS :=
$(O)/pch/json.h.gch: PKGS := nlohmann_json
$(O)/pch/test.h.gch: PKGS := gtest gmock
$(O)/pch/std.h.gch $(O)/pch/json.h.gch: FLAGS :=
$(O)/pch/test.h.gch: FLAGS := $(TEST_CXX_$(FLAVOR))
$(O)/pch/%.h.gch: packaging/pch/%.hpp $(O)/flags | $(O)/deps.ok
	@mkdir -p $(@D)
	@cp $< $(@:.gch=)
	$(call say,PCH,$<)$(COMPILE) $(call pkg_cflags,$(PKGS)) -x c++-header -o $@ $(@:.gch=)

# A group in a line of the output: its library or program, and its first source.
group_stem = $(patsubst tests/%,%,$(patsubst $(O)/groups/%.cc,%,$<))
group_name = $(firstword $(subst /, ,$(group_stem)))/$(notdir $(group_stem))
$(O)/groups/tests/%.o: $(O)/groups/tests/%.cc $(O)/flags $(call pchs,test) | $(O)/deps.ok
	$(call say,CXX,$(group_name))$(COMPILE) $(TEST_CXX_$(FLAVOR)) $(if $(filter gtest,$(PKGS)),$(call use_pch,test)) $(call pkg_cflags,$(PKGS)) -MMD -MP -c -o $@ $<

$(O)/groups/%.o: $(O)/groups/%.cc $(O)/flags $(call pchs,std json) | $(O)/deps.ok
	$(call say,CXX,$(group_name))$(COMPILE) $(call use_pch,$(PCH_OF_GROUP)) $(call pkg_cflags,$(PKGS)) -MMD -MP -c -o $@ $<

$(O)/%.o: %.cc $(O)/flags $(call pchs,std) | $(O)/deps.ok
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(COMPILE) $(call use_pch,std) $(call pkg_cflags,$(PKGS)) -MMD -MP -c -o $@ $<

# Objects that count their work, for tests/fuzz/runner.cc. Without optimization each call of the library counts.
WORK_CXX := -O0 -g0 -U_FORTIFY_SOURCE -fsanitize-coverage=trace-pc
$(O)/work/%.o: %.cc $(O)/flags | $(O)/deps.ok
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(COMPILE) $(WORK_CXX) $(call pkg_cflags,nlohmann_json libnl-route-3.0) -MMD -MP -c -o $@ $<

$(GEN)/%.o: $(GEN)/%.cc $(O)/flags | $(O)/deps.ok
	$(call say,CXX,$<)$(CXX) $(CPPFLAGS) -isystem $(GEN) -ffile-prefix-map=$(CURDIR)=. $(GEN_CXXFLAGS) $(call pkg_cflags,$(PKGS)) -MMD -MP -c -o $@ $<

# Thin archives: they name the objects, and hold none.
$(O)/lib%.a:
	@mkdir -p $(@D)
	$(call say,AR,$@)rm -f $@ && $(AR) rcsDT $@ $(filter %.o,$^)

# OpenSSL stays a shared library, so that its security updates need no new build of ours. gRPC, protobuf and what they
# use become part of the program.
link_archives = -Wl,-Bstatic -Wl,--start-group \
  $(filter-out -lssl -lcrypto -ldl -lrt -lm -lpthread -pthread,$(call pkg_libs,--static,$(ARCHIVES))) \
  -Wl,--end-group -Wl,-Bdynamic -lssl -lcrypto -pthread -static-libstdc++ -static-libgcc

# Hides what the linker says of a static program that it links: that some functions of the C library need it at runtime, too.
# `--no-warnings` would also hide errors, and link a program with undefined symbols.
quietly = 2>$@.said || { cat $@.said >&2; rm $@.said; false; } && rm -f $@.said

# A program without the C library must not need a relocation, because nobody would make it.
check_bare = && if ! readelf --wide --relocs $@ | grep -q 'no relocations in this file'; then rm $@; echo '$@ has relocations' >&2; false; fi

# PROGRAM.archives names the archives of other projects that are in it, for packaging/linked.sh.
$(foreach b,$(BINS) $(TESTS) $(BENCHES) $(FUZZERS),$(O)/bin/$(b)):
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CXX) $(ALL_CXXFLAGS) $(LINK) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(call pkg_libs,$(PKG_STATIC),$(filter-out $(ARCHIVES),$(PKGS))) $(if $(ARCHIVES),$(link_archives)) -Wl,-Map=$@.map $(if $(PKG_STATIC),$(quietly))$(if $(BARE),$(check_bare))
	@awk '/^(As-needed|Discarded|Memory|Merging)/ { exit } /^[^ ].*\.a\(/ && index($$0, "$(O)/") != 1 { sub(/\.a\(.*/, ".a"); print }' $@.map | sort -u >$@.archives; rm $@.map
# One run of protoc makes all four files.
$(GEN)/%.pb.cc $(GEN)/%.pb.h $(GEN)/%.grpc.pb.cc $(GEN)/%.grpc.pb.h &: %.proto | $(O)/deps.ok
	@mkdir -p $(GEN)
	$(call say,PROTOC,$<)$(PROTOC) --cpp_out=$(GEN) --grpc_out=$(GEN) --plugin=protoc-gen-grpc=$$(command -v grpc_cpp_plugin) $<

# Looks for the packages that a build needs, once for each build folder.
$(O)/deps.ok: packaging/deps.sh
	@mkdir -p $(@D)
	@packaging/deps.sh build
	@touch $@

-include $(patsubst %.o,%.d,$(ALL_OBJS))
FORCE:
.PHONY: FORCE

# ---- targets -------------------------------------------------------------------------------------
.PHONY: compile_commands.json
compile_commands.json: ## for clangd and clang-tidy: how each file is compiled
	@packaging/deps.sh build
	@tests/lint/compile_commands.sh $(CURDIR) $(lastword $(CXX)) $(ALL_CPPFLAGS) -isystem $(GEN) $(ALL_CXXFLAGS) >$@
.PHONY: all
all: $(foreach b,$(BINS),$(O)/bin/$(b)) ## build all programs (FLAVOR=release, debug, asan or tsan; V=1 shows commands)

.PHONY: check check-unit check-kernel check-e2e
check: ## install what is missing, build, run the tests; ends with "N passed, N failed"
	@tests/run.sh core $(if $(CHECK_SECONDS),more long)
# check-unit and check-kernel do not install the packages of e2e. They build only those programs that their tests run.
check-unit: $(chosen_unit_tests:%=$(O)/bin/%) ## pure code and contract suites; ROOM=hook/ledger builds and runs one folder's, TEST=pattern selects
	@tests/run.sh --built unit
check-kernel: $(KERNEL_TESTS:%=$(O)/bin/%) ## real netlink in namespaces of its own (root)
	@tests/run.sh --built kernel
check-e2e: all $(O)/spank_ipu.so $(E2E_PROGRAMS:%=$(O)/bin/%) ## real dockerd, containerd, podman, runc, crun on a throw-away host (root)
	@packaging/deps.sh e2e
	@tests/run.sh --built e2e
.PHONY: check-attack check-browser check-fault check-hostile check-storm check-long
check-attack: all $(E2E_PROGRAMS:%=$(O)/bin/%) ## attacks from inside, with and without each defence; ends with their table (root)
	@packaging/deps.sh e2e
	@tests/run.sh --built attack
check-browser: $(O)/bin/report-sample ## the page of `ipuctl report` with 1000 leases in a headless browser; SHOTS=DIR writes screenshots
	@packaging/deps.sh browser
	@tests/run.sh --built browser
check-fault: all $(O)/bin/fault ## every program cut short at every system call (root)
	@packaging/deps.sh e2e
	@tests/run.sh --built all-faults
check-hostile: all $(O)/bin/hostile ## 10,000 starts of hostile images, or HOSTILE=N (root)
	@packaging/deps.sh e2e
	@tests/run.sh --built all-hostile
check-storm: all ## storms: of containers under docker, of starts while programs are killed, of many hosts (root)
	@packaging/deps.sh e2e
	@tests/run.sh --built storm
check-long: test-programs ## what check leaves out: more tests, the page in a browser, storms of containers and hosts, the whole model, backfill, a long cut, an upgrade, sanitizers, all of check-fault, faults and cut messages of a fleet, check-engines (root)
	@packaging/deps.sh e2e engines browser
	@tests/run.sh --built more long
	@tests/engines/check.sh
.PHONY: check-engines
check-engines: all $(E2E_PROGRAMS:%=$(O)/bin/%) ## the end-to-end tests on the engines of later releases of Debian (root)
	@packaging/deps.sh e2e engines
	@tests/engines/check.sh
.PHONY: check-rdma
check-rdma: all ## real RDMA and systemd: software RoCE, docker and the units in a virtual machine (root)
	@packaging/deps.sh rdma
	@tests/rdma/check.sh
.PHONY: fuzz fuzz-programs
fuzz: ## each parser against libFuzzer for FUZZ_SECONDS (60); TEST=pattern selects targets
	@packaging/deps.sh build fuzz
	@$(MAKE) --no-print-directory FLAVOR=fuzz fuzz-programs
	@tests/fuzz/fuzz.sh
fuzz-programs: $(FUZZERS:%=$(O)/bin/%)
.PHONY: check-sanitizers
check-sanitizers: ## the ledger's tests under the thread and the address sanitizer, built if need be
	@packaging/deps.sh build
	@tests/run.sh --built sanitizers
.PHONY: test-programs list-tests
list-tests:
	@printf '%s\n' $(chosen_unit_tests) $(KERNEL_TESTS)
test-programs: all $(O)/spank_ipu.so $(TESTS:%=$(O)/bin/%) $(BENCHES:%=$(O)/bin/%)

.PHONY: lint format tidy bench bench-compare demo deps
lint: ## layering, headers, one TRY a line, format, shell scripts, man pages
	@packaging/deps.sh lint
	@tests/lint/lint.sh
format: ## reformat all C++
	@packaging/deps.sh lint
	git ls-files '*.cc' '*.h' | xargs -r clang-format -i
tidy: ## clang-tidy over all C++
	@packaging/deps.sh lint
	@tests/lint/tidy.sh $(ALL_CPPFLAGS) -isystem $(GEN)
bench: all $(BENCHES:%=$(O)/bin/%) ## placement policies side by side, and the start path as ratios (root)
	@packaging/deps.sh e2e
	@tests/bench/bench.sh
bench-compare: ## flag what two runs of bench, BEFORE=FILE and AFTER=FILE, show as slower or faster
	@tests/bench/compare.sh $(BEFORE) $(AFTER)
demo: ## install what is missing, build, run the main job on the embedded simulator (root)
	@echo 'The first time this takes about six minutes on two processors: packages, a build, and 15 s of demo.'
	@packaging/deps.sh build demo
	@$(MAKE) --no-print-directory all
	@tests/demo/demo.sh
deps: ## install the Debian packages that building and testing need (root)
	@packaging/deps.sh build e2e lint

MAN_PAGES := $(wildcard man/*.[0-9])
UNITS := $(wildcard packaging/systemd/*)
HOOKS := $(wildcard packaging/hooks.d/*)
MONITORING := $(wildcard packaging/prometheus/* packaging/grafana/*)
unit_paths = sed 's|@BINDIR@|$(BINDIR)|g; s|@SYSCONFDIR@|$(SYSCONFDIR)|g; s|@STATEDIR@|$(STATEDIR)|g; s|@RUNDIR@|$(RUNDIR)|g'
man_paths = sed 's|/usr/local/bin|$(BINDIR)|g; s|/usr/local/libexec/ipu\\-container\\-toolkit|$(LIBEXECDIR)|g; s|/usr/local/share/ipu-container-toolkit/hooks.d|$(HOOKSDIR)|g; s|/usr/local/share/ipu\\-container\\-toolkit/slurm|$(SLURMDIR)|g; s|/usr/local/share/doc/ipu-container-toolkit|$(DOCDIR)|g; /^\.TH /s|ipu-container-toolkit [0-9][^"]*|ipu-container-toolkit $(VERSION)|'
# What others run is there before them.
installed_first = $(foreach b,$(BINS),$(if $(filter $(LIBEXECDIR),$(BIN_$(b)_DIR)),$(b)))
.PHONY: install uninstall
$(O)/ipu-errors.7: packaging/errors.pl FORCE
	@mkdir -p $(@D)
	$(call say,MAN,$@)packaging/errors.pl '$(VERSION)' $$(find base netns vipu hook cmd -name '*.cc' | LC_ALL=C sort) >$@.new
	@mv $@.new $@
install: all $(O)/ipu-errors.7 ## install below DESTDIR and PREFIX, and make the users and the group ipu (root, without DESTDIR)
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(LIBEXECDIR)' '$(DESTDIR)$(DOCDIR)'
	$(foreach b,$(installed_first) $(filter-out $(installed_first),$(BINS)),install -m $(BIN_$(b)_MODE) $(INSTALL_STRIP) $(O)/bin/$(b) '$(DESTDIR)$(BIN_$(b)_DIR)/$(b)'$(nl))
	install -d $(foreach s,1 5 7 8,'$(DESTDIR)$(MANDIR)/man$(s)')
	$(foreach m,$(MAN_PAGES),$(man_paths) $(m) | install -m 0644 /dev/stdin '$(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))'$(nl))
	install -m 0644 $(O)/ipu-errors.7 '$(DESTDIR)$(MANDIR)/man7/ipu-errors.7'
	ln -sf gc-docker '$(DESTDIR)$(BINDIR)/gc-podman'
	ln -sf gc-docker.1 '$(DESTDIR)$(MANDIR)/man1/gc-podman.1'
	install -d '$(DESTDIR)$(SYSTEMDUNITDIR)'
	$(foreach u,$(UNITS),$(unit_paths) $(u) | install -m 0644 /dev/stdin '$(DESTDIR)$(SYSTEMDUNITDIR)/$(notdir $(u))'$(nl))
	install -d '$(DESTDIR)$(HOOKSDIR)'
	$(foreach h,$(HOOKS),$(unit_paths) $(h) | install -m 0644 /dev/stdin '$(DESTDIR)$(HOOKSDIR)/$(notdir $(h))'$(nl))
	install -m 0644 packaging/config.toml '$(DESTDIR)$(DOCDIR)/config.toml.example'
	install -m 0644 $(MONITORING) '$(DESTDIR)$(DOCDIR)'
	$(foreach s,bash zsh fish,$(O)/bin/ipuctl completion $(s) | install -D -m 0644 /dev/stdin '$(DESTDIR)$(filter %/$(if $(filter zsh,$(s)),_ipuctl,$(if $(filter fish,$(s)),ipuctl.fish,ipuctl)),$(COMPLETIONS))'$(nl))
	install -D -m 0644 packaging/sysusers.d/ipu-container-toolkit.conf '$(DESTDIR)$(SYSUSERSDIR)/ipu-container-toolkit.conf'
	install -d '$(DESTDIR)$(LOGROTATEDIR)' '$(DESTDIR)$(TMPFILESDIR)'
	$(unit_paths) packaging/tmpfiles.d/ipu-container-toolkit.conf | install -m 0644 /dev/stdin '$(DESTDIR)$(TMPFILESDIR)/ipu-container-toolkit.conf'
	$(unit_paths) packaging/logrotate.d/ipu-container-toolkit | install -m 0644 /dev/stdin '$(DESTDIR)$(LOGROTATEDIR)/ipu-container-toolkit'
	$(if $(DESTDIR),,[ "$$(id -u)" -ne 0 ] || packaging/make_user.sh)
uninstall: ## remove the files that install put there; users and group stay. FORCE=1: also while they are in use
	@$(if $(DESTDIR)$(filter 1,$(FORCE)),,packaging/check_unused.sh '$(BINDIR)/ipuctl')
	rm -f $(foreach b,$(BINS),'$(DESTDIR)$(BIN_$(b)_DIR)/$(b)') $(foreach m,$(MAN_PAGES),'$(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))')
	rm -f $(foreach u,$(UNITS),'$(DESTDIR)$(SYSTEMDUNITDIR)/$(notdir $(u))') $(foreach h,$(HOOKS),'$(DESTDIR)$(HOOKSDIR)/$(notdir $(h))')
	rm -f '$(DESTDIR)$(BINDIR)/gc-podman' '$(DESTDIR)$(MANDIR)/man1/gc-podman.1' '$(DESTDIR)$(MANDIR)/man7/ipu-errors.7'
	rm -f $(COMPLETIONS:%='$(DESTDIR)%')
	rm -f '$(DESTDIR)$(DOCDIR)/config.toml.example' $(foreach m,$(MONITORING),'$(DESTDIR)$(DOCDIR)/$(notdir $(m))') '$(DESTDIR)$(SYSUSERSDIR)/ipu-container-toolkit.conf' '$(DESTDIR)$(TMPFILESDIR)/ipu-container-toolkit.conf' '$(DESTDIR)$(LOGROTATEDIR)/ipu-container-toolkit'
	$(foreach d,$(LIBEXECDIR) $(DOCDIR) $(HOOKSDIR) $(filter %/ipu-container-toolkit,$(patsubst %/,%,$(dir $(HOOKSDIR)))),[ ! -d '$(DESTDIR)$(d)' ] || rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(d)'$(nl))
.PHONY: deb
# The version of the packages, such as 0.1.0+site2.
DEB_VERSION ?= $(VERSION)
deb: ## Debian packages and their SBOM, in build/deb; builds the programs for PREFIX=/usr
	@packaging/deps.sh build deb
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL O='$(O)' packaging/deb.sh '$(DEB_VERSION)'
.PHONY: rpm
rpm: ## RPM packages, in build/rpm; builds the programs for PREFIX=/usr
	@packaging/deps.sh build rpm
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL O='$(O)' packaging/rpm.sh '$(DEB_VERSION)'
# Slurm loads a plugin that was built with the headers of its own release only, so each call builds it. SLURM_INCLUDE: where slurm/spank.h is, if not
# where the compiler looks.
SLURM_INCLUDE ?=
SLURM_PLUGINDIR ?= /usr/lib/x86_64-linux-gnu/slurm-wlm
SLURM_PLUGIN := packaging/slurm/spank_ipu.cc
$(O)/spank_ipu.so: $(SLURM_PLUGIN) $(SLURM_PLUGIN:.cc=.map) $(wildcard packaging/slurm/*.h) $(O)/flags $(O)/paths FORCE
	$(call say,PLUGIN,$@)$(CXX) $(ALL_CPPFLAGS) $(SLURM_INCLUDE:%=-isystem %) $(ALL_CXXFLAGS) -fPIC -DIPU_LIBEXECDIR='"$(LIBEXECDIR)"' \
	  -DIPU_RUNDIR='"$(RUNDIR)"' -shared -static-libstdc++ -static-libgcc -Wl,--version-script=$(SLURM_PLUGIN:.cc=.map) $(ALL_LDFLAGS) -o $@ $<
.PHONY: slurm install-slurm
slurm: $(O)/spank_ipu.so ## the plugin for Slurm, with the headers of your release below SLURM_INCLUDE
install-slurm: slurm ## install it in SLURM_PLUGINDIR below DESTDIR, and what counts licences in SLURMDIR
	install -D -m 0644 $(O)/spank_ipu.so '$(DESTDIR)$(SLURM_PLUGINDIR)/spank_ipu.so'
	install -D -m 0644 packaging/slurm/licences.lua '$(DESTDIR)$(SLURMDIR)/licences.lua'
	[ -e '$(DESTDIR)$(SYSCONFDIR)/slurm-uplink.conflist' ] || \
	  install -D -m 0644 packaging/slurm/uplink.conflist '$(DESTDIR)$(SYSCONFDIR)/slurm-uplink.conflist'
.PHONY: dist
dist: ## the last commit as an archive with its SHA-256, in build/dist
	@packaging/dist.sh
.PHONY: clean help
clean: ## remove build/
	rm -rf build
help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r t d; do printf '  %-16s %s\n' "$$t" "$$d"; done
