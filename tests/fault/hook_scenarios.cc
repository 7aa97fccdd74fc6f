// SPDX-License-Identifier: Apache-2.0
// `ipu-container-hook createRuntime` and `ipu-container-poststop`.
#include "base/text.h"
#include "tests/fault/processes.h"
#include "tests/fault/promises.h"
#include "tests/fault/scenario.h"

namespace fault {

using base::Result;

namespace {

constexpr const char* kJob = "job";
constexpr const char* kFirst = "first";

Result<std::string> attached(World& world) { return check_attached(world, kJob); }
Result<std::string> released(World& world) { return check_released(world, kJob); }
Result<std::string> released_or_runs(World& world) { return check_released_or_runs(world, kJob); }

Result<Program> attach(World& world, const Ask& ask = {}) {
  const Container* const job = TRY(world.start_container(kJob, ask.network));
  TRY(world.create_now(kJob, ask));
  return world.hook("createRuntime", *job);
}

const Ask kWithEndpoint{{"IPU_COUNT=4", "IPU_VIPU_ENDPOINT=1"}};

Result<Program> attach_with_endpoint(World& world) { return attach(world, kWithEndpoint); }

Result<std::string> attached_with_endpoint(World& world) {
  if (running_endpoints().size() != 1) return std::string("no endpoint runs");
  return attached(world);
}

Result<Program> attach_own(World& world) { return attach(world); }

Result<Ask> share_with_first(World& world) {
  Ask ask;
  ask.network = TRY(world.attach_now(kFirst));
  return ask;
}

Result<Program> attach_shared(World& world) {
  const Ask ask = TRY(share_with_first(world));
  return attach(world, ask);
}

Result<Program> attach_in_pod(World& world) {
  const Ask sandbox{
      {"IPU_COUNT=4"},
      {{"io.kubernetes.cri.container-type", "sandbox"}, {"io.kubernetes.cri.sandbox-id", kFirst}}};
  Ask app{{"IPU_COUNT=4"},
          {{"io.kubernetes.cri.container-type", "container"},
           {"io.kubernetes.cri.sandbox-id", kFirst}}};
  app.network = TRY(world.attach_now(kFirst, sandbox));
  return attach(world, app);
}

Result<std::string> first_keeps_its_own(World& world) { return check_attached(world, kFirst); }

// As a low-level runtime does it: the container's process has ended before its poststop.
Result<Program> poststop(World& world) {
  const Container* const job = TRY(world.attach_now(kJob));
  world.end_containers();
  return world.hook("poststop", *job);
}

// Its first process lives on, as under an engine that calls poststop too early: the endpoint does
// not end by itself.
Result<Program> poststop_with_endpoint(World& world) {
  const Container* const job = TRY(world.attach_now(kJob, kWithEndpoint));
  return world.hook("poststop", *job);
}

Result<Program> poststop_created(World& world) {
  const Container* const job = TRY(world.start_container(kJob));
  TRY(world.create_now(kJob));
  world.end_containers();
  return world.hook("poststop", *job);
}

Result<Program> poststop_shared(World& world) {
  const Ask ask = TRY(share_with_first(world));
  Container* const job = TRY(world.attach_now(kJob, ask));
  job->end();
  return world.hook("poststop", *job);
}

Result<Program> poststop_again(World& world) {
  const Program program = TRY(poststop(world));
  TRY(must_run(program));
  TRY(settle());
  return program;
}

// The container was started again before the poststop of its first life came.
Result<Program> poststop_late(World& world) {
  Container* const job = TRY(world.attach_now(kJob));
  const Program late = TRY(world.hook("poststop", *job));
  job->end();
  world.forget_containers();
  // Else the start has another process do this, which may come to the new lease as well: its owner,
  // the runtime, lives until the hooks have run, but not in these tests.
  TRY(must_run(World::ipuctl({"gc"})));
  TRY(world.attach_now(kJob));
  return late;
}

}  // namespace

std::vector<Scenario> hook_scenarios() {
  constexpr Settings kFunctions{true, false};
  return {
      {"hook", Bystander::kYes, {}, attach_own, attached},
      {"hook-shared", Bystander::kYes, {}, attach_shared, attached, first_keeps_its_own},
      {"hook-pod", Bystander::kYes, {}, attach_in_pod, attached, first_keeps_its_own},
      {"hook-function", Bystander::kYes, kFunctions, attach_own, attached},
      {"hook-endpoint", Bystander::kYes, {}, attach_with_endpoint, attached_with_endpoint},
      {"poststop", Bystander::kYes, {}, poststop, released},
      {"poststop-endpoint", Bystander::kYes, {}, poststop_with_endpoint, released_or_runs},
      {"poststop-created", Bystander::kYes, {}, poststop_created, released},
      {"poststop-shared", Bystander::kYes, {}, poststop_shared, released, first_keeps_its_own},
      {"poststop-function", Bystander::kYes, kFunctions, poststop, released},
      {"poststop-again", Bystander::kYes, {}, poststop_again, released},
      {"poststop-late", Bystander::kYes, {}, poststop_late, attached, attached},
  };
}

}  // namespace fault
