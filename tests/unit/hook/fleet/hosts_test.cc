// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/hosts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "base/names.h"
#include "hook/fleet/partitions.h"
#include "hook/fleet/suspects.h"
#include "tests/support/fake_store.h"
#include "tests/support/lent_store.h"
#include "tests/support/outcome.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kPrefix = "/f/";
constexpr int64_t kNow = 1'800'000'000'000;

class HostsTest : public testing::Test {
 protected:
  static Deadline soon() { return Deadline::after(milliseconds(1000)); }
  static HostFacts host(const std::string& tag, const std::string& boot = "boot1") {
    return {tag, "node-" + tag, "identity-" + tag, "1.0", boot};
  }
  Status beat_at(const HostFacts& one, int64_t now) {
    return beat(store_, kPrefix, one, now, soon());
  }
  std::vector<HostState> hosts() {
    obstacles_.clear();
    return list_hosts(store_, kPrefix, soon(), obstacles_).take();
  }
  void put(const std::string& key, const std::string& value) {
    Txn txn;
    txn.puts = {{key, value}};
    ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  }

  test::FakeStore store_;
  const std::string kPrefix_ = kPrefix;
  std::vector<Error> obstacles_;
};

TEST_F(HostsTest, MakesTheFleetOnce) {
  EXPECT_TRUE(test::fails(read_fleet_id(store_, kPrefix, soon()), Code::kNotFound, "ipuctl"));
  const Result<std::string> id = join_fleet(store_, kPrefix, soon());
  ASSERT_TRUE(test::succeeds(id));
  EXPECT_EQ(id.value().size(), 16U);
  EXPECT_EQ(join_fleet(store_, kPrefix, soon()).take(), id.value());
  EXPECT_EQ(read_fleet_id(store_, kPrefix, soon()).take(), id.value());
  EXPECT_NE(join_fleet(store_, "/other/", soon()).take(), id.value());
}

// Another host makes the fleet before each of the calls of this one.
TEST_F(HostsTest, JoinsTheFleetThatAnotherHostMakesInTheSameMoment) {
  for (int at = 0; at < 4; ++at) {
    const std::string prefix = str("/at", at, "/");
    int calls = 0;
    test::LentStore lent(store_, [&] {
      if (calls++ != at) return test::Call::kAnswered;
      EXPECT_TRUE(test::succeeds(join_fleet(store_, prefix, soon())));
      return test::Call::kAnswered;
    });
    const Result<std::string> id = join_fleet(lent, prefix, soon());
    ASSERT_TRUE(test::succeeds(id)) << at;
    EXPECT_EQ(read_fleet_id(store_, prefix, soon()).take(), id.value()) << at;
    EXPECT_GT(calls, at);
  }
}

TEST_F(HostsTest, RefusesANewerStore) {
  put("/f/meta", R"({"version":2,"id":"0011"})");
  EXPECT_TRUE(test::fails(join_fleet(store_, kPrefix, soon()), Code::kUnsupported, "version 2"));
}

TEST_F(HostsTest, RefusesAPrefixOfOthers) {
  put("/f/registry/pods", "k8s");
  EXPECT_TRUE(test::fails(join_fleet(store_, kPrefix, soon()), Code::kInvalid, "registry"));
  for (const char* meta : {"", "x", "{}", R"({"version":"1","id":"a"})", R"({"version":1})"}) {
    put("/f/meta", meta);
    EXPECT_TRUE(test::fails(join_fleet(store_, kPrefix, soon()), Code::kInvalid, "prefix")) << meta;
  }
}

TEST_F(HostsTest, RefusesAPrefixInsideOfThatOfAnotherFleet) {
  ASSERT_TRUE(test::succeeds(join_fleet(store_, kPrefix, soon())));
  for (const char* inner : {"/f/in/", "/f/grants/", "/f/in/deep/"}) {
    EXPECT_TRUE(test::fails(join_fleet(store_, inner, soon()), Code::kInvalid, "inside of '/f/'"))
        << inner;
  }
  put("/f/meta", R"({"version":2,"id":"0011"})");
  EXPECT_TRUE(test::fails(join_fleet(store_, "/f/in/", soon()), Code::kInvalid, "inside of '/f/'"));
  EXPECT_TRUE(test::succeeds(join_fleet(store_, "/fleet/", soon())));
  put("/others/meta", "something of others");
  EXPECT_TRUE(test::succeeds(join_fleet(store_, "/others/f/", soon())));
}

