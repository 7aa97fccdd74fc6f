// SPDX-License-Identifier: Apache-2.0
// config.json as a JSON document whose touched keys have the types of the OCI runtime
// specification. For .cc files of hook/oci only.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace hook::oci {

// TEXT, parsed and checked as parse_spec says.
base::Result<base::Json> parse_document(std::string_view text);

}  // namespace hook::oci
