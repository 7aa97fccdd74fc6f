#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The commands in the examples of README.md and of the man pages, run as they stand, in the order of each page.
# newcomer.bats runs the sh blocks of README.md, and ipuctl.bats runs the examples of `ipuctl COMMAND --help`.
#
# Stand-ins: the image graphcore/pytorch is busybox, with programs that say how many IPUs they have. vipu makes a partition
# that this host does not know. podman puts containers into the host's cgroup. A simulator stays until the next one starts.

load support
load bundle
load podman

PLACE=/run/page-examples
# shellcheck disable=SC2034 # ./bundle.bash uses it
BUNDLE=/srv/bundle

# What cannot run here, and why.
declare -gA NOT_RUN=(
  ['make demo']='it makes a throw-away host, and this is one'
  ['make check']='it runs this test'
  ['make install-slurm']='slurm_plugin.bats runs it'
  ['systemctl enable --now ipu-agent.socket ipu-agent.service']='there is no systemd; newcomer.bats has a stand-in'
  ['podman run --device graphcore.ai/ipu=0 IMAGE']='the pool has no cards; cdi.bats runs it where it has'
  ['docker run --cap-drop NET_RAW --device graphcore.ai/partition=p0 IMAGE']='it needs docker 28.2; cdi.bats has a stand-in'
)

setup() {
  cd "$BATS_TEST_DIRNAME/../.." || return 1
  in_host mkdir -p "$PLACE/bin" "$PLACE/image"
  make_image
  make_stand_ins
  make_podman
  make_bundle '.process.env += ["IPU_COUNT=4"] | .process.args = ["cat", "/run/ipu/lease.json"]'
  make_certificate
  make_refused
  in_host sh <packaging/make_user.sh
  in_host useradd alice
  # gc-docker(1) shows the size on a host of its own.
  in_host mount -o "remount,size=$(sed -n 's/.*shm\\-size=\([0-9]*\) .*/\1/p' man/gc-docker.1)" /dev/shm
}

teardown() {
  remove_what_ran
  remove_bundle
  docker image rm --force graphcore/pytorch >/dev/null
  tear_down_podman
  in_host userdel alice
  remove_users
  in_host mount -o remount,size=50% /dev/shm
  in_host rm -rf "$PLACE" /data /etc/cdi /tmp/pod16.json /tmp/pod256.log /run/service/page-simulator.log
  assert_nothing_left
}

remove_what_ran() {
  in_host podman rm --all --force --time 0 >/dev/null 2>&1 || true
  remove_containers
  remove_partitions
  ipuctl cdi remove >/dev/null
  host_stop page-simulator
  ! in_host test -e /run/netns/fabric || in_host ip netns delete fabric
}

program() { in_host install -m 0755 /dev/stdin "$PLACE/$1"; } # PATH < CONTENTS

make_image() {
  program image/python3 <<'END'
#!/bin/sh
echo "IPUs here: $(sed -n 's/^  "ipus": \([0-9]*\),$/\1/p' /run/ipu/lease.json 2>/dev/null || echo none)"
END
  program image/poprun <<'END'
#!/bin/sh
nc -w 2 127.0.0.1 8090 </dev/null || exit
while [ "${1#--}" != "$1" ]; do shift; done
exec "$@"
END
  in_host tee "$PLACE/image/Dockerfile" >/dev/null <<'END'
FROM busybox
COPY python3 poprun /bin/
CMD ["python3"]
END
  docker build --quiet --tag graphcore/pytorch "$PLACE/image" >/dev/null
}

make_stand_ins() {
  # shellcheck disable=SC2016
  {
    declare -f on_other_host
    echo 'in_host() { "$@"; }'
    echo '[ "$1 $2" = "create partition" ] && on_other_host ipuctl partition create "${@:3}"'
  } | sed '1i #!/bin/bash' | program bin/vipu
  program bin/podman <<END
#!/bin/bash
exec /usr/bin/podman "\$1" --cgroup-parent "/$HOST_CGROUP" "\${@:2}"
END
  sed "s|BINDIR|$BINDIR|" <<'END' | program bin/vipu-simulator
#!/bin/bash
real=BINDIR/vipu-simulator service=/run/service/page-simulator
[ "$1" != control ] || exec "$real" "$@"
! pid=$(cat "$service.pid" 2>/dev/null) || { kill "$pid" && tail --pid="$pid" -f /dev/null; }
setsid "$real" "$@" >"$service.log" 2>&1 </dev/null &
echo $! >"$service.pid"
timeout 10 sh -c "until grep -q ': listening on ' $service.log; do sleep 0.05; done" || { cat "$service.log"; exit 1; }
END
}

