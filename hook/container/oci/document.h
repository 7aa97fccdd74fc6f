// SPDX-License-Identifier: Apache-2.0
// config.json as a JSON document. The keys that the product uses have the types of the OCI runtime
// specification. Only for .cc files of hook/oci.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace hook::oci {

// Returns TEXT, parsed and checked as parse_spec does.
base::Result<base::Json> parse_document(std::string_view text);

// Returns the path in the container that both low-level runtimes mean by DESTINATION.
std::string clean_path(const std::string& destination);

}  // namespace hook::oci
