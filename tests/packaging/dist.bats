#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The archive of a release, from a small repository that has the script and what it reads.
# shellcheck disable=SC2154 # bats sets output

# shellcheck source=tests/packaging/deb.bash
source "$BATS_TEST_DIRNAME/deb.bash"

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  mkdir -p tree/packaging
  cp "$PROJECT/packaging/dist.sh" tree/packaging
  cd tree || return
  echo 1.2.3 >VERSION
  printf '# Changelog\n\n## 1.2.3, unreleased\n\n- a\n' >CHANGELOG.md
  echo build/ >.gitignore
  git init --quiet
  commit
}

commit() {
  git add --all
  git -c user.name=Some -c user.email=some@example.org commit --quiet --message 'A change'
}

@test "the archive has all files of the commit below one folder, and the same bytes each time" {
  run -0 packaging/dist.sh
  assert_equal "$output" "$(printf 'build/dist/ipu-container-toolkit-1.2.3.tar.gz%s\n' '' .sha256)"
  local before
  before=$(cat build/dist/*.sha256)
  (cd build/dist && sha256sum --check --quiet ./*.sha256)
  assert_equal "$(tar -tzf build/dist/*.tar.gz | grep -v '/$' | sort)" \
    "$(git ls-files | sed 's|^|ipu-container-toolkit-1.2.3/|' | sort)"
  # What packages take for the time of the sources.
  tar -xzf build/dist/*.tar.gz -C "$BATS_TEST_TMPDIR"
  assert_equal "$(stat -c %Y "$BATS_TEST_TMPDIR/ipu-container-toolkit-1.2.3/VERSION")" "$(git log -1 --format=%ct)"
  sleep 1.1 # gzip would note the time
  packaging/dist.sh
  assert_equal "$(cat build/dist/*.sha256)" "$before"
}

@test "what no commit has is not left out in silence" {
  touch new
  run -1 packaging/dist.sh
  assert_contains "$output" 'there are changes that no commit has'
  rm new
  echo '- b' >>CHANGELOG.md
  run -1 packaging/dist.sh
  assert_contains "$output" 'there are changes that no commit has'
  run ! test -e build
}

@test "a version that CHANGELOG.md does not have, and a folder without a commit" {
  echo 1.2.30 >VERSION
  commit
  run -1 packaging/dist.sh
  assert_contains "$output" "CHANGELOG.md has no section '## 1.2.30'"
  rm -rf .git
  GIT_CEILING_DIRECTORIES=$BATS_TEST_TMPDIR run -1 packaging/dist.sh
  assert_contains "$output" 'this is no git checkout with a commit'
}

@test "this release has its section in CHANGELOG.md" {
  grep -q "^## $(cat "$PROJECT/VERSION")" "$PROJECT/CHANGELOG.md"
}
