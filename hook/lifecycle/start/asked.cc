// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/asked.h"

#include "hook/ledger/actor.h"
#include "hook/lifecycle/start/engine_files.h"
#include "hook/lifecycle/start/image_variables.h"

namespace hook::lifecycle::start {

base::Result<std::optional<request::Request>> asked_of(const std::string& container,
                                                       const oci::SpecView& view,
                                                       const config::PolicyConfig& policy) {
  std::optional<request::FromImage> image;
  if (request::may_ignore(view.environment))
    image = from_image(container, view, containerd_roots());
  const bool is_of_containerd = view.annotations.contains("io.kubernetes.cri.container-type");
  std::optional<request::Request> asked = TRY(
      request::parse_request(is_of_containerd ? last_of_each(view.environment) : view.environment,
                             view.annotations, policy, image.value_or(request::FromImage())));
  if (asked) TRY(request::settle_tenant(*asked, policy, ledger::user_who_logged_in()));
  return asked;
}

}  // namespace hook::lifecycle::start
