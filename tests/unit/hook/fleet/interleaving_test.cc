// SPDX-License-Identifier: Apache-2.0
// All orders in which hosts may ask the store for GCDs of one partition, with calls that fail,
// whose answers are lost, or after which a host does no more. What the product's functions do is
// compared with a world that knows who uses what.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/names.h"
#include "hook/fleet/claim_addresses.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/partitions.h"
#include "tests/support/fake_store.h"
#include "tests/support/outcome.h"

namespace hook::fleet {
namespace {

using namespace base::names;

const PartitionName kPartition{"pod64", "p0"};
const std::string kFleetPrefix = "/f/";

// Lets one actor at a time take one step, in the order that CHOOSE says.
class Turns {
 public:
  using Choose = std::function<size_t(const std::vector<size_t>& ready)>;
  explicit Turns(size_t actors) : states_(actors, State::kRuns) {}

  // Called by an actor before each step.
  void wait(size_t actor) {
    std::unique_lock lock(mutex_);
    states_[actor] = State::kWaits;
    changed_.notify_all();
    changed_.wait(lock, [&] { return turn_ == actor; });
    turn_ = kNobody;
    states_[actor] = State::kRuns;
  }
  void finish(size_t actor) {
    const std::lock_guard lock(mutex_);
    states_[actor] = State::kDone;
    changed_.notify_all();
  }
  void run(const Choose& choose) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] {
        return turn_ == kNobody && std::none_of(states_.begin(), states_.end(),
                                                [](State state) { return state == State::kRuns; });
      });
      std::vector<size_t> ready;
      for (size_t i = 0; i < states_.size(); ++i)
        if (states_[i] == State::kWaits) ready.push_back(i);
      if (ready.empty()) return;
      turn_ = ready[choose(ready)];
      changed_.notify_all();
    }
  }

 private:
  enum class State { kRuns, kWaits, kDone };
  static constexpr size_t kNobody = SIZE_MAX;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<State> states_;
  size_t turn_ = kNobody;
};

// Who uses what by the store's claims, and what is wrong with that. A claim counts from its
// transaction on, also if the answer is lost, until it is removed.
class World {
 public:
  explicit World(bool shared) : shared_(shared) {}
  void use(size_t actor, uint32_t gcd) {
    if (users_.contains(actor)) return;
    for (const auto& [other, used] : users_)
      if (!shared_ && other != actor && used == gcd) wrong_.insert("two use one GCD");
    if (users_.empty() && dirty_) wrong_.insert("one uses what another has left");
    users_[actor] = gcd;
    dirty_ = true;
  }
  void leave(size_t actor) {
    users_.erase(actor);
    addressed_.erase(actor);
  }
  // ACTOR gives its container the address of the GCD, until it leaves.
  void address(size_t actor, uint32_t gcd) {
    for (const auto& [other, has] : addressed_)
      if (other != actor && has == gcd) wrong_.insert("two have one address");
    addressed_[actor] = gcd;
    ++given_;
  }
  [[nodiscard]] size_t given() const { return given_; }
  void reset() {
    if (!users_.empty()) wrong_.insert("a reset under a container");
    dirty_ = false;
  }
  void soil() { dirty_ = true; }
  [[nodiscard]] const std::set<std::string>& wrong() const { return wrong_; }

 private:
  const bool shared_;
  std::map<size_t, uint32_t> users_;
  std::map<size_t, uint32_t> addressed_;
  size_t given_ = 0;  // addresses
  bool dirty_ = false;
  std::set<std::string> wrong_;
};

enum class Fate { kAnswered, kFails, kAnswerIsLost };
// A mistake of the product, made by leaving out compares.
enum class Mistake { kNone, kIgnoresTheRecord, kIgnoresTheWitness };

struct Case {
  std::vector<uint32_t> gcds;  // which each actor wants
  bool dirty = true;           // others have had the partition
  Mistake mistake = Mistake::kNone;
  size_t bad_actor = SIZE_MAX;
  int bad_call = -1;
  Fate fate = Fate::kAnswered;
  bool shared = false;  // several may have one GCD
};

// The store as one actor sees it: each call is a step.
class ActorsStore final : public Store {
 public:
  ActorsStore(test::FakeStore& fake, Turns& turns, World& world, size_t actor, const Case& one)
      : fake_(fake), turns_(turns), world_(world), actor_(actor), case_(one) {}

