# SPDX-License-Identifier: Apache-2.0
# toml++ is not in this list: hook uses its headers only, because its library has no static form.
LIB_hook-ledger_PKGS := sqlite3 nettle

# The one object that knows where things are installed.
$(O)/hook/config/paths.o: $(O)/paths
$(O)/hook/config/paths.o: private CPPFLAGS += -DIPU_VERSION='"$(VERSION)"' -DIPU_BINDIR='"$(BINDIR)"' \
  -DIPU_LIBEXECDIR='"$(LIBEXECDIR)"' -DIPU_SYSCONFDIR='"$(SYSCONFDIR)"' \
  -DIPU_STATEDIR='"$(STATEDIR)"' -DIPU_RUNDIR='"$(RUNDIR)"'
