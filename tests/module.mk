# SPDX-License-Identifier: Apache-2.0
# One unit-test program a library, linked with that library alone: a library that needs more than it
# declares does not link here.
UNIT_TESTS := $(patsubst tests/unit/%/,unit-%,$(wildcard tests/unit/*/))
KERNEL_TESTS := $(patsubst tests/kernel/%/,kernel-%,$(wildcard tests/kernel/*/))
TESTS += $(UNIT_TESTS) $(KERNEL_TESTS)

test_srcs = $(wildcard tests/$(1)/$(2)/*.cc tests/$(1)/$(2)/*/*.cc)
define test_program
BIN_$(1)-$(2)_SRCS := $(call test_srcs,$(1),$(2))
BIN_$(1)-$(2)_DEPS := $(2)
BIN_$(1)-$(2)_PKGS := gtest_main gtest gmock
BIN_$(1)-$(2)_FLAGS := -DPROGRAM_DIR='"$(CURDIR)/$(O)/bin"' -DTEST_DATA_DIR='"$(CURDIR)/tests/data"'
endef
$(foreach t,$(UNIT_TESTS) $(KERNEL_TESTS),$(eval $(call test_program,$(word 1,$(subst -, ,$(t))),$(word 2,$(subst -, ,$(t))))))
# The model of the simulator is tested without its program; the messages against bytes.
BIN_unit-vipu_DEPS := vipu_simulator vipu vipu_proto
BIN_unit-vipu_SRCS += tests/support/simulator_process.cc
# Starts of whole containers against a simulated POD, by many processes.
BIN_kernel-storm_DEPS := hook
BIN_kernel-storm_SRCS += tests/support/simulator_process.cc
# The part of unit-hook that the sanitizers run, which build slowly.
TESTS += unit-ledger
$(eval $(call test_program,unit,ledger))
BIN_unit-ledger_SRCS := $(wildcard tests/unit/hook/ledger/*.cc)
BIN_unit-ledger_DEPS := hook
# Addresses that many processes take at the same time.
BIN_kernel-ledger_DEPS := hook

# Programs that `make bench` runs; they are not installed.
BENCHES += fragmentation quick_look
BIN_fragmentation_SRCS := tests/bench/fragmentation.cc
BIN_fragmentation_DEPS := vipu
BIN_quick_look_SRCS := tests/bench/quick_look.cc
BIN_quick_look_DEPS := hook

# Crash enumeration: a program that runs on a throw-away host, not installed.
TESTS += fault
BIN_fault_SRCS := $(wildcard tests/fault/*.cc)
BIN_fault_DEPS := hook
BIN_fault_PKGS := sqlite3

# A client of the CRI, for tests of pods; not installed.
LIBS += cri_proto
LIB_cri_proto_PROTOS := $(GEN)/tests/cri/cri.pb.h
LIB_cri_proto_SRCS := $(GEN)/tests/cri/cri.pb.cc
LIB_cri_proto_PKGS := grpc++ protobuf
.SECONDARY: $(LIB_cri_proto_SRCS)
TESTS += cri-client
BIN_cri-client_SRCS := tests/cri/main.cc
BIN_cri-client_DEPS := cri_proto
