// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/wire/wire.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/names.h"
#include "tests/support/outcome.h"

namespace hook::fleet::wire {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

Access access() {
  return {{"10.1.0.5:2379", "10.1.0.6:2379"},
          vipu::Tls{"-----BEGIN CA", "-----BEGIN C", "-----BEGIN K", "etcd"},
          "fleet",
          "a \"secret\""};
}

TEST(FleetWireTest, KeepsRequests) {
  Request request{access(), milliseconds(1500), Call::kTxn};
  request.txn.compares = {{"/a", Compare::What::kCreated, 0}, {"/b", Compare::What::kModified, 7}};
  request.txn.puts = {{"/a", "{\"x\":1}", int64_t{1} << 60}};
  request.txn.deletes = {"/c"};
  const Result<Request> read = parse_request(to_text(request));
  ASSERT_TRUE(test::succeeds(read));
  EXPECT_EQ(read.value().access, request.access);
  EXPECT_EQ(read.value().timeout, request.timeout);
  EXPECT_EQ(read.value().call, Call::kTxn);
  EXPECT_EQ(read.value().txn, request.txn);
  Request watch{{{"127.0.0.1:1"}}, milliseconds(1), Call::kWatch};
  watch.prefix = "/p/";
  watch.revision = 99;
  EXPECT_EQ(parse_request(to_text(watch)).take().revision, 99);
}

TEST(FleetWireTest, RefusesRequestsThatCannotBe) {
  for (const char* text :
       {"", "[]", "{}", R"({"endpoints":[],"timeout_ms":1,"call":"members"})",
        R"({"endpoints":["a"],"timeout_ms":-1,"call":"members"})",
        R"({"endpoints":["a"],"timeout_ms":1,"call":"drop"})",
        R"({"endpoints":["a"],"timeout_ms":1,"call":"range","prefix":""})",
        R"({"endpoints":["a"],"timeout_ms":1,"call":"range","prefix":"\n"})",
        R"({"endpoints":["a"],"timeout_ms":1,"call":"grant","ttl_s":0})",
        R"({"endpoints":["a"],"timeout_ms":1,"call":"txn","txn":{"puts":[],"deletes":[]}})"}) {
    EXPECT_TRUE(test::fails(parse_request(text), Code::kInvalid)) << text;
  }
}

TEST(FleetWireTest, KeepsReplies) {
  const std::vector<KeyValue> keys{{"/a", "text \xc3\xa9", 3, 4, 5}};
  const TxnResult txn{false, 9, keys};
  EXPECT_EQ(parse_reply<TxnResult>(reply_text(Result<TxnResult>(txn))).take(), txn);
  const Listing listing{9, keys};
  EXPECT_EQ(parse_reply<Listing>(reply_text(Result<Listing>(listing))).take(), listing);
  const Changes changes{10, {{keys[0], false}, {keys[0], true}}};
  EXPECT_EQ(parse_reply<Changes>(reply_text(Result<Changes>(changes))).take(), changes);
  const Lease lease{int64_t{1} << 61, 30};
  EXPECT_EQ(parse_reply<Lease>(reply_text(Result<Lease>(lease))).take(), lease);
  const std::vector<Member> members{{"10.1.0.5:2379", "3.5.0", true, "alarm"}};
  EXPECT_EQ(
      parse_reply<std::vector<Member>>(reply_text(Result<std::vector<Member>>(members))).take(),
      members);
  const Result<Lease> failed = Error(Code::kBusy, "full\nindeed");
  EXPECT_TRUE(test::fails(parse_reply<Lease>(reply_text(failed)), Code::kBusy, "full indeed"));
}

TEST(FleetWireTest, RefusesRepliesThatCannotBe) {
  for (const char* text :
       {"", "{}", R"({"ok":{},"error":{}})", R"({"ok":[]})", R"({"ok":{"lease":"1","ttl_s":1}})",
        R"({"error":{"code":"x"}})", R"({"error":{"code":"busy","message":"\u0007"}})"}) {
    EXPECT_TRUE(test::fails(parse_reply<Lease>(text), Code::kInternal, "malformed")) << text;
  }
}

TEST(FleetWireTest, ReadsQuestions) {
  const Result<Question> question = parse_question(to_text(Question{1, milliseconds(250)}), 2);
  ASSERT_TRUE(test::succeeds(question));
  EXPECT_EQ(question.value().endpoint, 1U);
  EXPECT_EQ(question.value().time, milliseconds(250));
  for (const char* text : {"", "1", "2 250", "-1 250", "0 0", "0 x", "0 1 2", " 1"}) {
    EXPECT_FALSE(parse_question(text, 2).ok()) << text;
  }
}

}  // namespace
}  // namespace hook::fleet::wire
