// SPDX-License-Identifier: Apache-2.0
// The values of V-IPU as JSON, and back from a writer that is not trusted.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "vipu/types.h"
#include "vipu/wire.h"

namespace vipu::wire {

base::Json to_json(const IpuofConfig& config);  // also what an IPUoF file holds
// Without its cards: a V-IPU controller has none, and must not name device nodes of this host.
base::Json to_json(const Grant& grant);
base::Json to_json(const Done& done);
base::Json to_json(const std::vector<Partition>& partitions);
base::Json to_json(const PartitionStatus& status);
base::Json to_json(const Survey& survey);
base::Json to_json(const std::vector<IpuAttributes>& ipus);
base::Json to_json(base::Removed removed);
base::Json to_json(const std::string& version);

// For each of these types but IpuofConfig: kInvalid with the first thing that is wrong. What is
// given back is bounded in number and size, its texts have no control characters (attributes of an
// IPUoF configuration may), and its addresses are IP addresses of hosts.
template <typename T>
base::Result<T> from_json(const base::Json& json);
template <>
base::Result<Grant> from_json(const base::Json& json);
template <>
base::Result<Done> from_json(const base::Json& json);
template <>
base::Result<std::vector<Partition>> from_json(const base::Json& json);
template <>
base::Result<PartitionStatus> from_json(const base::Json& json);
template <>
base::Result<Survey> from_json(const base::Json& json);
template <>
base::Result<std::vector<IpuAttributes>> from_json(const base::Json& json);
template <>
base::Result<base::Removed> from_json(const base::Json& json);
template <>
base::Result<std::string> from_json(const base::Json& json);

}  // namespace vipu::wire
