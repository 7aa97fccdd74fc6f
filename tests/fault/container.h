// SPDX-License-Identifier: Apache-2.0
// The first process of a container, in a network namespace of its own or in another's.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace fault {

// Ends with its owner. Holds the network namespace beyond the life of the process, as docker does,
// so that the kernel takes no interface away before the product does.
class Container {
 public:
  // OF: null for a namespace of its own.
  static base::Result<Container> start(const std::string& name, const Container* of);
  Container(Container&& other) noexcept;
  Container& operator=(Container&&) = delete;
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;
  ~Container() { end(); }

  // Kills its first process; the namespace stays.
  void end();
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int netns() const { return netns_.get(); }
  [[nodiscard]] std::string netns_path() const;
  // What a low-level runtime writes to a hook.
  [[nodiscard]] std::string state(const std::string& bundle) const;

 private:
  Container(std::string name, pid_t pid, base::Fd netns)
      : name_(std::move(name)), pid_(pid), netns_(std::move(netns)) {}

  std::string name_;
  pid_t pid_;
  base::Fd netns_;
};

}  // namespace fault
