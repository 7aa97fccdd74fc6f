// SPDX-License-Identifier: Apache-2.0
// Controller: a source of partitions. One contract, whoever makes them.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "vipu/types.h"

namespace vipu {

// Every call ends by its deadline with kTimeout. kUnavailable: the controller cannot be reached.
// Every error names the controller and the call.
class Controller {
 public:
  Controller() = default;
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  virtual ~Controller() = default;

  // Makes the partition, waits until it is ACTIVE, and reads it back. kBusy: no free block of that
  // size. kInvalid: a size that no partition can have. kExists: the name is taken. After any error
  // the partition may exist, and remove() takes it away; but not after kUnavailable: then the
  // request never left this host.
  virtual base::Result<Grant> create(const PartitionRequest& request,
                                     const base::Deadline& deadline) = 0;

  // All partitions of the controller, also those that we did not make.
  virtual base::Result<std::vector<Partition>> list(const base::Deadline& deadline) = 0;

  virtual base::Result<PartitionStatus> status(const std::string& id,
                                               const base::Deadline& deadline) = 0;

  // The IPUoF configuration of every GCD of an ACTIVE partition. kNotFound if there is no such one.
  virtual base::Result<std::vector<IpuofConfig>> config(const std::string& id,
                                                        const base::Deadline& deadline) = 0;

  // Takes the partition away and waits until the controller no longer lists it.
  virtual base::Result<base::Removed> remove(const std::string& id,
                                             const base::Deadline& deadline) = 0;

  virtual base::Result<Capacity> capacity(const base::Deadline& deadline) = 0;

  // The version text of the controller.
  virtual base::Result<std::string> version(const base::Deadline& deadline) = 0;
};

}  // namespace vipu
