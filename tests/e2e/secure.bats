#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A controller that wants TLS, a client certificate and a user with a key: it is used, and none of the
# secrets gets anywhere. Each test begins with the right configuration.

load support

ETC=/etc/ipu-container-toolkit
KEY=0pYv_Zk31aQ-secret

setup_file() {
  in_host sh <packaging/make_user.sh
  # shellcheck disable=SC2016
  in_host sh -c '
    set -e
    mkdir -p /run/pki
    cd /run/pki
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
      -keyout ca.key -out ca.pem 2>/dev/null
    issue() { # NAME EXTENSION
      openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
      echo "$2" >"$1.ext"
      openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile "$1.ext" -out "$1.pem" 2>/dev/null
    }
    issue server "subjectAltName = IP:$1"
    issue client "extendedKeyUsage = clientAuth"
    echo "{\"root\": {\"key\": \"$2\"}}" >users.json
    # What must be found nowhere: the key of the user, and each line of the key of the certificate.
    { echo "$2"; grep -v ^----- client.key; } >secrets' sh "${CONTROLLER%:*}" "$KEY"
}

teardown_file() {
  in_host rm -r /run/pki
  remove_users
}

setup() {
  SIM_OPTIONS=(--secure /run/pki/users.json --tls-cert /run/pki/server.pem --tls-key /run/pki/server.key
    --tls-client-ca /run/pki/ca.pem)
  restart_sim
  configure
}

teardown() {
  configure
  remove_containers
  in_host sh -c "rm $ETC/ca.pem $ETC/client.pem $ETC/client.key $ETC/credentials"
  host_config
  # shellcheck disable=SC2034
  SIM_OPTIONS=()
  restart_sim
  # A release that spoke TLS to the controller fails now, and is tried again.
  wait_until 10 gc_leaves_nothing || assert_nothing_left
}

configure() {
  host_config
  in_host install -m 0600 /run/pki/ca.pem /run/pki/client.pem /run/pki/client.key "$ETC/"
  write_credentials "$KEY"
  in_host sed -i "s|^timeout = .*|&\ncredentials = \"$ETC/credentials\"\ntls = { ca = \"$ETC/ca.pem\", certificate = \"$ETC/client.pem\", key = \"$ETC/client.key\" }|" \
    "$ETC/config.toml"
}

write_credentials() { # KEY
  in_host install -m 0600 /dev/stdin "$ETC/credentials" <<<"vipu-user-id: root
vipu-access-key: $1"
}

# The lines of standard input that have a secret in them.
secrets_in_input() { in_host grep --text --fixed-strings --file /run/pki/secrets || true; }

# The files below PATH... in the host that have a secret in them.
secrets_in() { # PATH...
  in_host grep -rl --text --fixed-strings --file /run/pki/secrets "$@" 2>/dev/null || true
}

# What this product and docker keep and log, but for the configuration.
KEPT='/var/lib/ipu-container-toolkit /run/ipu-container-toolkit /run/docker /var/lib/docker/containers
  /run/service /tmp'

# Refused, with nothing to give back later, whatever the controller says then.
assert_clearly_refused() { # TEXT...
  assert_refused -e IPU_COUNT=4 -- "$@"
  assert_equal "$(secrets_in_input <<<"$output")" ''
  has_leases 0
}

@test "the search for secrets finds them where they are" {
  assert_equal "$(secrets_in "$ETC" | sort)" "$ETC/client.key
$ETC/credentials"
  assert_equal "$(secrets_in_input <<<"a $KEY b")" "a $KEY b"
}

@test "a container starts, and no secret is anywhere in it, kept or shown" {
  start job -e IPU_COUNT=4
  # shellcheck disable=SC2046
  assert_contains "$(inside job nc -w 2 $(first_endpoint job))" "$(lease_of job .partition)"
  # shellcheck disable=SC2086
  assert_equal "$(secrets_in $KEPT)" ''
  assert_equal "$(inside job sh -c 'env; cat /proc/1/environ /run/ipu/* /etc/ipuof.conf.d/*' | secrets_in_input)" ''
  assert_equal "$(docker inspect job | secrets_in_input)" ''
  assert_equal "$(output_of_ipuctl job | secrets_in_input)" ''
  ipuctl support-bundle --file /run/support.txt
  assert_contains "$(in_host cat /run/support.txt)" "$ETC/client.key"
  assert_equal "$(secrets_in /run/support.txt)" ''
  in_host rm /run/support.txt
}

