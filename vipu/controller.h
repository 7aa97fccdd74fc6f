// SPDX-License-Identifier: Apache-2.0
// Controller: a source of partitions, with one contract for all providers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "vipu/types.h"

namespace vipu {

enum class Force : bool { kNo, kYes };
// Tells whether a partition may get other IPUs when its own have errors.
enum class Relocate : bool { kNo, kYes };

// Every call ends by its deadline, with kTimeout. kUnavailable means that the controller cannot be
// reached. Every error names the controller and the call.
class Controller {
 public:
  Controller() = default;
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  virtual ~Controller() = default;

  // Makes the partition, waits until it is ACTIVE, and reads it back. Returns kBusy if no block of
  // that size is free, kInvalid for an impossible partition or unusable access files, kDenied if
  // the caller may not create it or if others may read or write the access files, and kExists if
  // the name is taken. After an error other than those of made_nothing(), the partition may exist,
  // and remove() removes it.
  virtual base::Result<Grant> create(const PartitionRequest& request,
                                     const base::Deadline& deadline) = 0;

  // Does the first half of create(): the partition has its IPUs, but may not be ACTIVE yet.
  virtual base::Status submit(const PartitionRequest& request, const base::Deadline& deadline) = 0;

  // Waits until the partition is ACTIVE and reads it back. Returns kNotFound if there is none, and
  // kInternal, with the controller's reasons, if it failed.
  virtual base::Result<Grant> wait(const std::string& id, const base::Deadline& deadline) = 0;

  // Returns all partitions of the controller, including those that the product did not make.
  virtual base::Result<std::vector<Partition>> list(const base::Deadline& deadline) = 0;

  virtual base::Result<PartitionStatus> status(const std::string& id,
                                               const base::Deadline& deadline) = 0;

  // Returns the grant of an ACTIVE partition, or of one of its GCDs if GCD is given. Returns
  // kNotFound if there is no such partition or GCD, or if the partition is not ACTIVE.
  virtual base::Result<Grant> config(const std::string& id, std::optional<uint32_t> gcd,
                                     const base::Deadline& deadline) = 0;

  // Resets the partition to its initial state and waits until it is ACTIVE again.
  virtual base::Status reset(const std::string& id, Relocate relocate,
                             const base::Deadline& deadline) = 0;

  // Removes the partition and waits until the controller no longer lists it. With FORCE, and only
  // if there is no other way, the controller ignores errors while removing.
  virtual base::Result<base::Removed> remove(const std::string& id, Force force,
                                             const base::Deadline& deadline) = 0;

  virtual base::Result<Survey> survey(const base::Deadline& deadline) = 0;

  // Returns the attributes of the IPUs of AGENTS, or of all IPUs if AGENTS is empty.
  virtual base::Result<std::vector<IpuAttributes>> attributes(
      const std::vector<std::string>& agents, const base::Deadline& deadline) = 0;

  // Returns the addresses of the controller as a Grant has them, without asking the controller;
  // none for a provider without one. Returns kUnavailable if its name cannot be looked up.
  virtual base::Result<std::vector<std::string>> addresses(const base::Deadline& deadline) = 0;

  // Returns the controller's version text.
  virtual base::Result<std::string> version(const base::Deadline& deadline) = 0;
};

// Returns whether a create() or submit() that failed with ERROR made nothing: the request never
// left this host (kUnavailable), was refused (kInvalid, kDenied), or named another party's
// partition (kExists).
inline bool made_nothing(const base::Error& error) {
  const base::Code code = error.code();
  return code == base::Code::kUnavailable || code == base::Code::kInvalid ||
         code == base::Code::kDenied || code == base::Code::kExists;
}

}  // namespace vipu
