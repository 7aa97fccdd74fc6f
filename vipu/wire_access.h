// SPDX-License-Identifier: Apache-2.0
// The members of a request that say how to speak to the controller.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "vipu/access.h"
#include "vipu/wire_fields.h"

namespace vipu::wire {

// An object with "controller", and with "tls" and "credentials" if there are any.
base::Json to_json(const Access& access);
// These members of a request; kInvalid without any part of a secret.
base::Result<Access> parse_access(const Fields& request);

}  // namespace vipu::wire
