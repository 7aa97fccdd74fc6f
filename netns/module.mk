# SPDX-License-Identifier: Apache-2.0
LIBS += netns
LIB_netns_SRCS := $(wildcard netns/*.cc netns/internal/*.cc)
LIB_netns_DEPS := base
LIB_netns_PKGS := libnl-route-3.0
