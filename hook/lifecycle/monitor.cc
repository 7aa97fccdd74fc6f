// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/monitor.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/names.h"
#include "base/process.h"
#include "base/text.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

constexpr size_t kMaxMonitorOutput = size_t{1} << 20;
constexpr std::chrono::milliseconds kCardsTime{5'000};
constexpr size_t kLongestComplaint = 500;
// Debian's `nobody` and `nogroup`; never the user of ipu-vipu-client, which may hold secrets.
constexpr base::Credentials kMonitorUser{65534, 65534};

// The PCI addresses of a pool's cards, by their numbers.
using Cards = std::map<uint32_t, std::string>;

Result<Cards> cards_of(Env& env, const config::PoolConfig& pool) {
  Cards cards;
  const Deadline deadline = Deadline::after(kCardsTime);
  for (const vipu::IpuAttributes& card : TRY(env.controller(pool)->attributes({}, deadline))) {
    const auto pci = card.attributes.find("pci id");
    if (pci != card.attributes.end()) cards[card.ipu] = pci->second;
  }
  return cards;
}

// The names of IPUs as monitors give them.
class Names {
 public:
  // Without those of a pool whose cards cannot be looked at: its IPUs stay unmeasured.
  static Names of(Env& env, const config::Config& config) {
    Names names;
    for (const config::PoolConfig& pool : config.pools) {
      if (pool.provider != config::Provider::kPcie) continue;
      Result<Cards> cards = cards_of(env, pool);
      if (cards.ok()) names.cards_[pool.name] = std::move(cards).take();
    }
    return names;
  }
  // Empty for a card that is gone.
  [[nodiscard]] std::string name(const ledger::Lease& lease, const ledger::LeasedIpu& ipu) const {
    if (lease.controller != "pcie:") return str(netns::to_string(ipu.address), ':', ipu.device);
    const auto pool = cards_.find(lease.pool);
    if (pool == cards_.end()) return "";
    const auto card = pool->second.find(ipu.device);
    return card == pool->second.end() ? "" : card->second;
  }

 private:
  std::map<std::string, Cards> cards_;  // by pool
};

// Returns the leases that have IPUs of their own.
Result<std::vector<ledger::Lease>> holders(Env& env) {
  std::vector<ledger::Lease> leases = TRY(env.ledger.live());
  std::erase_if(leases, [](const ledger::Lease& lease) {
    return lease.origin == ledger::Origin::kJoined || lease.devices.empty();
  });
  return leases;
}

std::vector<ledger::BusySample> samples_of(const std::vector<ledger::Lease>& leases,
                                           const Names& names, const vipu::BusyParts& parts) {
  std::vector<ledger::BusySample> samples;
  for (const ledger::Lease& lease : leases) {
    ledger::BusySample sample{lease.id};
    for (const ledger::LeasedIpu& ipu : lease.devices) {
      const auto part = parts.find(names.name(lease, ipu));
      if (part == parts.end()) continue;
      ++sample.ipus;
      sample.busy += part->second;
    }
    if (sample.ipus > 0) samples.push_back(std::move(sample));
  }
  return samples;
}

BusyLook sum_of(const std::vector<ledger::Lease>& leases,
                const std::vector<ledger::BusySample>& samples) {
  BusyLook look;
  for (const ledger::Lease& lease : leases) look.held += static_cast<int64_t>(lease.devices.size());
  for (const ledger::BusySample& sample : samples) {
    look.measured += sample.ipus;
    look.busy += sample.busy;
  }
  return look;
}

// Notes that the time until now stays unmeasured, because of ERROR.
Status note_failure(Env& env, const Error& error) {
  if (!TRY(env.ledger.usage().busy().fail())) return {};
  return env.ledger.events().record(base::one_line(
      str("how busy IPUs are is unknown from now on: ", error.message()), kLongestComplaint));
}

// Takes the sample, unless the monitor fails.
Result<BusyLook> take_sample(Env& env, const config::Config& config,
                             const config::MonitorConfig& monitor,
                             const std::vector<ledger::Lease>& leases) {
  const vipu::BusyParts parts = TRY(ask_monitor(monitor));
  const std::vector<ledger::BusySample> samples = samples_of(leases, Names::of(env, config), parts);
  // A run of the timer that comes late still counts for all of its time.
  TRY(env.ledger.usage().busy().record(samples, 2 * monitor.interval));
  return sum_of(leases, samples);
}

}  // namespace

Result<vipu::BusyParts> ask_monitor(const config::MonitorConfig& monitor) {
  base::Command command;
  command.path = monitor.command.front();
  command.args = monitor.command;
  command.env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  command.max_output = kMaxMonitorOutput;
  command.credentials = kMonitorUser;
  const std::string what = str("monitor ", quote(command.path));
  const Result<base::Output> output = base::run(command, Deadline::after(monitor.timeout));
  if (!output.ok() && output.error().code() == Code::kTimeout) {
    return Error(Code::kTimeout, str(what, ": no answer within ", monitor.timeout.count(),
                                     " ms; make it faster, or raise 'timeout' of [monitor]"));
  }
  if (!output.ok()) return Error(output.error()).wrap(what);
  const int status = output.value().exit_status;
  if (status == 0) return TRY_CTX(what, vipu::parse_busy(output.value().out));
  return Error(Code::kInternal, str(what, ": it failed with exit status ", status,
                                    "; it runs as nobody, without capabilities"));
}

Result<BusyLook> look_at_busy(Env& env, const config::Config& config,
                              const vipu::BusyParts& parts) {
  const std::vector<ledger::Lease> leases = TRY(holders(env));
  return sum_of(leases, samples_of(leases, Names::of(env, config), parts));
}

Result<BusyLook> sample_busy(Env& env, const config::Config& config,
                             const config::MonitorConfig& monitor) {
  // Before the monitor looks, so that no lease counts what another had.
  const std::vector<ledger::Lease> leases = TRY(holders(env));
  if (leases.empty()) {
    TRY(env.ledger.usage().busy().skip());
    return BusyLook();
  }
  Result<BusyLook> look = take_sample(env, config, monitor, leases);
  if (!look.ok()) TRY(note_failure(env, look.error()));
  return look;
}

}  // namespace hook::lifecycle
