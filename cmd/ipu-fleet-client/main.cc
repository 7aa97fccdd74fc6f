// SPDX-License-Identifier: Apache-2.0
// ipu-fleet-client speaks to etcd: one request on standard input, one reply on standard output. It
// confines itself before it reads the first byte, and makes no connection itself.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/confine.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/version.h"
#include "cmd/common/rpc/tls/tls_filter.h"
#include "cmd/ipu-fleet-client/session/calls.h"
#include "hook/fleet/wire/wire.h"

namespace {

using namespace base::names;
using hook::fleet::Member;
using hook::fleet::wire::Call;
using hook::fleet::wire::Done;
using hook::fleet::wire::reply_text;
using hook::fleet::wire::Request;

constexpr size_t kHeap = 256 << 10;  // what a call needs, in bytes

Result<Done> done(Status status) {
  if (!status.ok()) return std::move(status).error();
  return Done{};
}

std::string answer(const Request& request) {
  fleet_client::Connection connection(request.access, Deadline::after(request.timeout),
                                      tls::make_filter);
  switch (request.call) {
    case Call::kTxn:
      return reply_text(run_txn(connection, request.txn));
    case Call::kRange:
      return reply_text(read_range(connection, request.prefix));
    case Call::kWatch:
      return reply_text(await_change(connection, request.prefix, request.revision));
    case Call::kGrant:
      return reply_text(grant_lease(connection, request.ttl_s));
    case Call::kKeepAlive:
      return reply_text(keep_lease(connection, request.lease));
    case Call::kRevoke:
      return reply_text(done(revoke_lease(connection, request.lease)));
    case Call::kMembers:
      break;
  }
  return reply_text(Result<std::vector<Member>>(connection.members()));
}

Result<Request> read_request() {
  TRY(base::confine({}, base::Network{false}));
  const std::string text =
      TRY(base::read_all(STDIN_FILENO, hook::fleet::wire::kMaxRequest, "standard input"));
  return hook::fleet::wire::parse_request(text);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    return std::printf("ipu-fleet-client %s\n", base::product_version().c_str()) < 0;
  }
  if (argc != 1) return 2;
  base::map_memory(kHeap);
  const Result<Request> request = read_request();
  const std::string reply =
      request.ok() ? answer(request.value()) : reply_text(Result<Done>(request.error()));
  return base::write_all(STDOUT_FILENO, reply, "standard output").ok() ? 0 : 1;
}