TEST_F(HostsTest, ShowsASilentHostAsSuspectAndNeverAsAbsent) {
  ASSERT_TRUE(test::succeeds(beat_at(host("aaaaaaaa"), kNow)));
  ASSERT_TRUE(test::succeeds(beat_at(host("bbbbbbbb"), kNow)));
  for (int i = 1; i <= 5; ++i) {
    store_.advance(seconds(10));
    ASSERT_TRUE(test::succeeds(beat_at(host("aaaaaaaa"), kNow + i * 10'000)));
  }
  const std::vector<HostState> all = hosts();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].host, host("aaaaaaaa"));
  EXPECT_TRUE(all[0].is_alive);
  EXPECT_EQ(all[0].since_ms, kNow);
  EXPECT_EQ(all[0].seen_ms, kNow + 50'000);
  EXPECT_FALSE(all[1].is_alive);
  EXPECT_EQ(all[1].seen_ms, kNow);
  ASSERT_TRUE(test::succeeds(beat_at(host("bbbbbbbb"), kNow + 60'000)));
  EXPECT_TRUE(hosts()[1].is_alive);
  EXPECT_EQ(hosts()[1].since_ms, kNow + 60'000);
}

TEST_F(HostsTest, TakesOneHostsNextBootForItself) {
  ASSERT_TRUE(test::succeeds(beat_at(host("aaaaaaaa", "boot1"), kNow)));
  ASSERT_TRUE(test::succeeds(beat_at(host("aaaaaaaa", "boot2"), kNow + 5'000)));
  ASSERT_TRUE(test::succeeds(beat_at(host("aaaaaaaa", "boot2"), kNow + 15'000)));
  EXPECT_EQ(hosts()[0].since_ms, kNow + 5'000);
}

TEST_F(HostsTest, NoticesTwoHostsWithOneTag) {
  const HostFacts first = host("aaaaaaaa", "boot1");
  HostFacts other = host("aaaaaaaa", "boot2");
  ASSERT_TRUE(test::succeeds(beat_at(first, kNow)));
  other.identity = "another";
  EXPECT_TRUE(test::fails(beat_at(other, kNow), Code::kExists, "tag aaaaaaaa"));
  // A clone shares all that identifies it.
  other.identity = first.identity;
  ASSERT_TRUE(test::succeeds(beat_at(other, kNow)));
  EXPECT_TRUE(test::fails(beat_at(first, kNow), Code::kExists, "host] id"));
  // A repaired host takes the place of one that is not alive.
  store_.advance(seconds(31));
  other.identity = "another";
  EXPECT_TRUE(test::succeeds(beat_at(other, kNow)));
}

TEST_F(HostsTest, IsNotFencedWhileATwinLives) {
  const HostFacts first = host("aaaaaaaa", "boot1");
  ASSERT_TRUE(test::succeeds(beat_at(first, kNow)));
  ASSERT_TRUE(test::succeeds(beat_at(host("aaaaaaaa", "clone"), kNow)));
  store_.advance(seconds(20));
  EXPECT_TRUE(test::fails(beat_at(first, kNow), Code::kExists, "host] id"));
  store_.advance(seconds(20));  // the clone is gone
  EXPECT_TRUE(hosts()[0].is_alive);
  EXPECT_TRUE(is_alive(store_, kPrefix, "aaaaaaaa", soon()).take());
  const Fleet fleet{store_, kPrefix, soon()};
  EXPECT_TRUE(
      test::fails(begin_fence(fleet, "aaaaaaaa", "bbbbbbbb", kNow, IfAlive::kRefuse), Code::kBusy));
  EXPECT_TRUE(test::fails(take_turn(store_, kPrefix, hosts()[0], 0, "bbbbbbbb", kNow, soon()),
                          Code::kBusy));
  store_.advance(seconds(20));
  EXPECT_FALSE(hosts()[0].is_alive);
  EXPECT_TRUE(test::succeeds(begin_fence(fleet, "aaaaaaaa", "bbbbbbbb", kNow, IfAlive::kRefuse)));
}

TEST_F(HostsTest, RefusesARecordOfOthersAlone) {
  ASSERT_TRUE(test::succeeds(beat_at(host("bbbbbbbb"), kNow)));
  put("/f/hosts/aaaaaaaa", "{\"name\":1}");
  EXPECT_TRUE(test::fails(beat_at(host("aaaaaaaa"), kNow), Code::kInvalid, "hosts/aaaaaaaa"));
  EXPECT_EQ(hosts().size(), 1U);
  ASSERT_EQ(obstacles_.size(), 1U);
  EXPECT_EQ(obstacles_[0].code(), Code::kInvalid);
  EXPECT_TRUE(is_alive(store_, kPrefix, "bbbbbbbb", soon()).take());
  EXPECT_FALSE(is_alive(store_, kPrefix, "aaaaaaaa", soon()).take());
}

TEST_F(HostsTest, NoticesClocksThatDiffer) {
  HostState state{host("aaaaaaaa"), true, kNow, kNow};
  EXPECT_TRUE(clock_troubles({state}, kNow + 40'000).empty());
  const std::vector<std::string> behind = clock_troubles({state}, kNow + 7'200'000);
  ASSERT_EQ(behind.size(), 1U);
  EXPECT_NE(behind[0].find("7200 s behind"), std::string::npos) << behind[0];
  EXPECT_EQ(clock_troubles({state}, kNow - 7'200'000).size(), 1U);
  state.is_alive = false;
  EXPECT_TRUE(clock_troubles({state}, kNow + 7'200'000).empty());
}

TEST_F(HostsTest, ToldWhoFencedAHostAndWhen) {
  EXPECT_FALSE(find_fence(store_, kPrefix, "aaaaaaaa", soon()).take());
  ASSERT_TRUE(test::succeeds(fence({store_, kPrefix_, soon()}, "aaaaaaaa", "bbbbbbbb", kNow)));
  const auto first = find_fence(store_, kPrefix, "aaaaaaaa", soon()).take();
  EXPECT_EQ(first->by, "bbbbbbbb");
  // The same fence, again.
  ASSERT_TRUE(test::succeeds(fence({store_, kPrefix_, soon()}, "aaaaaaaa", "cccccccc", kNow)));
  EXPECT_EQ(find_fence(store_, kPrefix, "aaaaaaaa", soon()).take()->revision, first->revision);
  ASSERT_TRUE(forget_fence({store_, kPrefix_, soon()}, "aaaaaaaa").take());
  ASSERT_TRUE(test::succeeds(fence({store_, kPrefix_, soon()}, "aaaaaaaa", "bbbbbbbb", kNow)));
  EXPECT_GT(find_fence(store_, kPrefix, "aaaaaaaa", soon()).take()->revision, first->revision);
  for (const char* odd : {"", "x", "{}", R"({"by":7})", R"({"by":"a b"})"}) {
    put("/f/fences/aaaaaaaa", odd);
    EXPECT_EQ(find_fence(store_, kPrefix, "aaaaaaaa", soon()).take()->by, "") << odd;
  }
}

TEST_F(HostsTest, KnowsAHostByWhateverIsOfIt) {
  const auto knows = [&] { return knows_host(store_, kPrefix, "aaaaaaaa", soon()).take(); };
  put("/f/hosts/aaaaaaaabb", "{}");
  put("/f/grants/pod/b-1", R"({"host": "bbbbbbbb", "tenant": "aaaaaaaa"})");
  EXPECT_FALSE(knows());
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"/f/hosts/aaaaaaaa", "odd"},
           {"/f/fences/aaaaaaaa", "odd"},
           {"/f/grants/pod/a-1", R"({"host": "aaaaaaaa"})"},
           {"/f/queue/pod/*/a-1", R"({"host": "aaaaaaaa"})"},
           {"/f/partitions/pod/p0/claims/1", R"({"host": "aaaaaaaa"})"},
           {"/f/partitions/pod/p0/record", R"({"maker": "b", "changer": "aaaaaaaa"})"},
           {"/f/warm/pod/f-1", R"({"maker": "b", "changer": "aaaaaaaa"})"}}) {
    put(key, value);
    EXPECT_TRUE(knows()) << key;
    Txn txn;
    txn.deletes = {key};
    ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
    EXPECT_FALSE(knows()) << key;
  }
}

TEST_F(HostsTest, WaitsForAFenceOfTheHostAlone) {
  const auto is_fenced = [&](Store& store, milliseconds time) {
    return wait_for_fence(store, kPrefix, "aaaaaaaa", Deadline::after(time)).take();
  };
  put("/f/fences/bbbbbbbb", "{}");
  EXPECT_FALSE(is_fenced(store_, milliseconds(20)));
  int calls = 0;
  test::LentStore lent(store_, [&] {
    if (++calls == 2) put("/f/fences/aaaaaaaa", "{}");  // after the look, before the wait
    return test::Call::kAnswered;
  });
  EXPECT_TRUE(is_fenced(lent, seconds(60)));
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(is_fenced(store_, seconds(60)));  // it was before
}

TEST_F(HostsTest, TellsHostsThatCallAPoolOtherwise) {
  HostFacts me = host("aaaaaaaa");
  me.pools = {{"pod16", "10.1.0.9:8090"}};
  const auto troubles = [&](const std::map<std::string, std::string>& pools) {
    HostFacts other = host("bbbbbbbb");
    other.pools = pools;
    EXPECT_TRUE(test::succeeds(beat_at(me, kNow)));
    EXPECT_TRUE(test::succeeds(beat_at(other, kNow)));
    return pool_troubles(hosts(), me);
  };
  EXPECT_TRUE(troubles({}).empty());
  EXPECT_TRUE(troubles({{"pod16", "10.1.0.9:8090"}}).empty());
  EXPECT_TRUE(troubles({{"pod16", "10.1.0.9:8090"}, {"pod64", "10.1.0.10:8090"}}).empty());
  const std::vector<std::string> other_name = troubles({{"main", "10.1.0.9:8090"}});
  ASSERT_EQ(other_name.size(), 1U);
  EXPECT_NE(other_name[0].find("'main', and this host 'pod16'"), std::string::npos);
  const std::vector<std::string> other_controller = troubles({{"pod16", "10.1.0.10:8090"}});
  ASSERT_EQ(other_controller.size(), 1U);
  EXPECT_NE(other_controller[0].find("10.1.0.10:8090"), std::string::npos);
  store_.advance(seconds(31));
  EXPECT_TRUE(pool_troubles(hosts(), me).empty());
}

}  // namespace
}  // namespace hook::fleet
