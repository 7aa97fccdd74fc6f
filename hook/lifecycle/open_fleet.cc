// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/open_fleet.h"

#include "base/names.h"
#include "base/text.h"

namespace hook::lifecycle {

using namespace base::names;

namespace {

constexpr std::chrono::milliseconds kCallTime{5'000};

}  // namespace

fleet::Fleet OpenFleet::at(const Deadline& deadline) const {
  return {*store, config.prefix, deadline.capped(kCallTime), id, mark};
}

fleet::Fleet OpenFleet::at_last() const { return at(Deadline::after(kCallTime)); }

Result<fleet::Mark> known_mark(const ledger::Ledger& ledger, const std::string& prefix,
                               const std::string& id) {
  const ledger::FleetMark known = TRY(ledger.host().fleet_mark(prefix, id));
  return fleet::Mark{ledger.host().tag(), known.revision, known.restores, known.import};
}

Result<std::optional<OpenFleet>> open_fleet(const Env& env) {
  std::optional<config::FleetConfig> config = TRY(env.fleet());
  if (!config) return std::optional<OpenFleet>();
  std::unique_ptr<fleet::Store> store = env.store(*config);
  std::string id = TRY(env.ledger.host().fleet_id(config->prefix));
  fleet::Mark mark = TRY(known_mark(env.ledger, config->prefix, id));
  return std::optional<OpenFleet>(
      OpenFleet{std::move(*config), std::move(store), std::move(id), std::move(mark)});
}

Result<OpenFleet> open_fleet(const Env& env, const std::string& prefix) {
  std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (fleet && fleet->config.prefix == prefix) return *std::move(fleet);
  return Error(Code::kUnsupported,
               str("this host knows partitions of fleet ", quote(prefix),
                   ", and its configuration has ", fleet ? "another 'prefix' in" : "no",
                   " [fleet]; set 'endpoints' and 'prefix' of [fleet] as they were; if that etcd"
                   " is gone for good, wait until the containers with these partitions have ended,"
                   " take [fleet] out of the configuration, and run 'ipuctl fleet leave'"));
}

}  // namespace hook::lifecycle
