#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a user does with the packages, on a throw-away host: packaging/FIRST-MINUTES.md and FROM-GC-DOCKER.md, each command of
# which prints what the page shows, and the role of packaging/examples/ansible.
# shellcheck disable=SC2154,SC2016 # bats sets output; the host's programs expand

# shellcheck source=tests/packaging/deb.bash
source "$BATS_TEST_DIRNAME/deb.bash"
export PREFIX=/usr BINDIR=/usr/bin
# shellcheck source=tests/support/host.sh
source "$BATS_TEST_DIRNAME/../support/host.sh"

setup_file() {
  export DEBS=$BATS_FILE_TMPDIR/debs
  make_debs "$DEBS"
  cp -r "$PROJECT/packaging/examples/ansible" "$DEBS"
}

setup() { lab_up "$DEBS"; }

teardown() { host_down; }

# Writes a page's commands and what each prints, a file for each: NUMBER.command and NUMBER.expected.
split_page() { # FOLDER PAGE
  awk -v folder="$1" '
    /^```console$/ { inside = 1; next }
    /^```$/ { inside = 0 }
    !inside { next }
    /^# / { file = sprintf("%s/%02d", folder, ++n); print substr($0, 3) >(file ".command"); next }
    /^>/ { print substr($0, 3) >(file ".command"); next }
    { print >(file ".expected") }' "$2"
}

# Whether TEXT is what the page shows in FILE; "…" is any text.
shows() { # TEXT FILE
  local pattern
  [ -e "$2" ] || { [ -z "$1" ]; return; }
  pattern=$(sed 's/[][*?\\]/\\&/g; s/…/*/g' "$2")
  # shellcheck disable=SC2053
  [[ $1 == $pattern ]]
}

# What of the product lies on the host, but for this test's.
remains() {
  host_run find /etc /run /usr /var -xdev '(' -path /run/lab -o -path '/run/*.log' -o -name 'vipu-simulator.json*' ')' -prune \
    -o -cnewer /run/init.log -name '*ipu*' -print -prune | sort -u | xargs
}

# Runs each command of a page, of which there are COUNT.
follow() { # PAGE COUNT
  local page=$BATS_TEST_TMPDIR/page command
  mkdir "$page"
  split_page "$page" "$PROJECT/packaging/$1"
  for command in "$page"/*.command; do
    # Each prompt is the same shell, in the folder of the packages.
    run host_run timeout 400 bash -c 'cd /srv/tree && eval "$1"' bash "$(cat "$command")"
    printf '# %s\n%s\n' "$(cat "$command")" "$output"
    shows "$output" "${command%.command}.expected" || fail "$1 has:" "$(cat "${command%.command}.expected")"
  done
  assert_equal "$(find "$page" -name '*.command' | wc -l)" "$2"
}

@test "the first five minutes, from the package to its purge" {
  follow FIRST-MINUTES.md 16
  assert_equal "$(remains)" ''
}

@test "the ten minutes of a user of gc-docker" {
  follow FROM-GC-DOCKER.md 11
  assert_equal "$(host_run ipuctl ps --output json)" '[]'
}

# Runs the role on this host as the first of the inventory. Its sudo is not needed: this is root.
play() { # OPTION...
  host_run env HOME=/root LC_ALL=C.UTF-8 timeout 400 ansible-playbook --inventory /srv/tree/ansible/hosts.ini --connection local \
    --limit ipu-host-1 --extra-vars '{"ansible_become": false, "ipu_packages": "/srv/tree"}' "$@" /srv/tree/ansible/site.yaml
}

@test "the role installs, configures and checks a host, and changes nothing the second time" {
  run play
  assert_contains "$output" 'it has the runtime and knows it' 'unreachable=0' 'failed=0'
  run host_run docker run --rm --network none --runtime=ipu -e IPU_COUNT=4 busybox ip -o -f inet address show dev roce0
  assert_contains "$output" 'inet 10.5.200.10/'

  run play
  assert_contains "$output" 'changed=0' 'failed=0'

  # A run was interrupted after it had unpacked the package.
  host_run sh -c 'dpkg --force-confold --unpack /srv/tree/ipu-container-toolkit_*.deb' >/dev/null
  run play
  assert_contains "$output" 'failed=0'
  assert_equal "$(host_run dpkg-query --show --showformat '${db:Status-Status}' ipu-container-toolkit)" installed

  # A wrong value never takes the place of what works.
  run play --extra-vars ipu_range=10.6.0.1-10.6.0.9
  assert_contains "$output" 'failed=1' 'range'
  host_run ipuctl config check
}
