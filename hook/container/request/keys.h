// SPDX-License-Identifier: Apache-2.0
// The names by which a container asks for IPUs, and the slips that people make in them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace hook::request {

enum class Key {
  kCount,
  kPartition,
  kReservation,
  kGcd,
  kDevices,
  kWait,
  kNetwork,
  kReconfigurable,
  kEndpoint,
  kPool,
  kTenant
};

struct KeyName {
  Key key;
  std::string_view variable;
  std::string_view annotation;
};

inline constexpr std::string_view kVariablePrefix = "IPU_";
inline constexpr std::string_view kAnnotationPrefix = "graphcore.ai/ipu.";

inline constexpr std::array<KeyName, 11> kKeys = {{
    {Key::kCount, "IPU_COUNT", "graphcore.ai/ipu.count"},
    {Key::kPartition, "IPU_PARTITION", "graphcore.ai/ipu.partition"},
    {Key::kReservation, "IPU_RESERVATION", "graphcore.ai/ipu.reservation"},
    {Key::kGcd, "IPU_GCD", "graphcore.ai/ipu.gcd"},
    {Key::kDevices, "IPU_VISIBLE_DEVICES", "graphcore.ai/ipu.devices"},
    {Key::kWait, "IPU_WAIT", "graphcore.ai/ipu.wait"},
    {Key::kNetwork, "IPU_NETWORK", "graphcore.ai/ipu.network"},
    {Key::kReconfigurable, "IPU_RECONFIGURABLE", "graphcore.ai/ipu.reconfigurable"},
    {Key::kEndpoint, "IPU_VIPU_ENDPOINT", "graphcore.ai/ipu.vipu-endpoint"},
    {Key::kPool, "IPU_POOL", "graphcore.ai/ipu.pool"},
    {Key::kTenant, "IPU_TENANT", "graphcore.ai/ipu.tenant"},
}};

// Returns whether the product itself wrote the ANNOTATION, at an earlier start.
[[nodiscard]] bool is_own_annotation(std::string_view annotation);

// Returns the variable that is meant if NAME is a slip of the pen: a name with IPU_ that is no key
// but nearly one, such as IPU_COUT. Empty if NAME is a key, or resembles none.
[[nodiscard]] std::string_view meant_by(std::string_view name);

// Returns what to do about an unknown ANNOTATION: the name that is meant, or where the names are.
[[nodiscard]] std::string advice_for(std::string_view annotation);

// Returns the first name of ENVIRONMENT (NAME=VALUE each) that is a slip; empty if none is.
[[nodiscard]] std::string first_slip(const std::vector<std::string>& environment);

// Returns whether the TEXT of a config.json has a string that begins with a variable's name or a
// slip of one. The work is linear in TEXT, whatever it is.
[[nodiscard]] bool mentions_variable(std::string_view text);

// Returns whether the text of a config.json contains one of the product's keys, or a slip of a
// variable's name. If not, it cannot hold a request, and the container is not the product's
// concern, whatever else the text is.
[[nodiscard]] bool mentions_ipus(std::string_view config);

}  // namespace hook::request
