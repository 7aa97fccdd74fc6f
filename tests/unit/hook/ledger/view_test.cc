// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;

class ViewTest : public LedgerFixture {
 protected:
  Ledger view() { return Ledger::open_view(path_).take(); }
};

TEST_F(ViewTest, IsOfTheMomentInWhichItWasOpened) {
  const Lease first = acquire("first");
  Ledger view = this->view();
  acquire("second");
  release(first);
  const std::vector<Lease> seen = view.live().take();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].container, "first");
  EXPECT_EQ(view.events().last().value(), 1);
  EXPECT_EQ(this->view().live().value().size(), 1U);
  EXPECT_EQ(this->view().live().value()[0].container, "second");
}

TEST_F(ViewTest, CannotBeChanged) {
  Ledger view = this->view();
  EXPECT_FALSE(view.queue().leave(1).ok());
  EXPECT_FALSE(view.events().record("a note").ok());
  EXPECT_EQ(ledger_.events().last().value(), 0);
}

TEST_F(ViewTest, KeepsNobodyFromChangingTheLedger) {
  const Ledger view = this->view();
  for (int i = 0; i < 3; ++i) release(acquire("container" + std::to_string(i)));
  ledger_.settle();
  EXPECT_EQ(ledger_.events().last().value(), 9);
}

TEST_F(ViewTest, IsACopyWithoutALog) {
  acquire("first");
  const std::string copy = dir_ / "copy.db";
  ASSERT_TRUE(test::succeeds(test::run_sql(path_, "VACUUM INTO '" + copy + "'")));
  Ledger view = Ledger::open_view(copy).take();
  EXPECT_EQ(view.live().value().size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(copy + "-wal"));
}

TEST_F(ViewTest, OfAnAbsentLedgerIsEmpty) {
  Ledger view = Ledger::open_view(dir_ / "absent.db").take();
  EXPECT_TRUE(view.live().value().empty());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "absent.db"));
}

}  // namespace
}  // namespace hook::ledger
