// SPDX-License-Identifier: Apache-2.0
// LentController: a FakeController for callers that need to own one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_controller.h"
#include "vipu/controller.h"

namespace test {

// Lends a FakeController to callers that own their controller.
class LentController final : public vipu::Controller {
 public:
  LentController(FakeController& fake, std::function<void()> before_create,
                 std::function<void()> before_wait = {}, std::function<void()> before_version = {})
      : fake_(fake),
        before_create_(std::move(before_create)),
        before_wait_(std::move(before_wait)),
        before_version_(std::move(before_version)) {}
  base::Result<vipu::Grant> create(const vipu::PartitionRequest& request,
                                   const base::Deadline& deadline) override {
    if (before_create_) before_create_();
    return fake_.create(request, deadline);
  }
  base::Status submit(const vipu::PartitionRequest& request,
                      const base::Deadline& deadline) override {
    if (before_create_) before_create_();
    return fake_.submit(request, deadline);
  }
  base::Result<vipu::Grant> wait(const std::string& id, const base::Deadline& deadline) override {
    if (before_wait_) before_wait_();
    return fake_.wait(id, deadline);
  }
  base::Result<std::vector<vipu::Partition>> list(const base::Deadline& deadline) override {
    return fake_.list(deadline);
  }
  base::Result<vipu::PartitionStatus> status(const std::string& id,
                                             const base::Deadline& deadline) override {
    return fake_.status(id, deadline);
  }
  base::Result<vipu::Grant> config(const std::string& id, std::optional<uint32_t> gcd,
                                   const base::Deadline& deadline) override {
    return fake_.config(id, gcd, deadline);
  }
  base::Status reset(const std::string& id, vipu::Relocate relocate,
                     const base::Deadline& deadline) override {
    return fake_.reset(id, relocate, deadline);
  }
  base::Result<base::Removed> remove(const std::string& id, vipu::Force force,
                                     const base::Deadline& deadline) override {
    return fake_.remove(id, force, deadline);
  }
  base::Result<vipu::Survey> survey(const base::Deadline& deadline) override {
    return fake_.survey(deadline);
  }
  base::Result<std::vector<vipu::IpuAttributes>> attributes(
      const std::vector<std::string>& agents, const base::Deadline& deadline) override {
    return fake_.attributes(agents, deadline);
  }
  base::Result<std::vector<std::string>> addresses(const base::Deadline& deadline) override {
    return fake_.addresses(deadline);
  }
  base::Result<std::string> version(const base::Deadline& deadline) override {
    if (before_version_) before_version_();
    return fake_.version(deadline);
  }

 private:
  FakeController& fake_;
  std::function<void()> before_create_;
  std::function<void()> before_wait_;
  std::function<void()> before_version_;
};

}  // namespace test
