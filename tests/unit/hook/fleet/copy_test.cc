// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/clock.h"
#include "base/names.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/partitions.h"
#include "hook/fleet/restored.h"
#include "hook/fleet/usage.h"
#include "hook/fleet/warm.h"
#include "tests/support/fake_store.h"
#include "tests/support/lent_store.h"
#include "tests/support/outcome.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr int64_t kMadeAt = 1'800'000'000'000;

class CopyTest : public testing::Test {
 protected:
  void SetUp() override {
    id_ = join_fleet(store_, kPrefix, soon()).take();
    ASSERT_TRUE(test::succeeds(
        beat(store_, kPrefix, {"aaaaaaaa", "node", "identity", "1.0", "boot"}, kMadeAt, soon())));
    PartitionView view;
    view.name = {"pod16", "p0"};
    view.facts = {"aaaaaaaa", "10.1.0.9:8090", 8, 2};
    ASSERT_TRUE(test::succeeds(publish(fleet(), view)));
  }
  static Deadline soon() { return Deadline::after(std::chrono::milliseconds(2000)); }
  Fleet fleet() { return {store_, kPrefix, soon()}; }
  Copy copy() { return read_copy(store_, kPrefix, kMadeAt, soon()).take(); }
  Status write(const Copy& copy, Replace replace = Replace::kNo,
               OldFences old = OldFences::kRefuse) {
    return write_copy(store_, kPrefix, copy, replace, old, soon());
  }
  bool is_fenced(const std::string& host) {
    return find_fence(store_, kPrefix, host, soon()).take().has_value();
  }
  void wipe() {
    Txn txn;
    for (const KeyValue& one : store_.list("/", soon()).take().keys) txn.deletes.push_back(one.key);
    ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  }
  static std::string text(const std::string& keys, const std::string& fleet = "0011223344556677") {
    return str(R"({"version":1,"fleet":")", fleet, R"(","revision":1,"made_ms":1,"keys":)", keys,
               "}");
  }

  const std::string kPrefix = "/f/";
  test::FakeStore store_;
  std::string id_;
};

// By the time a copy comes back, a container may have what was idle when it was made.
TEST_F(CopyTest, HasNoIdlePartitionAndBringsNoneBack) {
  Warm warm{{"pod16", "10.1.0.9:8090", "", "", 4}, "f-00112233-0123456789ab", "aaaaaaaa"};
  warm.changer = "aaaaaaaa";
  const size_t before = copy().keys.size();
  ASSERT_TRUE(begin_warm(fleet(), warm, 1).take());
  Copy made = copy();
  EXPECT_EQ(made.keys.size(), before);
  made.keys.push_back({"warm/pod16/f-00112233-0123456789ab", "{}"});
  wipe();
  ASSERT_TRUE(test::succeeds(write(made)));
  EXPECT_TRUE(store_.list(warm_prefix(kPrefix), soon()).take().keys.empty());
}

TEST_F(CopyTest, HasAllButWhatLivesWithALease) {
  const Copy made = copy();
  EXPECT_EQ(made.fleet, id_);
  ASSERT_EQ(made.keys.size(), 2U);
  EXPECT_EQ(made.keys[0].key, "hosts/aaaaaaaa");
  EXPECT_EQ(made.keys[1].key, "partitions/pod16/p0/record");
  const Result<Copy> again = parse_copy(to_text(made));
  ASSERT_TRUE(test::succeeds(again));
  EXPECT_EQ(again.value(), made);
}

TEST_F(CopyTest, ComesBackWithTheFleetsIdAndUsedPartitions) {
  ASSERT_TRUE(test::succeeds(
      claim(fleet(), {"pod16", "p0"}, {"lease", "aaaaaaaa", "container", "", 0, 1, true}, {})));
  const Copy made = copy();
  wipe();
  ASSERT_TRUE(test::succeeds(write(made)));
  EXPECT_EQ(read_fleet_id(store_, kPrefix, soon()).take(), id_);
  std::vector<Error> obstacles;
  EXPECT_EQ(list_claims(fleet(), obstacles).take().size(), 1U);
  EXPECT_TRUE(find_partition(fleet(), {"pod16", "p0"}).take()->dirty);
  EXPECT_TRUE(
      test::fails(claim(fleet(), {"pod16", "p0"}, {"other", "bbbbbbbb", "c2", "", 0, 1, true}, {}),
                  Code::kBusy, "container"));
  EXPECT_FALSE(is_alive(store_, kPrefix, "aaaaaaaa", soon()).take());
}

