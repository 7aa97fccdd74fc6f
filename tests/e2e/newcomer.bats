#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The way of a newcomer who has only README.md: from `git clone` to the uninstalled toolkit. Each ```sh block of README.md
# is run, in order and as it stands, on a host of its own that has an engine and nothing of the product. Only the values
# that README.md marks "# yours" are replaced, and by others than the examples, so that an unmarked one is found.
#
# Stand-ins, because a throw-away host cannot have them: sudo, for root; systemctl, which enables and disables as systemd
# does, but starts only the command of a service.

load support

# shellcheck disable=SC2034 # sim_start and docker_start read them
CONTROLLER=10.1.3.101:8191
# shellcheck disable=SC2034
DOCKER_RUNTIME=()
FLAVOR=${FLAVOR:-release}
# What stands in README.md, and what is this reader's.
YOURS=(
  https://git.example.org/ipu-container-toolkit.git file:///srv/ipu-container-toolkit.git
  alice jo
  10.1.3.101:8090 "$CONTROLLER"
  '"rnic0"' '"rail7"'
  10.5.0.0/16 10.5.0.0/17
  10.5.200.10-10.5.200.99 10.5.100.20-10.5.100.40
)
# Where README.md installs, whatever this build is tested with.
HOST_PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin
HOME_OF_READER=/root/reader
STAND_INS=/run/stand-ins
UNITS='ipu-agent.service ipu-agent.socket ipu-border.service ipu-container-toolkit-gc.service ipu-container-toolkit-gc.timer'

setup() {
  cd "$BATS_TEST_DIRNAME/../.." || return 1
  README=$PWD/README.md
  followed=0
  [ "$O" -ef "build/$FLAVOR" ] || skip 'the build is in another folder'
  flock "$O" make --no-print-directory -s O="$O" all >/dev/null
  HOST_TREE=$PWD host_up
  in_host mkdir -p "$HOME_OF_READER" "$STAND_INS"
  in_host useradd jo
  in_host ip link set rnic0 down
  in_host ip link set rnic0 name rail7
  in_host ip link set rail7 up
  publish
  make_stand_ins
  docker_start
  in_host install -D -m 0755 "/srv/tree/$O/bin/vipu-simulator" /run/lab/vipu-simulator
  HOST_PATH=$HOST_PATH:/run/lab sim_start
}

teardown() {
  host_down
}

# The tree as it is now, as a repository to clone. What is cloned has the finished build, as if it had been made there: no
# source is newer than it, and its flags name the clone.
publish() {
  # shellcheck disable=SC2016
  in_host sh -euc '
    mkdir /srv/ipu-container-toolkit.git
    cd /srv/tree
    tar -c --exclude=./build --exclude=./.git . | tar -x --no-same-owner -C /srv/ipu-container-toolkit.git
    cd /srv/ipu-container-toolkit.git
    git init --quiet
    git add --all
    git -c user.name=origin -c user.email=origin@localhost commit --quiet --message origin
    mkdir -p /srv/template/hooks /run/build/upper /run/build/work
    git config --global init.templateDir /srv/template'
  in_host install -m 0755 /dev/stdin /srv/template/hooks/post-checkout <<END
#!/bin/sh
set -eu
git ls-files -z | xargs -0 touch --no-dereference --date=2000-01-01
mkdir build
mount -t overlay -o lowerdir=/srv/tree/build,upperdir=/run/build/upper,workdir=/run/build/work build build
flags=build/$FLAVOR/flags
sed "s|=$PWD=|=\$PWD=|" "\$flags" >/srv/flags
touch --reference="\$flags" /srv/flags
mv /srv/flags "\$flags"
END
}

