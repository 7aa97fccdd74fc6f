// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/support/outcome.h"
#include "vipu/wire.h"

namespace vipu::wire {
namespace {

using base::Code;
using base::Json;
using std::chrono::milliseconds;

constexpr Call kCalls[] = {Call::kCreate, Call::kSubmit,     Call::kWait,    Call::kList,
                           Call::kStatus, Call::kConfig,     Call::kReset,   Call::kRemove,
                           Call::kSurvey, Call::kAttributes, Call::kResolve, Call::kVersion};

// Every field differs from its default.
PartitionRequest full_partition() {
  return {.id = "c-0123456789ab",
          .size = 4,
          .reconfigurable = true,
          .allocation = "alloc-1",
          .cluster = "c64",
          .link_routing = LinkRouting::kRingSwnc,
          .gateway_routing = GatewayRouting::kSwRing,
          .sync = SyncType::kPodNativeReplicatedPipeline,
          .segments = 2,
          .gcds = 3,
          .replicas = 6,
          .ipus = {{{1, 2}, 3, 4}, {{5, 6}, 7, 8}},
          .disable_auto_reset = true,
          .relocatable = true};
}

Request request(Call call) {
  Request request;
  request.access.address = "10.1.3.101:8090";
  request.timeout = milliseconds(4750);
  request.call = call;
  request.partition = full_partition();
  return request;
}

TEST(WireRequestTest, CreateAndSubmitComeBackWithAllThatIsAskedFor) {
  for (const Call call : {Call::kCreate, Call::kSubmit}) {
    const base::Result<Request> parsed = parse_request(to_text(request(call)));
    ASSERT_TRUE(test::succeeds(parsed));
    EXPECT_EQ(parsed.value().access.address, "10.1.3.101:8090");
    EXPECT_EQ(parsed.value().timeout, milliseconds(4750));
    EXPECT_EQ(parsed.value().call, call);
    EXPECT_EQ(parsed.value().partition, full_partition());
  }
}

TEST(WireRequestTest, EveryCallComesBackAsItWas) {
  for (const Call call : kCalls) {
    Request asked = request(call);
    asked.gcd = 0;
    asked.relocate = Relocate::kYes;
    asked.force = Force::kYes;
    asked.agents = {"ag0", "ag1"};
    const base::Result<Request> parsed = parse_request(to_text(asked));
    ASSERT_TRUE(test::succeeds(parsed)) << name_of(call);
    EXPECT_EQ(parsed.value().call, call);
    EXPECT_EQ(parsed.value().gcd == 0U, call == Call::kConfig);
    EXPECT_EQ(parsed.value().relocate == Relocate::kYes, call == Call::kReset);
    EXPECT_EQ(parsed.value().force == Force::kYes, call == Call::kRemove);
    EXPECT_EQ(parsed.value().agents.size(), call == Call::kAttributes ? 2U : 0U);
  }
}

TEST(WireRequestTest, WithoutAGcdThereIsNone) {
  const base::Result<Request> parsed = parse_request(to_text(request(Call::kConfig)));
  ASSERT_TRUE(test::succeeds(parsed));
  EXPECT_FALSE(parsed.value().gcd.has_value());
}

TEST(WireRequestTest, AccessComesBackAsItWas) {
  Request asked = request(Call::kList);
  asked.access.tls = Tls{"-----BEGIN CERTIFICATE-----\nca\n", "cert\r\n", "key\n", "vipu.example"};
  asked.access.credentials = {{"user", "alice"}, {"access-key", "685X_K4uCzN \"\\"}};
  const base::Result<Request> parsed = parse_request(to_text(asked));
  ASSERT_TRUE(test::succeeds(parsed));
  EXPECT_EQ(parsed.value().access, asked.access);
}

TEST(WireRequestTest, RefusesWhatIsNotARequestAndNamesTheKey) {
  const struct {
    const char* text;
    const char* in_message;
  } cases[] = {
      {"", "empty"},
      {"[]", "not a JSON object"},
      {R"({"controller":7,"timeout_ms":1,"call":"list"})", "'controller'"},
      {R"({"controller":"h:1","timeout_ms":-1,"call":"list"})", "'timeout_ms'"},
      {R"({"controller":"h:1","timeout_ms":1e99,"call":"list"})", "'timeout_ms'"},
      {R"({"controller":"h:1","timeout_ms":18446744073709551615,"call":"list"})", "'timeout_ms'"},
      {R"({"controller":"h:1","timeout_ms":1,"call":"destroy"})", "'call'"},
      {R"({"controller":"h:1","timeout_ms":1})", "'call'"},
      {R"({"controller":"h:1","timeout_ms":1,"call":"status"})", "'partition'"},
      {R"({"controller":"h:1","timeout_ms":1,"call":"status","partition":{"id":""}})", "'id'"},
      {R"({"controller":"h:1","timeout_ms":1,"call":"create","partition":{"id":"p"}})", "'size'"},
      {R"({"controller":"h:1","timeout_ms":1,"call":"remove","partition":{"id":"p"}})", "'force'"},
      {R"({"controller":"h:1","timeout_ms":1,"call":"attributes","agents":[7]})", "'agents'"},
      {R"({"controller":"h:1","timeout_ms":1,"call":"list","tls":{"ca":"x"}})", "'certificate'"},
  };
  for (const auto& c : cases) {
    EXPECT_TRUE(test::fails(parse_request(c.text), Code::kInvalid, c.in_message)) << c.text;
  }
}

TEST(WireRequestTest, EachMemberOfAPartitionIsChecked) {
  const Json good = base::parse_json(to_text(request(Call::kCreate)), "request").take();
  for (const auto& [key, value] : good["partition"].items()) {
    for (const Json& bad : {Json(-1), Json(nullptr), Json("\n"), Json::object(), Json(1e99)}) {
      Json spoilt = good;
      spoilt["partition"][key] = bad;
      EXPECT_TRUE(test::fails(parse_request(base::to_text(spoilt)), Code::kInvalid, key)) << spoilt;
    }
    Json without = good;
    without["partition"].erase(key);
    EXPECT_TRUE(test::fails(parse_request(base::to_text(without)), Code::kInvalid, key)) << without;
  }
}

TEST(WireRequestTest, CredentialsThatGrpcCannotSendAreRefusedAndNotRepeated) {
  const struct {
    const char* name;
    const char* value;
  } cases[] = {
      {"grpc-timeout", "secret"}, {"key-bin", "secret"}, {"Key", "secret"},   {"", "secret"},
      {":path", "secret"},        {"k", "secret\n"},     {"k", "secret\x01"}, {"k", " secret"},
      {"k", "secret\xC3\xA9"}};
  for (const auto& c : cases) {
    Request asked = request(Call::kList);
    asked.access.credentials = {{c.name, c.value}};
    const base::Result<Request> parsed = parse_request(to_text(asked));
    EXPECT_TRUE(test::fails(parsed, Code::kInvalid, "'credentials'")) << c.name;
    if (parsed.ok()) continue;
    EXPECT_EQ(parsed.error().message().find("secret"), std::string::npos);
  }
}

TEST(WireRequestTest, ControllerIsAHostAndAPortAndNoOtherSchemeOfGrpc) {
  const std::string rest = R"(","timeout_ms":1,"call":"list"})";
  for (const char* good : {"10.1.3.101:8090", "localhost:1", "vipu-server.example:65535"}) {
    EXPECT_TRUE(test::succeeds(parse_request(R"({"controller":")" + std::string(good) + rest)));
  }
  for (const char* bad : {"", "host", "host:", ":8090", "host:0", "host:65536", "host:80x", "h/x:1",
                          "unix:/run/x", "dns:///h:1", "a,b:1", "h o:1", "[::1]:8090"}) {
    EXPECT_TRUE(test::fails(parse_request(R"({"controller":")" + std::string(bad) + rest),
                            Code::kInvalid, "'controller'"))
        << bad;
  }
}

}  // namespace
}  // namespace vipu::wire