TEST_F(CopyTest, TakesThePlaceOfOthersOnlyIfItIsTold) {
  const Copy made = copy();
  EXPECT_TRUE(test::fails(write(made), Code::kBusy, "host aaaaaaaa is alive"));
  EXPECT_TRUE(test::fails(write(made, Replace::kYes), Code::kBusy, "host aaaaaaaa is alive"));
  store_.advance(seconds(31));
  EXPECT_TRUE(test::fails(write(made), Code::kExists, "--replace"));
  Txn txn;
  txn.puts = {{"/f/partitions/pod16/newer/record", "x"}};
  ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  ASSERT_TRUE(test::succeeds(write(made, Replace::kYes)));
  EXPECT_EQ(copy().keys.size(), 2U);
}

TEST_F(CopyTest, IsNeverWrittenInsideOfAnotherFleetNorAroundOne) {
  const Copy made = copy();
  const auto write_below = [&](const std::string& prefix) {
    return write_copy(store_, prefix, made, Replace::kYes, OldFences::kRefuse, soon());
  };
  EXPECT_TRUE(test::fails(write_below("/f/in/"), Code::kInvalid, "inside of '/f/'"));
  EXPECT_TRUE(store_.list("/f/in/", soon()).take().keys.empty());
  wipe();
  ASSERT_TRUE(join_fleet(store_, "/f/in/deep/", soon()).ok());
  const auto before = store_.list("/", soon()).take().keys;
  EXPECT_TRUE(test::fails(write_below("/f/"), Code::kInvalid, "is around '/f/in/deep/'"));
  EXPECT_EQ(store_.list("/", soon()).take().keys, before);
  EXPECT_TRUE(test::succeeds(write_below("/fleet/")));
}

// What is free in the copy may be in use by now.
TEST_F(CopyTest, NobodyClaimsUntilEachHostHasToldWhatItHas) {
  ASSERT_TRUE(test::succeeds(
      beat(store_, kPrefix, {"bbbbbbbb", "other", "identity2", "1.0", "boot"}, kMadeAt, soon())));
  const Copy made = copy();
  store_.advance(seconds(31));
  ASSERT_TRUE(test::succeeds(write(made, Replace::kYes)));
  const PartitionName name{"pod16", "p0"};
  const Claim start{"l1", "bbbbbbbb", "container", "", 1};
  const FitsShare fits = [](const Shares&) { return Status(); };
  EXPECT_TRUE(test::fails(claim(fleet(), name, start, fits), Code::kBusy,
                          "host aaaaaaaa has not told since what its containers have"));
  EXPECT_TRUE(test::fails(begin_reset(fleet(), name, {"r1", "bbbbbbbb", "", "1.2.3@boot"}),
                          Code::kBusy, "has not told"));
  EXPECT_TRUE(test::fails(begin_removal(fleet(), name, "bbbbbbbb", Takes::kNone), Code::kBusy,
                          "has not told"));
  // What runs is claimed again.
  ASSERT_TRUE(test::succeeds(claim_running(fleet(), name, {"l2", "aaaaaaaa", "runs", "", 1})));
  const int64_t asked = asked_to_tell(fleet(), "aaaaaaaa").take();
  EXPECT_GT(asked, 0);
  ASSERT_TRUE(test::succeeds(has_told(fleet(), "aaaaaaaa", asked - 1)));
  EXPECT_EQ(untold_hosts(fleet()).take().size(), 2U) << "another import has asked since";
  ASSERT_TRUE(test::succeeds(has_told(fleet(), "aaaaaaaa", asked)));
  EXPECT_EQ(untold_hosts(fleet()).take(), std::vector<std::string>{"bbbbbbbb"});
  EXPECT_TRUE(test::fails(claim(fleet(), name, {"l3", "cccccccc", "third", "", 2}, fits),
                          Code::kBusy, "host bbbbbbbb"));
  EXPECT_EQ(copy().keys.size(), made.keys.size() + 1) << "a copy has no such keys";
  ASSERT_TRUE(test::succeeds(fence(fleet(), "bbbbbbbb", "aaaaaaaa", kMadeAt)));
  EXPECT_TRUE(untold_hosts(fleet()).take().empty());
  EXPECT_TRUE(test::fails(claim(fleet(), name, {"l3", "cccccccc", "third", "", 1}, fits),
                          Code::kBusy, "container runs on host aaaaaaaa"));
  EXPECT_TRUE(test::succeeds(claim(fleet(), name, {"l3", "cccccccc", "third", "", 2}, fits)));
}