make_stand_ins() {
  # shellcheck disable=SC2016
  in_host install -m 0755 /dev/stdin "$STAND_INS/sudo" <<<$'#!/bin/sh\nexec "$@"'
  in_host install -m 0755 /dev/stdin "$STAND_INS/systemctl" <<'END'
#!/bin/bash
set -euo pipefail
of_unit() { sed -n "s/^$2=//p" "/usr/local/lib/systemd/system/$1"; } # UNIT KEY
start() { # UNIT
  [[ $1 == *.service ]] || return 0
  local path command
  path=$(of_unit "$1" ConditionPathExists)
  [ -z "$path" ] || [ -e "$path" ] || return 0
  read -ra command < <(of_unit "$1" ExecStart)
  if [ "$(of_unit "$1" Type)" = oneshot ]; then
    "${command[@]}"
    return
  fi
  setsid "${command[@]}" >"/run/$1.log" 2>&1 </dev/null &
  echo $! >"/run/$1.pid"
}
stop() { # UNIT
  [ -e "/run/$1.pid" ] || return 0
  kill "$(cat "/run/$1.pid")"
  while [ -e "/proc/$(cat "/run/$1.pid")" ]; do sleep 0.05; done
  rm "/run/$1.pid"
}
verb=$1
shift
case $verb:${1:-} in
  enable:--now | disable:--now)
    shift
    /usr/bin/systemctl --root=/ "$verb" "$@"
    for unit in "$@"; do
      if [ "$verb" = enable ]; then start "$unit"; else stop "$unit"; fi
    done
    ;;
  try-restart:*)
    for unit in "$@"; do
      [ -e "/run/$unit.pid" ] || continue
      stop "$unit"
      start "$unit"
    done
    ;;
  daemon-reload:) ;;
  *) echo "systemctl $verb $*: the stand-in does not know this" >&2; exit 1 ;;
esac
END
}

# Prints the blocks of this language in a section of README.md, or one of them, without the indentation of lists.
blocks() { # LANGUAGE SECTION [NUMBER]
  awk -v fence="^ *\`\`\`$1\$" -v title="## $2" -v wanted="${3:-}" '
    /^## / { inside = ($0 == title) }
    block && /^ *```$/ { block = 0; next }
    block && (!wanted || wanted == n) { print substr($0, indent + 1) }
    inside && $0 ~ fence { block = 1; ++n; indent = index($0, "`") - 1 }' "$README"
}

