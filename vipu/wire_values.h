// SPDX-License-Identifier: Apache-2.0
// Conversion of V-IPU values to JSON, and back from an untrusted writer.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "vipu/types.h"
#include "vipu/wire.h"

namespace vipu::wire {

base::Json to_json(const IpuofConfig& config);  // also the content of an IPUoF file
// Leaves out the cards: a V-IPU controller has none, and must not name device nodes of this host.
// Leaves out the addresses that the controller's name has: who asks the client looks them up.
base::Json to_json(const Grant& grant);
base::Json to_json(const Done& done);
base::Json to_json(const std::vector<Partition>& partitions);
base::Json to_json(const PartitionStatus& status);
base::Json to_json(const Survey& survey);
base::Json to_json(const std::vector<IpuAttributes>& ipus);
base::Json to_json(base::Removed removed);
base::Json to_json(const Addresses& addresses);
base::Json to_json(const std::string& version);

// Parses each of these types but IpuofConfig. Returns kInvalid with the first error. The result is
// bounded in number and size, its texts have no control characters (attributes of an IPUoF
// configuration may), and its addresses are IP addresses; those of devices are of hosts.
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
base::Result<Addresses> from_json(const base::Json& json);
template <>
base::Result<std::string> from_json(const base::Json& json);

}  // namespace vipu::wire
