# SPDX-License-Identifier: Apache-2.0
# What runs as root in front of a container is static: it starts in half the time and ignores LD_PRELOAD.
BIN_ipu-container-runtime_STATIC := yes
BIN_ipu-container-runtime_DIR = $(BINDIR)

BIN_ipu-container-hook_STATIC := yes
BIN_ipu-container-hook_DIR = $(BINDIR)

BIN_ipuctl_PKGS := CLI11
BIN_ipuctl_STATIC := yes
BIN_ipuctl_DIR = $(BINDIR)

# It is installed as gc-podman, too.
BIN_gc-docker_STATIC := yes
BIN_gc-docker_DIR = $(BINDIR)

BIN_ipu-vipu-client_DEPS += confine
BIN_ipu-vipu-client_DIR = $(LIBEXECDIR)

BIN_vipu-simulator_PKGS := CLI11
BIN_vipu-simulator_DIR = $(BINDIR)
