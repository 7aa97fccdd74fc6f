// SPDX-License-Identifier: Apache-2.0
// DoctorTest: a host on which nothing is wrong, for the tests to break.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/doctor/doctor.h"

namespace ipuctl::doctor {

using namespace base::names;

inline netns::Address ip(const char* text) { return netns::parse_address(text).take(); }

inline hook::config::RailConfig rail_config() {
  hook::config::RailConfig rail;
  rail.parent = "rnic0";
  rail.subnet = netns::parse_prefix("10.5.0.0/16").take();
  rail.first = ip("10.5.200.10");
  rail.last = ip("10.5.200.99");
  rail.others = netns::Others::kDrop;
  return rail;
}

inline hook::config::Config config_of(hook::config::RailConfig rail) {
  hook::config::Config config;
  config.network.rails = {std::move(rail)};
  config.network.guard_forwarding = true;
  return config;
}

inline hook::config::RailConfig function_rail() {
  hook::config::RailConfig rail = rail_config();
  rail.parent = "";
  rail.functions = {"v0", "v1"};
  return rail;
}

// An interface on which RDMA works.
inline InterfaceState good_interface(const std::string& name) {
  netns::LinkFacts link;
  link.name = name;
  link.mtu = link.max_mtu = 9000;
  link.is_ethernet = link.is_up = link.has_carrier = true;
  const hook::oci::DeviceNode uverbs{"/dev/infiniband/uverbs0", 231, 192};
  const hook::oci::DeviceNode manager{"/dev/infiniband/rdma_cm", 10, 58};
  InterfaceState state{
      .name = name,
      .is_held = false,
      .link = link,
      .rdma = std::optional(hook::device::RdmaDevice{"mlx5_0", 1, {uverbs, manager}}),
      .gids = hook::device::GidTable{256, {}},
      .default_roce_mode = ""};
  for (uint32_t i = 0; i < 4; ++i) {
    state.gids->used.push_back({i, {}, i % 2 == 0 ? "IB/RoCE v1" : "RoCE v2", name});
  }
  return state;
}

// A host on which nothing is wrong with that rail.
inline HostState good_host(const hook::config::RailConfig& rail) {
  RailState state{.interfaces = {},
                  .macvlan = base::Status(),
                  .use = hook::ledger::Ledger::RailUse{.free = 88, .held = 1, .quarantined = 1}};
  for (const std::string& name : rail.functions) state.interfaces.push_back(good_interface(name));
  if (rail.functions.empty()) state.interfaces.push_back(good_interface(rail.parent));
  return {.runtime = std::string("/usr/bin/runc"),
          .ledger = base::Status(),
          .filter = base::Status(),
          .border = netns::FilterPlace::kNftables,
          .has_guard = true,
          .addresses = std::vector{ip("10.5.0.9"), ip("10.1.3.1")},
          .rdma_mode = std::optional(rail.functions.empty() ? netns::RdmaMode::kShared
                                                            : netns::RdmaMode::kExclusive),
          .memlock = uint64_t{RLIM_INFINITY},
          .rails = {std::move(state)}};
}

class DoctorTest : public testing::Test {
 protected:
  InterfaceState& interface() { return host_.rails[0].interfaces[0]; }
  netns::LinkFacts& link() { return interface().link.value(); }
  hook::config::NetworkConfig& network() { return config_.network; }

  void use_functions() {
    config_ = config_of(function_rail());
    host_ = good_host(function_rail());
  }

  // "failed: WHAT IS WRONG -> WHAT TO DO" of one check; "" if it was not made.
  std::string found(const std::string& check) {
    for (const Finding& finding : examine(config_, host_)) {
      if (finding.check != check) continue;
      return str(name_of(finding.verdict), ": ", finding.says, finding.advice.empty() ? "" : " -> ",
                 finding.advice);
    }
    return "";
  }
  // The checks with this verdict.
  std::vector<std::string> checks(Verdict verdict) {
    std::vector<std::string> checks;
    for (const Finding& finding : examine(config_, host_)) {
      if (finding.verdict == verdict) checks.push_back(finding.check);
    }
    return checks;
  }
  // That CHECK is the only one with this verdict, of those that are not ok, and says TEXT.
  testing::AssertionResult only(Verdict verdict, const std::string& check,
                                const std::string& text) {
    for (const Verdict each : {Verdict::kWarning, Verdict::kFailed}) {
      const std::vector<std::string> expected =
          each == verdict ? std::vector{check} : std::vector<std::string>();
      if (checks(each) != expected) {
        return testing::AssertionFailure()
               << name_of(each) << ": " << base::join(checks(each), ", ");
      }
    }
    if (found(check).find(text) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << found(check);
  }

  hook::config::Config config_ = config_of(rail_config());
  HostState host_ = good_host(rail_config());
};

}  // namespace ipuctl::doctor
