// SPDX-License-Identifier: Apache-2.0
#include "base/users.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace base {
namespace {

class FindUserTest : public testing::Test {
 protected:
  Result<std::optional<Credentials>> find(const std::string& text) {
    EXPECT_TRUE(test::succeeds(write_atomic(file_, text, {})));
    return find_user("worker", file_);
  }

  test::TempDir dir_;
  const std::string file_ = dir_ / "passwd";
};

TEST_F(FindUserTest, GivesTheNameOfAUser) {
  (void)find("root:x:0:0:root:/root:/bin/sh\nworker:x:998:997:a b:/:/bin/false\nodd\n");
  EXPECT_EQ(name_of_user(998, file_), "worker");
  EXPECT_EQ(name_of_user(997, file_), "");
  EXPECT_EQ(name_of_user(998, dir_ / "absent"), "");
}

TEST_F(FindUserTest, GivesTheGidOfAGroup) {
  const auto group = [this](const std::string& text) {
    EXPECT_TRUE(test::succeeds(write_atomic(file_, text, {})));
    return find_group("ipu", file_);
  };
  const auto found = group("root:x:0:\nipus:x:7:\nipu:x:998:alice,bob\n");
  ASSERT_TRUE(test::succeeds(found));
  EXPECT_EQ(found.value(), std::optional<gid_t>(998));
  EXPECT_EQ(group("root:x:0:\n").value(), std::nullopt);
  for (const char* text : {"ipu:x\n", "ipu:x:0:\n", "ipu:x:-1:\n", "ipu:x:4294967295:\n"})
    EXPECT_FALSE(group(text).ok()) << text;
}

TEST_F(FindUserTest, GivesTheUidAndTheGid) {
  const auto user = find("root:x:0:0:root:/root:/bin/sh\nworker:x:998:997:a b:/:/bin/false\n");
  ASSERT_TRUE(test::succeeds(user));
  ASSERT_TRUE(user.value().has_value());
  EXPECT_EQ(user.value()->uid, 998U);
  EXPECT_EQ(user.value()->gid, 997U);
}

TEST_F(FindUserTest, FindsNothingWithoutAUserOfExactlyThatName) {
  for (const char* text : {"", "\n", "root:x:0:0::/:/bin/sh\n", "worker2:x:5:5::/:/bin/false\n",
                           " worker:x:5:5::/:/bin/false\n", "#worker:x:5:5::/:/x\n", "worker\n",
                           "other:worker:5:5::/:/x\n", "Worker:x:5:5::/:/x\n"}) {
    const auto user = find(text);
    ASSERT_TRUE(test::succeeds(user)) << text;
    EXPECT_FALSE(user.value().has_value()) << text;
  }
}

TEST_F(FindUserTest, FindsNothingWithoutAFile) {
  const auto user = find_user("worker", dir_ / "absent");
  ASSERT_TRUE(test::succeeds(user));
  EXPECT_FALSE(user.value().has_value());
}

TEST_F(FindUserTest, TakesTheFirstLineOfAName) {
  EXPECT_EQ(find("worker:x:5:6::/:/x\nworker:x:7:8::/:/x").value()->uid, 5U);
}

TEST_F(FindUserTest, TakesTheLastLineWithoutANewline) {
  EXPECT_EQ(find("worker:x:4294967294:6::/:/x").value()->uid, 4294967294U);
}

TEST_F(FindUserTest, RefusesAMalformedLineAndNamesIt) {
  for (const char* text :
       {"worker:", "worker:x:5:6::/\n", "worker:x:5:6::/:/x:more\n", "worker:x::6::/:/x\n",
        "worker:x:5:::/:/x\n", "worker:x:-5:6::/:/x\n", "worker:x:5 :6::/:/x\n",
        "worker:x:0x5:6::/:/x\n", "worker:x:4294967295:6::/:/x\n", "worker:x:5:4294967295::/:/x\n",
        "worker:x:4294967301:6::/:/x\n"}) {
    EXPECT_TRUE(test::fails(find(std::string("a\n") + text), Code::kInvalid,
                            "passwd', line 2: user 'worker'"))
        << text;
  }
}

TEST_F(FindUserTest, RefusesAUserOrGroupThatIsRoot) {
  EXPECT_TRUE(test::fails(find("worker:x:0:5::/:/x\n"), Code::kInvalid, "uid"));
  EXPECT_TRUE(test::fails(find("worker:x:5:0::/:/x\n"), Code::kInvalid, "gid"));
  EXPECT_TRUE(test::fails(find("worker:x:00:5::/:/x\n"), Code::kInvalid, "uid"));
}

TEST_F(FindUserTest, RefusesAFileThatIsTooLarge) {
  EXPECT_FALSE(find("worker:x:5:6::/:/x\n" + std::string(size_t{5} << 20, '\n')).ok());
}

TEST(UserOutside, IsAsTheParentOfTheUserNamespaceSeesIt) {
  EXPECT_EQ(user_outside(0, "         0          0 4294967295\n"), 0U);
  EXPECT_EQ(user_outside(1000, "         0          0 4294967295\n"), 1000U);
  const std::string rootless =
      "         0       1000          1\n         1     100000      65536\n";
  EXPECT_EQ(user_outside(0, rootless), 1000U);
  EXPECT_EQ(user_outside(7, rootless), 100006U);
  EXPECT_EQ(user_outside(70000, rootless), 70000U);
  EXPECT_EQ(user_outside(0, ""), 0U);
  EXPECT_EQ(user_outside(0, "no map"), 0U);
}

TEST(HasUsersOfHost, IsTrueForAMapOfAllUsersAlone) {
  EXPECT_TRUE(has_all_users("         0          0 4294967295\n"));
  for (const char* map : {"", "0 0 1\n", "0 0 65536\n", "0 1000 1\n", "0 100000 65536\n",
                          "0 1 4294967294\n", "0 0 4294967295\n1 1 1\n"})
    EXPECT_FALSE(has_all_users(map)) << map;
  EXPECT_TRUE(has_users_of_host());
}

TEST(IsLent, ReadsTheRangesOfSubuid) {
  const test::TempDir dir;
  const std::string file = dir / "subuid";
  EXPECT_FALSE(is_lent(100005, file)) << "there is no file";
  ASSERT_TRUE(write_atomic(file, "alice:100000:65536\nnonsense\nbob:x:1\n", {}).ok());
  EXPECT_FALSE(is_lent(1000, file));
  EXPECT_FALSE(is_lent(99'999, file));
  EXPECT_TRUE(is_lent(100'000, file));
  EXPECT_TRUE(is_lent(165'535, file));
  EXPECT_FALSE(is_lent(165'536, file));
}

}  // namespace
}  // namespace base
