// SPDX-License-Identifier: Apache-2.0
// Precompiled for most units of the product. A unit includes what it uses all the same: PCH=0 and
// `make lint` compile without this.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
