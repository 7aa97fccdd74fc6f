// SPDX-License-Identifier: Apache-2.0
// Ledger::get: a lease by what a person types.
#include "tests/unit/hook/ledger/ledger_fixture.h"

#include "base/names.h"

namespace hook::ledger {
namespace {

using namespace base::names;

class LedgerGetTest : public LedgerFixture {
 protected:
  std::string got(const std::string& text) {
    const Result<Lease> lease = ledger_.get(text);
    return lease.ok() ? lease.value().id : lease.error().message();
  }
};

TEST_F(LedgerGetTest, FindsALeaseByItsIdAndByTheStartOfIt) {
  const Lease lease = acquire("web");
  EXPECT_EQ(got(lease.id), lease.id);
  EXPECT_EQ(got(lease.id.substr(0, 12)), lease.id);
}

TEST_F(LedgerGetTest, FindsALeaseByItsContainerAndByTheStartOfIt) {
  const Lease lease = acquire("xyz-web");
  EXPECT_EQ(got("xyz-web"), lease.id);
  EXPECT_EQ(got("xyz"), lease.id);
  EXPECT_TRUE(test::fails(ledger_.get("web"), Code::kNotFound));
}

TEST_F(LedgerGetTest, RefusesATextThatFitsTwoContainers) {
  acquire("xyz-1");
  acquire("xyz-2");
  EXPECT_TRUE(test::fails(ledger_.get("xyz-"), Code::kInvalid,
                          "'xyz-' matches the leases of several containers; give more of the id"));
}

TEST_F(LedgerGetTest, TakesAWholeNameThatAnotherOneStartsWith) {
  const Lease lease = acquire("web");
  acquire("web2");
  EXPECT_EQ(got("web"), lease.id);
}

TEST_F(LedgerGetTest, FindsALeaseThatEnded) {
  const Lease lease = acquire("web");
  release(lease);
  EXPECT_EQ(got("web"), lease.id);
}

TEST_F(LedgerGetTest, PrefersALiveLease) {
  const Lease live = acquire("web-a");
  const Lease ended = acquire("web-b");
  release(ended);
  EXPECT_EQ(got("web"), live.id);
  EXPECT_EQ(got("web-b"), ended.id);
}

TEST_F(LedgerGetTest, HasTheNewestLeaseOfAContainer) {
  release(acquire("web"));
  now_ += 5000;
  const Lease second = acquire("web");
  release(second);
  EXPECT_EQ(got("web"), second.id);
}

TEST_F(LedgerGetTest, FindsNothingForAnEmptyOrUnknownText) {
  acquire("web");
  for (const char* text : {"", "nothing", "%", "_eb", "' OR 1=1 --"}) {
    EXPECT_TRUE(test::fails(ledger_.get(text), Code::kNotFound, "see 'ipuctl ps'")) << text;
  }
}

}  // namespace
}  // namespace hook::ledger