// C joined after the copy was made, so only the store that is replaced knows it.
TEST_F(CopyTest, ASecondImportAsksThoseThatTheFirstWasToAsk) {
  const Copy made = copy();
  ASSERT_TRUE(test::succeeds(
      beat(store_, kPrefix, {"cccccccc", "third", "identity3", "1.0", "boot"}, kMadeAt, soon())));
  store_.advance(seconds(31));
  test::LentStore seen(store_, [&] {
    const bool is_cleared = store_.list(kPrefix + "hosts/", soon()).take().keys.empty();
    return is_cleared ? test::Call::kFails : test::Call::kAnswered;
  });
  ASSERT_FALSE(write_copy(seen, kPrefix, made, Replace::kYes, OldFences::kRefuse, soon()).ok());
  EXPECT_TRUE(test::fails(asked_to_tell(fleet(), "aaaaaaaa"), Code::kBusy, "has begun"));
  ASSERT_TRUE(test::succeeds(write(made, Replace::kYes)));
  EXPECT_GT(asked_to_tell(fleet(), "aaaaaaaa").take(), 0);
  EXPECT_TRUE(knows_host(store_, kPrefix, "cccccccc", soon()).take()) << "it can be fenced";
  EXPECT_EQ(untold_hosts(fleet()).take(), (std::vector<std::string>{"aaaaaaaa", "cccccccc"}));
}

// Its agent does not run, and what it got after the copy was made is in no copy.
TEST_F(CopyTest, AHostThatNeverBeatsIsAskedByWhatItHas) {
  ASSERT_TRUE(test::succeeds(
      claim(fleet(), {"pod16", "p0"}, {"lease", "bbbbbbbb", "container", "", 0, 1, true}, {})));
  const Copy made = copy();
  Grant grant;
  grant.pool = "pod16";
  grant.id = "later";
  grant.host = "cccccccc";
  grant.container = "container";
  grant.ipus = 4;
  ASSERT_TRUE(test::succeeds(grant_again(fleet(), grant)));
  grant.id = "odd";
  grant.host = "no/tag";
  ASSERT_TRUE(test::succeeds(grant_again(fleet(), grant)));
  store_.advance(seconds(31));
  ASSERT_TRUE(test::succeeds(write(made, Replace::kYes)));
  EXPECT_EQ(untold_hosts(fleet()).take(),
            (std::vector<std::string>{"aaaaaaaa", "bbbbbbbb", "cccccccc"}));
}

TEST_F(CopyTest, OfMoreThanOneAnswerMayHaveIsWhole) {
  const int64_t today = base::unix_millis() / 86'400'000;
  const std::string part(16000, 'v');
  for (int64_t day = today - 40; day <= today; ++day) {
    Txn txn;
    for (int host = 0; host < 8; ++host)
      txn.puts.push_back({str(kPrefix, "usage/", day_text(day), "/0000000", host), part});
    ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  }
  ASSERT_TRUE(test::fails(store_.list(kPrefix, soon()), Code::kUnsupported));
  const Copy made = copy();
  EXPECT_EQ(made.keys.size(), 41U * 8 + 2);  // a host and a partition
  store_.advance(seconds(31));
  ASSERT_TRUE(test::succeeds(write(made, Replace::kYes)));
  Copy again = copy();
  again.revision = made.revision;
  EXPECT_EQ(again.keys.size(), made.keys.size());
}

