// SPDX-License-Identifier: Apache-2.0
// Controller: a source of partitions. One contract, whoever makes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "vipu/types.h"

namespace vipu {

enum class Force : bool { kNo, kYes };
// Whether a partition may get other IPUs when its own have errors.
enum class Relocate : bool { kNo, kYes };

// Every call ends by its deadline with kTimeout. kUnavailable: the controller cannot be reached.
// Every error names the controller and the call.
class Controller {
 public:
  Controller() = default;
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  virtual ~Controller() = default;

  // Makes the partition, waits until it is ACTIVE, and reads it back. kBusy: no free block of that
  // size. kInvalid: what no partition can be, or files for the access that cannot be used. kDenied:
  // we may not, or the files for the access may be read or written by others. kExists: the name is
  // taken. After any other error than those of made_nothing() the partition may exist, and remove()
  // takes it away.
  virtual base::Result<Grant> create(const PartitionRequest& request,
                                     const base::Deadline& deadline) = 0;

  // The first half of create(): the partition has its IPUs, and need not be ACTIVE yet.
  virtual base::Status submit(const PartitionRequest& request, const base::Deadline& deadline) = 0;

  // Waits until the partition is ACTIVE and reads it back. kNotFound if there is none; kInternal,
  // with the controller's reasons, if it failed.
  virtual base::Result<Grant> wait(const std::string& id, const base::Deadline& deadline) = 0;

  // All partitions of the controller, also those that we did not make.
  virtual base::Result<std::vector<Partition>> list(const base::Deadline& deadline) = 0;

  virtual base::Result<PartitionStatus> status(const std::string& id,
                                               const base::Deadline& deadline) = 0;

  // What an ACTIVE partition grants; of one GCD only, if GCD is given. kNotFound if there is no
  // such partition, it is not ACTIVE, or it has no such GCD.
  virtual base::Result<Grant> config(const std::string& id, std::optional<uint32_t> gcd,
                                     const base::Deadline& deadline) = 0;

  // Brings the partition back to its initial state and waits until it is ACTIVE again.
  virtual base::Status reset(const std::string& id, Relocate relocate,
                             const base::Deadline& deadline) = 0;

  // Takes the partition away and waits until the controller no longer lists it. Where it does not
  // go otherwise, and FORCE is given, errors on the way are ignored by the controller.
  virtual base::Result<base::Removed> remove(const std::string& id, Force force,
                                             const base::Deadline& deadline) = 0;

  virtual base::Result<Survey> survey(const base::Deadline& deadline) = 0;

  // The attributes of the IPUs of AGENTS; of all, if AGENTS is empty.
  virtual base::Result<std::vector<IpuAttributes>> attributes(
      const std::vector<std::string>& agents, const base::Deadline& deadline) = 0;

  // The version text of the controller.
  virtual base::Result<std::string> version(const base::Deadline& deadline) = 0;
};

// Whether create() or submit() made nothing when it failed with ERROR: the request never left this
// host (kUnavailable), was refused (kInvalid, kDenied), or was for what is somebody else's
// (kExists).
inline bool made_nothing(const base::Error& error) {
  const base::Code code = error.code();
  return code == base::Code::kUnavailable || code == base::Code::kInvalid ||
         code == base::Code::kDenied || code == base::Code::kExists;
}

}  // namespace vipu