# podman with the image, the hooks of the toolkit, and no network that needs a program more.
make_podman() {
  local hooks=${PREFIX:-/usr/local}/share/ipu-container-toolkit/hooks.d
  set_up_podman
  in_host sed -i -e "/^\[engine\]/a runtime = \"/usr/sbin/runc\"\nhooks_dir = [\"$hooks\"]" \
    -e '1i [containers]\nnetns = "none"' /etc/containers/containers.conf
  docker save graphcore/pytorch | in_host podman load --quiet >/dev/null
}

# What --secure, --tls-cert and --tls-key of vipu-simulator(1) name.
make_certificate() {
  in_host tee "$PLACE/users.json" <<<'{"root": {"key": "0pYv_Zk31aQ"}}' >/dev/null
  in_host openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=server \
    -keyout "$PLACE/server.key" -out "$PLACE/server.pem" 2>/dev/null
}

# The id of a container that did not get its IPUs.
make_refused() {
  start first -e IPU_COUNT=64
  run ! docker run --runtime=ipu --name refused -e IPU_COUNT=4 busybox true
  refused=$(container_id refused)
  remove_containers
  wait_until 10 has_leases 0
}

# Adds to "ipus" what the page promises a container of graphcore/pytorch. "size" and "gcds" are those of the last partition.
promise() { # COMMAND
  if [[ $1 =~ create.*\ --size\ ([0-9]+)(\ --gcds\ ([0-9]+))? ]]; then
    size=${BASH_REMATCH[1]} gcds=${BASH_REMATCH[3]:-1}
  fi
  [[ $1 == *' graphcore/pytorch'* ]] || return 0
  if [[ $1 =~ (IPU_COUNT=|--count\ |ipu\.count=)([0-9]+) ]]; then
    ipus+=("IPUs here: ${BASH_REMATCH[2]}")
  elif [[ $1 == *IPU_VISIBLE_DEVICES=none* ]]; then
    ipus+=('IPUs here: none')
  elif [[ $1 =~ IPU_GCD=[0-9] ]]; then
    ipus+=("IPUs here: $((size / gcds))")
  else
    ipus+=("IPUs here: $size")
  fi
}

# Runs the commands of a block in one shell. RECORD is a line of page_examples.awk.
run_block() { # PAGE:LINE RECORD...
  local where=$1 record command='' script='' shown=() ipus=() shell=(bash -e "$PLACE/block") detached id text
  shift
  for record; do
    if [[ $record == 'says '* ]]; then
      [ -z "$command" ] || shown[-1]+=$'\n'${record#says }
      continue
    fi
    command=${record#run }
    found[$command]=yes
    [ -z "${NOT_RUN[$command]:-}" ] || { command=''; continue; }
    command=${command//IMAGE/graphcore/pytorch}
    command=${command//CONTAINER/$refused}
    command=${command//\/usr\/local\//${PREFIX:-/usr/local}/}
    promise "$command"
    shown+=("+ $command")
    script+="echo ${shown[-1]@Q}"$'\n'"$command"$'\n'
  done
  [ -n "$script" ] || return 0
  program block <<<"$script"
  [[ $script != *' -ti '* ]] || shell=(script -qec "${shell[*]}" /dev/null)
  run in_host env --chdir="$PLACE" PATH="$PLACE/bin:$HOST_PATH" timeout "$LIMIT" "${shell[@]}" </dev/null
  output=${output//$'\r'/}
  printf '%s\n' "== $where" "$output"
  [ "$status" -eq 0 ] || fail "the last command of $where that is shown above failed with $status"
  for text in "${shown[@]}"; do
    assert_contains "$output" "$text"
  done
  mapfile -t detached < <(grep -xE '[0-9a-f]{64}' <<<"$output")
  for id in "${detached[@]}"; do
    docker wait "$id" >/dev/null
    output+=$'\n'$(docker logs "$id")
  done
  assert_equal "$(grep -o 'IPUs here: .*' <<<"$output")" "$(printf '%s\n' "${ipus[@]}")"
}

run_page() { # PAGE
  local records record where='' block=() size gcds
  mapfile -t records < <(awk -f "$BATS_TEST_DIRNAME/page_examples.awk" "$1")
  for record in "${records[@]}" block; do
    if [[ $record == block* ]]; then
      [ -z "$where" ] || run_block "$where" "${block[@]}"
      where=$1:${record#block } block=()
    else
      block+=("$record")
    fi
  done
}

@test "each example of README.md and of the man pages works as it is printed" {
  local -A found=()
  local page command
  for page in README.md man/*.[0-9]; do
    run_page "$page"
    remove_what_ran
    wait_until 10 nothing_is_left
  done
  # Fewer: the pages have examples of a form that page_examples.awk does not see.
  [ "${#found[@]}" -ge 43 ] || fail "the pages have ${#found[@]} commands"
  for command in "${!NOT_RUN[@]}"; do
    [ -n "${found[$command]:-}" ] || fail "no page has '$command', which NOT_RUN names"
  done
}