TEST_F(CopyTest, OfManyKeysIsWrittenInSeveralTransactions) {
  Copy large = copy();
  for (int i = 0; i < 1000; ++i)
    large.keys.push_back({str("partitions/pod16/p0/claims/", i), std::string(5000, 'x')});
  wipe();
  ASSERT_TRUE(test::succeeds(write(large)));
  size_t keys = 0;
  for (const char digit : std::string("0123456789"))
    keys +=
        store_.list(str(kPrefix, "partitions/pod16/p0/claims/", digit), soon()).take().keys.size();
  EXPECT_EQ(keys, 1000U);
}

TEST_F(CopyTest, KeepsTheFencesThatAreThere) {
  ASSERT_TRUE(test::succeeds(
      claim(fleet(), {"pod16", "p0"}, {"lease", "bbbbbbbb", "container", "", 0, 1, true}, {})));
  const Copy made = copy();
  store_.advance(seconds(31));
  ASSERT_TRUE(test::succeeds(fence(fleet(), "bbbbbbbb", "aaaaaaaa", kMadeAt)));
  const int64_t revision = find_fence(store_, kPrefix, "bbbbbbbb", soon()).take()->revision;
  ASSERT_TRUE(test::succeeds(write(made, Replace::kYes)));
  ASSERT_TRUE(is_fenced("bbbbbbbb"));
  EXPECT_EQ(find_fence(store_, kPrefix, "bbbbbbbb", soon()).take()->revision, revision);
  std::vector<Error> obstacles;
  EXPECT_TRUE(list_claims(fleet(), obstacles).take().empty()) << "it had a claim in the copy";
}

// The fence is not finished, and only the grant says which partition it has to remove.
TEST_F(CopyTest, KeepsWhatAFencedHostTookOfTheWarmPartitions) {
  Grant taken;
  taken.pool = "pod16";
  taken.id = "lease";
  taken.host = "bbbbbbbb";
  taken.container = "container";
  taken.partition = "f-00112233-0123456789ab";
  taken.ipus = 4;
  ASSERT_TRUE(test::succeeds(grant_again(fleet(), taken)));
  const Copy made = copy();
  store_.advance(seconds(31));
  ASSERT_TRUE(
      test::succeeds(begin_fence(fleet(), "bbbbbbbb", "aaaaaaaa", kMadeAt, IfAlive::kFence)));
  for (const Copy& one : {made, Copy{made.fleet, made.revision, made.made_ms, {}}}) {
    ASSERT_TRUE(test::succeeds(write(one, Replace::kYes)));
    EXPECT_TRUE(find_grant(fleet(), "pod16", "lease").take().has_value());
  }
}

// The host may have been forgotten since, and a fence would end its containers.
TEST_F(CopyTest, BringsAFenceBackOnlyIfItIsTold) {
  store_.advance(seconds(31));
  ASSERT_TRUE(test::succeeds(fence(fleet(), "bbbbbbbb", "aaaaaaaa", kMadeAt)));
  const Copy made = copy();
  ASSERT_TRUE(forget_fence(fleet(), "bbbbbbbb").take());
  EXPECT_TRUE(test::fails(write(made, Replace::kYes), Code::kInvalid, "hosts bbbbbbbb"));
  EXPECT_EQ(read_fleet_id(store_, kPrefix, soon()).take(), id_);
  ASSERT_TRUE(test::succeeds(write(made, Replace::kYes, OldFences::kDrop)));
  EXPECT_FALSE(is_fenced("bbbbbbbb"));
  ASSERT_TRUE(test::succeeds(write(made, Replace::kYes, OldFences::kBring)));
  EXPECT_TRUE(is_fenced("bbbbbbbb"));
}

TEST_F(CopyTest, IsOfTheFleetThatThisHostHasJoined) {
  EXPECT_TRUE(test::succeeds(check_copy(copy(), "")));
  EXPECT_TRUE(test::succeeds(check_copy(copy(), id_)));
  EXPECT_TRUE(test::fails(check_copy(copy(), "0011223344556677"), Code::kInvalid, "fleet leave"));
}

