#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# packaging/examples, run as they stand. Only the image graphcore/pytorch is another one: busybox, with a python3 that
# waits. tests/packaging/deb_user.bats runs the role.
# shellcheck disable=SC2034 # ./cri.bash uses ANNOTATIONS, COMMAND, ENVS and IMAGE

load support
load cri

EXAMPLES=/run/examples

setup_file() {
  tar -C "$BATS_TEST_DIRNAME/../../packaging/examples" -c . | in_host sh -c "mkdir $EXAMPLES && tar -C $EXAMPLES -x"
  in_host mkdir "$EXAMPLES/image"
  in_host install -m 0755 /dev/stdin "$EXAMPLES/image/python3" <<'END'
#!/bin/sh
exec sleep 3600
END
  in_host tee "$EXAMPLES/image/Dockerfile" >/dev/null <<'END'
FROM busybox
COPY python3 /bin/python3
END
  docker build --quiet --tag graphcore/pytorch "$EXAMPLES/image" >/dev/null
}

teardown_file() {
  docker image rm --force train graphcore/pytorch >/dev/null
  in_host rm -r "$EXAMPLES"
}

teardown() { assert_nothing_left; }

compose() { # COMMAND...
  in_host timeout "$LIMIT" docker-compose --file "$EXAMPLES/compose/compose.yaml" "$@"
}

# "NAME IPUS STATE" of each lease, in order of the names.
holders() { ipuctl ps --output json | jq -r '.[] | "\(.name) \(.ipus | length) \(.state)"' | sort; }

@test "the image of docker/ asks for IPUs by itself" {
  docker build --quiet --tag train "$EXAMPLES/docker" >/dev/null
  run docker run --rm --runtime=ipu train
  assert_equal "$status" 0
  assert_contains "$output" 'IPUoF configuration: /etc/ipuof.conf.d/' 'roce0    inet 10.5.'
  run docker run --rm train
  assert_equal "$status" 2
  assert_contains "$output" 'run this image with --runtime=ipu'
}

@test "each service of compose/ has IPUs of its own" {
  compose up --detach || { compose down; return 1; }
  run holders
  compose down
  assert_equal "$output" $'compose_evaluate_1 1 RUNNING\ncompose_train_1 4 RUNNING'
}

# Kubernetes itself is not here: what its kubelet does with the page, by the CRI.
@test "the pod of kubernetes/ gets its IPUs by the RuntimeClass" {
  local page handler config pod
  cri_up
  docker save graphcore/pytorch | in_host ctr --namespace k8s.io images import - >/dev/null
  page=$(in_host python3 -c 'import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))' \
    <"$BATS_TEST_DIRNAME/../../packaging/examples/kubernetes/train.yaml")
  kind() { jq -er --arg kind "$1" ".[] | select(.kind == \$kind) | $2" <<<"$page"; }
  assert_equal "$(kind Pod .spec.runtimeClassName)" "$(kind RuntimeClass .metadata.name)"
  handler=$(kind RuntimeClass .handler)
  mapfile -t annotations < <(kind Pod '.metadata.annotations | to_entries[] | "\(.key)=\(.value)"')
  config=$(pod_config "$(kind Pod .metadata.name)" "${annotations[@]}")
  pod=$(HANDLER=$handler run_pod "$config")
  ENVS=() ANNOTATIONS=()
  IMAGE=$(kind Pod '.spec.containers[0].image') COMMAND=$(kind Pod '.spec.containers[0].command | tojson')
  wait_until 10 has_image "$IMAGE"
  run_container "$pod" "$config" train
  run holders
  remove_pods
  cri_down
  # The pod's sandbox holds them, and its container shares them.
  assert_equal "$output" $'tests/train 4 RUNNING\ntests/train/train 4 RUNNING'
}
