// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/state.h"

#include <gtest/gtest.h>

#include "tests/support/outcome.h"

namespace hook::oci {
namespace {

using base::Code;

TEST(ContainerState, IsReadFromWhatRuncWrites) {
  const base::Result<ContainerState> state =
      parse_state(R"({"ociVersion":"1.0.2-dev","id":"abc","status":"creating","pid":4211,)"
                  R"("bundle":"/run/b","annotations":{"graphcore.ai/ipu.lease":"x"}})");
  ASSERT_TRUE(test::succeeds(state));
  EXPECT_EQ(state.value().id, "abc");
  EXPECT_EQ(state.value().bundle, "/run/b");
  EXPECT_EQ(state.value().pid, 4211);
}

TEST(ContainerState, HasNoPidAtPoststop) {
  EXPECT_EQ(parse_state(R"({"id":"a","bundle":"/b","status":"stopped"})").value().pid, 0);
  EXPECT_EQ(parse_state(R"({"id":"a","bundle":"/b","pid":0,"root":"/x"})").value().pid, 0);
}

struct BadState {
  const char* name;
  const char* text;
  const char* message;
};

void PrintTo(const BadState& bad, std::ostream* out) { *out << bad.name; }

class BadStateTest : public testing::TestWithParam<BadState> {};

TEST_P(BadStateTest, IsRefusedByName) {
  EXPECT_TRUE(test::fails(parse_state(GetParam().text), Code::kInvalid, GetParam().message));
  EXPECT_TRUE(test::fails(parse_state(GetParam().text), Code::kInvalid,
                          "container state on standard input"));
}

const BadState kBadStates[] = {
    {"Empty", "", "empty"},
    {"White", "\n", "empty"},
    {"Truncated", R"({"id":"a","bundle":)", "not valid JSON"},
    {"NoObject", "[]", "'id'"},
    {"NoId", R"({"bundle":"/b","pid":1})", "'id'"},
    {"IdIsANumber", R"({"id":7,"bundle":"/b"})", "'id'"},
    {"NoBundle", R"({"id":"a","pid":1})", "'bundle'"},
    {"NegativePid", R"({"id":"a","bundle":"/b","pid":-1})", "'pid' is -1"},
    {"PidIsText", R"({"id":"a","bundle":"/b","pid":"1"})", "'pid'"},
    {"PidIsNull", R"({"id":"a","bundle":"/b","pid":null})", "'pid'"},
    {"PidIsNoWholeNumber", R"({"id":"a","bundle":"/b","pid":1.5})", "'pid'"},
    {"PidThatWraps", R"({"id":"a","bundle":"/b","pid":4294967297})", "'pid' is 4294967297"},
    {"PidBeyond64Bits", R"({"id":"a","bundle":"/b","pid":18446744073709551615})", "'pid'"},
    {"PidTwice", R"({"id":"a","bundle":"/b","pid":1,"pid":2})", "'pid'"},
};

INSTANTIATE_TEST_SUITE_P(Examples, BadStateTest, testing::ValuesIn(kBadStates),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(ContainerState, IsRefusedWhenItIsTooLong) {
  const std::string padding(2 << 20, ' ');
  EXPECT_TRUE(test::fails(parse_state(R"({"id":"a","bundle":"/b"})" + padding), Code::kInvalid,
                          "longer than 1048576 bytes"));
}

}  // namespace
}  // namespace hook::oci
