// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/model/hosts_model.h"

#include "base/text.h"
#include "hook/ledger/host.h"
#include "vipu/made_name.h"

namespace model::hosts {
namespace {

std::string digits_text(uint8_t digits) { return base::str("0000000", digits); }

std::string text_of(const Name& name) {
  if (name.kind != kTrain.kind)
    return vipu::to_string({vipu::MadeFor::kLease, digits_text(name.digits),
                            base::str("0000000000", name.maker, name.start)});
  return "train";
}

// ANSWER for each pair of small numbers, as the product gives it.
template <size_t kMost, typename Answer>
std::array<std::array<bool, kMost>, kMost> table_of(const Answer& answer) {
  std::array<std::array<bool, kMost>, kMost> table = {};
  for (uint8_t i = 0; i < kMost; ++i)
    for (uint8_t k = 0; k < kMost; ++k) table[i][k] = answer(i, k);
  return table;
}

// The image from which both hosts were made has a machine-id; the boards differ.
bool has_no_difference(uint8_t recorded, uint8_t host) {
  const auto witnesses = [](uint8_t number) {
    return hook::ledger::HostWitnesses{"", "0123456789abcdef", base::str("000000000000000", number),
                                       ""};
  };
  return hook::ledger::difference(witnesses(recorded), witnesses(host)).empty();
}

void end_processes(Host& self) {
  self.worker = self.keeper = Step::kNone;
  self.listed = {};
}

}  // namespace

bool is_of(const Name& name, uint8_t digits) {
  static const auto kTable = table_of<kHosts + 1>([](uint8_t given, uint8_t wanted) {
    return vipu::is_of_host(text_of(name_of(given, 0, 0)), digits_text(wanted));
  });
  static const bool kIsTrainOf = vipu::is_of_host("train", digits_text(0));
  if (name == kNoName) return false;
  return name == kTrain ? kIsTrainOf : kTable[name.digits][digits];
}

bool is_unique(const Name& name) {
  static const bool kIsTrain = vipu::is_unique_name("train");
  static const bool kIsGiven = vipu::is_unique_name(text_of(name_of(0, 0, 0)));
  return name == kTrain ? kIsTrain : kIsGiven;
}

bool is_at_home(uint8_t recorded, uint8_t host) {
  static const auto kTable = table_of<kHosts>(has_no_difference);
  return kTable[recorded][host];
}

bool begin_change(World& world, const Rules& rules, uint8_t host) {
  Host& self = world.hosts[host];
  if (self.ledger_of == kNoHost) {
    self.ledger_of = host;
    self.digits = rules.names_say_host ? host : 0;
    self.is_new_ledger = true;
  }
  return !rules.knows_its_host || is_at_home(self.ledger_of, host);
}

bool make_partition(World& world, uint8_t host, const Name& name) {
  if (world.find(name) != nullptr) return false;
  for (Partition& partition : world.partitions) {
    if (partition.name != kNoName) continue;
    partition = {name, host};
    return true;
  }
  return false;
}

std::string_view remove_partition(World& world, uint8_t host, const Name& name) {
  Partition* const partition = world.find(name);
  if (partition == nullptr) return "";
  const uint8_t maker = partition->maker;
  *partition = {};
  if (world.hosts[maker].container == name)
    return "a partition is taken from a container that runs";
  // Who is dead, by an operator's word, has lost what it had.
  const bool is_fence = world.hosts[host].keeper == Step::kFence;
  return maker == host || is_fence ? "" : "a partition of another host is removed";
}

void HostsModel::step_environment(const World& world, uint8_t host, const Emit& emit) const {
  const Host& self = world.hosts[host];
  const auto happens = [&](const char* what, const auto& change) {
    World after = world;
    change(after.hosts[host]);
    emit(after, {host, what});
  };
  if (self.worker != Step::kNone)
    happens("the process is killed", [](Host& its) { its.worker = Step::kNone; });
  if (self.keeper != Step::kNone) {
    happens("gc or fence is killed", [](Host& its) {
      its.keeper = Step::kNone;
      its.listed = {};
    });
  }
  if (!(self.container == kNoName))
    happens("the container ends", [](Host& its) { its.container = kNoName; });
  if (self.late) {
    World after = world;
    Host& its = after.hosts[host];
    its.late = false;
    emit(after, {host, "the late request is lost"});
    if (make_partition(after, host, its.late_name)) {
      // `ipuctl host list` shows it, and an operator fences the host again.
      its.has_changed = bounds_.power;
      emit(after, {host, "the late request is carried out"});
    }
  }
  if (bounds_.power && self.is_on) {
    World after = world;
    Host& its = after.hosts[host];
    end_processes(its);
    its.container = kNoName;
    its.is_on = false;
    if (bounds_.diskless) {
      its.lease = its.named = {};
      its.ended = 0;
      its.ledger_of = kNoHost;
    }
    its.is_new_ledger = false;
    emit(after, {host, "the host loses power"});
  }
  if (!self.is_on) {
    World after = world;
    after.hosts[host].is_on = true;
    after.hosts[host].has_changed = after.hosts[1 - host].keeper != Step::kNone;
    after.hosts[1 - host].has_fenced = false;
    emit(after, {host, "the host is started again"});
  }
  if (!bounds_.copy || host == 0) return;
  const Host& first = world.hosts[0];
  if (self.ledger_of == kNoHost && self.worker == Step::kNone && first.ledger_of == 0) {
    happens("its disk becomes a copy of the first host's", [&](Host& its) {
      its.lease = first.lease;
      its.named = first.named;
      its.ended = first.ended;
      its.ledger_of = first.ledger_of;
      its.digits = first.digits;
    });
  }
  // Who is refused is told to rebuild.
  if (rules_.knows_its_host && self.ledger_of == 0 && self.worker == Step::kNone &&
      self.keeper == Step::kNone) {
    happens("an operator rebuilds its ledger", [&](Host& its) {
      its.lease = its.named = {};
      its.ended = 0;
      its.ledger_of = host;
      its.digits = rules_.rebuilds_as_itself ? host : 0;
      its.is_new_ledger = true;
    });
  }
}

std::string_view HostsModel::wrong_after_gc(World world) const {
  for (Host& host : world.hosts) end_processes(host);
  for (uint8_t i = 0; i < kBlocks; ++i) {
    const Partition partition = world.partitions[i];
    const Host& maker = world.hosts[partition.maker];
    if (partition.name == kNoName || maker.late) continue;
    const bool is_blocked = maker.ledger_of != kNoHost && maker.ledger_of != partition.maker;
    if (is_blocked) continue;  // an operator is asked what to do
    if (partition.name == kTrain) {
      // People find what a lost ledger had by 'ipuctl partition list'.
      if (maker.named.state == RowState::kNothing && !bounds_.diskless)
        return "a partition with a name of people's is in no ledger";
      continue;
    }
    if (!maker.is_on) {
      const uint8_t digits = rules_.names_say_host ? partition.maker : uint8_t{0};
      if (!is_of(partition.name, digits)) return "a fence does not find a partition";
      continue;
    }
    const bool has_ended = (maker.ended >> partition.name.start & 1U) != 0;
    const bool is_earlier = bounds_.diskless && is_of(partition.name, partition.maker);
    const bool is_found = maker.lease.name == partition.name || has_ended || is_earlier;
    if (!is_found) return "a partition stays that its host does not know of";
  }
  return "";
}

std::string_view HostsModel::wrong(const World& world) const {
  for (uint8_t host = 0; host < kHosts; ++host) {
    const Host& self = world.hosts[host];
    const Host& other = world.hosts[1 - host];
    for (const Partition& partition : world.partitions) {
      const bool is_left = partition.maker == 1 - host && is_of(partition.name, other.digits);
      if (self.has_fenced && !other.is_on && !other.late && !other.has_changed && is_left)
        return "a host is fenced, and a partition of it is left";
    }
    if (self.container == kNoName) continue;
    World found = world;
    const Partition* const partition = found.find(self.container);
    if (partition == nullptr) return "a container that runs has no partition";
    if (partition->maker != host) return "a container uses a partition of another host";
  }
  return wrong_after_gc(world);
}

std::string HostsModel::describe(const Outcome& step) const {
  return base::str("[host ", step.host + 1, "] ", step.what);
}

}  // namespace model::hosts
