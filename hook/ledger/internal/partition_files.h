// SPDX-License-Identifier: Apache-2.0
// Records of READY partitions that an operator named or reserved, as files beside the ledger, from
// which a lost ledger is rebuilt. Nothing else remembers a reservation.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hook/ledger/partitions.h"

namespace hook::ledger {

// Writes the record of a NAMED partition, before its row is READY; nothing for other kinds. The
// caller has a transaction, as for its removal. Both also remove what processes that were killed
// had begun to write.
base::Status write_partition_file(const std::string& ledger, const PartitionRecord& record);
// Removes it, before its row: no record outlives its partition, whose name others may use then.
base::Status remove_partition_file(const std::string& ledger, const PartitionRecord& record);
// Returns all records, as READY and dirty: a container may have had them. Adds a line to NOTES for
// each that cannot be read.
std::vector<PartitionRecord> read_partition_files(const std::string& ledger,
                                                  std::vector<std::string>& notes);

}  // namespace hook::ledger
