// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/image_variables.h"

#include <algorithm>
#include <map>

namespace hook::lifecycle::start {
namespace {

using Names = std::set<std::string>;
using Variables = std::vector<std::string>;

std::string name_of(const std::string& variable) { return variable.substr(0, variable.find('=')); }

std::map<std::string, size_t> count_names(const Variables& variables) {
  std::map<std::string, size_t> counts;
  for (const std::string& variable : variables) ++counts[name_of(variable)];
  return counts;
}

}  // namespace

Names names_of(const Variables& variables) {
  Names names;
  for (const std::string& variable : variables) names.insert(name_of(variable));
  return names;
}

std::optional<Names> set_by_image(const Variables& container, const Variables& image) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < image.size(); ++i) places.emplace(name_of(image[i]), i);
  const Names given = names_of(container);
  for (const auto& [name, place] : places) {
    if (!given.contains(name)) return std::nullopt;
  }
  Names only_image;
  size_t before = image.size();
  for (auto variable = container.rbegin(); variable != container.rend(); ++variable) {
    const auto place = places.find(name_of(*variable));
    const bool is_next =
        place != places.end() && place->second < before && image[place->second] == *variable;
    if (!is_next) break;
    before = place->second;
    only_image.insert(place->first);
  }
  return only_image;
}

Names maybe_set_by_image(const Variables& environment, const Variables& image) {
  const std::map<std::string, size_t> in_image = count_names(image);
  const std::set<std::string> values(image.begin(), image.end());
  const std::map<std::string, size_t> in_container = count_names(environment);
  Names names;
  for (const std::string& variable : environment) {
    const std::string name = name_of(variable);
    if (values.contains(variable) && in_container.at(name) <= in_image.at(name)) names.insert(name);
  }
  return names;
}

Variables last_of_each(const Variables& variables) {
  Names seen;
  Variables last;
  for (auto variable = variables.rbegin(); variable != variables.rend(); ++variable) {
    if (seen.insert(name_of(*variable)).second) last.push_back(*variable);
  }
  std::reverse(last.begin(), last.end());
  return last;
}

}  // namespace hook::lifecycle::start
