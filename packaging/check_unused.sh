#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails if containers, engines or partitions of this host use the installed toolkit:
# packaging/check_unused.sh IPUCTL
ipuctl=$1
[ -x "$ipuctl" ] || exit 0
"$ipuctl" drain --dry-run >&2 && exit 0
cat >&2 <<END
make uninstall removes nothing, because of the above. If it went on, nobody would release these partitions, and the
engines would look for a program that is gone. Run '$ipuctl drain', do what is said above, and try again. To remove the
toolkit nevertheless, run 'make uninstall FORCE=1'.
END
exit 1
