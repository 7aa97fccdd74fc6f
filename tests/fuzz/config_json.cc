// SPDX-License-Identifier: Apache-2.0
// config.json, as an engine or a user wrote it: it is read, a request is found in it, and it is
// edited.
#include <sys/resource.h>

#include "hook/container/oci/pod.h"
#include "hook/container/oci/powers.h"
#include "hook/container/oci/spec.h"
#include "hook/container/request/request.h"
#include "tests/fuzz/fuzz.h"

namespace {

// All that the product changes for one container.
hook::oci::SpecEdit whole_edit() {
  hook::oci::SpecEdit edit;
  edit.devices = {{"/dev/infiniband/uverbs0", 231, 192}, {"/dev/infiniband/rdma_cm", 10, 58}};
  edit.mounts = {{"/run/ipu/leases/x/run", "/run/ipu"},
                 {"/run/ipu/leases/x/ipuof", "/etc/ipuof.conf.d"}};
  edit.environment = {{"IPUOF_CONFIG_PATH", "/etc/ipuof.conf.d/ipuof.conf"}};
  edit.forget_environment = {"IPUOF_VIPU_API_*", "IPU_COUNT"};
  edit.forget_capabilities = {"CAP_NET_ADMIN", "CAP_NET_RAW"};
  edit.memlock = RLIM_INFINITY;
  edit.create_runtime = {{"/hook", {"hook", "createRuntime"}, 15}};
  edit.poststop = {{"/hook", {"hook", "poststop"}, 15}};
  edit.annotations = {{"graphcore.ai/ipu.lease", "x"}};
  edit.leases = "/run/ipu/leases/";
  edit.own_network = true;
  edit.rdma_limits = {{"mlx5_0", {.handles = 1, .objects = 2}}};
  return edit;
}

void read_request(const hook::oci::SpecView& view) {
  (void)hook::oci::sandbox_of(view.annotations);
  const auto request = hook::request::parse_request(view.environment, view.annotations, {});
  if (!request.ok() || !request.value()) return;
  fuzz::require(hook::request::asks_for_ipus(view.environment, view.annotations),
                "a request is one for those who look without policy, too");
}

// Removes the capabilities NAMES from TEXT, as from a container that joins another's network.
void reduce(std::string_view text, const std::vector<std::string>& names, bool is_spec) {
  using hook::oci::Document;
  const auto powers = hook::oci::find_powers(text, Document::kSpec, names);
  fuzz::require(powers.ok() || !is_spec, "what is edited is also reduced");
  if (!powers.ok()) return;
  const std::string less = hook::oci::without(text, powers.value().cuts);
  const auto again = hook::oci::find_powers(less, Document::kSpec, names);
  fuzz::require(again.ok() && again.value().namespaces == powers.value().namespaces,
                "only capabilities go");
  if (is_spec) fuzz::require(again.value().cuts.empty(), "none of them stays");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const hook::oci::SpecEdit edit = whole_edit();
  const auto view = hook::oci::parse_spec(text);
  const auto once = hook::oci::edit_spec(text, edit);
  if (view.ok()) read_request(view.value());
  if (once.ok()) {
    fuzz::require(!view.ok() || hook::oci::parse_spec(once.value()).ok(),
                  "what was read can be read after an edit");
    const auto twice = hook::oci::edit_spec(once.value(), edit);
    fuzz::require(twice.ok() && twice.value() == once.value(), "a second edit changes nothing");
  }
  (void)hook::oci::edit_process(text, edit);
  reduce(text, edit.forget_capabilities, once.ok());
  return 0;
}
