# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For the tests of this folder: those words of the end-to-end tests that fit, and words for RDMA.

# shellcheck source=tests/e2e/support.bash
source "$BATS_TEST_DIRNAME/../e2e/support.bash"
# shellcheck source=tests/rdma/guest.bash
source "$BATS_TEST_DIRNAME/guest.bash"

# A container start takes up to 10 s here.
LIMIT=120
CLASS=/sys/class/infiniband

# Starts a container NAME that stays until it is removed.
start() { # NAME [DOCKER-OPTION...]
  local name=$1
  shift
  docker run --detach --runtime=ipu --name "$name" "$@" busybox sleep 3600 >/dev/null
}

# Shows a line among the results, as a TAP comment.
report() { echo "# ${*//$'\n'/$'\n'# }" >&3; }

# A GID as sysfs writes it, of an IPv4 ADDRESS.
gid_of() { # ADDRESS
  local bytes
  IFS=. read -ra bytes <<<"$1"
  printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' "${bytes[@]}"
}

# "INDEX GID INTERFACE TYPE" of each entry of the device's GID table.
gid_table() { # DEVICE
  local file index port=$CLASS/$1/ports/1
  grep -Hv '^[0:]*$' "$port"/gids/* | while IFS=: read -r file gid; do
    index=${file##*/}
    echo "$index $gid $(cat "$port/gid_attrs/ndevs/$index") $(cat "$port/gid_attrs/types/$index")"
  done | sort -n
}

# "MAJOR:MINOR" of a device node, in hexadecimal.
node_number() { stat -c %t:%T "$1"; }

# The uverbs node of an RDMA device: "uverbs0".
uverbs_of() { # DEVICE
  local file
  file=$(grep -lx "$1" /sys/class/infiniband_verbs/uverbs*/ibdev)
  basename "$(dirname "$file")"
}

# A container can open a device node, which is all that the device cgroup decides.
assert_opens() { # NAME NODE
  inside "$1" sh -c ": <'$2'"
}

# Fails if the container may open the device that NODE of the host is.
assert_may_not_open() { # NAME NODE
  inside "$1" rm -f /tmp/node
  inside "$1" mknod /tmp/node c "$((0x$(stat -c %t "$2")))" "$((0x$(stat -c %T "$2")))"
  run inside "$1" sh -c ': </tmp/node'
  # shellcheck disable=SC2154
  assert_contains "$output" 'Operation not permitted'
}

# rdma_cm in the container finds the way to an address, bound to the SOURCE if given.
assert_resolves() { # NAME ADDRESS [SOURCE]
  assert_equal "$(inside "$1" resolve "${@:2}")" resolved
}

# rdma_cm finds no way, neither freely nor bound to roce0's address; says what the kernel answered.
assert_does_not_resolve() { # NAME ADDRESS WHAT
  local free bound
  free=$(inside "$1" resolve "$2") && fail "$3, $2, resolves"
  bound=$(inside "$1" resolve "$2" "$(address_in "$1")") && fail "$3, $2, resolves from roce0's address"
  report "$3, $2: ${free#*: }; from roce0's address: ${bound#*: }"
}

# A program in the container waits for a connection: perftest's and pingpong's on TCP, rping on rdma_cm.
listens() { # NAME
  inside "$1" netstat -ltn | grep -q ':18515 ' || inside "$1" rdma resource show cm_id state LISTEN | grep -q LISTEN
}

# Runs a server in one container and its client in another; prints what the client prints.
between() { # SERVER SERVER-COMMAND CLIENT CLIENT-COMMAND
  docker exec "$1" timeout 60 sh -c "$2" >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
  local server=$!
  wait_until 30 listens "$1"
  docker exec "$3" timeout 60 sh -c "$4"
  wait "$server" || fail "the server: $(cat "$BATS_TEST_TMPDIR/server")"
}

has_no_gid() { # DEVICE ADDRESS
  ! gid_table "$1" | grep -q " $(gid_of "$2") "
}
