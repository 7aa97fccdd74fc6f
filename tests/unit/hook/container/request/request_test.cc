// SPDX-License-Identifier: Apache-2.0
#include "hook/container/request/request.h"
#include "hook/container/request/keys.h"

#include <gtest/gtest.h>

#include "base/names.h"
#include "tests/support/outcome.h"

namespace hook::request {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

using Environment = std::vector<std::string>;
using Annotations = std::map<std::string, std::string>;

Result<std::optional<Request>> parse(const Environment& environment,
                                     const Annotations& annotations = {},
                                     const config::PolicyConfig& policy = {}) {
  return parse_request(environment, annotations, policy);
}

// The request, which must be there.
Request requested(const Environment& environment, const Annotations& annotations = {}) {
  const Result<std::optional<Request>> result = parse(environment, annotations);
  EXPECT_TRUE(test::succeeds(result));
  return result.ok() && result.value() ? *result.value() : Request{};
}

TEST(MentionsIpus, SeesTheKeysOfTheProductOnly) {
  EXPECT_TRUE(mentions_ipus(R"({"process":{"env":["PATH=/bin","IPU_COUNT=4"]}})"));
  EXPECT_TRUE(mentions_ipus(R"({"process":{"env":["IPU_VISIBLE_DEVICES=all"]}})"));
  EXPECT_TRUE(mentions_ipus(R"({"annotations":{"graphcore.ai/ipu.count":"4"}})"));
  EXPECT_TRUE(mentions_ipus(R"({"annotations":{"graphcore.ai/ipu.nonsense":"4"}})"));
  EXPECT_FALSE(
      mentions_ipus(R"({"process":{"env":["CPU_COUNT=4","MY_IPU_COUNT=1","IPU_MODEL=2"]}})"));
  EXPECT_FALSE(mentions_ipus(""));
}

TEST(Request, IsAbsentWithoutAKeyOfTheProduct) {
  for (const Environment& environment :
       {Environment{}, Environment{"PATH=/bin", "CPU_COUNT=3", "IPU_COUNTERS=3", "ipu_count=3"}}) {
    const Result<std::optional<Request>> result = parse(environment, {{"com.example/a", "b"}});
    ASSERT_TRUE(test::succeeds(result));
    EXPECT_FALSE(result.value().has_value());
    EXPECT_FALSE(asks_for_ipus(environment, {}));
  }
}

TEST(Request, HasEveryPartThatWasGiven) {
  const Request request =
      requested({"IPU_COUNT=8", "IPU_WAIT=90s", "IPU_RECONFIGURABLE=1", "IPU_NETWORK=roce"},
                {{"graphcore.ai/ipu.tenant", "team-a"}});
  EXPECT_EQ(request, (Request{8, true, milliseconds(90'000), "team-a"}));
}

TEST(Request, HasDefaultsForWhatWasNotGiven) {
  EXPECT_EQ(requested({"IPU_COUNT=1"}), (Request{1, false, milliseconds(0), ""}));
}

TEST(Request, TakesEveryPowerOfTwoUpToThePolicy) {
  for (const char* count : {"1", "2", "4", "8", "16", "32", "64"}) {
    EXPECT_TRUE(test::succeeds(parse({std::string("IPU_COUNT=") + count}))) << count;
  }
}

TEST(Request, RefusesEveryOtherCountAndSaysWhatIsAccepted) {
  for (const std::string count :
       {"3", "0", "-1", "4x", "999999999999", "", " 4", "4 ", "+4", "128", "4.0", "four", "4\n"}) {
    const Result<std::optional<Request>> result = parse({"IPU_COUNT=" + count});
    EXPECT_TRUE(test::fails(result, Code::kInvalid, "IPU_COUNT='")) << count;
    EXPECT_TRUE(test::fails(result, Code::kInvalid, "give a power of two from 1 to 64")) << count;
    EXPECT_EQ(result.error().message().find('\n'), std::string::npos);
    EXPECT_TRUE(asks_for_ipus({"IPU_COUNT=" + count}, {})) << count;
  }
}

TEST(Request, RefusesAValueThatIsLongerThanAnyThatItAccepts) {
  const std::string value(4097, '1');
  EXPECT_TRUE(test::fails(parse({"IPU_VISIBLE_DEVICES=" + value}), Code::kInvalid,
                          "IPU_VISIBLE_DEVICES has 4097 bytes; at most 4096 are accepted"));
  EXPECT_TRUE(test::fails(parse({}, {{"graphcore.ai/ipu.tenant", value}}), Code::kInvalid,
                          "graphcore.ai/ipu.tenant has 4097 bytes; at most 4096"));
}

TEST(Request, NamesTheAnnotationThatItRefuses) {
  EXPECT_TRUE(test::fails(parse({}, {{"graphcore.ai/ipu.count", "3"}}), Code::kInvalid,
                          "graphcore.ai/ipu.count='3' is not accepted"));
}

TEST(Request, RefusesAVariableWithoutAValue) {
  EXPECT_TRUE(test::fails(parse({"IPU_COUNT"}), Code::kInvalid, "IPU_COUNT=''"));
}

TEST(Request, RefusesAVariableThatStandsTwice) {
  const Environment twice = {"IPU_COUNT=4", "A=1", "IPU_COUNT=8"};
  EXPECT_TRUE(test::fails(parse(twice), Code::kInvalid,
                          "IPU_COUNT is set twice in the environment ('4' and '8')"));
  EXPECT_TRUE(asks_for_ipus(twice, {}));
}

TEST(Request, HasTheAnnotationWhereBothAreGiven) {
  EXPECT_EQ(requested({"IPU_COUNT=4"}, {{"graphcore.ai/ipu.count", "16"}}).ipus, 16U);
  EXPECT_EQ(requested({"IPU_COUNT=nonsense"}, {{"graphcore.ai/ipu.count", "16"}}).ipus, 16U);
}

TEST(Request, TakesEveryKeyAlsoAsAnAnnotation) {
  const Request request = requested({}, {{"graphcore.ai/ipu.count", "2"},
                                         {"graphcore.ai/ipu.wait", "1m"},
                                         {"graphcore.ai/ipu.network", "roce"},
                                         {"graphcore.ai/ipu.reconfigurable", "0"}});
  EXPECT_EQ(request, (Request{2, false, milliseconds(60'000), ""}));
}

TEST(Request, IsNotMadeByATenantAlone) {
  EXPECT_FALSE(asks_for_ipus({}, {{"graphcore.ai/ipu.tenant", "a"}}));
  EXPECT_FALSE(parse({}, {{"graphcore.ai/ipu.tenant", "a"}}).value().has_value());
}

TEST(Request, HasATenantOfOneShortLine) {
  const Request request =
      requested({"IPU_COUNT=1"}, {{"graphcore.ai/ipu.tenant", "a\nb" + std::string(100, 'x')}});
  EXPECT_EQ(request.tenant, "a b" + std::string(61, 'x'));
}

TEST(Request, NamesItsTenantByAVariableOnlyIfThePolicyAllows) {
  const Environment environment = {"IPU_COUNT=1", "IPU_TENANT=other"};
  EXPECT_TRUE(test::fails(parse(environment), Code::kDenied, "policy.tenant_variable = true"));
  config::PolicyConfig policy;
  policy.tenant_variable = true;
  EXPECT_EQ(parse(environment, {}, policy).value()->tenant, "other");
  EXPECT_EQ(requested(environment, {{"graphcore.ai/ipu.tenant", "a"}}).tenant, "a");
  EXPECT_FALSE(asks_for_ipus({"IPU_TENANT=other"}, {}));
  EXPECT_FALSE(parse({"IPU_TENANT=other"}).value().has_value());
}

TEST(Request, IgnoresWhatAnEarlierStartAdded) {
  EXPECT_FALSE(asks_for_ipus({}, {{"graphcore.ai/ipu.added", "{}"}}));
}

TEST(Request, IgnoresTheLeaseOfAnEarlierStart) {
  EXPECT_FALSE(parse({}, {{"graphcore.ai/ipu.lease", "00"}}).value().has_value());
  EXPECT_EQ(requested({"IPU_COUNT=1"}, {{"graphcore.ai/ipu.lease", "00"}}).ipus, 1U);
}

TEST(Request, RefusesAnAnnotationThatItDoesNotKnow) {
  const Annotations unknown = {{"graphcore.ai/ipu.cuont", "4"}};
  EXPECT_TRUE(test::fails(parse({}, unknown), Code::kInvalid,
                          "annotation 'graphcore.ai/ipu.cuont' is unknown"));
  EXPECT_TRUE(asks_for_ipus({}, unknown));
}

TEST(Request, NeedsACount) {
  EXPECT_TRUE(test::fails(parse({"IPU_WAIT=60s"}), Code::kInvalid, "IPU_WAIT is set"));
  EXPECT_TRUE(test::fails(parse({"IPU_WAIT=60s"}), Code::kInvalid, "give IPU_COUNT=N"));
  EXPECT_FALSE(parse({"IPU_RECONFIGURABLE=1"}).ok());
}

TEST(Request, NamesAPartitionAndItsGcd) {
  const Request request = requested({"IPU_PARTITION=p-1", "IPU_GCD=3", "IPU_POOL=pod64"});
  EXPECT_EQ(request.partition, "p-1");
  EXPECT_EQ(request.gcd, 3U);
  EXPECT_EQ(request.pool, "pod64");
  EXPECT_EQ(request.ipus, 0U);
  EXPECT_EQ(requested({"IPU_PARTITION=p-1"}).gcd, std::nullopt);
  EXPECT_EQ(requested({}, {{"graphcore.ai/ipu.partition", "p0"}}).partition, "p0");
}

TEST(Request, AsksForAllGcds) {
  const Request request = requested({"IPU_PARTITION=p-1", "IPU_GCD=all"});
  EXPECT_TRUE(request.all_gcds);
  EXPECT_EQ(request.gcd, std::nullopt);
  EXPECT_FALSE(requested({"IPU_PARTITION=p-1", "IPU_GCD=0"}).all_gcds);
  EXPECT_TRUE(requested({"IPU_RESERVATION=r"}, {{"graphcore.ai/ipu.gcd", "all"}}).all_gcds);
  EXPECT_EQ(requested({"IPU_PARTITION=p", "IPU_GCD=all"}, {{"graphcore.ai/ipu.gcd", "1"}}).gcd, 1U);
  // A new partition has one GCD.
  EXPECT_EQ(requested({"IPU_COUNT=4", "IPU_GCD=all"}).ipus, 4U);
  EXPECT_TRUE(test::fails(parse({"IPU_VISIBLE_DEVICES=all", "IPU_GCD=all"}), Code::kInvalid,
                          "a GCD belongs to an existing partition"));
}

TEST(Request, AsksForAVipuEndpoint) {
  EXPECT_TRUE(requested({"IPU_COUNT=4", "IPU_VIPU_ENDPOINT=1"}).vipu_endpoint);
  EXPECT_FALSE(requested({"IPU_COUNT=4", "IPU_VIPU_ENDPOINT=0"}).vipu_endpoint);
  EXPECT_FALSE(requested({"IPU_COUNT=4"}).vipu_endpoint);
  EXPECT_TRUE(
      requested({"IPU_PARTITION=p", "IPU_GCD=all"}, {{"graphcore.ai/ipu.vipu-endpoint", "1"}})
          .vipu_endpoint);
  EXPECT_TRUE(
      test::fails(parse({"IPU_COUNT=4", "IPU_VIPU_ENDPOINT=yes"}), Code::kInvalid, "give 0 or 1"));
  EXPECT_TRUE(test::fails(parse({"IPU_PARTITION=p", "IPU_GCD=1", "IPU_VIPU_ENDPOINT=1"}),
                          Code::kInvalid, "give IPU_GCD=all too"));
  EXPECT_TRUE(test::fails(parse({"IPU_VISIBLE_DEVICES=0", "IPU_VIPU_ENDPOINT=1"}), Code::kInvalid,
                          "cards have no V-IPU partition"));
  config::PolicyConfig none;
  none.vipu_endpoint = false;
  EXPECT_TRUE(test::fails(parse_request({"IPU_COUNT=4", "IPU_VIPU_ENDPOINT=1"}, {}, none),
                          Code::kDenied, "policy.vipu_endpoint"));
  EXPECT_TRUE(test::succeeds(parse_request({"IPU_COUNT=4", "IPU_VIPU_ENDPOINT=0"}, {}, none)));
}

TEST(Request, NamesAReservation) {
  const Request request = requested({"IPU_RESERVATION=night", "IPU_GCD=1"});
  EXPECT_EQ(request.partition, "night");
  EXPECT_TRUE(request.is_reservation);
  EXPECT_EQ(request.gcd, 1U);
  EXPECT_FALSE(requested({"IPU_PARTITION=p"}).is_reservation);
  EXPECT_TRUE(requested({"IPU_COUNT=4"}, {{"graphcore.ai/ipu.reservation", "r"}}).is_reservation);
  EXPECT_TRUE(test::fails(parse({"IPU_RESERVATION=a/b"}), Code::kInvalid,
                          "give the name of a reservation: 1 to 36"));
  EXPECT_FALSE(parse({"IPU_RESERVATION=a", "IPU_PARTITION=b"}).ok());
}

TEST(Request, RefusesWhatIsNoPartitionNoGcdAndNoPool) {
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("../x"), std::string(37, 'x')}) {
    EXPECT_TRUE(test::fails(parse({"IPU_PARTITION=" + name}), Code::kInvalid,
                            "give the name of a partition: 1 to 36"));
  }
  for (const std::string gcd : {"", "-1", "256", "0x1", "first", "ALL", "all "}) {
    EXPECT_TRUE(test::fails(parse({"IPU_PARTITION=p", "IPU_GCD=" + gcd}), Code::kInvalid,
                            "give the number of a GCD"));
  }
  EXPECT_TRUE(
      test::fails(parse({"IPU_COUNT=4", "IPU_GCD=0"}), Code::kInvalid, "give IPU_PARTITION too"));
  EXPECT_TRUE(test::fails(parse({"IPU_PARTITION=p", "IPU_RECONFIGURABLE=1"}), Code::kInvalid,
                          "only a new partition can be reconfigurable"));
  EXPECT_TRUE(test::fails(parse({"IPU_COUNT=4", "IPU_POOL="}), Code::kInvalid, "name of a pool"));
}

TEST(Request, NamesCards) {
  EXPECT_EQ(requested({"IPU_VISIBLE_DEVICES=0"}).cards, (std::vector<uint32_t>{0}));
  EXPECT_EQ(requested({"IPU_VISIBLE_DEVICES=6,0-2"}).cards, (std::vector<uint32_t>{0, 1, 2, 6}));
  EXPECT_TRUE(requested({"IPU_VISIBLE_DEVICES=all"}).all_cards);
  EXPECT_FALSE(requested({"IPU_VISIBLE_DEVICES=0", "IPU_NETWORK=none"}).network);
  for (const std::string cards : {"", ",", "0,", "2-1", "0-", "-1", "1,1", "0-2,1", "x", "4096"}) {
    EXPECT_TRUE(test::fails(parse({"IPU_VISIBLE_DEVICES=" + cards}), Code::kInvalid,
                            "IPU_VISIBLE_DEVICES='" + cards + "' is not accepted"))
        << cards;
  }
}

TEST(Request, RefusesTwoSelectorsOfOneSource) {
  EXPECT_TRUE(test::fails(parse({"IPU_COUNT=4", "IPU_PARTITION=p"}), Code::kInvalid,
                          "IPU_COUNT and IPU_PARTITION contradict each other"));
  EXPECT_TRUE(
      test::fails(parse({}, {{"graphcore.ai/ipu.count", "4"}, {"graphcore.ai/ipu.partition", "p"}}),
                  Code::kInvalid, "contradict each other"));
}

TEST(Request, HasTheSelectorOfTheAnnotationWhereAnImageHasAnother) {
  const Request request =
      requested({"IPU_COUNT=4", "IPU_RECONFIGURABLE=1"}, {{"graphcore.ai/ipu.partition", "p"}});
  EXPECT_EQ(request.partition, "p");
  EXPECT_EQ(request.ipus, 0U);
  EXPECT_FALSE(request.reconfigurable);
  EXPECT_EQ(requested({"IPU_PARTITION=p", "IPU_GCD=1"}, {{"graphcore.ai/ipu.count", "4"}}).ipus,
            4U);
}

TEST(Request, IsDeclinedByNoVisibleDevices) {
  const Environment declined = {"IPU_COUNT=4", "IPU_VISIBLE_DEVICES=none"};
  EXPECT_FALSE(asks_for_ipus(declined, {}));
  EXPECT_FALSE(parse(declined).value().has_value());
}

TEST(Request, OfAnAnnotationCannotBeDeclinedByAVariable) {
  const Environment declined = {"IPU_VISIBLE_DEVICES=none"};
  const std::map<std::string, std::string> count = {{"graphcore.ai/ipu.count", "4"}};
  EXPECT_TRUE(asks_for_ipus(declined, count));
  const base::Result<std::optional<Request>> request = parse_request(declined, count, {});
  ASSERT_TRUE(test::succeeds(request));
  EXPECT_EQ(request.value()->ipus, 4U);
  EXPECT_FALSE(asks_for_ipus({"IPU_COUNT=4"}, {{"graphcore.ai/ipu.devices", "none"}}));
}

TEST(Request, TakesEveryFormOfAWait) {
  EXPECT_EQ(requested({"IPU_COUNT=1", "IPU_WAIT=500ms"}).wait, milliseconds(500));
  EXPECT_EQ(requested({"IPU_COUNT=1", "IPU_WAIT=0s"}).wait, milliseconds(0));
  EXPECT_EQ(requested({"IPU_COUNT=1", "IPU_WAIT=15m"}).wait, std::chrono::minutes(15));
  for (const std::string wait : {"", "90", "-1s", "soon", "1h30m"}) {
    EXPECT_TRUE(test::fails(parse({"IPU_COUNT=1", "IPU_WAIT=" + wait}), Code::kInvalid,
                            "IPU_WAIT='" + wait + "' is not accepted: give a duration"));
  }
}

TEST(Request, RefusesAFlagThatIsNeither0Nor1) {
  for (const std::string flag : {"", "2", "true", "yes"}) {
    EXPECT_TRUE(test::fails(parse({"IPU_COUNT=1", "IPU_RECONFIGURABLE=" + flag}), Code::kInvalid,
                            "IPU_RECONFIGURABLE='" + flag + "' is not accepted: give 0 or 1"));
  }
}

TEST(Request, RefusesAnotherNetwork) {
  for (const std::string network : {"host", "", "ROCE"}) {
    EXPECT_TRUE(test::fails(parse({"IPU_COUNT=1", "IPU_NETWORK=" + network}), Code::kInvalid,
                            "IPU_NETWORK='" + network + "' is not accepted"));
  }
}

TEST(Policy, LimitsTheCount) {
  config::PolicyConfig policy;
  policy.max_ipus = 12;
  EXPECT_TRUE(test::succeeds(parse({"IPU_COUNT=8"}, {}, policy)));
  EXPECT_TRUE(test::fails(parse({"IPU_COUNT=16"}, {}, policy), Code::kInvalid,
                          "give a power of two from 1 to 8"));
}

// The error of a wait.
std::string error_of(const std::string& wait, const Annotations& annotations = {},
                     const config::PolicyConfig& policy = {}) {
  const auto result = parse({"IPU_COUNT=1", "IPU_WAIT=" + wait}, annotations, policy);
  return result.ok() ? "" : result.error().message();
}

TEST(Policy, RefusesALongerWaitAndDoesNotCutIt) {
  EXPECT_EQ(error_of("15m"), "");
  for (const std::string wait : {"901s", "16m", "24h", "25h", "364d"}) {
    EXPECT_EQ(error_of(wait),
              "IPU_WAIT='" + wait +
                  "' is not accepted: policy.max_wait of this host allows at most "
                  "15m; wait less, or let an administrator raise it in config.toml");
  }
  config::PolicyConfig policy;
  policy.max_wait = std::chrono::hours(24);
  EXPECT_EQ(error_of("24h", {}, policy), "");
  policy.max_wait = milliseconds(0);
  EXPECT_EQ(error_of("0s", {}, policy), "");
  EXPECT_NE(error_of("1ms", {}, policy), "");
}

TEST(Policy, RefusesAWaitForWhichTheKubeletHasNoTime) {
  const std::vector<Annotations> pods = {{{"io.kubernetes.cri.container-type", "sandbox"}},
                                         {{"io.kubernetes.cri.container-type", "container"}},
                                         {{"io.kubernetes.cri-o.ContainerType", "container"}}};
  for (const Annotations& pod : pods) {
    EXPECT_EQ(error_of("90s", pod), "");
    EXPECT_NE(error_of("91s", pod).find("policy.max_wait_cri of this host allows at most 90s"),
              std::string::npos);
    config::PolicyConfig policy;
    policy.max_wait = milliseconds(30'000);
    EXPECT_NE(error_of("31s", pod, policy).find("policy.max_wait of this host allows at most 30s"),
              std::string::npos);
  }
}

TEST(Policy, LimitsWhoMayAsk) {
  config::PolicyConfig annotations_only;
  annotations_only.allow_env = false;
  const Annotations annotation = {{"graphcore.ai/ipu.count", "4"}};
  EXPECT_TRUE(test::fails(parse({"IPU_COUNT=4"}, {}, annotations_only), Code::kDenied,
                          "IPU_COUNT may not ask for IPUs on this host"));
  EXPECT_TRUE(test::fails(parse({"IPU_COUNT=4"}, {}, annotations_only), Code::kDenied,
                          "policy.sources allows only annotations"));
  EXPECT_TRUE(test::succeeds(parse({}, annotation, annotations_only)));
  // The annotation is what counts then.
  EXPECT_TRUE(test::succeeds(parse({"IPU_COUNT=64"}, annotation, annotations_only)));

  config::PolicyConfig variables_only;
  variables_only.allow_annotation = false;
  EXPECT_TRUE(test::fails(parse({}, annotation, variables_only), Code::kDenied,
                          "policy.sources allows only environment variables"));
  EXPECT_TRUE(test::succeeds(parse({"IPU_COUNT=4"}, {}, variables_only)));
}

TEST(Policy, IsForEachKeyOfARequest) {
  config::PolicyConfig annotations_only;
  annotations_only.allow_env = false;
  EXPECT_TRUE(test::fails(
      parse({"IPU_RECONFIGURABLE=1"}, {{"graphcore.ai/ipu.count", "4"}}, annotations_only),
      Code::kDenied, "IPU_RECONFIGURABLE"));
}

TEST(Policy, IsNoneOfTheBusinessOfAContainerWithoutIpus) {
  config::PolicyConfig annotations_only;
  annotations_only.allow_env = false;
  EXPECT_FALSE(parse({"PATH=/bin"}, {}, annotations_only).value().has_value());
  EXPECT_FALSE(
      parse({"IPU_COUNT=4", "IPU_VISIBLE_DEVICES=none"}, {}, annotations_only).value().has_value());
}

}  // namespace
}  // namespace hook::request
