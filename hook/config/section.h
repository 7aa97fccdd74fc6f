// SPDX-License-Identifier: Apache-2.0
// Section: checked reading of one table of the configuration file. Errors name the file and the
// key, and say what is accepted.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hook::config {

inline constexpr size_t kMaxConfig = 1 << 20;  // bytes of a configuration file

class Section {
 public:
  // Parses all of TEXT as TOML; FILE names it in errors.
  static base::Result<Section> parse(std::string_view text, const std::string& file);

  // EXPECTED completes "FILE: KEY must be ...". Absent keys are not errors.
  [[nodiscard]] bool has(std::string_view key) const;
  base::Result<std::optional<std::string>> find_text(std::string_view key,
                                                     std::string_view expected) const;
  base::Result<std::optional<int64_t>> find_number(std::string_view key, int64_t min, int64_t max,
                                                   std::string_view expected) const;
  base::Result<std::optional<bool>> find_flag(std::string_view key) const;
  base::Result<std::optional<std::chrono::milliseconds>> find_duration(
      std::string_view key, std::chrono::milliseconds longest = std::chrono::hours(24)) const;
  base::Result<std::vector<std::string>> find_texts(std::string_view key,
                                                    std::string_view expected) const;
  base::Result<std::vector<uint32_t>> find_numbers(std::string_view key,
                                                   std::string_view expected) const;
  base::Result<std::vector<std::vector<uint32_t>>> find_number_lists(
      std::string_view key, std::string_view expected) const;
  base::Result<std::optional<Section>> find_table(std::string_view key) const;
  // Returns one table [KEY], or an array of tables [[KEY]].
  base::Result<std::vector<Section>> find_tables(std::string_view key) const;
  // Returns a required text.
  base::Result<std::string> get_text(std::string_view key, std::string_view expected) const;

  [[nodiscard]] std::vector<std::string> keys() const;
  base::Status refuse_unknown(std::initializer_list<std::string_view> known) const;
  [[nodiscard]] base::Error wrong(std::string_view key, std::string_view expected) const;

  // Returns PARSER's result for TEXT, with file and key in front of an error.
  template <typename Parser>
  auto parse_key(std::string_view key, const std::string& text, Parser parser) const {
    auto value = parser(text);
    using Value = decltype(value);
    if (value.ok()) return value;
    return Value(std::move(value).error().wrap(place(key)));
  }

 private:
  struct Table;
  Section(std::shared_ptr<const Table> table, std::string name, std::string file)
      : table_(std::move(table)), name_(std::move(name)), file_(std::move(file)) {}
  [[nodiscard]] std::string full_name(std::string_view key) const;
  [[nodiscard]] std::string place(std::string_view key) const;  // "FILE: pool.name"

  std::shared_ptr<const Table> table_;
  std::string name_;  // "pool", "network.rail"; empty for the file
  std::string file_;
};

}  // namespace hook::config
