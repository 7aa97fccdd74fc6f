// SPDX-License-Identifier: Apache-2.0
// The IPUoF file that `vipu create partition` writes.
#pragma once

#include <string_view>

#include "base/result.h"
#include "vipu/types.h"

namespace vipu::local {

inline constexpr size_t kMaxIpuofFile = size_t{4} << 20;  // bytes

// Returns the configuration in TEXT; WHAT names it in errors. A device requires "ip", "device_id"
// and "server_port"; other absent members become 0 or empty. A number may be written as text.
// Returns kInvalid for anything else that is wrong, including a duplicate device, one of no
// IPU-Machine (device_id outside 0 to 3), or a member that IpuofDevice lacks, because a slice could
// not keep it. Attributes are texts, taken as they are.
base::Result<IpuofConfig> parse_ipuof_file(std::string_view text, std::string_view what);

// Succeeds if the attributes allow separate use of the partition's slices. Returns kUnsupported if
// they say that its fabric is not reconfigurable.
base::Status check_reconfigurable(const IpuofConfig& config);

}  // namespace vipu::local