  Result<TxnResult> commit(const Txn& txn, const Deadline& deadline) override {
    Txn sent = txn;
    const std::string ignored = case_.mistake == Mistake::kIgnoresTheRecord    ? "/record"
                                : case_.mistake == Mistake::kIgnoresTheWitness ? "/claims/"
                                                                               : "none";
    std::erase_if(sent.compares,
                  [&](const Compare& one) { return one.key.find(ignored) != std::string::npos; });
    return step([&] {
      Result<TxnResult> result = fake_.commit(sent, deadline);
      if (result.value().done) note(txn);
      return result;
    });
  }
  Result<Listing> list(const std::string& prefix, const Deadline& deadline) override {
    return step([&] { return fake_.list(prefix, deadline); });
  }
  Result<Changes> wait(const std::string&, int64_t, const Deadline&) override { return Changes(); }
  Result<Lease> grant(uint32_t, const Deadline&) override { return Lease(); }
  Result<Lease> keep(int64_t, const Deadline&) override { return Lease(); }
  Status revoke(int64_t, const Deadline&) override { return {}; }
  Result<std::vector<Member>> members(const Deadline&) override { return std::vector<Member>(); }

 private:
  void note(const Txn& txn) {
    if (!txn.deletes.empty()) world_.leave(actor_);
    for (const Put& one : txn.puts)
      if (one.value.find("\"uses\":true") != std::string::npos)
        world_.use(actor_, case_.gcds[actor_]);
  }
  template <typename Call>
  auto step(const Call& call) -> decltype(call()) {
    turns_.wait(actor_);
    const bool is_bad = actor_ == case_.bad_actor && calls_++ == case_.bad_call;
    const Fate fate = is_bad ? case_.fate : Fate::kAnswered;
    if (fate == Fate::kFails) return Error(Code::kUnavailable, "fleet: no member");
    auto answer = call();
    if (fate == Fate::kAnswerIsLost) return Error(Code::kTimeout, "fleet: no answer");
    return answer;
  }
  test::FakeStore& fake_;
  Turns& turns_;
  World& world_;
  size_t actor_;
  const Case& case_;
  int calls_ = 0;
};

// One start and its end, as grant.cc, create.cc and the release make them.
void live(const Fleet& fleet, Turns& turns, World& world, size_t actor, uint32_t gcd, bool shared) {
  Claim wanted;
  wanted.id = str("l", actor);
  wanted.host = str("host", actor);
  wanted.gcd = gcd;
  for (int tries = 0; tries < 3; ++tries) {
    const Result<ClaimDuty> duty = claim(fleet, kPartition, wanted, {});
    if (duty.ok() && duty.value() == ClaimDuty::kWait) continue;
    if (duty.ok() && duty.value() == ClaimDuty::kReset) {
      turns.wait(actor);
      world.reset();
      (void)finish_reset(fleet, kPartition, wanted.id);
    }
    if (!duty.ok() || !shared) break;
    const auto held = claim_addresses(fleet, kPartition, wanted.id, {str("10.5.64.", gcd)});
    if (!held.ok() || !held.value().empty()) break;
    turns.wait(actor);
    world.address(actor, gcd);
    break;
  }
  // Without an answer it is tried again until there is one.
  while (!unclaim(fleet, kPartition, wanted.id).ok()) {
  }
}

// Runs the actors of ONE in the order that CHOOSE says, and returns what went wrong.
std::set<std::string> run(const Case& one, const Turns::Choose& choose) {
  test::FakeStore store;
  World world(one.shared);
  const Deadline deadline = Deadline::after(std::chrono::seconds(60));
  PartitionView view;
  view.name = kPartition;
  view.facts = {"host0", "s", 8, 4, one.shared};
  view.dirty = one.dirty;
  if (one.dirty) world.soil();
  const std::string id = join_fleet(store, kFleetPrefix, deadline).take();
  EXPECT_TRUE(test::succeeds(publish({store, kFleetPrefix, deadline, id}, view)));
  Turns turns(one.gcds.size());
  std::vector<std::thread> threads;
  for (size_t actor = 0; actor < one.gcds.size(); ++actor) {
    threads.emplace_back([&, actor] {
      ActorsStore seen(store, turns, world, actor, one);
      live({seen, kFleetPrefix, deadline, id}, turns, world, actor, one.gcds[actor], one.shared);
      turns.finish(actor);
    });
  }
  turns.run(choose);
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> wrong = world.wrong();
  const auto left = find_partition({store, kFleetPrefix, deadline}, kPartition).take();
  if (!left || !left->claims.empty()) wrong.insert("a claim is left");
  const bool is_undisturbed = one.mistake == Mistake::kNone && one.fate == Fate::kAnswered;
  if (one.shared && is_undisturbed && world.given() == 0) wrong.insert("nobody had the address");
  return wrong;
}

