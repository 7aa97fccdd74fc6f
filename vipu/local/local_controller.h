// SPDX-License-Identifier: Apache-2.0
// What the local providers share: a Controller whose partitions are entries of a Store.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "vipu/controller.h"
#include "vipu/local/pool.h"

namespace vipu::local {

struct LocalOptions {
  std::string name;        // of the pool, for errors
  std::string state_file;  // see Store
  std::string version;     // what version() gives
  // The IPUs now, read anew. kUnavailable if their source is not there.
  std::function<base::Result<Pool>()> look;
};

// A partition is ACTIVE as soon as it is submitted; a reset has nothing to do. A partition whose
// IPUs have gone from the pool is in state ERROR until they come back or it is removed; nobody else
// gets them. remove() works without the source of the IPUs.
std::unique_ptr<Controller> make_local_controller(LocalOptions options);

}  // namespace vipu::local
