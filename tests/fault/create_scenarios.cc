// SPDX-License-Identifier: Apache-2.0
// `ipu-container-runtime create`.
#include "base/names.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "tests/fault/ledger_edit.h"
#include "tests/fault/processes.h"
#include "tests/fault/promises.h"
#include "tests/fault/scenario.h"

namespace fault {

using namespace base::names;

namespace {

constexpr const char* kCreateJob = "job";

Result<std::string> promise(World& world) { return check_created(world, kCreateJob); }
Result<std::string> promise_beside_reconcile(World& world) {
  return check_created_or_given_up(world, kCreateJob);
}

Result<Program> create(World& world, const Ask& ask = {}) {
  TRY(world.make_bundle(kCreateJob, ask));
  return world.create(kCreateJob);
}

Result<Program> plain(World& world) { return create(world); }

Result<Program> with_orphan(World& world) {
  TRY(world.attach_now("gone"));
  world.end_containers();
  return create(world);
}

Result<Program> on_dirty(World& world) {
  const Ask ask{{"IPU_PARTITION=p0"}};
  TRY(must_run(World::ipuctl({"partition", "create", "p0", "--size", "4"})));
  TRY(world.create_now("before", ask));
  TRY(settle());
  TRY(must_run(World::ipuctl({"gc"})));
  return create(world, ask);
}

Result<Program> from_warm(World& world) {
  TRY(must_run(World::ipuctl({"pool", "refill"})));
  return create(world);
}

Result<Program> with_wait(World& world) { return create(world, {{"IPU_COUNT=4", "IPU_WAIT=5s"}}); }

// Nobody makes room in time.
Result<Program> in_queue(World& world) {
  return create(world, {{"IPU_COUNT=64", "IPU_WAIT=200ms"}});
}

Result<Program> shared(World& world) {
  const Container* const first = TRY(world.attach_now("first"));
  Ask ask;
  ask.network = first;
  return create(world, ask);
}

Result<Program> in_pod(World& world) {
  const Ask sandbox{
      {"IPU_COUNT=4"},
      {{"io.kubernetes.cri.container-type", "sandbox"}, {"io.kubernetes.cri.sandbox-id", "pod"}}};
  const Container* const pod = TRY(world.attach_now("pod", sandbox));
  return create(world, {{"IPU_COUNT=4"},
                        {{"io.kubernetes.cri.container-type", "container"},
                         {"io.kubernetes.cri.sandbox-id", "pod"}},
                        pod});
}

Result<Program> at_checkpoint(World& world) {
  TRY(fill_log(hook::config::state_dir()));
  return create(world);
}

}  // namespace

std::vector<Scenario> create_scenarios() {
  return {{"create-first", Bystander::kNo, {}, plain, promise},
          {"create", Bystander::kYes, {}, plain, promise},
          {"create-orphan", Bystander::kYes, {}, with_orphan, promise_beside_reconcile},
          {"create-dirty", Bystander::kYes, {}, on_dirty, promise},
          {"create-warm", Bystander::kYes, {false, true}, from_warm, promise},
          {"create-wait", Bystander::kYes, {}, with_wait, promise},
          {"create-queue", Bystander::kYes, {}, in_queue, promise},
          {"create-shared", Bystander::kYes, {}, shared, promise},
          {"create-pod", Bystander::kYes, {}, in_pod, promise},
          {"create-function", Bystander::kYes, {true, false}, plain, promise},
          {"create-checkpoint", Bystander::kYes, {}, at_checkpoint, promise}};
}

}  // namespace fault
