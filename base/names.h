// SPDX-License-Identifier: Apache-2.0
// The words of base that nearly every source file says. A .cc file says them without "base::" after
//
//   using namespace base::names;
//
// A header never does: what includes it would have the names too.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/text.h"

namespace base::names {

using base::Code;
using base::Deadline;
using base::Error;
using base::quote;
using base::Result;
using base::Status;
using base::str;

}  // namespace base::names