output_of_ipuctl() { # NAME
  local command id
  id=$(docker inspect -f '{{.Id}}' "$1")
  for command in ps "lease show $id" 'partition list --holders' "partition show $(lease_of "$1" .partition)" \
    'pool list' queue gc; do
    # shellcheck disable=SC2086
    {
      ipuctl $command
      ipuctl $command -o json
    }
  done
}

@test "while a partition is made no process shows a secret" {
  SIM_CREATE_DELAY=12s restart_sim
  start job -e IPU_COUNT=4 3>&- &
  local start=$!
  wait_until 10 partition_is_made
  in_host pgrep -x ipu-vipu-client
  assert_equal "$(in_host sh -c 'cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ' 2>/dev/null | secrets_in_input)" ''
  # shellcheck disable=SC2086
  assert_equal "$(secrets_in $KEPT)" ''
  in_host pgrep -x ipu-vipu-client
  wait "$start"
}

partition_is_made() { [ "$(sim_log 'any(.event == "hold")')" = true ]; }

@test "a wrong key: refused, with neither the wrong nor the right one" {
  write_credentials wrong-secret
  assert_clearly_refused "$CONTROLLER" 'the credentials are not accepted'
  [[ $output != *wrong-secret* ]]
}

@test "credentials that others may read: refused, with what to do" {
  in_host chmod 0644 "$ETC/credentials"
  assert_clearly_refused "others may read '$ETC/credentials': chmod 0600 '$ETC/credentials'"
}

@test "a key that others may read: refused, with what to do" {
  in_host chmod 0640 "$ETC/client.key"
  assert_clearly_refused "others may read '$ETC/client.key': chmod 0600 '$ETC/client.key'"
}

@test "without a user of its own the client gets no secrets: refused, with what to do" {
  in_host userdel ipu-vipu-client
  run ipuctl doctor
  assert_contains "$output" "no user 'ipu-vipu-client'"
  assert_clearly_refused "no user 'ipu-vipu-client'; run 'useradd --system --shell /usr/sbin/nologin ipu-vipu-client'"
  in_host sh <packaging/make_user.sh
}

@test "a client that its user may read gets no secrets: refused, with what to do" {
  local client=/usr/local/libexec/ipu-container-toolkit/ipu-vipu-client
  in_host chmod 0755 "$client"
  assert_clearly_refused "others may trace '$client'; run 'chown root $client && chmod 0711 $client'"
  in_host chmod 0711 "$client"
}

@test "a line of the credentials that cannot be sent: refused, with its number alone" {
  write_credentials "$KEY
$KEY without a colon"
  assert_clearly_refused "'$ETC/credentials' line 3: it is not 'name: value'"
}

@test "a controller that another authority has signed: refused" {
  in_host cp /run/pki/client.pem "$ETC/ca.pem"
  assert_clearly_refused "$CONTROLLER" 'TLS handshake failed'
}

@test "without TLS the controller is not spoken to, and credentials are not sent over the network" {
  in_host sed -i '/^tls = /d' "$ETC/config.toml"
  assert_clearly_refused 'without TLS'
  in_host sed -i '/^credentials = /d' "$ETC/config.toml"
  assert_clearly_refused "$CONTROLLER" 'may want TLS'
}

@test "a container that ends while the configuration is broken is given back when it is whole again" {
  start job -e IPU_COUNT=4
  in_host sh -c "echo 'no TOML' >$ETC/config.toml"
  docker rm --force job
  wait_until 15 is_noted
  assert_equal "$(ipuctl ps -o json | jq -r '.[0].state')" RELEASING
  # shellcheck disable=SC2086
  assert_equal "$(secrets_in $KEPT)" ''
  configure
  assert_contains "$(ipuctl gc)" 'released lease'
  assert_nothing_left
}

# What stands in the way of the release is in the ledger.
is_noted() { [ "$(ipuctl ps -o json | jq -r '.[0].obstacle // ""')" != '' ]; }
