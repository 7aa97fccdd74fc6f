# SPDX-License-Identifier: Apache-2.0
LIBS += hook
LIB_hook_SRCS := $(wildcard hook/*/*.cc)
LIB_hook_DEPS := netns vipu base
# toml++ is used as headers: its library has no static form.
LIB_hook_PKGS := sqlite3 nettle

# The one place that knows where things are installed.
$(O)/hook/config/paths.o: $(O)/paths
$(O)/hook/config/paths.o: private CPPFLAGS += -DIPU_VERSION='"$(VERSION)"' -DIPU_BINDIR='"$(BINDIR)"' \
  -DIPU_LIBEXECDIR='"$(LIBEXECDIR)"' -DIPU_SYSCONFDIR='"$(SYSCONFDIR)"' \
  -DIPU_STATEDIR='"$(STATEDIR)"' -DIPU_RUNDIR='"$(RUNDIR)"'
