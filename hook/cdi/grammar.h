// SPDX-License-Identifier: Apache-2.0
// The names that the CDI specification allows, and its versions.
#pragma once

#include <array>
#include <string_view>

namespace hook::cdi {

// The released versions of the specification that engines still read, oldest first.
inline constexpr std::array<std::string_view, 8> kVersions = {"0.3.0", "0.4.0", "0.5.0", "0.6.0",
                                                              "0.7.0", "0.8.0", "1.0.0", "1.1.0"};

// Since this version the name of a device may begin with a digit.
inline constexpr std::string_view kDigitVersion = "0.5.0";

[[nodiscard]] bool is_letter(char c);

// Begins with a letter, ends with a letter or digit, and has letters, digits, '_', '-' and '.'.
[[nodiscard]] bool is_vendor(std::string_view name);
[[nodiscard]] bool is_class(std::string_view name);
// Begins and ends with a letter or digit, and has also ':' inside.
[[nodiscard]] bool is_device_name(std::string_view name);

}  // namespace hook::cdi