// Runs ONE in all orders, and returns what went wrong in any. COUNT becomes their number.
std::set<std::string> run_all(const Case& one, size_t& count) {
  std::set<std::string> wrong;
  std::vector<std::pair<size_t, size_t>> path;  // what was chosen, and of how many
  for (count = 0;; ++count) {
    size_t depth = 0;
    wrong.merge(run(one, [&](const std::vector<size_t>& ready) {
      if (depth == path.size()) path.emplace_back(0, ready.size());
      return path[depth++].first;
    }));
    while (!path.empty() && path.back().first + 1 == path.back().second) path.pop_back();
    if (path.empty()) return wrong;
    ++path.back().first;
  }
}

TEST(FleetInterleavings, OfTwoHostsHarmNobody) {
  for (const std::vector<uint32_t>& gcds : {std::vector<uint32_t>{0, 0}, {0, 1}}) {
    for (const bool dirty : {false, true}) {
      size_t count = 0;
      EXPECT_EQ(run_all({gcds, dirty}, count), std::set<std::string>());
      EXPECT_GT(count, 20U);
    }
  }
}

TEST(FleetInterleavings, OfTwoHostsHarmNobodyIfACallIsLost) {
  for (const Fate fate : {Fate::kFails, Fate::kAnswerIsLost}) {
    for (int call = 0; call < 6; ++call) {
      size_t count = 0;
      const Case one{{0, 1}, true, Mistake::kNone, 0, call, fate};
      EXPECT_EQ(run_all(one, count), std::set<std::string>()) << "call " << call;
    }
  }
}

TEST(FleetInterleavings, OfThreeHostsHarmNobody) {
  std::mt19937 random(20261126);
  for (int i = 0; i < 2000; ++i) {
    const Case one{{0, 1, i % 2 == 0 ? 0U : 2U}, i % 3 != 0};
    const auto choose = [&](const std::vector<size_t>& ready) { return random() % ready.size(); };
    EXPECT_EQ(run(one, choose), std::set<std::string>());
  }
}

TEST(FleetInterleavings, OfHostsOnASharedGcdGiveItsAddressOnce) {
  size_t count = 0;
  Case one{{0, 0}, false};
  one.shared = true;
  EXPECT_EQ(run_all(one, count), std::set<std::string>());
  EXPECT_GT(count, 100U);
  one.bad_actor = 0;
  for (const Fate fate : {Fate::kFails, Fate::kAnswerIsLost}) {
    one.fate = fate;
    for (one.bad_call = 0; one.bad_call < 5; ++one.bad_call)
      EXPECT_EQ(run_all(one, count), std::set<std::string>()) << "call " << one.bad_call;
  }
  std::mt19937 random(20261127);
  Case three{{0, 0, 0}, false};
  three.shared = true;
  for (int i = 0; i < 1000; ++i) {
    const auto choose = [&](const std::vector<size_t>& ready) { return random() % ready.size(); };
    EXPECT_EQ(run(three, choose), std::set<std::string>());
  }
}

// Each mistake is found, so the other tests can fail.
TEST(FleetInterleavings, FindTheMistakes) {
  size_t count = 0;
  EXPECT_TRUE(
      run_all({{0, 0}, false, Mistake::kIgnoresTheRecord}, count).contains("two use one GCD"));
  EXPECT_TRUE(run_all({{0, 1}, true, Mistake::kIgnoresTheRecord}, count)
                  .contains("a reset under a container"));
  EXPECT_TRUE(run_all({{0, 1}, false, Mistake::kIgnoresTheWitness}, count)
                  .contains("one uses what another has left"));
  Case shared{{0, 0}, false, Mistake::kIgnoresTheRecord};
  shared.shared = true;
  EXPECT_TRUE(run_all(shared, count).contains("two have one address"));
}

}  // namespace
}  // namespace hook::fleet
