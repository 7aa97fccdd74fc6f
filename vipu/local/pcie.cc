// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/pcie.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "vipu/local/cards.h"
#include "vipu/local/local_controller.h"

namespace vipu {
namespace {

using namespace base::names;
using local::Pool;

using Groups = std::vector<std::vector<uint32_t>>;

Groups groups_of(const PcieOptions& options, const std::vector<Card>& cards) {
  if (!options.groups.empty()) return options.groups;
  std::vector<uint32_t> all(cards.back().number + 1);
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return {all};
}

// Returns the position of each card in the pool, by N. Returns kInvalid if a card has two.
Result<std::map<uint32_t, uint32_t>> positions_of(const Groups& groups) {
  std::map<uint32_t, uint32_t> positions;
  for (const std::vector<uint32_t>& group : groups) {
    if (group.empty()) return Error(Code::kInvalid, "a group of cards is empty");
    for (const uint32_t number : group) {
      const auto position = static_cast<uint32_t>(positions.size());
      if (!positions.emplace(number, position).second) {
        return Error(Code::kInvalid, str("card ", number, " is in the groups twice"));
      }
    }
  }
  return positions;
}

IpuAttributes attributes_of(const Card& card, size_t group) {
  return {str("group", group),
          card.number,
          {{"sysfs file id", std::to_string(card.number)},
           {"pci id", card.pci},
           {"numa node", std::to_string(card.numa_node)}}};
}

std::string why_gone(const Card* card, uint32_t number) {
  if (card == nullptr) return str("there is no card ", number);
  return str("card ", number, " has no character device /dev/ipu", number);
}

// Returns the card with this N; null if there is none.
const Card* find_card(const std::vector<Card>& cards, uint32_t number) {
  const auto at = std::find_if(cards.begin(), cards.end(),
                               [&](const Card& card) { return card.number == number; });
  return at == cards.end() ? nullptr : &*at;
}

Pool pool_of(const Groups& groups, const std::vector<Card>& cards) {
  Pool pool;
  std::vector<Card> placed;
  for (const std::vector<uint32_t>& group : groups) {
    pool.domains.push_back(static_cast<uint32_t>(group.size()));
    for (const uint32_t number : group) {
      const Card* const card = find_card(cards, number);
      const bool usable = card != nullptr && !card->nodes.empty();
      pool.ipus.push_back(usable ? card->pci : "");
      placed.push_back(usable ? *card : Card{});
      const auto position = static_cast<uint32_t>(placed.size() - 1);
      if (!usable) local::taint(pool, position, why_gone(card, number));
      if (usable) pool.attributes.push_back(attributes_of(*card, pool.domains.size() - 1));
    }
  }
  pool.grant = [placed](const std::vector<uint32_t>& numbers) {
    Grant grant;
    for (const uint32_t number : numbers) grant.cards.push_back(placed[number]);
    return grant;
  };
  return pool;
}

Result<Pool> look(const PcieOptions& options) {
  const std::vector<Card> cards = TRY(local::read_cards(options.sysfs, options.dev));
  const Groups groups = groups_of(options, cards);
  const std::map<uint32_t, uint32_t> positions = TRY(positions_of(groups));
  Pool pool = pool_of(groups, cards);
  for (const uint32_t number : options.taints) {
    const auto at = positions.find(number);
    if (at == positions.end()) continue;
    local::taint(pool, at->second, "is tainted in the configuration");
  }
  local::taint(pool, options.bad);
  pool.number_of = [positions](const IpuPlace& name) -> std::optional<uint32_t> {
    const auto at = positions.find(name.ipu);
    if (at == positions.end()) return std::nullopt;
    return at->second;
  };
  return pool;
}

}  // namespace

std::unique_ptr<Controller> make_pcie_controller(PcieOptions options) {
  local::LocalOptions local{options.pool, options.state_file, "pcie", {}};
  local.look = [options = std::move(options)] { return look(options); };
  return local::make_local_controller(std::move(local));
}

}  // namespace vipu
