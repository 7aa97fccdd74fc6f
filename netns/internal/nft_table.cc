// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/nft_table.h"

#include <cerrno>

#include "base/names.h"

namespace netns::nft {

using namespace base::names;
using base::Removed;

bool is_missing(int err) {
  return err == ENOENT || err == EOPNOTSUPP || err == EPROTONOSUPPORT || err == EAFNOSUPPORT;
}

Result<Removed> remove_tables(const Namespace& in, std::initializer_list<Table> tables) {
  Batch batch;
  for (const Table& table : tables) batch.remove_table(table);
  const Status status = batch.commit(in);
  if (status.ok()) return Removed::kNow;
  if (is_missing(status.error().sys_errno())) return Removed::kWasAbsent;
  return status.error();
}

}  // namespace netns::nft
