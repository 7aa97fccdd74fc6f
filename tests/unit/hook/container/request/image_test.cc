// SPDX-License-Identifier: Apache-2.0
// The variables that an image sets.
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/container/request/request.h"
#include "tests/support/outcome.h"

namespace hook::request {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

using Environment = std::vector<std::string>;
using Annotations = std::map<std::string, std::string>;

// The request of an environment of which the image alone sets some variables.
Result<std::optional<Request>> parse_image(const Environment& environment,
                                           const std::set<std::string>& of_image,
                                           const Annotations& annotations = {},
                                           const config::PolicyConfig& policy = {}) {
  return parse_request(environment, annotations, policy, FromImage{of_image, true});
}

TEST(Image, CannotMakeItsUserWait) {
  EXPECT_TRUE(may_ignore({"A=1", "IPU_WAIT=5m"}));
  const auto asked = parse_image({"IPU_COUNT=4", "IPU_WAIT=5m"}, {"IPU_COUNT", "IPU_WAIT"});
  ASSERT_TRUE(test::succeeds(asked));
  EXPECT_EQ(asked.value()->ipus, 4U);
  EXPECT_EQ(asked.value()->wait, milliseconds(0));
  ASSERT_EQ(asked.value()->ignored.size(), 1U);
  EXPECT_EQ(asked.value()->ignored[0],
            "IPU_WAIT='5m' is not honoured, because only the image sets it; give it with -e, or as"
            " the annotation graphcore.ai/ipu.wait");
}

TEST(Image, MayHaveTheValueThatTheUserGave) {
  const auto asked =
      parse_request({"IPU_COUNT=4", "IPU_WAIT=5m"}, {}, {}, FromImage{{"IPU_WAIT"}, false});
  ASSERT_TRUE(test::succeeds(asked));
  EXPECT_EQ(asked.value()->wait, milliseconds(0));
  ASSERT_EQ(asked.value()->ignored.size(), 1U);
  EXPECT_EQ(asked.value()->ignored[0],
            "IPU_WAIT='5m' is not honoured, because the image sets it to this value; give it as the"
            " annotation graphcore.ai/ipu.wait");
}

TEST(Image, CannotNameAPartition) {
  EXPECT_TRUE(may_ignore({"IPU_PARTITION=p0"}));
  const Environment environment = {"IPU_PARTITION=p0", "IPU_GCD=1"};
  EXPECT_TRUE(test::fails(parse_image(environment, {"IPU_PARTITION", "IPU_GCD"}), Code::kDenied,
                          "IPU_PARTITION='p0' is not honoured, because only the image sets it"));
  EXPECT_EQ(parse_image(environment, {"IPU_GCD"}).value()->gcd, 1U);
  const Environment both = {"IPU_COUNT=2", "IPU_PARTITION=p0", "IPU_GCD=1"};
  EXPECT_EQ(parse_image(both, {"IPU_PARTITION", "IPU_GCD"}).value()->ipus, 2U);
}

TEST(Image, CannotNameAReservation) {
  EXPECT_TRUE(may_ignore({"IPU_RESERVATION=r"}));
  const Environment environment = {"IPU_RESERVATION=r", "IPU_GCD=1"};
  EXPECT_TRUE(test::fails(parse_image(environment, {"IPU_RESERVATION", "IPU_GCD"}), Code::kDenied,
                          "IPU_RESERVATION='r' is not honoured, because only the image sets it"));
  EXPECT_TRUE(parse_image(environment, {"IPU_GCD"}).value()->is_reservation);
}

TEST(Image, IsHonouredInAllElse) {
  EXPECT_FALSE(may_ignore({"IPU_COUNT=4", "IPU_POOL=p", "IPU_WAITING=5m", "XIPU_WAIT=1"}));
  const auto asked = parse_image({"IPU_COUNT=4"}, {"IPU_COUNT"});
  EXPECT_EQ(asked.value()->ipus, 4U);
  EXPECT_TRUE(asked.value()->ignored.empty());
}

TEST(Image, DoesNotHideWhatAnAnnotationSays) {
  const std::set<std::string> of_image = {"IPU_PARTITION", "IPU_WAIT"};
  const auto asked =
      parse_image({"IPU_PARTITION=p0", "IPU_WAIT=5m"}, of_image,
                  {{"graphcore.ai/ipu.partition", "p1"}, {"graphcore.ai/ipu.wait", "1s"}});
  ASSERT_TRUE(test::succeeds(asked));
  EXPECT_EQ(asked.value()->partition, "p1");
  EXPECT_EQ(asked.value()->wait, milliseconds(1000));
  EXPECT_TRUE(asked.value()->ignored.empty());
}

TEST(Image, IsIgnoredBeforeThePolicyLooks) {
  config::PolicyConfig annotations_only;
  annotations_only.allow_env = false;
  const Annotations count = {{"graphcore.ai/ipu.count", "4"}};
  EXPECT_TRUE(test::succeeds(parse_image({"IPU_WAIT=5m"}, {"IPU_WAIT"}, count, annotations_only)));
  EXPECT_FALSE(parse_image({"IPU_WAIT=5m"}, {}, count, annotations_only).ok());
}

}  // namespace
}  // namespace hook::request
