// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-fleet-client/session/calls.h"

#include <algorithm>

#include "base/names.h"
#include "cmd/ipu-fleet-client/etcd/etcd.pb.h"
#include "vipu/wire_fields.h"

namespace fleet_client {
namespace {

using namespace base::names;
using hook::fleet::Changes;
using hook::fleet::Compare;
using hook::fleet::KeyValue;
using hook::fleet::Lease;
using hook::fleet::Listing;
using hook::fleet::Put;
using hook::fleet::Txn;
using hook::fleet::TxnResult;

constexpr Rpc kTxn{"/etcdserverpb.KV/Txn", true};
constexpr Rpc kRange{"/etcdserverpb.KV/Range", false, 1};
constexpr Rpc kWatch{"/etcdserverpb.Watch/Watch"};
// A grant whose answer is lost ends by itself, and the other two may be repeated.
constexpr Rpc kGrant{"/etcdserverpb.Lease/LeaseGrant"};
constexpr Rpc kKeepAlive{"/etcdserverpb.Lease/LeaseKeepAlive"};
constexpr Rpc kRevoke{"/etcdserverpb.Lease/LeaseRevoke"};

constexpr int64_t kPage = 120;  // keys of one answer, which fit into kMaxReply
static_assert(kPage * (hook::fleet::kMaxKey + hook::fleet::kMaxValue) <
              hook::fleet::wire::kMaxReply);

// A value that is no text must not hide all other keys: without it, the record is one that cannot
// be read. A key that is no text cannot be written or removed by its name.
Result<KeyValue> to_value(const etcd::KeyValue& found) {
  if (!vipu::wire::is_plain_text(found.key(), hook::fleet::kMaxKey)) {
    return Error(Code::kInvalid, str("the store has something else at ", quote(found.key()),
                                     ": remove it with 'etcdctl' if the prefix is this fleet's"
                                     " alone, else choose another 'prefix' in [fleet]"));
  }
  const bool is_text = vipu::wire::is_plain_text(found.value(), hook::fleet::kMaxValue);
  return KeyValue{found.key(), is_text ? found.value() : std::string(), found.create_revision(),
                  found.mod_revision(), found.lease()};
}

Status append(const etcd::RangeReply& reply, std::vector<KeyValue>& keys) {
  for (const etcd::KeyValue& found : reply.kvs()) keys.push_back(TRY(to_value(found)));
  return {};
}

etcd::TxnRequest to_message(const Txn& txn) {
  etcd::TxnRequest request;
  for (const Compare& one : txn.compares) {
    etcd::Compare& compare = *request.add_compare();
    compare.set_key(one.key);
    etcd::RangeRequest& range = *request.add_failure()->mutable_range();
    range.set_key(one.key);
    if (one.what == Compare::What::kModified) {
      compare.set_target(etcd::Compare::MOD);
      compare.set_mod_revision(one.revision);
      continue;
    }
    if (one.what == Compare::What::kSince) {
      compare.set_target(etcd::Compare::MOD);
      compare.set_result(etcd::Compare::GREATER);
      compare.set_mod_revision(one.revision - 1);
      continue;
    }
    if (one.what == Compare::What::kNoneSince) {
      compare.set_target(etcd::Compare::MOD);
      compare.set_result(etcd::Compare::LESS);
      compare.set_mod_revision(one.revision + 1);
    } else {
      compare.set_target(etcd::Compare::CREATE);
      if (one.what == Compare::What::kExists) compare.set_result(etcd::Compare::GREATER);
      compare.set_create_revision(one.what == Compare::What::kCreated ? one.revision : 0);
    }
    if (!hook::fleet::is_of_prefix(one.what)) continue;
    // Each key of a range is compared, and none that exists was created at revision 0.
    compare.set_range_end(hook::fleet::end_of(one.key));
    range.set_range_end(hook::fleet::end_of(one.key));
    range.set_limit(hook::fleet::kMostFound);
  }
  for (const Put& one : txn.puts) {
    etcd::PutRequest& put = *request.add_success()->mutable_put();
    put.set_key(one.key);
    put.set_value(one.value);
    put.set_lease(one.lease);
  }
  for (const std::string& key : txn.deletes) {
    request.add_success()->mutable_remove()->set_key(key);
  }
  return request;
}

}  // namespace

Result<TxnResult> run_txn(Connection& connection, const Txn& txn) {
  etcd::TxnReply reply;
  TRY(connection.call(kTxn, to_message(txn), reply));
  TxnResult result{reply.succeeded(), reply.header().revision()};
  if (result.done) return result;
  for (const etcd::OperationReply& one : reply.responses()) TRY(append(one.range(), result.found));
  return result;
}

Result<Listing> read_range(Connection& connection, const std::string& prefix) {
  Listing listing;
  etcd::RangeRequest request;
  request.set_key(prefix);
  request.set_range_end(hook::fleet::end_of(prefix));
  request.set_limit(kPage);
  size_t bytes = 0;
  for (bool more = true; more;) {
    etcd::RangeReply reply;
    TRY(connection.call(kRange, request, reply));
    if (listing.revision == 0) listing.revision = reply.header().revision();
    const size_t before = listing.keys.size();
    TRY(append(reply, listing.keys));
    for (size_t i = before; i < listing.keys.size(); ++i)
      bytes += listing.keys[i].key.size() + listing.keys[i].value.size();
    if (bytes > hook::fleet::kMaxListing) {
      return Error(Code::kUnsupported, str("there is too much below ", quote(prefix), " in etcd"));
    }
    more = reply.more() && !reply.kvs().empty();
    if (!more) break;
    request.set_key(reply.kvs().rbegin()->key() + '\0');
    request.set_revision(listing.revision);
  }
  return listing;
}

Result<Changes> await_change(Connection& connection, const std::string& prefix, int64_t revision) {
  etcd::WatchRequest request;
  request.mutable_create()->set_key(prefix);
  request.mutable_create()->set_range_end(hook::fleet::end_of(prefix));
  request.mutable_create()->set_start_revision(revision);
  TRY(connection.begin(kWatch, request));
  Changes changes{revision};
  while (changes.all.empty()) {
    etcd::WatchReply reply;
    const Status came = connection.next(reply);
    if (!came.ok() && came.error().code() == Code::kTimeout) return changes;
    TRY(came);
    if (reply.compact_revision() != 0) {
      return Error(Code::kNotFound,
                   str("etcd has forgotten what changed before revision ", reply.compact_revision(),
                       ": read again, and wait from the new revision"));
    }
    if (reply.canceled()) {
      return Error(Code::kDenied, str("etcd does not let us wait for changes: ",
                                      base::one_line(reply.cancel_reason(), 256)));
    }
    for (const etcd::Event& event : reply.events()) {
      KeyValue key = TRY(to_value(event.kv()));
      changes.next = std::max(changes.next, key.modified + 1);
      changes.all.push_back({std::move(key), event.type() == etcd::Event::DELETE});
    }
  }
  return changes;
}

Result<Lease> grant_lease(Connection& connection, uint32_t ttl_s) {
  etcd::LeaseGrantRequest request;
  request.set_ttl(ttl_s);
  etcd::LeaseGrantReply reply;
  TRY(connection.call(kGrant, request, reply));
  return Lease{reply.id(), static_cast<uint32_t>(std::clamp<int64_t>(reply.ttl(), 0, UINT32_MAX))};
}

Result<Lease> keep_lease(Connection& connection, int64_t lease) {
  etcd::LeaseRequest request;
  request.set_id(lease);
  etcd::LeaseKeepAliveReply reply;
  TRY(connection.call(kKeepAlive, request, reply));
  if (reply.ttl() <= 0) return Error(Code::kNotFound, "the lease has ended");
  return Lease{lease, static_cast<uint32_t>(std::min<int64_t>(reply.ttl(), UINT32_MAX))};
}

Status revoke_lease(Connection& connection, int64_t lease) {
  etcd::LeaseRequest request;
  request.set_id(lease);
  etcd::Nothing reply;
  const Status revoked = connection.call(kRevoke, request, reply);
  if (!revoked.ok() && revoked.error().code() == Code::kNotFound) return {};
  return revoked;
}

}  // namespace fleet_client
