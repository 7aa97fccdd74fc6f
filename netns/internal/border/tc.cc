// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/border/tc.h"

#include <linux/netlink.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "base/bpf.h"
#include "base/names.h"
#include "base/text.h"
#include "netns/internal/border/program.h"
#include "netns/internal/border/tc_filter.h"

namespace netns::border {

using namespace base::names;
namespace bpf = base::bpf;
using base::Fd;
using base::Removed;
using tc::Direction;
using tc::Filter;

namespace {

constexpr const char* kProgramName = "ipu_border";
constexpr std::string_view kFilterName = "ipu-border ";
constexpr uint32_t kMostElements = 65536;  // of a set

struct Map {
  size_t number;  // a SetId, or kCountMap
  Fd fd;
};

std::string map_name(size_t map) {
  return str("ipu_", map == kCountMap ? "counts" : kSets[map].name);
}

// Names what a program does, and the numbers of the maps that it uses, in their order.
std::string filter_name(const Instructions& program, std::string_view maps) {
  return str(kFilterName, fingerprint(program), ' ', maps);
}

// Returns the numbers of the maps in a filter's name.
std::string_view maps_of(const Filter& filter) {
  return std::string_view(filter.name).substr(filter.name.find_last_of(' ') + 1);
}

bool is_ours(const Filter& filter) {
  return filter.handle == tc::kHandle && filter.name.starts_with(kFilterName);
}

bool is_on(const Filter& filter, const std::vector<Parent>& parents) {
  return std::any_of(parents.begin(), parents.end(),
                     [&](const Parent& parent) { return parent.index == filter.interface; });
}

// Returns the filters that decide first.
Result<std::vector<Filter>> find_all(nl::Socket& socket) {
  std::vector<Filter> all;
  for (const tc::Qdisc& qdisc : TRY(tc::find_qdiscs(socket))) {
    if (!qdisc.is_clsact) continue;
    for (const Direction direction : tc::kDirections) {
      for (Filter& filter :
           TRY(tc::find_filters(socket, qdisc.interface, direction, tc::Which::kFirst))) {
        all.push_back(std::move(filter));
      }
    }
  }
  return all;
}

Result<std::vector<Filter>> find_ours(nl::Socket& socket) {
  std::vector<Filter> ours = TRY(find_all(socket));
  std::erase_if(ours, [](const Filter& filter) { return !is_ours(filter); });
  return ours;
}

// Returns whether a filter of another program may decide on a parent before ours does.
bool has_rival(const std::vector<Filter>& all, const std::vector<Parent>& parents) {
  return std::any_of(all.begin(), all.end(), [&](const Filter& filter) {
    return !is_ours(filter) && is_on(filter, parents);
  });
}

// A program, and where it belongs.
struct Wanted {
  uint32_t interface;
  Direction direction;
  Instructions program;
};

std::vector<Wanted> programs_of(const std::vector<Parent>& parents) {
  const std::vector<FrameRule> rules = rules_of(parents);
  std::vector<Wanted> all;
  for (const Parent& parent : parents) {
    // First what arrives: an answer is of no use before the question.
    all.push_back({parent.index, Direction::kIngress, compile(rules, ingress_chain(parent))});
    all.push_back({parent.index, Direction::kEgress, compile(rules, egress_chain(parent))});
  }
  return all;
}

bpf::MapSpec spec_of(size_t map, const std::string& name, uint32_t rules) {
  if (map == kCountMap)
    return {name.c_str(), BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(Count), rules, 0};
  const uint32_t key = key_size(kSets[map]);
  if (kSets[map].id == SetId::kOthers)
    return {name.c_str(), BPF_MAP_TYPE_LRU_HASH, key, kOthersValueBytes, kMostOthers, 0};
  return {name.c_str(), BPF_MAP_TYPE_HASH, key, kCommentBytes, kMostElements, BPF_F_NO_PREALLOC};
}

template <size_t size>
void copy_text(char (&to)[size], const std::string& text) {
  std::memcpy(to, text.data(), std::min(text.size(), size - 1));
}

template <typename Value>
std::span<const uint8_t> bytes_of(const Value& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
}

Status name_counts(const Fd& counts, const std::vector<FrameRule>& rules) {
  for (uint32_t number = 0; number < rules.size(); ++number) {
    TRY(bpf::put(counts, bytes_of(number), bytes_of(count_of(rules[number]))));
  }
  return {};
}

// In the order of SetId: a MAC that is known may do nothing until its other keys are there.
Status put_elements(const std::vector<Map>& maps, const Elements& elements) {
  for (const auto& [set, keys] : elements) {
    for (const Element& element : keys) {
      char comment[kCommentBytes] = {};
      copy_text(comment, element.comment);
      for (const Map& map : maps) {
        if (map.number == static_cast<size_t>(set))
          TRY(bpf::put(map.fd, element.key, bytes_of(comment)));
      }
    }
  }
  return {};
}

Result<std::vector<Map>> make_maps(const std::vector<FrameRule>& rules, const Elements& elements) {
  std::vector<Map> maps;
  for (size_t i = 0; i < kMaps; ++i) {
    const std::string name = map_name(i);
    const bpf::MapSpec spec = spec_of(i, name, static_cast<uint32_t>(rules.size()));
    Fd fd = TRY(bpf::create_map(spec));
    maps.push_back({i, std::move(fd)});
  }
  TRY(name_counts(maps[kCountMap].fd, rules));
  TRY(put_elements(maps, elements));
  return maps;
}

// Opens those maps of FILTER, by the numbers in its name, that have ELEMENTS.
Result<std::vector<Map>> open_maps_for(const Filter& filter, const Elements& elements) {
  std::vector<Map> maps;
  const std::vector<std::string_view> ids = base::split(maps_of(filter), ',');
  for (const auto& [set, keys] : elements) {
    const auto number = static_cast<size_t>(set);
    if (number >= ids.size()) return Error(Code::kInternal, "the border's filter has no such map");
    const auto id = TRY(base::parse_int<uint32_t>(ids[number], 0, UINT32_MAX));
    Fd fd = TRY(bpf::open_map(id));
    maps.push_back({number, std::move(fd)});
  }
  return maps;
}

// Opens the maps that FILTERS use. They have one of each number, unless a build has failed.
Result<std::vector<Map>> open_maps(const std::vector<Filter>& filters) {
  std::vector<Map> maps;
  std::set<uint32_t> opened;
  for (const Filter& filter : filters) {
    const Fd program = TRY(bpf::open_program(filter.program));
    for (const uint32_t id : TRY(bpf::map_ids_of(program))) {
      if (!opened.insert(id).second) continue;
      Fd fd = TRY(bpf::open_map(id));
      const std::string name = TRY(bpf::map_info(fd)).name;
      for (size_t i = 0; i < kMaps; ++i) {
        if (map_name(i) != name) continue;
        maps.push_back({i, std::move(fd)});
        break;
      }
    }
  }
  return maps;
}

Status put_programs(nl::Socket& socket, std::vector<Wanted>& programs,
                    const std::vector<Map>& maps) {
  std::array<int, kMaps> descriptors{};
  for (const Map& map : maps) descriptors[map.number] = map.fd.get();
  std::vector<std::string> ids;
  for (const Map& map : maps) {
    const bpf::MapInfo info = TRY(bpf::map_info(map.fd));
    ids.push_back(str(info.id));
  }
  const std::string numbers = base::join(ids, ",");
  for (Wanted& each : programs) {
    const std::string name = filter_name(each.program, numbers);
    set_maps(each.program, descriptors);
    const Fd loaded = TRY(bpf::load_program(BPF_PROG_TYPE_SCHED_CLS, kProgramName, each.program));
    TRY(tc::put_filter(socket, each.interface, each.direction, loaded, name));
  }
  return {};
}

Result<Removed> remove_filters(nl::Socket& socket, const std::vector<Filter>& filters) {
  Removed removed = Removed::kWasAbsent;
  for (const Filter& filter : filters) {
    if (TRY(tc::remove_filter(socket, filter.interface, filter.direction)) == Removed::kNow)
      removed = Removed::kNow;
  }
  return removed;
}

// Removes the clsact of interfaces that have lost FILTERS, where nobody else uses it.
Status remove_empty_clsacts(nl::Socket& socket, const std::vector<Filter>& filters) {
  std::set<uint32_t> interfaces;
  for (const Filter& filter : filters) interfaces.insert(filter.interface);
  for (const uint32_t interface : interfaces) {
    size_t left = 0;
    for (const Direction direction : tc::kDirections) {
      left += TRY(tc::find_filters(socket, interface, direction, tc::Which::kAll)).size();
    }
    if (left == 0) TRY(tc::remove_clsact(socket, interface));
  }
  return {};
}

Result<std::string> comment_of(const Fd& map, std::span<const uint8_t> key) {
  std::array<uint8_t, kCommentBytes> comment{};
  TRY(bpf::get(map, key, comment));
  return std::string(comment.begin(), std::find(comment.begin(), comment.end(), uint8_t{0}));
}

Status check_places(nl::Socket& socket, const std::vector<Parent>& parents) {
  for (const Parent& parent : parents) {
    const std::optional<std::string> obstacle = TRY(find_obstacle(socket, parent));
    if (obstacle) return Error(Code::kDenied, *obstacle);
  }
  return {};
}

}  // namespace

Result<std::optional<std::string>> find_obstacle(nl::Socket& socket, const Parent& parent) {
  const std::string where = str("tc on ", base::quote(parent.name), ": ");
  for (const tc::Qdisc& qdisc : TRY(tc::find_qdiscs(socket))) {
    if (qdisc.interface != parent.index) continue;
    if (!qdisc.is_clsact) {
      return std::optional(str(where,
                               "it has a qdisc 'ingress', which cannot filter what leaves; replace"
                               " it by a clsact, which has the same ingress: tc qdisc del dev ",
                               parent.name, " ingress, tc qdisc add dev ", parent.name,
                               " clsact, and its filters again"));
    }
    if (qdisc.shares_filters) {
      return std::optional(str(where,
                               "its clsact shares the filters of a block with other interfaces;"
                               " make the clsact without ingress_block and egress_block"));
    }
  }
  for (const Direction direction : tc::kDirections) {
    const std::vector<Filter> first =
        TRY(tc::find_filters(socket, parent.index, direction, tc::Which::kFirst));
    const auto rival = std::find_if_not(first.begin(), first.end(), is_ours);
    if (rival == first.end()) continue;
    const char* const side = direction == Direction::kEgress ? "egress" : "ingress";
    return std::optional(
        str(where, "the ", side, " filter ",
            base::quote(rival->name.empty() ? rival->kind : rival->name),
            " of another program has priority 1, and could decide before the border; give it a"
            " priority of 2 or more (see 'tc filter show dev ",
            parent.name, ' ', side, "')"));
  }
  return std::optional<std::string>();
}

Result<bool> Tc::stands(const std::vector<Parent>& parents) {
  nl::Socket& netlink = *TRY(socket());
  std::vector<Filter> ours = TRY(find_all(netlink));
  if (has_rival(ours, parents)) return false;
  std::erase_if(ours, [](const Filter& filter) { return !is_ours(filter); });
  const std::vector<Wanted> wanted = programs_of(parents);
  if (ours.empty() || ours.size() != wanted.size()) return false;
  // An older build numbers one map alone.
  if (base::split(maps_of(ours.front()), ',').size() != kMaps) return false;
  for (const Wanted& each : wanted) {
    const std::string name = filter_name(each.program, maps_of(ours.front()));
    const auto is_there = [&](const Filter& filter) {
      return filter.interface == each.interface && filter.direction == each.direction &&
             filter.priority == tc::kPriority && filter.name == name;
    };
    if (std::none_of(ours.begin(), ours.end(), is_there)) return false;
  }
  standing_ = ours.front();
  return true;
}

Status Tc::build(const std::vector<Parent>& parents, const Elements& elements) {
  nl::Socket& netlink = *TRY(socket());
  TRY(check_places(netlink, parents));
  const std::vector<Filter> before = TRY(find_ours(netlink));
  std::vector<Wanted> programs = programs_of(parents);
  const bpf::UnlimitedMaps unlimited;
  const std::vector<Map> maps = TRY(make_maps(rules_of(parents), elements));
  for (const Parent& parent : parents) TRY(tc::make_clsact(netlink, parent.index));
  TRY(check_places(netlink, parents));  // another program may have come first
  const Status put = put_programs(netlink, programs, maps);
  if (!put.ok()) {
    if (before.empty()) (void)remove_all();
    return put;
  }
  std::vector<Filter> old;
  for (const Filter& filter : before) {
    if (!is_on(filter, parents)) old.push_back(filter);
  }
  TRY(remove_filters(netlink, old));
  return remove_empty_clsacts(netlink, old);
}

Status Tc::add(const Elements& elements) {
  nl::Socket& netlink = *TRY(socket());
  if (const std::optional<Filter> standing = std::exchange(standing_, std::nullopt))
    return put_elements(TRY(open_maps_for(*standing, elements)), elements);
  const std::vector<Filter> ours = TRY(find_ours(netlink));
  if (ours.empty()) return Error(Code::kNotFound, "there is no border by tc");
  return put_elements(TRY(open_maps(ours)), elements);
}

Result<std::vector<Element>> Tc::list(SetId set) {
  nl::Socket& netlink = *TRY(socket());
  const uint32_t most = set == SetId::kOthers ? kMostOthers : kMostElements;
  std::vector<Element> elements;
  const std::vector<Filter> ours = TRY(find_ours(netlink));
  for (const Map& map : TRY(open_maps(ours))) {
    if (map.number != static_cast<size_t>(set)) continue;
    for (std::vector<uint8_t>& key : TRY(bpf::keys_of(map.fd, key_size(layout_of(set)), most))) {
      std::string comment = TRY(comment_of(map.fd, key));
      elements.push_back({std::move(key), std::move(comment)});
    }
  }
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return elements;
}

Result<std::vector<Counted>> Tc::counts() {
  nl::Socket& netlink = *TRY(socket());
  std::vector<Counted> all;
  const std::vector<Filter> ours = TRY(find_ours(netlink));
  for (const Map& map : TRY(open_maps(ours))) {
    for (uint32_t number = 0; map.number == kCountMap; ++number) {
      std::array<uint8_t, sizeof(Count)> value{};
      if (!TRY(bpf::get(map.fd, bytes_of(number), value))) break;
      all.push_back(read_count(value));
    }
  }
  return all;
}

Result<Removed> Tc::remove(const Elements& elements) {
  nl::Socket& netlink = *TRY(socket());
  const std::vector<Filter> ours = TRY(find_ours(netlink));
  const std::vector<Map> maps = TRY(open_maps(ours));
  Removed removed = Removed::kWasAbsent;
  // The MACs last: without them a frame would be judged as if it came from no container.
  for (auto set = elements.rbegin(); set != elements.rend(); ++set) {
    for (const Map& map : maps) {
      if (map.number != static_cast<size_t>(set->first)) continue;
      for (const Element& element : set->second) {
        if (TRY(bpf::erase(map.fd, element.key)) == Removed::kNow) removed = Removed::kNow;
      }
    }
  }
  return removed;
}

Result<Removed> Tc::remove_all() {
  nl::Socket& netlink = *TRY(socket());
  const std::vector<Filter> ours = TRY(find_ours(netlink));
  const Removed removed = TRY(remove_filters(netlink, ours));
  TRY(remove_empty_clsacts(netlink, ours));
  return removed;
}

}  // namespace netns::border
