// SPDX-License-Identifier: Apache-2.0
// config.json as a JSON document. The keys that the product uses have the types of the OCI runtime
// specification. Only for .cc files of hook/oci.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace hook::oci {

// Returns TEXT, parsed and checked as parse_spec does.
base::Result<base::Json> parse_document(std::string_view text);

}  // namespace hook::oci
