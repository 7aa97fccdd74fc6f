#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Simulates the placement policies. Times how long a start looks at the existing leases, what more leases cost, and what
# an attachment and the books of a fleet cost.
# Then compares starts with what they stand beside, on a throw-away host: ROUNDS of each (default 100). BENCH_JSON=FILE
# keeps the figures of the comparisons, a line of JSON for each.
set -euo pipefail
cd "$(dirname "$0")/../.."
PREFIX=${PREFIX:-/usr/local}
# shellcheck source=tests/support/host.sh
. tests/support/host.sh
"$O/bin/fragmentation"
# In the formats of Google Benchmark.
"$O/bin/in_process" ${BENCH_JSON:+"--benchmark_out=$BENCH_JSON.in_process"}
"$O/bin/growth"
"$O/bin/attach"
"$O/bin/books"
trap host_down EXIT
trap 'exit 130' INT TERM

# A pool on the controller's answers, one with warm partitions, and one that asks no controller.
configure() {
  host_config
  host_run mkdir -p /run/bench
  host_run cp /etc/ipu-container-toolkit/config.toml /run/bench/one_pool.toml
  host_run tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<END

[[pool]]
name = "warm"
provider = "vipu"
controller = "$CONTROLLER"
warm = { "4" = 4 }

[[pool]]
name = "slices"
provider = "ipuof"
file = "/etc/ipuof.conf.d/whole.conf"
END
  host_run sed -i 's/^\[pool\]/[[pool]]/' /etc/ipu-container-toolkit/config.toml
  host_run ipuctl partition create whole --size 16 --reconfigurable >/dev/null
  host_run mkdir -p /etc/ipuof.conf.d
  host_run ipuctl partition config whole --gcd 0 | host_run tee /etc/ipuof.conf.d/whole.conf >/dev/null
  host_run ipuctl pool refill >/dev/null
}

host_up
host_install
# Four machines are kept for the warm pool, and four are the slices.
SIM_CREATE_DELAY=0ms sim_start
configure
# shellcheck disable=SC2034 # docker_start reads it
DOCKER_RUNTIME=(--add-runtime "ipu=$BINDIR/ipu-container-runtime")
docker_start
# shellcheck disable=SC2016
"${CC:-cc}" -O2 -static -s -DSTAND_IN_FOR="\"$(host_run sh -c 'command -v runc')\"" -o "/proc/$HOST_PID/root/run/bench/stand_in" \
  tests/bench/stand_in.c
echo 'int main(void) { return 0; }' | "${CC:-cc}" -O2 -static -s -x c -o "/proc/$HOST_PID/root/run/bench/nothing" -
cp "$O"/bin/{paired,resident,floors} tests/bench/{measure,crowd,fleet,phases}.sh "/proc/$HOST_PID/root/run/bench/"
host_run bash /run/bench/measure.sh /run/bench/paired /run/bench/stand_in "$BINDIR/ipu-container-runtime" \
  "/$HOST_CGROUP" "${ROUNDS:-100}" "$CONTROLLER"
[ -z "${BENCH_JSON:-}" ] || host_run cat /run/bench/figures.json >"$BENCH_JSON"
