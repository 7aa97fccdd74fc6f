#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `make rpm`: built, linted, and used on a throw-away host, whose database of RPM packages has these alone. rpm cannot find
# there what it would require of a host of its kind.
# shellcheck disable=SC2154,SC2016 # bats sets output; the host's programs expand

# shellcheck source=tests/packaging/deb.bash
source "$BATS_TEST_DIRNAME/deb.bash"
export PREFIX=/usr BINDIR=/usr/bin
# shellcheck source=tests/support/host.sh
source "$BATS_TEST_DIRNAME/../support/host.sh"

setup_file() {
  export RPMS=$BATS_FILE_TMPDIR/rpms
  make_rpms "$RPMS"
}

teardown() { host_down; }

in_toolkit() { rpm --query --package --list "$RPMS"/ipu-container-toolkit-0*.rpm; }

@test "rpmlint finds nothing that is not meant so" {
  run rpmlint --config "$PROJECT/packaging/rpm/rpmlint.toml" "$RPMS"/*.rpm
  assert_contains "$output" ' 0 errors, 0 warnings'
}

@test "each program that people call has a man page" {
  local all program
  all=$(rpm --query --package --list "$RPMS"/*.rpm)
  while read -r program; do
    grep -q "^/usr/share/man/man[18]/$program\.[18]\.gz$" <<<"$all" || fail "$program has none"
  done < <(sed -n 's|^/usr/bin/||p' <<<"$all")
}

@test "the same sources give the same bytes" {
  make_rpms "$BATS_TEST_TMPDIR/again"
  (cd "$RPMS" && sha256sum ./*.rpm) | (cd "$BATS_TEST_TMPDIR/again" && sha256sum --check --quiet)
}

@test "the main package needs no library, and the one that does is recommended" {
  local requires
  requires=$(rpm --query --package --requires "$RPMS"/ipu-container-toolkit-0*.rpm "$RPMS"/ipuctl-*.rpm)
  assert_lacks "$requires" '.so.'
  assert_contains "$(rpm --query --package --recommends "$RPMS"/ipu-container-toolkit-0*.rpm)" ipu-container-toolkit-tls
  assert_contains "$(in_toolkit)" /usr/bin/ipu-container-hook /usr/libexec/ipu-container-toolkit/ipu-vipu-client-plain
}

@test "a host gets its first container by the packages, which stay while it runs, and leave nothing but the state" {
  lab_up "$RPMS"
  run host_run sh -c 'cd /srv/tree && rpm --install --nodeps ipuctl-*.rpm ipu-container-toolkit-0*.rpm'
  RPM_PACKAGES=(ipu-container-toolkit ipuctl)
  assert_equal "$status" 0
  assert_contains "$output" 'no container engine was changed'
  assert_contains "$(host_run rpm --verify ipu-container-toolkit ipuctl --nodeps && echo verified)" verified
  host_run getent passwd ipu-vipu-client ipu-vipu-endpoint ipu-agent >/dev/null
  host_config
  host_run ipuctl runtime configure docker >/dev/null
  run host_run ipuctl doctor
  assert_equal "$status" 0
  assert_contains "$output" 'those for TLS, [fleet] and V-IPU endpoints are not' 'answers, version'
  host_run sed -i '$a [fleet]\nendpoints = ["10.1.3.102:2379"]' /etc/ipu-container-toolkit/config.toml
  run host_run ipuctl doctor
  [ "$status" -ne 0 ]
  assert_contains "$output" '[fleet] needs programs that are not installed' 'among the RPM packages, ipu-container-toolkit-tls has this program'
  host_run sed -i '/^\[fleet\]/,$d' /etc/ipu-container-toolkit/config.toml
  host_run sh -c 'rpm --install --nodeps /srv/tree/ipu-container-toolkit-tls-*.rpm'
  assert_contains "$(host_run ipuctl doctor)" 'the V-IPU client and endpoint are installed'
  RPM_PACKAGES+=(ipu-container-toolkit-tls)
  host_run docker run --detach --network none --runtime=ipu --name first -e IPU_COUNT=4 busybox sleep 3600 >/dev/null

  run host_run rpm --erase ipu-container-toolkit-tls
  [ "$status" -ne 0 ]
  assert_contains "$output" 'ipu-container-toolkit-tls: not removed' 'dnf remove ipu-container-toolkit-tls'
  run host_run rpm --erase "${RPM_PACKAGES[@]}"
  [ "$status" -ne 0 ]
  assert_contains "$output" 'not removed, because it is in use' 'dnf remove' 'ipu-container-toolkit needs it'
  host_run rpm --query "${RPM_PACKAGES[@]}"
  host_run docker exec first true

  host_run docker rm --force first >/dev/null
  host_run ipuctl drain >/dev/null
  host_run ipuctl runtime unconfigure docker >/dev/null
  host_run rpm --erase "${RPM_PACKAGES[@]}"
  # rpm keeps the configuration, under another name.
  assert_equal "$(host_run find /usr/bin /usr/lib /usr/libexec /usr/share /etc -xdev -cnewer /run/init.log -name '*ipu*' | xargs)" \
    /etc/ipu-container-toolkit
  assert_equal "$(host_run ls /etc/ipu-container-toolkit)" config.toml.rpmsave
}
