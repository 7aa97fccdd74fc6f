// SPDX-License-Identifier: Apache-2.0
// Slips in the names by which a container asks for IPUs.
#include "hook/container/request/keys.h"

#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/container/request/request.h"
#include "tests/support/outcome.h"

namespace hook::request {
namespace {

using namespace base::names;

using Environment = std::vector<std::string>;

TEST(Slip, IsANameThatIsNearlyAKey) {
  EXPECT_EQ(meant_by("IPU_COUT"), "IPU_COUNT");
  EXPECT_EQ(meant_by("IPU_COUTN"), "IPU_COUNT");
  EXPECT_EQ(meant_by("IPU_COUNTS"), "IPU_COUNT");
  EXPECT_EQ(meant_by("IPU_VISIBLE_DEVICE"), "IPU_VISIBLE_DEVICES");
  EXPECT_EQ(meant_by("IPU_VISBLE-DEVICE"), "IPU_VISIBLE_DEVICES");
  EXPECT_EQ(meant_by("IPU_WIAT"), "IPU_WAIT");
  EXPECT_EQ(meant_by("IPU_RESERVATIONS"), "IPU_RESERVATION");
}

TEST(Slip, IsNeitherAKeyNorANameThatMeansSomethingElse) {
  for (const KeyName& key : kKeys) EXPECT_EQ(meant_by(key.variable), "") << key.variable;
  for (const std::string_view other :
       {"IPU_", "IPU_MODEL", "IPU_HOST", "IPU_ID", "IPU_COUNTER", "IPU_NUM", "IPUOF_CONFIG_PATH",
        "CPU_COUNT", "ipu_count", "IPU_A_NAME_THAT_IS_LONGER_THAN_ANY"}) {
    EXPECT_EQ(meant_by(other), "") << other;
  }
}

TEST(Slip, IsRefusedWithTheNameThatItMayMean) {
  EXPECT_TRUE(mentions_ipus(R"({"process":{"env":["PATH=/bin","IPU_COUT=1"]}})"));
  EXPECT_TRUE(asks_for_ipus({"IPU_COUT=1"}, {}));
  for (const Environment& environment :
       {Environment{"IPU_COUT=1"}, Environment{"IPU_COUNT=1", "IPU_COUT=1"}}) {
    EXPECT_TRUE(test::fails(parse_request(environment, {}, {}), Code::kInvalid,
                            "IPU_COUT is unknown; did you mean IPU_COUNT?"));
  }
  EXPECT_TRUE(test::fails(parse_request({}, {{"graphcore.ai/ipu.cuont", "4"}}, {}), Code::kInvalid,
                          "did you mean graphcore.ai/ipu.count?"));
  EXPECT_TRUE(test::fails(parse_request({}, {{"graphcore.ai/ipu.x", "4"}}, {}), Code::kInvalid,
                          "is unknown; see ipu-container-toolkit(7)"));
}

TEST(Slip, OfAnImageIsNotItsUsersFault) {
  EXPECT_TRUE(may_ignore({"IPU_COUT=1"}));
  const FromImage image{{"IPU_COUT"}, true};
  EXPECT_FALSE(parse_request({"IPU_COUT=1"}, {}, {}, image).value().has_value());
  const auto asked = parse_request({"IPU_COUT=1", "IPU_COUNT=2"}, {}, {}, image);
  ASSERT_TRUE(test::succeeds(asked));
  EXPECT_EQ(asked.value()->ignored,
            Environment{"IPU_COUT is unknown, and ignored; IPU_COUNT would ask for IPUs"});
}

TEST(Slip, PassesIfThePolicySaysSo) {
  config::PolicyConfig policy;
  policy.refuse_misspelled = false;
  EXPECT_FALSE(parse_request({"IPU_COUT=1"}, {}, policy).value().has_value());
  EXPECT_EQ(parse_request({"IPU_COUT=1", "IPU_COUNT=2"}, {}, policy).value()->ipus, 2U);
}

TEST(Slip, AsksForNothingBesideNone) {
  EXPECT_FALSE(asks_for_ipus({"IPU_COUT=1", "IPU_VISIBLE_DEVICES=none"}, {}));
}

TEST(MentionsVariable, ReadsOnlyTheNamesOfStrings) {
  EXPECT_TRUE(mentions_variable(R"(["IPU_MODEL=1","IPU_COUNT"])"));
  EXPECT_FALSE(mentions_variable(R"(["IPU_MODEL=IPU_COUNT=1"])"));
  EXPECT_FALSE(mentions_variable(R"(["IPU_)"));
  EXPECT_TRUE(mentions_variable(R"(["IPU_COUN)"));
}

}  // namespace
}  // namespace hook::request
