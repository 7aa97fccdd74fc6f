# SPDX-License-Identifier: Apache-2.0
# Each folder with tests is one test program: tests/unit/hook/ledger is unit-hook-ledger. Unless a line below says more,
# it is linked only with the library of its room, here hook-ledger. So a library that needs more than it declares does
# not link.
test_folders := $(patsubst tests/%,%,$(shell find tests/unit tests/kernel -name '*_test.cc' -printf '%h\n' | sort -u))
UNIT_TESTS := $(call dashed,$(filter unit/%,$(test_folders)))
KERNEL_TESTS := $(call dashed,$(filter kernel/%,$(test_folders)))
TESTS += $(UNIT_TESTS) $(KERNEL_TESTS)

define test_program
BIN_$(call dashed,$(1))_SRCS := $(wildcard tests/$(1)/*.cc)
BIN_$(call dashed,$(1))_DEPS := $(filter $(call dashed,$(patsubst unit/%,%,$(patsubst kernel/%,%,$(1)))),$(LIBS))
BIN_$(call dashed,$(1))_PKGS := gtest_main gtest gmock
BIN_$(call dashed,$(1))_FLAGS := -DPROGRAM_DIR='"$(CURDIR)/$(O)/bin"' -DTEST_DATA_DIR='"$(CURDIR)/tests/data"'
endef
$(foreach f,$(test_folders),$(eval $(call test_program,$(f))))
# All implementations of the controller pass one suite: the client with the simulator, local pools, and the fake.
BIN_unit-vipu-contract_DEPS := vipu-local
BIN_unit-vipu-contract_SRCS += tests/support/local_hosts.cc tests/support/simulator_process.cc
BIN_unit-vipu-local_SRCS += tests/support/local_hosts.cc
BIN_unit-hook-lifecycle_SRCS += tests/support/local_hosts.cc
# The client and the simulator as processes.
BIN_unit-cmd-ipu-vipu-client_DEPS := vipu vipu-proto
BIN_unit-cmd-ipu-vipu-client_SRCS += tests/support/simulator_client.cc tests/support/simulator_process.cc
BIN_unit-cmd-vipu-simulator_DEPS := vipu vipu-proto
BIN_unit-cmd-vipu-simulator_SRCS += tests/support/simulator_client.cc tests/support/simulator_process.cc
BIN_unit-cmd-ipu-vipu-endpoint_DEPS := vipu vipu-proto
BIN_unit-cmd-ipu-vipu-endpoint_SRCS += cmd/ipu-vipu-endpoint/replies.cc
# The store with a real etcd.
BIN_unit-hook-fleet_SRCS += tests/support/etcd.cc tests/support/simulator_process.cc
$(O)/bin/unit-hook-fleet: | $(O)/bin/ipu-fleet-client $(O)/bin/vipu-simulator
# The lifecycle's tests start whole containers, with fakes around them: see tests/support/hook_host.h.
lifecycle_tests := $(foreach k,unit kernel,$(filter $(k)-hook-lifecycle $(k)-hook-lifecycle-%,$(TESTS)))
$(foreach t,$(lifecycle_tests),$(eval BIN_$(t)_DEPS := hook-lifecycle-start))
BIN_unit-hook-lifecycle-repair_DEPS := hook-lifecycle-start hook-lifecycle-repair
BIN_kernel-hook-lifecycle-repair_DEPS := hook-lifecycle-start hook-lifecycle-repair
runs_sql := unit-hook-ledger unit-hook-lifecycle-end kernel-hook-ledger kernel-hook-lifecycle-repair \
  unit-hook-lifecycle-partitions
$(foreach t,$(runs_sql),$(eval BIN_$(t)_SRCS += tests/support/sql.cc))
# These programs test what several rooms do together.
BIN_unit-hook-model_DEPS := hook-lifecycle-end hook-lifecycle-start
# In kernel-storm, many processes start whole containers against a simulated POD.
BIN_kernel-storm_DEPS := hook-lifecycle-start
BIN_kernel-storm_SRCS += tests/support/simulator_process.cc
# These test programs run the client and the simulator.
runs_simulator := unit-vipu-contract unit-cmd-ipu-vipu-client unit-cmd-vipu-simulator kernel-storm
clients := $(O)/bin/ipu-vipu-client $(O)/bin/ipu-vipu-client-plain
$(runs_simulator:%=$(O)/bin/%): | $(clients) $(O)/bin/vipu-simulator
$(O)/bin/kernel-vipu $(O)/bin/kernel-hook-confinement $(O)/bin/unit-confine: | $(clients) $(O)/bin/ipu-fleet-client

# Programs that `make bench` runs; they are not installed.
BENCHES += fragmentation in_process growth attach paired resident floors books
BIN_fragmentation_SRCS := tests/bench/fragmentation.cc
BIN_fragmentation_DEPS := vipu
BIN_in_process_SRCS := tests/bench/in_process.cc
BIN_in_process_DEPS := hook-lifecycle-end
BIN_in_process_PKGS := benchmark gtest
BIN_growth_SRCS := tests/bench/growth.cc tests/bench/statistics.cc
BIN_growth_DEPS := hook-lifecycle-end
BIN_attach_SRCS := tests/bench/attach.cc tests/bench/attachment.cc tests/bench/peers.cc tests/bench/recording.cc \
  tests/bench/statistics.cc
BIN_attach_DEPS := netns
BIN_paired_SRCS := tests/bench/paired.cc tests/bench/statistics.cc
BIN_paired_DEPS := base
BIN_paired_PKGS := nlohmann_json
BIN_resident_SRCS := tests/bench/resident.cc
BIN_resident_DEPS := base
BIN_floors_SRCS := tests/bench/floors.cc tests/bench/statistics.cc tests/support/simulator_client.cc
BIN_floors_DEPS := vipu-proto
BIN_floors_PKGS := grpc++
BIN_books_SRCS := tests/bench/books.cc tests/bench/statistics.cc tests/support/etcd.cc tests/support/simulator_process.cc
BIN_books_DEPS := hook-fleet
BIN_books_PKGS := gtest
BIN_books_FLAGS := -DPROGRAM_DIR='"$(CURDIR)/$(O)/bin"'
$(O)/bin/books: | $(O)/bin/ipu-fleet-client

# The crash enumeration runs on a throw-away host; not installed.
TESTS += fault
BIN_fault_SRCS := $(wildcard tests/fault/*.cc)
BIN_fault_DEPS := hook-lifecycle-start hook-lifecycle-repair
BIN_fault_PKGS := sqlite3

# Containers of hostile images, on a throw-away host; not installed. Containers run it, so it is static.
TESTS += hostile
BIN_hostile_SRCS := $(wildcard tests/hostile/*.cc)
BIN_hostile_DEPS := base
BIN_hostile_STATIC := yes

# The page of `ipuctl report`, for its unit tests and for those in a browser.
BIN_unit-cmd-ipuctl-page_SRCS += tests/support/sample_page.cc
TESTS += report-sample
BIN_report-sample_SRCS := tests/browser/sample.cc tests/support/sample_page.cc
BIN_report-sample_DEPS := cmd-ipuctl-page

# A client of the CRI, for tests of pods; not installed.
LIBS += cri_proto
LIB_cri_proto_PROTOS := $(GEN)/tests/cri/cri.pb.h
LIB_cri_proto_SRCS := $(GEN)/tests/cri/cri.pb.cc
LIB_cri_proto_PKGS := grpc++ protobuf
.SECONDARY: $(LIB_cri_proto_SRCS)
TESTS += cri-client
BIN_cri-client_SRCS := tests/cri/main.cc
BIN_cri-client_DEPS := cri_proto
BIN_cri-client_ARCHIVES := grpc++ protobuf

# Programs that end-to-end tests run in containers, or in place of engines and low-level runtimes; not installed.
ATTACK_PROGRAMS := raw frame intruder
E2E_PROGRAMS := dial spy odd_caller frame_cutter $(ATTACK_PROGRAMS)
TESTS += $(E2E_PROGRAMS)
define e2e_program
BIN_$(1)_SRCS := tests/$(if $(filter $(1),$(ATTACK_PROGRAMS)),attack,e2e)/$(1).cc
BIN_$(1)_DEPS :=
BIN_$(1)_STATIC := yes
endef
$(foreach p,$(E2E_PROGRAMS),$(eval $(call e2e_program,$(p))))
E2E_PROGRAMS += cri-client
# Asks a V-IPU controller in a container as poprun does.
TESTS += launcher
BIN_launcher_SRCS := tests/e2e/launcher.cc
BIN_launcher_DEPS := vipu-proto
BIN_launcher_ARCHIVES := grpc++ protobuf
E2E_PROGRAMS += launcher

# Fuzz targets. The program unit-fuzz-TARGET gives each seed in tests/data/fuzz/TARGET to the target, and counts the
# work of the sources in FUZZ_TARGET_WORK. With FLAVOR=fuzz, the program fuzz-TARGET is libFuzzer with the target.
FUZZ_TARGETS := agent_request config_json state http2 ipuof_file wire_request wire_reply hcl gc_docker netlink nft
fuzz_json := base/json.cc base/text.cc
fuzz_wire := $(fuzz_json) $(wildcard vipu/wire_*.cc)
FUZZ_agent_request_DEPS := cmd-ipu-agent-protocol
FUZZ_agent_request_WORK := $(fuzz_json) cmd/ipu-agent/protocol/request.cc
FUZZ_config_json_DEPS := hook-container-oci hook-container-request
FUZZ_config_json_WORK := $(fuzz_json) base/json_rewrite.cc $(addprefix hook/container/oci/,document.cc edit.cc spec.cc)
FUZZ_state_DEPS := hook-container-oci
FUZZ_state_WORK := $(fuzz_json) hook/container/oci/state.cc
FUZZ_http2_DEPS := cmd-common-rpc-transport
FUZZ_http2_WORK := cmd/common/rpc/transport/http2.cc base/text.cc
FUZZ_ipuof_file_DEPS := vipu-local
FUZZ_ipuof_file_WORK := $(fuzz_json) vipu/local/ipuof_file.cc vipu/wire_fields.cc
FUZZ_wire_request_DEPS := vipu
FUZZ_wire_request_WORK := $(fuzz_wire)
FUZZ_wire_reply_DEPS := vipu
FUZZ_wire_reply_WORK := $(fuzz_wire)
FUZZ_hcl_DEPS := vipu
FUZZ_hcl_WORK := vipu/hcl.cc vipu/wire_fields.cc
FUZZ_gc_docker_DEPS := cmd-gc-docker-front_end
FUZZ_gc_docker_WORK := base/text.cc $(wildcard cmd/gc-docker/front_end/*.cc)
FUZZ_netlink_DEPS := netns
FUZZ_netlink_WORK := netns/internal/nl.cc netns/internal/link_facts.cc netns/internal/rdma_messages.cc \
  netns/internal/border/tc_filter.cc netns/internal/events.cc netns/link_watch.cc $(wildcard netns/session*.cc)
FUZZ_nft_DEPS := netns
FUZZ_nft_WORK := netns/internal/nl.cc netns/internal/nft_find.cc netns/internal/nft_table.cc \
  netns/internal/events.cc netns/filter_watch.cc
# These two answer instead of the kernel.
FUZZ_KERNEL := netlink nft
FUZZ_WRAP := -Wl,--wrap=sendmsg,--wrap=recvmsg,--wrap=recvfrom

work_objs = $(patsubst %.cc,$(O)/work/%.o,$(FUZZ_$(1)_WORK))
define fuzz_target
FUZZ_$(1)_SRCS := tests/fuzz/$(1).cc $(if $(filter $(1),$(FUZZ_KERNEL)),tests/fuzz/kernel.cc)
FUZZ_$(1)_LD := $(if $(filter $(1),$(FUZZ_KERNEL)),$(FUZZ_WRAP))
UNIT_TESTS += unit-fuzz-$(1)
TESTS += unit-fuzz-$(1)
BIN_unit-fuzz-$(1)_SRCS := $$(FUZZ_$(1)_SRCS) tests/fuzz/runner.cc
BIN_unit-fuzz-$(1)_DEPS := $(FUZZ_$(1)_DEPS)
BIN_unit-fuzz-$(1)_PKGS := gtest_main gtest
BIN_unit-fuzz-$(1)_FLAGS := -DTEST_DATA_DIR='"$(CURDIR)/tests/data"'
# These objects come before the libraries. Of what both have, the linker takes the first.
$(O)/bin/unit-fuzz-$(1): $(call work_objs,$(1))
$(O)/bin/unit-fuzz-$(1): private LDFLAGS += -Wl,--allow-multiple-definition $$(FUZZ_$(1)_LD)
BIN_fuzz-$(1)_SRCS := $$(FUZZ_$(1)_SRCS)
BIN_fuzz-$(1)_DEPS := $(FUZZ_$(1)_DEPS)
$(O)/bin/fuzz-$(1): private LDFLAGS += -fsanitize=fuzzer $$(FUZZ_$(1)_LD)
ALL_OBJS += $(call work_objs,$(1))
endef
$(foreach t,$(FUZZ_TARGETS),$(eval $(call fuzz_target,$(t))))
FUZZERS := $(if $(filter fuzz,$(FLAVOR)),$(FUZZ_TARGETS:%=fuzz-%))

# The programs that `make check-unit` builds: those of the folder ROOM, those with a suite that TEST names, or all.
tests_of_room = $(filter unit-$(call dashed,$(1)) unit-$(call dashed,$(1))-%,$(UNIT_TESTS))
tests_named = $(call dashed,$(patsubst tests/%,%,$(shell tests/folders_of.sh '$(1)')))
chosen_unit_tests := $(if $(ROOM),$(call tests_of_room,$(ROOM)),$(if $(TEST),$(call tests_named,$(TEST)),$(UNIT_TESTS)))
