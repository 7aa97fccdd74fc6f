// SPDX-License-Identifier: Apache-2.0
// Detection of an address that another host uses: three ARP probes (RFC 5227) or, for IPv6, three
// neighbour solicitations (RFC 4862) from the RNIC's interface. The probe cannot see other macvlans
// of the same parent in private mode: on one host, only the ledger keeps addresses apart.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

struct Probed {
  std::optional<MacAddress> claimant;  // the host that answered
  // The packet socket. The kernel takes about 16 ms to close it, so pass the answer on before.
  base::Fd socket;
};

// Returns the MAC of a host that answers for ADDRESS, or probes for it to claim it, before
// DEADLINE. Returns none if no host does, or if PARENT has no carrier. Answers with PARENT's own
// MAC do not count. Returns kNotFound if PARENT is absent. Needs CAP_NET_RAW in HOST.
base::Result<Probed> probe_address(const Namespace& host, const std::string& parent,
                                   const Address& address, const base::Deadline& deadline);

}  // namespace netns
