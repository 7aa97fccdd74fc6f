// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "base/json.h"
#include "base/names.h"
#include "tests/support/outcome.h"
#include "vipu/wire.h"

namespace vipu::wire {
namespace {

using namespace base::names;
using base::Json;

IpuofDevice device() { return {"10.5.1.3", 50054, 50154, 2, 1, 7, 2, 10, "chip", "gw", "ipum"}; }

Grant grant() { return {{{{device()}, {{"GCD Id", "0"}, {"odd \n", "\""}}}}, "10.1.3.101"}; }

// VALUE after a way through text and back.
template <typename T>
Result<T> carried(const T& value) {
  return parse_reply<T>(reply_text(Result<T>(value)));
}

TEST(WireReplyTest, GrantComesBackAsItWas) {
  const Result<Grant> reply = carried(grant());
  ASSERT_TRUE(test::succeeds(reply));
  EXPECT_EQ(reply.value().gcds, grant().gcds);
}

TEST(WireReplyTest, PartitionsComeBackAsTheyWere) {
  std::vector<Partition> partitions(2);
  partitions[0] = {"p0",
                   "c64_1-16",
                   "alloc-1",
                   {{0, 4}, {0, 5}},
                   2,
                   4,
                   3,
                   true,
                   ReadyState::kActive,
                   LinkRouting::kRingSwnc,
                   GatewayRouting::kSwRing,
                   SyncType::kPodNativeDefault};
  partitions[1].id = "p1";
  partitions[1].ready = ReadyState::kError;
  const Result<std::vector<Partition>> reply = carried(partitions);
  ASSERT_TRUE(test::succeeds(reply));
  EXPECT_EQ(reply.value(), partitions);
}

TEST(WireReplyTest, StatusComesBackAsItWas) {
  const PartitionStatus status{
      ReadyState::kError, OperationState::kFailed, {"link 3 is down", "e2"}, 2, 3, 1'600'000'000};
  const auto reply = carried(status);
  ASSERT_TRUE(test::succeeds(reply));
  EXPECT_EQ(reply.value(), status);
}

TEST(WireReplyTest, SurveyComesBackAsItWas) {
  Survey survey{{64, 64, 16}, std::vector<Partition>(1), {{{1, 5}, "link 3 is down"}}};
  survey.partitions[0].id = "p0";
  const auto reply = carried(survey);
  ASSERT_TRUE(test::succeeds(reply));
  EXPECT_EQ(reply.value(), survey);
}

TEST(WireReplyTest, AttributesComeBackAsTheyWere) {
  const std::vector<IpuAttributes> ipus = {{"ag0", 0, {{"clock", "1330MHz"}}}, {"ag0", 1, {}}};
  const auto reply = carried(ipus);
  ASSERT_TRUE(test::succeeds(reply));
  EXPECT_EQ(reply.value(), ipus);
}

TEST(WireReplyTest, SmallRepliesComeBackAsTheyWere) {
  EXPECT_EQ(carried(base::Removed::kNow).value(), base::Removed::kNow);
  EXPECT_EQ(carried(base::Removed::kWasAbsent).value(), base::Removed::kWasAbsent);
  EXPECT_EQ(carried(std::string("1.18.0")).value(), "1.18.0");
  EXPECT_TRUE(test::succeeds(carried(Done{})));
}

TEST(WireReplyTest, AddressesComeBackAsTheyWere) {
  Addresses addresses{std::vector<std::string>(kMaxControllerAddresses, "fd00:1:2:3:4:5:6:7")};
  addresses.all.front() = "10.1.3.101";
  EXPECT_EQ(carried(addresses).value().all, addresses.all);
}

TEST(WireReplyTest, AGrantDoesNotNameTheAddressesOfAName) {
  Grant named = grant();
  named.controller_addresses = {"10.1.3.101", "10.1.3.102"};
  EXPECT_TRUE(carried(named).value().controller_addresses.empty());
}

TEST(WireReplyTest, AGrantNamesNoDeviceNodesOfThisHost) {
  Grant with_cards = grant();
  with_cards.cards = {{0, "0000:35:00.0", 0, {{"/dev/ipu0", 240, 0}}}};
  const Result<Grant> reply = carried(with_cards);
  ASSERT_TRUE(test::succeeds(reply));
  EXPECT_TRUE(reply.value().cards.empty());
}

TEST(WireReplyTest, EveryErrorCodeComesBackAsItWas) {
  for (const Code code :
       {Code::kInvalid, Code::kNotFound, Code::kExists, Code::kDenied, Code::kBusy, Code::kTimeout,
        Code::kUnavailable, Code::kUnsupported, Code::kInternal}) {
    const std::string text = reply_text(Result<Survey>(Error(code, "no block of 8")));
    EXPECT_TRUE(test::fails(parse_reply<Survey>(text), code, "no block of 8")) << text;
  }
}

TEST(WireReplyTest, ALongOrBrokenErrorMessageIsStillAReply) {
  for (const std::string& message : {std::string(100'000, 'x'), std::string(5000, '\xFF'),
                                     std::string("line 1\nline 2\x01"), std::string("\0", 1)}) {
    const std::string text = reply_text(Result<Survey>(Error(Code::kBusy, message)));
    EXPECT_TRUE(test::fails(parse_reply<Survey>(text), Code::kBusy));
  }
}

// The reply with a grant, changed by CHANGE.
template <typename Change>
std::string spoilt(const Change& change) {
  Json json = base::parse_json(reply_text(Result<Grant>(grant())), "reply").take();
  change(json["ok"]["gcds"][0]["devices"][0], json["ok"]);
  return base::to_text(json);
}

TEST(HostileReplyTest, EnvelopeIsOneOfTwoMembers) {
  for (const char* text :
       {"", " ", "garbage", "{", "[]", "null", "7", "{}", R"({"ok":1,"error":2})", R"({"yes":1})",
        R"({"ok":"1.0","more":1})", R"({"error":{}})", R"({"error":"busy"})",
        R"({"error":{"code":"busy"}})", R"({"error":{"code":"busy","message":""}})",
        R"({"error":{"code":"busy","message":"two\nlines"}})",
        R"({"error":{"code":"ok","message":"x"}})", R"({"error":{"code":0,"message":"x"}})",
        "{\"ok\":\"\xFF\"}"}) {
    EXPECT_TRUE(test::fails(parse_reply<std::string>(text), Code::kInternal, "malformed")) << text;
  }
  EXPECT_TRUE(test::fails(parse_reply<Grant>(std::string(1 << 20, '[')), Code::kInternal));
}

TEST(HostileReplyTest, AnAnswerToAnotherCallIsRefused) {
  const std::string version = reply_text(Result<std::string>("1.18.0"));
  EXPECT_TRUE(test::fails(parse_reply<Grant>(version), Code::kInternal));
  EXPECT_TRUE(test::fails(parse_reply<std::vector<Partition>>(version), Code::kInternal));
  EXPECT_TRUE(test::fails(parse_reply<PartitionStatus>(version), Code::kInternal));
  EXPECT_TRUE(test::fails(parse_reply<base::Removed>(version), Code::kInternal));
  EXPECT_TRUE(test::fails(parse_reply<Survey>(version), Code::kInternal));
  const std::string granted = reply_text(Result<Grant>(grant()));
  EXPECT_TRUE(test::fails(parse_reply<std::string>(granted), Code::kInternal));
  EXPECT_TRUE(test::fails(parse_reply<std::vector<IpuAttributes>>(granted), Code::kInternal));
  EXPECT_TRUE(test::fails(parse_reply<Done>(granted), Code::kInternal));
}

TEST(HostileReplyTest, ADeviceAddressIsThatOfAHost) {
  for (const char* bad :
       {"", "10.5.1", "10.5.1.3/24", "10.5.1.3 ", "0.0.0.0", "127.0.0.1", "224.0.0.1",
        "255.255.255.255", "::1", "host", "../../etc", "010.5.1.3"}) {
    const std::string text = spoilt([&](Json& dev, Json&) { dev["ip"] = bad; });
    EXPECT_TRUE(test::fails(parse_reply<Grant>(text), Code::kInternal, "'ip'")) << bad;
  }
  const std::string nul =
      spoilt([&](Json& dev, Json&) { dev["ip"] = std::string("10.5.1.3\0x", 10); });
  EXPECT_TRUE(test::fails(parse_reply<Grant>(nul), Code::kInternal, "'ip'"));
}

TEST(HostileReplyTest, NumbersOfADeviceAreInRange) {
  const Json bad_values[] = {-1, 4294967296, 18446744073709551615ULL, 1.5, "1", nullptr, true};
  for (const char* key : {"server_port", "rdma_port", "device_id", "ipulink_segment_id",
                          "routing_id", "ipu_arch_id", "ipu_id"}) {
    for (const Json& bad : bad_values) {
      const std::string text = spoilt([&](Json& dev, Json&) { dev[key] = bad; });
      EXPECT_TRUE(test::fails(parse_reply<Grant>(text), Code::kInternal, key)) << text;
    }
    const std::string text = spoilt([&](Json& dev, Json&) { dev.erase(key); });
    EXPECT_TRUE(test::fails(parse_reply<Grant>(text), Code::kInternal, key)) << text;
  }
  const std::string text = spoilt([](Json& dev, Json&) { dev["server_port"] = 0; });
  EXPECT_TRUE(test::fails(parse_reply<Grant>(text), Code::kInternal, "server_port"));
}

TEST(HostileReplyTest, TextsAreShortAndPlain) {
  for (const std::string& bad :
       {std::string(257, 'x'), std::string("a\nb"), std::string("a\0b", 3)}) {
    const std::string text = spoilt([&](Json& dev, Json&) { dev["chip_id"] = bad; });
    EXPECT_TRUE(test::fails(parse_reply<Grant>(text), Code::kInternal, "chip_id"));
  }
}

TEST(HostileReplyTest, AddressesAreAFewIpAddresses) {
  for (const char* bad : {R"([])", R"("10.1.3.101")", R"([7])", R"(["localhost"])", R"([""])",
                          R"(["10.1.3.101/24"])", R"(["10.1.3"])", R"(["10.1.3.101\u0000x"])",
                          R"(["fe80::1%eth0"])", R"(["10.1.3.101","x"])"}) {
    EXPECT_TRUE(test::fails(parse_reply<Addresses>(str(R"({"ok":)", bad, "}")), Code::kInternal,
                            "addresses"))
        << bad;
  }
  const Addresses many{std::vector<std::string>(kMaxControllerAddresses + 1, "10.1.3.101")};
  EXPECT_TRUE(test::fails(carried(many), Code::kInternal, "not an array of 1 to 16"));
}

TEST(HostileReplyTest, AGrantHasAtLeastOneDeviceInEveryGcd) {
  const std::string no_gcd = spoilt([](Json&, Json& ok) { ok["gcds"] = Json::array(); });
  EXPECT_TRUE(test::fails(parse_reply<Grant>(no_gcd), Code::kInternal, "gcds"));
  const std::string none =
      spoilt([](Json&, Json& ok) { ok["gcds"][0]["devices"] = Json::array(); });
  EXPECT_TRUE(test::fails(parse_reply<Grant>(none), Code::kInternal, "devices"));
}

TEST(HostileReplyTest, CountsAreBounded) {
  const std::string devices = spoilt([](Json& dev, Json& ok) {
    const Json one = dev;
    for (int i = 0; i < 1024; ++i) ok["gcds"][0]["devices"].push_back(one);
  });
  EXPECT_TRUE(test::fails(parse_reply<Grant>(devices), Code::kInternal, "devices"));
  const std::string attributes =
      spoilt([](Json&, Json& ok) { ok["gcds"][0]["attributes"]["big"] = std::string(65537, 'x'); });
  EXPECT_TRUE(test::fails(parse_reply<Grant>(attributes), Code::kInternal, "attributes"));
  const std::string number = spoilt([](Json&, Json& ok) { ok["gcds"][0]["attributes"]["n"] = 1; });
  EXPECT_TRUE(test::fails(parse_reply<Grant>(number), Code::kInternal, "attributes"));
  const std::string many = R"({"ok":{"ready":"ERROR","operation":"FAILED","errors":[)" +
                           std::string(R"("x",)") + std::string(64 * 4, ' ') + R"(7]}})";
  EXPECT_TRUE(test::fails(parse_reply<PartitionStatus>(many), Code::kInternal, "errors"));
}

// Whatever single bytes are changed: no crash, and nothing that is out of bounds gets through.
TEST(HostileReplyTest, AMutatedGrantIsRefusedOrStillWithinBounds) {
  const std::string good = reply_text(Result<Grant>(grant()));
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (uint32_t n = static_cast<uint32_t>(random()) % 3 + 1; n > 0; --n) {
      text[random() % text.size()] = static_cast<char>(random() % 2 == 0 ? random() : '0' + n);
    }
    const Result<Grant> reply = parse_reply<Grant>(text);
    refused += reply.ok() ? 0 : 1;
    if (!reply.ok()) continue;
    for (const IpuofDevice& dev : reply.value().gcds[0].devices) {
      EXPECT_LE(dev.server_port, 65535U);
      EXPECT_LE(dev.chip_id.size(), 256U);
      EXPECT_EQ(dev.ip.find_first_not_of("0123456789."), std::string::npos) << dev.ip;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 20'000);
}

TEST(HostileReplyTest, APoolIsBounded) {
  for (const char* text :
       {R"({"ok":{"domains":[65537],"partitions":[],"tainted":[]}})",
        R"({"ok":{"domains":[65536,1],"partitions":[],"tainted":[]}})",
        R"({"ok":{"domains":[-1],"partitions":[],"tainted":[]}})",
        R"({"ok":{"domains":[64],"partitions":[7],"tainted":[]}})",
        R"({"ok":{"domains":[64],"partitions":[],"tainted":[{"domain":0,"ipu":0,"reason":"\n"}]}})",
        R"({"ok":{"domains":[64],"partitions":[]}})"}) {
    EXPECT_TRUE(test::fails(parse_reply<Survey>(text), Code::kInternal)) << text;
  }
  for (const char* text : {R"({"ok":[{"agent":"a","ipu":-1,"attributes":{}}]})",
                           R"({"ok":[{"agent":"a","ipu":0,"attributes":{"k":1}}]})",
                           R"({"ok":[{"agent":"a","ipu":0,"attributes":{"k":"\u0007"}}]})",
                           R"({"ok":[{"agent":"a\n","ipu":0,"attributes":{}}]})", R"({"ok":{}})"}) {
    EXPECT_TRUE(test::fails(parse_reply<std::vector<IpuAttributes>>(text), Code::kInternal))
        << text;
  }
}

TEST(HostileReplyTest, AStatusIsBounded) {
  const std::string rest = R"("ready":"ERROR","operation":"FAILED","errors":[],"auto_resets":)";
  for (const char* bad : {R"(-1,"max_auto_resets":0,"last_auto_reset":0)",
                          R"(0,"max_auto_resets":4294967296,"last_auto_reset":0)",
                          R"(0,"max_auto_resets":0,"last_auto_reset":-1)",
                          R"(0,"max_auto_resets":0,"last_auto_reset":9223372036854775807)"}) {
    const std::string text = R"({"ok":{)" + rest + bad + "}}";
    EXPECT_TRUE(test::fails(parse_reply<PartitionStatus>(text), Code::kInternal)) << text;
  }
}

}  // namespace
}  // namespace vipu::wire