blocks_of() { # SECTION [NUMBER]: how many
  if [ $# -gt 1 ]; then echo 1; else sed -n "/^## $1\$/,/^## /p" "$README" | grep -c '^ *```sh$'; fi
}

# Puts what is the reader's own into the lines that are marked.
with_yours() {
  local i expression=()
  for ((i = 0; i < ${#YOURS[@]}; i += 2)); do
    expression+=(-e "/# yours: /s|${YOURS[i]}|${YOURS[i + 1]}|")
  done
  sed "${expression[@]}"
}

# Runs the commands of a section, or of one of its blocks. "output" is what they print, each after its line "+ COMMAND".
follow() { # SECTION [NUMBER]
  local commands folder=$HOME_OF_READER
  followed=$((followed + $(blocks_of "$@")))
  commands=$(blocks sh "$@" | with_yours)
  [ -n "$commands" ] || fail "README.md has no commands in section $*"
  # A reader stays in the folder that a command entered.
  ! in_host test -d "$folder/ipu-container-toolkit" || folder+=/ipu-container-toolkit
  # shellcheck disable=SC2016
  run in_host env PATH="$STAND_INS:$HOST_PATH" FLAVOR="$FLAVOR" \
    timeout 200 bash -exc 'cd "$1"; eval "$2"' bash "$folder" "$commands"
  printf '%s\n' "== $*" "$output"
  [ "$status" -eq 0 ] || fail "the last command of README.md that is shown above failed with $status"
}

# ---- what README.md promises ----

# shellcheck disable=SC2016
service_runs() { in_host sh -c 'kill -0 "$(cat "/run/$1.pid")"' sh "$1"; } # UNIT

guard_stands() { [ "$(ipuctl doctor -o json | jq -r '.[] | select(.check == "forwarding").result')" = ok ]; }

without_comments() { sed -E 's/ *#.*//; /^$/d'; }

# What of the product lies on the host, without its clone and what serves this test.
product_files() {
  in_host find /etc /run /usr /usr/local /var -xdev '(' -path /run/lab -o -path /run/build -o -path '/run/*.log' -o -name 'vipu-simulator.json*' ')' \
    -prune -o -newer /run/init.log -name '*ipu*' -print -prune | sort -u | xargs
}

@test "README.md, from git clone to make uninstall" {
  local config kept folder
  follow Install
  [[ $output != *'  CXX  '* ]] || fail 'the clone did not take the finished build'
  assert_equal "$(in_host ls /usr/local/bin | xargs)" \
    'gc-docker gc-podman ipu-agent ipu-container-hook ipu-container-runtime ipuctl vipu-simulator'
  # shellcheck disable=SC2086
  assert_equal "$(in_host systemctl --root=/ is-enabled $UNITS | sort -u)" enabled
  assert_contains " $(in_host id -nG jo) " ' ipu '
  service_runs ipu-border.service
  service_runs ipu-agent.service

  follow Configure 1
  config=$(in_host cat /etc/ipu-container-toolkit/config.toml | with_yours)
  in_host tee /etc/ipu-container-toolkit/config.toml <<<"$config" >/dev/null
  assert_equal "$(comm -23 <(blocks toml Configure | with_yours | without_comments | sort) \
    <(without_comments <<<"$config" | sort))" ''
  wait_until 10 guard_stands

  follow Configure 2
  assert_contains "$output" "docker: lists the runtime 'ipu'"
  [[ $output =~ pod64\ +vipu\ +"$CONTROLLER"\ +64\ +0\  ]]
  [[ $output =~ docker\ +/etc/docker/daemon.json\ +/usr/local/bin/ipu-container-runtime\ +no\ +yes ]]
  assert_contains "$output" '"ipus": 1,'
  assert_contains "$output" '"address": "10.5.100.'
  in_host setpriv --reuid jo --regid jo --init-groups ipuctl queue

  follow Configure 3
  assert_equal "$(grep -c '"server_port"' <<<"$output")" 4
  assert_contains "$output" 'inet 10.5.100.'
  [[ $output =~ first\ .*\ RUNNING ]]
  wait_until 10 nothing_is_left

  in_host git -C /srv/ipu-container-toolkit.git -c user.name=origin -c user.email=origin@localhost \
    commit --quiet --allow-empty --message next
  follow Upgrade
  assert_contains "$output" Fast-forward
  service_runs ipu-border.service
  service_runs ipu-agent.service
  docker run --rm --runtime=ipu -e IPU_COUNT=64 busybox true
  wait_until 10 nothing_is_left

  follow Uninstall
  assert_contains "$output" 'until you restart dockerd'
  docker_stop
  docker_start
  docker run --rm busybox true
  run ! docker run --rm --runtime=ipu busybox true
  kept='/etc/ipu-container-toolkit /run/ipu-container-toolkit /var/lib/ipu-container-toolkit'
  assert_equal "$(product_files)" "$kept"
  for folder in $kept; do
    sed -n '/^## Uninstall$/,/^## /p' "$README" | grep -qF "\`$folder\`" || fail "README.md does not say that $folder stays"
  done
  run ! in_host pgrep -a '^ipu'
  assert_equal "$(in_host "/srv/tree/$O/bin/ipuctl" border remove)" 'there is no packet filter of the host'
  assert_equal "$(in_host cat /var/lib/vipu-simulator.json | jq -c .partitions)" '[]'
  in_host getent passwd ipu-vipu-client ipu-vipu-endpoint ipu-agent
  in_host getent group ipu
  assert_equal "$followed" "$(grep -c '^ *```sh$' "$README")"
}
