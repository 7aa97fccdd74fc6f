// SPDX-License-Identifier: Apache-2.0
// What the books of a fleet cost, by a real etcd and ipu-fleet-client: how many grants a second
// hosts make together, and what a grant, or a claim of a named partition's GCD, costs beside many
// that are there.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/partitions.h"
#include "tests/bench/statistics.h"
#include "tests/support/etcd.h"

namespace {

using namespace base::names;
using hook::fleet::Fleet;
using hook::fleet::Grant;
using hook::fleet::Resource;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kRounds = 31;
constexpr size_t kTogether = 192;  // grants of all hosts of one row

const Resource kPool{"pod256"};

class Host {
 public:
  Host(const test::Etcd& etcd, std::string tag) : store_(etcd.store()), tag_(std::move(tag)) {}

  Status join() {
    id_ = TRY(hook::fleet::join_fleet(*store_, kPrefix, soon()));
    return {};
  }
  [[nodiscard]] Fleet fleet() const { return {*store_, kPrefix, soon(), id_}; }
  [[nodiscard]] Grant grant(size_t number, const std::string& tenant = "") const {
    Grant grant;
    grant.pool = kPool.pool;
    grant.id = str("c-", tag_, "-", number);
    grant.host = tag_;
    grant.container = str("container", number);
    grant.tenant = tenant;
    grant.ipus = 1;
    return grant;
  }
  Status grant_and_give_back(size_t number) const {
    const Grant one = grant(number);
    if (!TRY(grant_at_once(fleet(), kPool, one)))
      return Error(Code::kInternal, "the grant was not made");
    TRY(ungrant(fleet(), one.pool, one.id));
    return {};
  }
  [[nodiscard]] const std::unique_ptr<hook::fleet::Store>& store() const { return store_; }

