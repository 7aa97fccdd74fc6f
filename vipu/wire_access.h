// SPDX-License-Identifier: Apache-2.0
// The members of a request that describe access to the controller.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "vipu/access.h"
#include "vipu/wire_fields.h"

namespace vipu::wire {

// Returns an object with "controller", and with "tls" and "credentials" if there are any.
base::Json to_json(const Access& access);
// Parses these members of a request. kInvalid contains no part of a secret.
base::Result<Access> parse_access(const Fields& request);

}  // namespace vipu::wire
