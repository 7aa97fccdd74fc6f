# SPDX-License-Identifier: Apache-2.0
LIBS += base
LIB_base_SRCS := $(wildcard base/*.cc)
LIB_base_PKGS := nlohmann_json libcap
