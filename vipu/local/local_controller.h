// SPDX-License-Identifier: Apache-2.0
// The common part of the local providers: a Controller whose partitions are entries of a
// PartitionStore.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "vipu/controller.h"
#include "vipu/local/pool.h"

namespace vipu::local {

struct LocalOptions {
  std::string name;        // name of the pool, for errors
  std::string state_file;  // see PartitionStore
  std::string version;     // the result of version()
  // Returns the IPUs as they are now. kUnavailable means that their source is absent.
  std::function<base::Result<Pool>()> look;
};

// Makes a controller whose partitions are ACTIVE as soon as they are submitted; a reset does
// nothing. A partition whose IPUs have left the pool is in state ERROR until they return or it is
// removed; no other partition gets them. remove() works without the source of the IPUs.
std::unique_ptr<Controller> make_local_controller(LocalOptions options);

}  // namespace vipu::local
