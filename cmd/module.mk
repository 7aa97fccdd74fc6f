# SPDX-License-Identifier: Apache-2.0
# The programs that run as root before a container are static: they start in half the time and ignore LD_PRELOAD.
BIN_ipu-container-runtime_STATIC := yes
BIN_ipu-container-runtime_DIR = $(BINDIR)
# It stands before each command on each container, and starts without the C library, if it is optimized, on x86_64.
BIN_ipu-container-runtime_BARE := $(if $(ENTRY),$(filter release,$(FLAVOR)))
BIN_ipu-container-runtime_DEPS += $(if $(BIN_ipu-container-runtime_BARE),base-bare)
sites := $(O)/cmd/ipu-container-runtime/site.o $(O)/cmd/ipu-container-poststop/site.o
$(sites): $(O)/paths
$(sites): private CPPFLAGS += -DIPU_BINDIR='"$(BINDIR)"' -DIPU_LIBEXECDIR='"$(LIBEXECDIR)"' -DIPU_SYSCONFDIR='"$(SYSCONFDIR)"' \
  -DIPU_RUNDIR='"$(RUNDIR)"' -DIPU_VERSION='"$(VERSION)"'

BIN_ipu-container-start_STATIC := yes
BIN_ipu-container-start_DIR = $(LIBEXECDIR)

# A container's end waits for it, and it does next to nothing.
BIN_ipu-container-poststop_STATIC := yes
BIN_ipu-container-poststop_DIR = $(LIBEXECDIR)
BIN_ipu-container-poststop_BARE := $(BIN_ipu-container-runtime_BARE)
BIN_ipu-container-poststop_DEPS += $(if $(BIN_ipu-container-poststop_BARE),base-bare)

BIN_ipu-container-hook_STATIC := yes
BIN_ipu-container-hook_DIR = $(BINDIR)

LIB_cmd-common-usage_PKGS := CLI11

BIN_ipu-agent_PKGS := CLI11
BIN_ipu-agent_STATIC := yes
BIN_ipu-agent_DIR = $(BINDIR)

# Slurm's plugin runs it. It is also the program that holds a job's namespaces.
BIN_ipu-slurm_STATIC := yes
BIN_ipu-slurm_DIR = $(LIBEXECDIR)

BIN_ipuctl_PKGS := CLI11
BIN_ipuctl_STATIC := yes
BIN_ipuctl_DIR = $(BINDIR)
# The example of a configuration as a text of the program.
example := $(GEN)/cmd/ipuctl/config_example.cc
BIN_ipuctl_SRCS += $(example)
$(example): packaging/config.toml
	@mkdir -p $(@D)
	@{ echo 'namespace ipuctl { extern const char* const kConfigExample; const char* const kConfigExample = R"~~(' | tr -d '\n'; cat $<; echo ')~~"; }'; } >$@

# The style and the script of the report's page as texts of the program, with their hashes for its security policy.
page_assets := $(GEN)/cmd/ipuctl/page/assets.cc
LIB_cmd-ipuctl-page_SRCS += $(page_assets)
$(page_assets): cmd/ipuctl/page/page.css cmd/ipuctl/page/page.js
	@mkdir -p $(@D)
	@{ echo 'namespace ipuctl::page {'; for asset in Style:$(<) Script:$(lastword $^); do name=k$${asset%%:*} file=$${asset#*:}; \
	  printf 'extern const char* const %s; const char* const %s = R"~~(' $$name $$name; cat $$file; echo ')~~";'; \
	  printf 'extern const char* const %sHash; const char* const %sHash = "sha256-%s";\n' $$name $$name \
	    "$$(sha256sum $$file | cut -c1-64 | tr a-f A-F | basenc --base16 -d | base64)"; \
	done; echo '}'; } >$@

# gc-docker is installed as gc-podman, too.
BIN_gc-docker_STATIC := yes
BIN_gc-docker_DIR = $(BINDIR)

LIB_cmd-common-rpc-transport_PKGS := libnghttp2
LIB_cmd-common-rpc-tls_PKGS := openssl
LIB_cmd-ipu-vipu-client-session_PKGS := libcares
BIN_ipu-vipu-client_DEPS += confine
BIN_ipu-vipu-client_ARCHIVES := grpc++ protobuf libnghttp2 libcares
BIN_ipu-vipu-client_DIR = $(LIBEXECDIR)
# Not readable for its user: the kernel then lets no process of that user trace it, from its first instruction on.
BIN_ipu-vipu-client_MODE := 0711
# A program without TLS needs no OpenSSL, so it can be static.
BIN_ipu-vipu-client-plain_DEPS += confine
BIN_ipu-vipu-client-plain_STATIC := yes
BIN_ipu-vipu-client-plain_DIR = $(LIBEXECDIR)
BIN_ipu-vipu-client-plain_MODE := 0711

# The part of etcd's protocol that the fleet's client speaks, without gRPC.
LIB_cmd-ipu-fleet-client-etcd_PROTOS := $(GEN)/cmd/ipu-fleet-client/etcd/etcd.pb.h
LIB_cmd-ipu-fleet-client-etcd_SRCS := $(GEN)/cmd/ipu-fleet-client/etcd/etcd.pb.cc
LIB_cmd-ipu-fleet-client-etcd_PKGS := protobuf
.SECONDARY: $(LIB_cmd-ipu-fleet-client-etcd_SRCS)
BIN_ipu-fleet-client_DEPS += confine
BIN_ipu-fleet-client_ARCHIVES := protobuf libnghttp2
BIN_ipu-fleet-client_DIR = $(LIBEXECDIR)
BIN_ipu-fleet-client_MODE := 0711

# gRPC comes as more than 50 shared libraries; without them, the program takes half the time to start.
BIN_ipu-vipu-endpoint_ARCHIVES := grpc++ protobuf
BIN_ipu-vipu-endpoint_DEPS += confine
BIN_ipu-vipu-endpoint_DIR = $(LIBEXECDIR)
BIN_ipu-vipu-endpoint_MODE := 0711

BIN_vipu-simulator_PKGS := CLI11
BIN_vipu-simulator_ARCHIVES := grpc++ protobuf
BIN_vipu-simulator_DIR = $(BINDIR)
