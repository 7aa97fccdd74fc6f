# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What happens to the storm's world, for sourcing by world.sh after parts.bash and fences.bash. Each trouble hits what no
# other trouble has, and ends by itself. They are in log/troubles: begin, end, kind, what, 0; separated by tabs.

TROUBLES=(host fence member controller cut unplug host quorum cut long-cut)
declare -A troubled # what a trouble has, and since when
pending=()          # "TIME KIND WHAT": when a trouble ends, in ms

now_ms() { REPLY=$((${EPOCHREALTIME/./} / 1000)); }

begin_trouble() { # KIND WHAT MS
  troubled[$2]=$EPOCHREALTIME
  now_ms
  pending+=("$((REPLY + $3)) $1 $2")
  "begin_$1" "$2"
}

end_trouble() { # KIND WHAT
  "end_$1" "$2" || return 1
  printf '%s\t%s\t%s\t%s\t0\n' "${troubled[$2]}" "$EPOCHREALTIME" "$1" "$2" >>log/troubles
  unset "troubled[$2]"
}

# Ends what is due by TIME, and may end.
end_due() { # TIME
  local one all=("${pending[@]}") time kind what
  etcd_tend
  pending=()
  for one in "${all[@]}"; do
    read -r time kind what <<<"$one"
    if [ "$time" -gt "$1" ] || ! is_done "$kind" "$what"; then
      pending+=("$one")
    else
      end_trouble "$kind" "$what" || return 1
      # A host that was fenced is so when it comes back.
      [[ ! $kind =~ ^(fence|unplug)$ ]] || begin_trouble fenced "$what" 0
    fi
  done
}
has_no_trouble() { end_due 9999999999999 && [ "${#pending[@]}" = 0 ]; }

begin_host() { host_down "${1#host}"; }
end_host() { host_up "${1#host}"; }
begin_controller() { controller_down; }
end_controller() { controller_up; }
# WHAT is "etcd"; a quorum is two members.
begin_member() { etcd_down "$((lost = 1 + RANDOM % 3))"; }
end_member() { etcd_up "$lost"; }
begin_quorum() { begin_member && etcd_down "$((lost % 3 + 1))"; }
end_quorum() {
  etcd_up "$lost"
  etcd_up "$((lost % 3 + 1))"
  wait_until 20 etcd_answers || { echo 'etcd does not come back'; return 1; }
}
# The host and etcd do not hear of each other.
begin_cut() { ip link set "etc${1#host}" down; }
end_cut() { ip link set "etc${1#host}" up; }

trouble() { # HOSTS KIND
  local host=host$((1 + RANDOM % $1))
  case $2 in
    host | cut | long-cut) [ -z "${troubled[$host]:-}" ] || return 0 ;;
    fence | unplug) [ -z "${troubled[$host]:-}" ] && has_no_fence || return 0 ;;
    member | quorum) [ -z "${troubled[etcd]:-}" ] || return 0 ;;
    controller) [ -z "${troubled[controller]:-}" ] || return 0 ;;
  esac
  case $2 in
    host) begin_trouble host "$host" $((1000 + RANDOM % 4000)) ;;
    cut) begin_trouble cut "$host" $((1000 + RANDOM % 4000)) ;;
    long-cut) begin_trouble cut "$host" $((10000 + RANDOM % 3000)) ;;
    fence | unplug) begin_trouble "$2" "$host" 1000 ;;
    member) begin_trouble member etcd $((1000 + RANDOM % 3000)) ;;
    quorum) begin_trouble quorum etcd $((3000 + RANDOM % 4000)) ;;
    controller) begin_trouble controller controller $((100 + RANDOM % 2000)) ;;
  esac
}

started() { cat held/* 2>/dev/null | grep -c '\stake\s'; }

# Lets troubles happen for SECONDS, and on until STARTS containers were started, at most six times as long. Ends them all.
# The next trouble waits up to six seconds until a container was started since the last one. Where a start takes longer than
# the time between two troubles, hardly one would ever be made.
rage() { # HOSTS SECONDS STARTS
  local turn=$((RANDOM % ${#TROUBLES[@]})) next until latest before=-1 now
  now_ms
  until=$((REPLY + $2 * 1000))
  latest=$((REPLY + $2 * 6000))
  next=$((REPLY + 1000))
  while now_ms && { [ "$REPLY" -lt "$until" ] || { [ "$REPLY" -lt "$latest" ] && [ "$(started)" -lt "$3" ]; }; }; do
    now_ms
    end_due "$REPLY" || return 1
    if [ "$REPLY" -ge "$next" ] && { now=$(started) && [ "$now" -gt "$before" ] || [ "$REPLY" -ge $((next + 6000)) ]; }; then
      before=$now
      trouble "$1" "${TROUBLES[turn++ % ${#TROUBLES[@]}]}"
      next=$((REPLY + 500 + RANDOM % 2000))
    fi
    sleep 0.05
  done
  wait_until 240 has_no_trouble || { echo "troubles do not end: ${pending[*]}"; return 1; }
}
