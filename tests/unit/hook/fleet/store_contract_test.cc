// SPDX-License-Identifier: Apache-2.0
// What every Store promises: the memory of the tests, and ipu-fleet-client with a real etcd.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

#include "base/names.h"
#include "tests/support/etcd.h"
#include "tests/support/fake_store.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using What = Compare::What;

struct Subject {
  const char* name;
  bool is_etcd;
  test::EtcdOptions etcd;
};

void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

Deadline soon() { return Deadline::after(milliseconds(10'000)); }

class StoreContractTest : public testing::TestWithParam<Subject> {
 protected:
  // One cluster for all tests of a subject, each of which has keys of its own.
  static test::Etcd& cluster() {
    static std::map<std::string, std::unique_ptr<test::Etcd>> all;
    std::unique_ptr<test::Etcd>& one = all[GetParam().name];
    if (!one) {
      one = std::make_unique<test::Etcd>(GetParam().etcd);
      EXPECT_TRUE(one->wait_until_ready());
    }
    return *one;
  }
  void SetUp() override {
    if (!GetParam().is_etcd) {
      store_ = std::make_unique<test::FakeStore>();
    } else {
      REQUIRES_ETCD();
      store_ = cluster().store();
    }
    const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = info->name();
    prefix_ = "/f/" + name.substr(0, name.find('/')) + "/";
  }
  std::string key(const std::string& name) const { return prefix_ + name; }
  // Puts NAME, whatever it is now, and returns the revision.
  int64_t put(const std::string& name, const std::string& value, int64_t lease = 0) {
    Txn txn;
    txn.puts = {{key(name), value, lease}};
    const Result<TxnResult> result = store_->commit(txn, soon());
    EXPECT_TRUE(test::succeeds(result));
    return result.ok() ? result.value().revision : 0;
  }
  Listing list() {
    Result<Listing> listing = store_->list(prefix_, soon());
    EXPECT_TRUE(test::succeeds(listing));
    return listing.ok() ? listing.value() : Listing();
  }

  std::unique_ptr<Store> store_;
  std::string prefix_;
};

TEST_P(StoreContractTest, MakesAKeyOnce) {
  Txn txn;
  txn.compares = {{key("a"), What::kCreated, 0}};
  txn.puts = {{key("a"), "first"}};
  const Result<TxnResult> first = store_->commit(txn, soon());
  ASSERT_TRUE(test::succeeds(first));
  EXPECT_TRUE(first.value().done);
  txn.puts = {{key("a"), "second"}};
  const Result<TxnResult> second = store_->commit(txn, soon());
  ASSERT_TRUE(test::succeeds(second));
  EXPECT_FALSE(second.value().done);
  const int64_t revision = first.value().revision;
  const std::vector<KeyValue> there{{key("a"), "first", revision, revision, 0}};
  EXPECT_EQ(second.value().found, there);
  EXPECT_EQ(list().keys, there);
}

TEST_P(StoreContractTest, ChangesAllKeysOrNone) {
  const int64_t a = put("a", "1");
  Txn txn;
  txn.compares = {{key("a"), What::kModified, a}, {key("b"), What::kCreated, 0}};
  txn.puts = {{key("b"), "2"}, {key("c"), "3"}};
  txn.deletes = {key("a")};
  ASSERT_TRUE(test::succeeds(store_->commit(txn, soon())));
  const Listing listing = list();
  ASSERT_EQ(listing.keys.size(), 2U);
  EXPECT_EQ(listing.keys[0].key, key("b"));
  EXPECT_EQ(listing.keys[0].created, listing.keys[1].created);
  const Result<TxnResult> again = store_->commit(txn, soon());
  ASSERT_TRUE(test::succeeds(again));
  EXPECT_FALSE(again.value().done);
  EXPECT_EQ(list().keys, listing.keys);
}

TEST_P(StoreContractTest, ChangesNothingIfAKeyIsMissing) {
  Txn txn;
  txn.compares = {{key("a"), What::kExists}};
  txn.puts = {{key("b"), "1"}};
  const Result<TxnResult> missing = store_->commit(txn, soon());
  ASSERT_TRUE(test::succeeds(missing));
  EXPECT_FALSE(missing.value().done);
  EXPECT_TRUE(missing.value().found.empty());
  put("a", "1");
  const Result<TxnResult> there = store_->commit(txn, soon());
  ASSERT_TRUE(test::succeeds(there));
  EXPECT_TRUE(there.value().done);
}

TEST_P(StoreContractTest, ChangesNothingIfAKeyIsOlderThanARevision) {
  const int64_t at = put("a", "1");
  Txn txn;
  txn.compares = {{key("a"), What::kSince, at}};
  txn.puts = {{key("b"), "1"}};
  EXPECT_TRUE(store_->commit(txn, soon()).take().done);
  txn.compares[0].revision = at + 1;
  const TxnResult older = store_->commit(txn, soon()).take();
  EXPECT_FALSE(older.done);
  ASSERT_EQ(older.found.size(), 1U);
  EXPECT_EQ(older.found[0].modified, at);
  put("a", "2");
  EXPECT_TRUE(store_->commit(txn, soon()).take().done);
  txn.compares[0].key = key("absent");
  const TxnResult absent = store_->commit(txn, soon()).take();
  EXPECT_FALSE(absent.done);
  EXPECT_TRUE(absent.found.empty());
}

TEST_P(StoreContractTest, ChangesNothingIfAKeyIsBelowAPrefix) {
  Txn txn;
  txn.compares = {{key("queue/"), What::kNoneBelow}};
  txn.puts = {{key("a"), "1"}};
  put("queue", "beside");
  put("queue0", "beside");
  const Result<TxnResult> first = store_->commit(txn, soon());
  ASSERT_TRUE(test::succeeds(first));
  EXPECT_TRUE(first.value().done);
  put("queue/1", "x");
  put("queue/2", "y");
  const Result<TxnResult> second = store_->commit(txn, soon());
  ASSERT_TRUE(test::succeeds(second));
  EXPECT_FALSE(second.value().done);
  ASSERT_EQ(second.value().found.size(), 2U);
  EXPECT_EQ(second.value().found[0].key, key("queue/1"));
  EXPECT_EQ(second.value().found[1].value, "y");
}

TEST_P(StoreContractTest, ChangesNothingIfAKeyBelowAPrefixIsNewer) {
  put("queue", "beside");
  put("queue/1", "x");
  const int64_t seen = put("queue/2", "y");
  Txn txn;
  txn.compares = {{key("queue/"), What::kNoneSince, seen}, {key("none/"), What::kNoneSince, seen}};
  txn.puts = {{key("a"), "1"}};
  put("queue0", "beside");
  const Result<TxnResult> first = store_->commit(txn, soon());
  ASSERT_TRUE(test::succeeds(first));
  EXPECT_TRUE(first.value().done);
  put("queue/1", "changed");
  const Result<TxnResult> second = store_->commit(txn, soon());
  ASSERT_TRUE(test::succeeds(second));
  EXPECT_FALSE(second.value().done);
  EXPECT_EQ(second.value().found.size(), 2U);
}

TEST_P(StoreContractTest, TellsAKeyThatWasMadeAgainFromTheOldOne) {
  const int64_t old = put("a", "1");
  Txn removal;
  removal.deletes = {key("a")};
  ASSERT_TRUE(test::succeeds(store_->commit(removal, soon())));
  put("a", "1");
  removal.compares = {{key("a"), What::kModified, old}};
  const Result<TxnResult> late = store_->commit(removal, soon());
  ASSERT_TRUE(test::succeeds(late));
  EXPECT_FALSE(late.value().done);
  EXPECT_EQ(list().keys.size(), 1U);
}

TEST_P(StoreContractTest, ListsWhatIsBelowAPrefixAlone) {
  put("b", "2");
  put("a", "with \"quotes\" and \xc3\xa9");
  Txn other;
  other.puts = {{prefix_.substr(0, prefix_.size() - 1) + "x", "beside"}};
  ASSERT_TRUE(test::succeeds(store_->commit(other, soon())));
  const Listing listing = list();
  ASSERT_EQ(listing.keys.size(), 2U);
  EXPECT_EQ(listing.keys[0].value, "with \"quotes\" and \xc3\xa9");
  EXPECT_GE(listing.revision, listing.keys[1].modified);
}

TEST_P(StoreContractTest, ListsMoreThanOnePage) {
  for (int part = 0; part < 6; ++part) {
    Txn txn;
    for (int i = 0; i < 100; ++i) txn.puts.push_back({key(str(part, "-", i)), "v"});
    ASSERT_TRUE(test::succeeds(store_->commit(txn, soon())));
  }
  EXPECT_EQ(list().keys.size(), 600U);
}

TEST_P(StoreContractTest, ListsNoMoreThanAnAnswerMayHave) {
  const std::string value(16000, 'v');
  for (int part = 0; part < 14; ++part) {
    Txn txn;
    for (int i = 0; i < 20; ++i) txn.puts.push_back({key(str(part, '/', i)), value});
    ASSERT_TRUE(test::succeeds(store_->commit(txn, soon())));
  }
  EXPECT_TRUE(test::fails(store_->list(prefix_, soon()), Code::kUnsupported, "too much"));
  EXPECT_EQ(store_->list(prefix_ + "7/", soon()).take().keys.size(), 20U);
  Txn away;  // the suite's etcd is small
  for (int part = 0; part < 14; ++part) {
    for (int i = 0; i < 20; ++i) away.deletes.push_back(key(str(part, '/', i)));
    ASSERT_TRUE(test::succeeds(store_->commit(std::exchange(away, {}), soon())));
  }
}

TEST_P(StoreContractTest, TellsChangesFromARevisionOn) {
  const int64_t first = put("a", "1");
  const int64_t second = put("a", "2");
  Txn removal;
  removal.deletes = {key("a")};
  ASSERT_TRUE(test::succeeds(store_->commit(removal, soon())));
  const Result<Changes> all = store_->wait(prefix_, first, soon());
  ASSERT_TRUE(test::succeeds(all));
  ASSERT_EQ(all.value().all.size(), 3U);
  EXPECT_EQ(all.value().all[0].key.value, "1");
  EXPECT_EQ(all.value().all[1].key.modified, second);
  EXPECT_TRUE(all.value().all[2].deleted);
  EXPECT_EQ(all.value().all[2].key.key, key("a"));
  EXPECT_GT(all.value().next, second);
}

TEST_P(StoreContractTest, WaitsForNoChangeLongerThanAllowed) {
  const int64_t revision = put("a", "1");
  const auto begin = std::chrono::steady_clock::now();
  const Result<Changes> none =
      store_->wait(prefix_, revision + 1, Deadline::after(milliseconds(1500)));
  ASSERT_TRUE(test::succeeds(none));
  EXPECT_TRUE(none.value().all.empty());
  EXPECT_EQ(none.value().next, revision + 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_P(StoreContractTest, EndsTheKeysOfALease) {
  const Result<Lease> lease = store_->grant(60, soon());
  ASSERT_TRUE(test::succeeds(lease));
  EXPECT_EQ(lease.value().ttl_s, 60U);
  put("a", "1", lease.value().id);
  EXPECT_EQ(list().keys[0].lease, lease.value().id);
  ASSERT_TRUE(test::succeeds(store_->keep(lease.value().id, soon())));
  ASSERT_TRUE(test::succeeds(store_->revoke(lease.value().id, soon())));
  EXPECT_TRUE(list().keys.empty());
  EXPECT_TRUE(test::fails(store_->keep(lease.value().id, soon()), Code::kNotFound));
  EXPECT_TRUE(test::succeeds(store_->revoke(lease.value().id, soon())));
  Txn txn;
  txn.puts = {{key("b"), "1", lease.value().id}};
  EXPECT_TRUE(test::fails(store_->commit(txn, soon()), Code::kNotFound, "lease"));
}

TEST_P(StoreContractTest, SaysThatARevisionIsForgotten) {
  const int64_t first = put("a", "1");
  put("a", "2");
  const int64_t last = put("a", "3");
  if (GetParam().is_etcd) {
    ASSERT_TRUE(cluster().control({"compact", str(last)}));
  } else {
    static_cast<test::FakeStore*>(store_.get())->compact();
  }
  EXPECT_TRUE(test::fails(store_->wait(prefix_, first, soon()), Code::kNotFound, "read again"));
}

// It is somebody else's, and only its own reader complains of.
TEST_P(StoreContractTest, AValueThatIsNoTextHidesNoOtherKey) {
  if (!GetParam().is_etcd) return;  // nobody else writes to the memory
  put("a", "1");
  ASSERT_TRUE(cluster().control({"put", key("b"), "{\n}"}));
  put("c", "3");
  const Listing listing = list();
  ASSERT_EQ(listing.keys.size(), 3U);
  EXPECT_EQ(listing.keys[0].value, "1");
  EXPECT_EQ(listing.keys[1].key, key("b"));
  EXPECT_EQ(listing.keys[1].value, "");
  EXPECT_EQ(listing.keys[2].value, "3");
  Txn txn;
  txn.compares = {{key("b"), What::kCreated, 0}};
  const Result<TxnResult> result = store_->commit(txn, soon());
  ASSERT_TRUE(test::succeeds(result));
  EXPECT_EQ(result.value().found.at(0).value, "");
  // Nobody could remove it by this name.
  ASSERT_TRUE(cluster().control({"put", key("c\nd"), "2"}));
  EXPECT_TRUE(test::fails(store_->list(prefix_, soon()), Code::kInvalid, "something else at"));
}

TEST_P(StoreContractTest, GivesAKeyToOneOfMany) {
  if (!GetParam().is_etcd) return;  // the memory is for one thread
  std::atomic<int> winners = 0;
  std::vector<std::thread> racers;
  for (int i = 0; i < 6; ++i) {
    racers.emplace_back([this, i, &winners] {
      Txn txn;
      txn.compares = {{key("a"), What::kCreated, 0}};
      txn.puts = {{key("a"), str(i)}};
      const Result<TxnResult> result = cluster().store()->commit(txn, soon());
      if (result.ok() && result.value().done) ++winners;
    });
  }
  for (std::thread& racer : racers) racer.join();
  EXPECT_EQ(winners, 1);
}

INSTANTIATE_TEST_SUITE_P(All, StoreContractTest,
                         testing::Values(Subject{"memory", false, {}},
                                         Subject{"three_members", true, {3}},
                                         Subject{"tls_and_user", true, {1, true, true}}),
                         [](const auto& subject) { return std::string(subject.param.name); });

}  // namespace
}  // namespace hook::fleet
