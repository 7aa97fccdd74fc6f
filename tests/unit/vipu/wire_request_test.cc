// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/outcome.h"
#include "vipu/wire.h"

namespace vipu::wire {
namespace {

using base::Code;
using std::chrono::milliseconds;

TEST(WireRequestTest, CreateComesBackAsItWas) {
  const Request request{
      "10.1.3.101:8090", milliseconds(4750), Call::kCreate, {"c-0123456789ab", 4, true, "alloc-1"}};
  const base::Result<Request> parsed = parse_request(to_text(request));
  ASSERT_TRUE(test::succeeds(parsed));
  EXPECT_EQ(parsed.value().controller, "10.1.3.101:8090");
  EXPECT_EQ(parsed.value().timeout, milliseconds(4750));
  EXPECT_EQ(parsed.value().call, Call::kCreate);
  EXPECT_EQ(parsed.value().partition.id, "c-0123456789ab");
  EXPECT_EQ(parsed.value().partition.size, 4U);
  EXPECT_TRUE(parsed.value().partition.reconfigurable);
  EXPECT_EQ(parsed.value().partition.allocation, "alloc-1");
}

TEST(WireRequestTest, EveryCallComesBackAsItWas) {
  for (const Call call : {Call::kCreate, Call::kList, Call::kStatus, Call::kConfig, Call::kRemove,
                          Call::kCapacity, Call::kVersion}) {
    Request request{"vipu.example:8090", milliseconds(1), call, {}};
    request.partition.id = "p0";
    const base::Result<Request> parsed = parse_request(to_text(request));
    ASSERT_TRUE(test::succeeds(parsed)) << name_of(call);
    EXPECT_EQ(parsed.value().call, call);
  }
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
  };
  for (const auto& c : cases) {
    EXPECT_TRUE(test::fails(parse_request(c.text), Code::kInvalid, c.in_message)) << c.text;
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
