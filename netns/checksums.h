// SPDX-License-Identifier: Apache-2.0
// Who writes the checksums of frames that leave an interface.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "netns/namespace.h"

namespace netns {

// Returns whether the kernel leaves the checksums of all frames to the device INTERFACE of HOST
// (`ethtool -k`: tx-checksum-ip-generic). If not, the kernel writes them itself after the border
// (border.h) has passed the frame, at the place that the sender of a raw frame chose
// (PACKET_VNET_HDR in packet(7)). With tx-checksum-ipv4 or -ipv6 alone, the kernel does so for any
// place but that of TCP and UDP. Returns nothing if the interface does not tell. Needs no
// capability.
base::Result<std::optional<bool>> leaves_checksums_to_device(const Namespace& host,
                                                             const std::string& interface);

}  // namespace netns
