// SPDX-License-Identifier: Apache-2.0
// Which hosts have not told, since an import, what their containers have: the copy may be older
// than a container, so what seems free may be in use.
//   PREFIX restored/TAG   host TAG has not
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/fleet/partitions.h"
#include "hook/fleet/store.h"

namespace hook::fleet {

// Returns the prefix of their keys below PREFIX, and the key of HOST.
[[nodiscard]] std::string restored_prefix(const std::string& prefix);
[[nodiscard]] std::string restored_key(const std::string& prefix, const std::string& host);

// Returns the hosts that an import of the keys COPY, whose names are below PREFIX, has to ask:
// those of COPY and of what was there BEFORE, also before an import that was cut short. They have
// beaten, or have something, without ipu-agent. Each has the revision at which such an import asked
// it to tell; 0: none did.
[[nodiscard]] std::map<std::string, int64_t> hosts_to_ask(const std::string& prefix,
                                                          const std::vector<KeyValue>& copy,
                                                          const Listing& before);
// Returns the tags of these hosts.
base::Result<std::vector<std::string>> untold_hosts(const Fleet& fleet);
// Returns one of them that was not declared dead; empty: there is none.
base::Result<std::string> untold_host_alive(const Fleet& fleet);
// Returns the revision at which an import asked HOST to tell; 0: none has, or it has told.
// Fails with kBusy while an import has not ended: what is in the store may be of before.
base::Result<int64_t> asked_to_tell(const Fleet& fleet, const std::string& host);
// Says that HOST has told what it was asked at ASKED, which was read before the host looked at
// anything: an import meanwhile asks again. Does nothing for 0, nor if the store has gone back
// behind FLEET's mark: the host looks at it, and remembers a new mark, first.
base::Status has_told(const Fleet& fleet, const std::string& host, int64_t asked);
// Adds to TXN that all hosts have.
void require_all_told(const Fleet& fleet, Txn& txn);
// Fails with kBusy if RESULT found that one has not.
base::Status check_told(const Fleet& fleet, const TxnResult& result);
// Returns "host 1f2e3d4c has not told ...", with what to do.
[[nodiscard]] std::string untold_text(const std::string& host);

}  // namespace hook::fleet