// Another import, or a join, at each call of an import.
TEST_F(CopyTest, NeverMixesWithAnotherImport) {
  Copy made = copy();
  for (int i = 0; i < 100; ++i)
    made.keys.push_back({str("partitions/pod16/p0/claims/", i), "of one"});
  Copy other = made;
  for (KeyValue& one : other.keys)
    if (one.value == "of one") one.value = "of another";
  store_.advance(seconds(31));
  for (int at = 0; at < 12; ++at) {
    SCOPED_TRACE(at);
    int calls = 0;
    test::LentStore seen(store_, [&] {
      if (calls++ == at) {
        (void)join_fleet(store_, kPrefix, soon());
        EXPECT_TRUE(test::succeeds(write(other, Replace::kYes)));
      }
      return test::Call::kAnswered;
    });
    const Status first = write_copy(seen, kPrefix, made, Replace::kYes, OldFences::kRefuse, soon());
    std::set<std::string> values;
    for (const KeyValue& one : copy().keys)
      if (one.value.starts_with("of ")) values.insert(one.value);
    ASSERT_EQ(values.size(), 1U);
    EXPECT_EQ(*values.begin(), first.ok() ? "of one" : "of another");
    EXPECT_EQ(read_fleet_id(store_, kPrefix, soon()).take(), id_);
  }
}

TEST_F(CopyTest, IsNotJoinedBeforeItsEnd) {
  const Copy made = copy();
  wipe();
  test::LentStore seen(store_, [&] {
    const bool has_begun = !store_.list(kPrefix, soon()).take().keys.empty();
    return has_begun ? test::Call::kFails : test::Call::kAnswered;
  });
  EXPECT_FALSE(write_copy(seen, kPrefix, made, Replace::kNo, OldFences::kRefuse, soon()).ok());
  EXPECT_TRUE(test::fails(join_fleet(store_, kPrefix, soon()), Code::kBusy, "--replace"));
  EXPECT_TRUE(test::fails(write(made), Code::kBusy, "--replace"));
  ASSERT_TRUE(test::succeeds(write(made, Replace::kYes)));
  EXPECT_EQ(join_fleet(store_, kPrefix, soon()).take(), id_);
}

TEST_F(CopyTest, OfNobodyIsNone) {
  wipe();
  EXPECT_TRUE(test::fails(read_copy(store_, kPrefix, kMadeAt, soon()), Code::kNotFound));
}

TEST(CopyTextTest, RefusesWhatNoFleetHas) {
  const auto of = [](const std::string& keys) {
    return str(R"({"version":1,"fleet":"0011223344556677","revision":1,"made_ms":1,"keys":)", keys,
               "}");
  };
  ASSERT_TRUE(test::succeeds(parse_copy(of("[]"))));
  EXPECT_TRUE(test::fails(parse_copy(R"({"version":2})"), Code::kUnsupported, "newer release"));
  for (const std::string& text :
       {std::string(),
        std::string("x"),
        std::string("[]"),
        std::string("{}"),
        of("{}"),
        of("[1]"),
        of(R"([{"key":"a"}])"),
        of(R"([{"key":"meta","value":"x"}])"),
        of(R"([{"key":"alive/aaaaaaaa","value":"x"}])"),
        of(R"([{"key":"","value":"x"}])"),
        of(R"([{"key":"/a","value":"x"}])"),
        of(R"([{"key":"a/","value":"x"}])"),
        of(R"([{"key":"a//b","value":"x"}])"),
        of(R"([{"key":"a b","value":"x"}])"),
        of(R"([{"key":"a\u0000","value":"x"}])"),
        of(R"([{"key":"a","value":"x\n"}])"),
        of(R"([{"key":"a","value":"x"},{"key":"a","value":"x"}])"),
        of(str(R"([{"key":"a","value":")", std::string(kMaxValue + 1, 'x'), R"("}])")),
        of(str(R"([{"key":")", std::string(kMaxKey, 'a'), R"(","value":"x"}])")),
        std::string(R"({"version":1,"fleet":"../x","revision":1,"made_ms":1,"keys":[]})"),
        std::string(kMaxCopy + 1, ' ')}) {
    EXPECT_TRUE(test::fails(parse_copy(text), Code::kInvalid)) << text.substr(0, 200);
  }
}

}  // namespace
}  // namespace hook::fleet
