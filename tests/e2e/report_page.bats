#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The page of `ipuctl report --output html`, of a host with leases. How it looks and works is in tests/browser.

load support

setup() {
  host_config
  in_host tee -a /etc/ipu-container-toolkit/config.toml >/dev/null <<END

[policy]
tenant_variable = true

[[tenant]]
name = "vision"
limit = 16

[[tenant]]
name = "nlp"
END
}

teardown() {
  sim_answers || sim_start
  host_config
  in_host rm -f /run/report.html
  ipuctl drain --end >/dev/null
  remove_containers
  remove_partitions
  ! in_host mountpoint -q /sys/bus || remove_cards
  ipuctl pool refill >/dev/null # it removes what is warm
  ipuctl gc >/dev/null
  assert_nothing_left
}

# Writes the page as a user does. page prints it.
write_page() { in_host timeout 30 sh -c 'ipuctl report --since 0s --output html >/run/report.html'; }
page() { in_host cat /run/report.html; }

# How many IPUs of the map have a STATE and a label that begins with the rest.
cells() { # STATE [LABEL]
  grep -cE "class=\"ipu $1[^\"]*\" role=\"img\" [^>]*aria-label=\"IPU [0-9]+: ${2:-}" < <(page | tr '>' '\n')
}

# The rows of the table ID, without tags, with a bar between cells.
rows() { # ID
  page | sed -n "/<table id=\"$1\">/,/<\/table>/p" | grep '^<tr>' | sed 's/<\/t[hd]><t[hd][^>]*>/|/g; s/<[^>]*>//g'
}

@test "the page shows who has what: containers, reservations, partitions, and who waits and why" {
  local waiter
  in_host sed -i 's/^timeout.*/&\nwarm = { 2 = 1 }/' /etc/ipu-container-toolkit/config.toml
  ipuctl pool refill
  ipuctl gc >/dev/null # it looks at the pools: a look counts until the next one
  start own -e IPU_TENANT=vision -e IPU_COUNT=16
  start job -e IPU_TENANT=nlp -e IPU_COUNT=4
  ipuctl partition create kept --size 4 >/dev/null
  ipuctl reserve night --ipus 8 --for 1h --tenant nlp
  assert_refused -e IPU_TENANT=vision -e IPU_COUNT=1 -- 'it fits when the tenant gives back 1'
  start late -e IPU_TENANT=nlp -e IPU_COUNT=64 -e IPU_WAIT=60s >"$BATS_TEST_TMPDIR/late" 2>&1 3>&- &
  waiter=$!
  wait_until 10 has_waiters 1
  ipuctl gc >/dev/null
  write_page
  assert_equal "$(cells held)" 20
  assert_equal "$(cells held 'Held, tenant vision, container own, partition c-')" 16
  assert_equal "$(cells held 'Held, tenant nlp, container job, partition c-')" 4
  assert_equal "$(cells reserved 'Reserved, tenant nlp, reservation night, partition r-')" 8
  assert_equal "$(cells kept 'Kept, partition kept')" 4
  assert_equal "$(cells warm 'Warm, partition w-')" 2
  assert_equal "$(cells free Free)" 30
  assert_equal "$(rows holdings | cut -d '|' -f 2,3,4,6 | sort)" "$(printf '%s\n' 'nlp|4|pod64|RUNNING' \
    'nlp|8|pod64|RESERVED' 'vision|16|pod64|RUNNING')"
  assert_equal "$(rows queue | cut -d '|' -f 1-5)" '1 of 1|late|nlp|64|pod64'
  assert_contains "$(rows queue | cut -d '|' -f 6)" 'no free block of 64 IPUs (largest free: '
  assert_contains "$(rows causes)" " has # of at most # IPUs |"
  assert_equal "$(rows use-days | wc -l)" 1
  assert_contains "$(rows room-0)" "$(date -u +%F)|"
  ipuctl queue cancel late
  ! wait "$waiter" || fail 'a request that was cancelled got IPUs'
}

@test "the same leases are the same page, but for its date and what time adds up" {
  local first
  start own -e IPU_TENANT=vision -e IPU_COUNT=16
  write_page
  first=$(page | sed -n '/id="map"/,/id="use"/p')
  [ "$(wc -l <<<"$first")" -gt 40 ]
  write_page
  assert_equal "$(page | sed -n '/id="map"/,/id="use"/p')" "$first"
}

@test "a controller that is away leaves its map out with a sentence, and the status is 3" {
  start own -e IPU_TENANT=vision -e IPU_COUNT=4
  sim_stop
  run -3 write_page
  assert_contains "$(page)" 'There is no map of this pool: '
  assert_contains "$(page)" 'This page is not whole:'
  assert_equal "$(cells held)" 0
  assert_equal "$(rows holdings | cut -d '|' -f 2,3,6)" 'vision|4|RUNNING'
  assert_contains "$(page)" '</html>'
  sim_start
}

@test "cards are in their groups, and those of a drained host and tainted ones are marked" {
  make_cards
  in_host tee /etc/ipu-container-toolkit/config.toml >/dev/null <<END
[pool]
name = "cards"
provider = "pcie"
groups = [[0, 1], [2, 3]]
taints = [3]
END
  write_page
  assert_equal "$(cells free)" 3
  assert_equal "$(cells unhealthy 'Unhealthy, tainted: ')" 1
  assert_contains "$(page)" '<h4>Card group 1</h4>'
  in_host timeout 30 ipuctl drain --reason '<script>alert(1)</script>' --timeout 20s
  write_page
  assert_equal "$(cells drained Drained)" 3
  assert_contains "$(page)" ': &lt;script&gt;alert(1)&lt;/script&gt;'
  assert_equal "$(page | grep -c '<script>alert')" 0
}

@test "without a configuration there is a page, too" {
  in_host rm /etc/ipu-container-toolkit/config.toml
  run -1 write_page
  assert_contains "$(page)" 'Nobody has IPUs.'
  assert_contains "$(page)" '</html>'
}