  static base::Deadline soon() { return base::Deadline::after(milliseconds(20'000)); }
  static inline const std::string kPrefix = "/bench/";

 private:
  std::unique_ptr<hook::fleet::Store> store_;
  std::string tag_;
  std::string id_;
};

Status measure_rate(const std::vector<Host>& hosts) {
  std::vector<std::thread> threads;
  std::atomic<bool> failed = false;
  const size_t each = kTogether / hosts.size();
  const auto from = steady_clock::now();
  for (const Host& host : hosts) {
    threads.emplace_back([&host, &failed, each] {
      for (size_t i = 0; i < each && !failed; ++i) {
        if (!host.grant_and_give_back(i).ok()) failed = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> took = steady_clock::now() - from;
  if (failed) return Error(Code::kInternal, "a grant was refused");
  (void)std::printf("%8zu hosts  %8.0f grants/s, each with its end\n", hosts.size(),
                    static_cast<double>(each * hosts.size()) / took.count());
  return {};
}

// Makes the grants FROM to TO, many in each transaction.
Status fill(const Host& host, size_t from, size_t to) {
  for (size_t i = from; i < to;) {
    hook::fleet::Txn txn;
    for (; i < to && txn.puts.size() < hook::fleet::kMaxOperations; ++i) {
      txn.puts.push_back(
          {str(hook::fleet::grants_prefix(Host::kPrefix), kPool.pool, "/c-filled-", i),
           str(R"({"host":"0000aaaa","container":"filled)", i,
               R"(","reservation":"","tenant":"others","ipus":1,"since_ms":1})")});
    }
    TRY(host.store()->commit(txn, Host::soon()));
  }
  return {};
}

template <typename Work>
Result<double> median_ms(const Work& work) {
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const auto from = steady_clock::now();
    TRY(work(static_cast<size_t>(round)));
    const std::chrono::duration<double, std::milli> took = steady_clock::now() - from;
    times.push_back(took.count());
  }
  return bench::percentile(times, 50);
}

Status grant_in_share(const Host& host, size_t number) {
  const hook::fleet::Shares shares = TRY(read_shares(host.fleet()));
  const Grant one = host.grant(number, "own");
  if (!TRY(grant_as_seen(host.fleet(), kPool, one, nullptr, shares)))
    return Error(Code::kInternal, "the grant was not made");
  TRY(ungrant(host.fleet(), one.pool, one.id));
  return {};
}

Status measure_growth(const Host& host) {
  (void)std::printf("%8s         %12s %22s\n", "", "no tenants", "a tenant has a share");
  size_t there = 0;
  for (const size_t grants : {0U, 100U, 1000U, 10'000U}) {
    TRY(fill(host, there, grants));
    there = grants;
    const double plain = TRY(median_ms([&](size_t n) { return host.grant_and_give_back(n); }));
    hook::config::TenantConfig share;
    share.name = "own";
    share.limit = 16;
    if (!TRY(set_tenant(host.fleet(), share, 0))) return Error(Code::kInternal, "no share was set");
    const double shared = TRY(median_ms([&](size_t n) { return grant_in_share(host, n); }));
    TRY(remove_tenant(host.fleet(), "own"));
    (void)std::printf("%8zu grants  %9.2f ms %19.2f ms\n", grants, plain, shared);
  }
  return {};
}

hook::fleet::Claim claim_of(size_t number, uint32_t gcd) {
  hook::fleet::Claim claim;
  claim.id = str("claim-", number);
  claim.host = "0000aaaa";
  claim.container = str("container", number);
  claim.gcd = gcd;
  claim.uses = true;
  return claim;
}

// Makes partitions known that have all claims from FROM to TO.
Status fill_claims(const Host& host, size_t from, size_t to) {
  constexpr uint32_t kGcds = 16;
  for (size_t i = from; i < to;) {
    hook::fleet::PartitionView view;
    view.name = {kPool.pool, str("filled-", i)};
    view.facts.maker = "0000aaaa";
    view.facts.source = "10.1.3.101:8090";
    view.facts.ipus = view.facts.gcds = kGcds;
    for (uint32_t gcd = 0; gcd < kGcds && i < to; ++gcd, ++i)
      view.claims.push_back(claim_of(i, gcd));
    TRY(publish(host.fleet(), view));
  }
  return {};
}

Status claim_and_unclaim(const Host& host, size_t number) {
  const hook::fleet::PartitionName name{kPool.pool, "own"};
  hook::fleet::Claim one = claim_of(number, 0);
  one.id = str("own-", number);
  one.tenant = "own";
  TRY(claim(host.fleet(), name, one, [](const hook::fleet::Shares&) { return Status(); }));
  return unclaim(host.fleet(), name, one.id);
}

Status measure_claims(const Host& host) {
  hook::fleet::PartitionView own;
  own.name = {kPool.pool, "own"};
  own.facts.maker = "0000aaaa";
  own.facts.source = "10.1.3.101:8090";
  own.facts.ipus = 4;
  own.facts.reconfigurable = true;  // a claim has no duty to reset it
  TRY(publish(host.fleet(), own));
  (void)std::printf("%8s         %12s %22s\n", "", "no tenants", "a tenant has a share");
  size_t there = 0;
  for (const size_t claims : {0U, 100U, 1000U, 10'000U}) {
    TRY(fill_claims(host, there, claims));
    there = claims;
    const double plain = TRY(median_ms([&](size_t n) { return claim_and_unclaim(host, n); }));
    hook::config::TenantConfig share;
    share.name = "own";
    share.limit = 16;
    if (!TRY(set_tenant(host.fleet(), share, 0))) return Error(Code::kInternal, "no share was set");
    const double shared = TRY(median_ms([&](size_t n) { return claim_and_unclaim(host, n); }));
    TRY(remove_tenant(host.fleet(), "own"));
    (void)std::printf("%8zu claims  %9.2f ms %19.2f ms\n", claims, plain, shared);
  }
  return {};
}

Status measure() {
  test::Etcd etcd;
  if (!etcd.wait_until_ready()) return Error(Code::kUnavailable, "etcd does not start");
  (void)std::printf("the books of a fleet, by one member of etcd\n");
  std::vector<Host> hosts;
  for (const size_t count : {1U, 4U, 16U}) {
    while (hosts.size() < count) {
      hosts.emplace_back(etcd, str("host", hosts.size()));
      TRY(hosts.back().join());
    }
    TRY(measure_rate(hosts));
  }
  TRY(measure_growth(hosts.front()));
  // Grants count for a share, too.
  test::Etcd without_grants;
  if (!without_grants.wait_until_ready()) return Error(Code::kUnavailable, "etcd does not start");
  Host host(without_grants, "host");
  TRY(host.join());
  return measure_claims(host);
}

}  // namespace

int main() {
  if (!test::Etcd::is_installed()) {
    (void)std::puts("the books of a fleet: left out, because there is no etcd");
    return 0;
  }
  const Status done = measure();
  if (done.ok()) return 0;
  (void)std::fprintf(stderr, "books: %s\n", done.error().message().c_str());
  return 1;
}
