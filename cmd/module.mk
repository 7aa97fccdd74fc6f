# SPDX-License-Identifier: Apache-2.0
# What runs as root in front of a container is static: it starts in half the time and ignores LD_PRELOAD.
BINS += $(patsubst cmd/%/,%,$(wildcard cmd/*/))

BIN_ipu-container-runtime_SRCS := $(wildcard cmd/ipu-container-runtime/*.cc)
BIN_ipu-container-runtime_DEPS := hook
BIN_ipu-container-runtime_STATIC := yes
BIN_ipu-container-runtime_DIR = $(BINDIR)

BIN_ipu-container-hook_SRCS := $(wildcard cmd/ipu-container-hook/*.cc)
BIN_ipu-container-hook_DEPS := hook
BIN_ipu-container-hook_STATIC := yes
BIN_ipu-container-hook_DIR = $(BINDIR)

BIN_ipuctl_SRCS := $(wildcard cmd/ipuctl/*.cc)
BIN_ipuctl_DEPS := hook
BIN_ipuctl_PKGS := CLI11
BIN_ipuctl_STATIC := yes
BIN_ipuctl_DIR = $(BINDIR)

# It is installed as gc-podman, too.
BIN_gc-docker_SRCS := $(wildcard cmd/gc-docker/*.cc)
BIN_gc-docker_DEPS := hook
BIN_gc-docker_STATIC := yes
BIN_gc-docker_DIR = $(BINDIR)

BIN_ipu-vipu-client_SRCS := $(wildcard cmd/ipu-vipu-client/*.cc)
BIN_ipu-vipu-client_DEPS := vipu vipu_proto confine
BIN_ipu-vipu-client_DIR = $(LIBEXECDIR)

BIN_vipu-simulator_SRCS := $(wildcard cmd/vipu-simulator/*.cc)
BIN_vipu-simulator_DEPS := vipu_simulator vipu_proto
BIN_vipu-simulator_PKGS := CLI11
BIN_vipu-simulator_DIR = $(BINDIR)
