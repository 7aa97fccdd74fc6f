# SPDX-License-Identifier: Apache-2.0
# toml++ is not in this list: hook uses its headers only, because its library has no static form.
LIB_hook-ledger_PKGS := sqlite3 nettle

# The one object that knows where things are installed.
$(O)/hook/config/paths.o: $(O)/paths
$(O)/hook/config/paths.o: private CPPFLAGS += -DIPU_BINDIR='"$(BINDIR)"' \
  -DIPU_LIBEXECDIR='"$(LIBEXECDIR)"' -DIPU_SYSCONFDIR='"$(SYSCONFDIR)"' \
  -DIPU_STATEDIR='"$(STATEDIR)"' -DIPU_RUNDIR='"$(RUNDIR)"' -DIPU_SLURMDIR='"$(SLURMDIR)"'

# The system call filters are made when the product is built, by a program that is not installed.
filters := $(GEN)/hook/confinement/filters
LIB_hook-confinement_SRCS += $(filters).cc
TESTS += confinement-filters
LIB_hook-confinement-generator_PKGS := libseccomp
BIN_confinement-filters_SRCS :=
BIN_confinement-filters_DEPS := hook-confinement-generator
$(filters).o: private CPPFLAGS += -I.
$(filters).cc: $(O)/bin/confinement-filters
	@mkdir -p $(@D)
	$(call say,FILTER,$@)$< >$@
