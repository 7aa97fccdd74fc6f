# SPDX-License-Identifier: Apache-2.0
LIB_base_SRCS := $(filter-out $(wildcard base/confine*.cc),$(LIB_base_SRCS))
LIB_base_PKGS := nlohmann_json libcap

# The one object that knows the version.
$(O)/base/version.o: $(O)/paths
$(O)/base/version.o: private CPPFLAGS += -DIPU_VERSION='"$(VERSION)"'

# A library apart from base, so that the static programs do not link libseccomp.
LIBS += confine
LIB_confine_SRCS := $(wildcard base/confine*.cc)
LIB_confine_DEPS := base
LIB_confine_PKGS := libseccomp
