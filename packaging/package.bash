# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For deb.sh and rpm.sh: what they say alike of a package.

check_version() { # VERSION KIND
  [[ $1 =~ ^[0-9][0-9A-Za-z.+~]*$ ]] && return
  echo "${0##*/}: '$1' is no version of $2 packages: use digits, letters and .+~, such as 0.1.0+site2" >&2
  exit 2
}

# The only time that a package contains: the caller's, or that of the last commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)}
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
umask 022
