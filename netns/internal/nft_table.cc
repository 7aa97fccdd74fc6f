// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/nft_table.h"

#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include <cerrno>

#include "base/names.h"
#include "base/text.h"

namespace netns::nft {

using namespace base::names;
using base::Removed;

bool is_missing(int err) {
  return err == ENOENT || err == EOPNOTSUPP || err == EPROTONOSUPPORT || err == EAFNOSUPPORT;
}

Result<bool> has_table(nl::Socket& socket, const Table& table) {
  nl::Message message = request(NFT_MSG_GETTABLE, 0, table.family,
                                str("look for filter table ", quote(table.name)), kRequestBytes);
  message.put_text(NFTA_TABLE_NAME, table.name);
  message.request_ack();
  const Status found = socket.exchange(message);
  if (found.ok()) return true;
  if (is_missing(found.error().sys_errno())) return false;
  return found.error();
}

Result<Removed> remove_tables(const Namespace& in, std::initializer_list<Table> tables) {
  nl::Socket socket = TRY(nl::Socket::open(in, NETLINK_NETFILTER));
  return remove_tables(socket, tables);
}

Result<Removed> remove_tables(nl::Socket& socket, std::initializer_list<Table> tables) {
  Batch batch;
  bool any = false;
  for (const Table& table : tables) {
    if (!TRY(has_table(socket, table))) continue;
    batch.remove_table(table);
    any = true;
  }
  if (!any) return Removed::kWasAbsent;
  const Status status = batch.commit(socket);
  if (status.ok()) return Removed::kNow;
  if (is_missing(status.error().sys_errno())) return Removed::kWasAbsent;
  return status.error();
}

}  // namespace netns::nft
