// SPDX-License-Identifier: Apache-2.0
// How the kernel comes to follow the rules of the border. What the rules are, and which keys are in
// their sets, is the same for all carriers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/internal/border/rules.h"
#include "netns/internal/nl.h"
#include "netns/namespace.h"

namespace netns::border {

using Elements = std::map<SetId, std::vector<Element>>;

// All calls are about one host, in whose network namespace the parents are.
class Carrier {
 public:
  virtual ~Carrier() = default;
  // Returns whether the kernel follows the rules of PARENTS. With nftables, a rule that another
  // program has replaced in place is not noticed; one that it has added or removed is.
  virtual base::Result<bool> stands(const std::vector<Parent>& parents) = 0;
  // Replaces what is there, if anything, by the rules of PARENTS and by ELEMENTS. At no moment does
  // a parent have fewer rules than before. Returns kUnsupported if the kernel cannot.
  virtual base::Status build(const std::vector<Parent>& parents, const Elements& elements) = 0;
  // Returns kNotFound if the border is absent. An element that is there stays.
  virtual base::Status add(const Elements& elements) = 0;
  // Returns nothing if the border is absent.
  virtual base::Result<std::vector<Element>> list(SetId set) = 0;
  // Returns all rules that count; nothing if the border is absent.
  virtual base::Result<std::vector<Counted>> counts() = 0;
  // An absent element or border is not an error.
  virtual base::Result<base::Removed> remove(const Elements& elements) = 0;
  virtual base::Result<base::Removed> remove_all() = 0;

 protected:
  // PROTOCOL is that of socket(). READY is a socket of that protocol in HOST, if there is one.
  Carrier(const Namespace& host, int protocol, std::optional<nl::Socket> ready = {})
      : host_(host), protocol_(protocol), socket_(std::move(ready)) {}
  // Returns the socket of all calls, which the first one opens.
  base::Result<nl::Socket*> socket() {
    if (!socket_) socket_.emplace(TRY(nl::Socket::open(host_, protocol_)));
    return &*socket_;
  }

 private:
  const Namespace& host_;
  int protocol_;
  std::optional<nl::Socket> socket_;
};

}  // namespace netns::border
