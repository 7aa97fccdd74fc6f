// SPDX-License-Identifier: Apache-2.0
// The IPUoF file that `vipu create partition` writes.
#pragma once

#include <string_view>

#include "base/result.h"
#include "vipu/types.h"

namespace vipu::local {

inline constexpr size_t kMaxIpuofFile = size_t{4} << 20;  // bytes

// The configuration that TEXT holds; WHAT names it in errors. "ip", "device_id" and "server_port"
// are required of a device, whatever else is absent is 0 or empty; a number may be written as text.
// kInvalid if anything else is wrong, also if a device is in it twice, is none of an IPU-Machine
// (device_id 0 to 3), or has a member that IpuofDevice has not: a slice could not keep it.
// Attributes are texts, and are taken as they are.
base::Result<IpuofConfig> parse_ipuof_file(std::string_view text, std::string_view what);

// Whether the attributes allow that slices of the partition are used on their own: kUnsupported if
// they say that its fabric is not reconfigurable.
base::Status check_reconfigurable(const IpuofConfig& config);

}  // namespace vipu::local
