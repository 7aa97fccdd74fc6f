// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/unit/hook/container/oci/docker_config.h"

namespace hook::oci {
namespace {

using base::Code;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(ParseSpec, ReadsTheConfigurationOfADockerContainer) {
  const base::Result<SpecView> spec = parse_spec(docker_config());
  ASSERT_TRUE(test::succeeds(spec));
  EXPECT_EQ(spec.value().environment.size(), 9U);
  EXPECT_THAT(spec.value().environment, Contains("IPU_COUNT=4"));
  EXPECT_THAT(spec.value().environment, Contains("MULTILINE=first\nsecond"));
  EXPECT_THAT(spec.value().annotations, ElementsAre(Pair("com.example.owner", "team-a")));
  EXPECT_EQ(spec.value().network.kind, NetworkNamespace::Kind::kNew);
}

TEST(ParseSpec, TakesAbsentAndNullSectionsAsEmpty) {
  for (const char* text : {"{}", R"({"process":null,"hooks":null,"linux":null,"mounts":null,
                                     "annotations":null})",
                           R"({"process":{"env":null,"rlimits":null,"capabilities":null},
                               "hooks":{"poststop":null},
                               "linux":{"devices":null,"namespaces":null,"resources":null}})"}) {
    const base::Result<SpecView> spec = parse_spec(text);
    ASSERT_TRUE(test::succeeds(spec)) << text;
    EXPECT_THAT(spec.value().environment, IsEmpty());
    EXPECT_THAT(spec.value().annotations, IsEmpty());
  }
}

TEST(ParseSpec, TellsWhereTheNetworkNamespaceComesFrom) {
  using Kind = NetworkNamespace::Kind;
  const auto network_of = [](const std::string& namespaces) {
    return parse_spec(R"({"linux":{"namespaces":)" + namespaces + "}}").value().network;
  };
  EXPECT_EQ(network_of(R"([{"type":"pid"}])").kind, Kind::kHost);
  EXPECT_EQ(network_of("[]").kind, Kind::kHost);
  EXPECT_EQ(network_of(R"([{"type":"pid"},{"type":"network"}])").kind, Kind::kNew);
  EXPECT_EQ(network_of(R"([{"type":"network","path":""}])").kind, Kind::kNew);
  EXPECT_EQ(network_of(R"([{"type":"network","path":"/proc/1/ns/net"}])").kind, Kind::kPath);
  EXPECT_EQ(network_of(R"([{"type":"network","path":"/run/n"}])").path, "/run/n");
}

struct BadSpec {
  const char* name;
  const char* text;
  const char* message;
};

void PrintTo(const BadSpec& bad, std::ostream* out) { *out << bad.name; }

class BadSpecTest : public testing::TestWithParam<BadSpec> {};

TEST_P(BadSpecTest, IsRefusedByItsKey) {
  EXPECT_TRUE(test::fails(parse_spec(GetParam().text), Code::kInvalid, GetParam().message));
  EXPECT_TRUE(test::fails(parse_spec(GetParam().text), Code::kInvalid, "config.json"));
}

const BadSpec kBadSpecs[] = {
    {"Empty", "", "empty"},
    {"Truncated", R"({"process":{)", "not valid JSON"},
    {"NoObject", "[]", "must be an object"},
    {"SomethingBehindIt", "{} x", "not valid JSON"},
    {"ProcessTwice", R"({"process":{},"process":{}})", "'process' appears twice"},
    {"EnvTwice", R"({"process":{"env":[],"env":[]}})", "'env' appears twice"},
    {"HooksInAnotherCase", R"({"Hooks":{}})", "key 'Hooks' must be written 'hooks'"},
    {"HooksInBothCases", R"({"hooks":{},"HOOKS":{}})", "key 'HOOKS' must be written 'hooks'"},
    {"CapabilitiesWithALongS", R"({"process":{"capabilitie\u017f":{}}})",
     "must be written 'capabilities'"},
    {"HooksWithAKelvinSign", R"({"hoo\u212as":{}})", "must be written 'hooks'"},
    {"ASetInAnotherCase", R"({"process":{"capabilities":{"Bounding":[]}}})",
     "key 'Bounding' must be written 'bounding'"},
    {"ADeviceInAnotherCase", R"({"linux":{"devices":[{},{"Path":"/dev/mem"}]}})",
     "key 'Path' must be written 'path'"},
    {"ARuleInAnotherCase", R"({"linux":{"resources":{"devices":[{"acce\u017fs":"rwm"}]}}})",
     "must be written 'access'"},
    {"ANamespaceInAnotherCase", R"({"linux":{"namespaces":[{"TYPE":"network"}]}})",
     "key 'TYPE' must be written 'type'"},
    {"AMountWithALongS", R"({"mounts":[{"de\u017ftination":"/etc"}]})",
     "must be written 'destination'"},
    {"AHookInAnotherCase", R"({"hooks":{"poststop":[{"Path":"/x"}]}})",
     "key 'Path' must be written 'path'"},
    {"ALimitInAnotherCase", R"({"process":{"rlimits":[{"Hard":1}]}})",
     "key 'Hard' must be written 'hard'"},
    {"LinuxInAnotherCase", R"({"Linux":{}})", "key 'Linux' must be written 'linux'"},
    {"EnvInAnotherCase", R"({"process":{"Env":[]}})", "key 'Env' must be written 'env'"},
    {"DevicesInAnotherCase", R"({"linux":{"resources":{"Devices":[]}}})",
     "key 'Devices' must be written 'devices'"},
    {"ProcessIsAList", R"({"process":[]})", "key 'process' must be an object"},
    {"EnvIsText", R"({"process":{"env":"A=1"}})", "key 'process.env' must be a list"},
    {"EnvHoldsANumber", R"({"process":{"env":[1]}})",
     "key 'process.env' must be a list of strings"},
    {"MountsIsAnObject", R"({"mounts":{}})", "key 'mounts' must be a list"},
    {"HooksIsAList", R"({"hooks":[]})", "key 'hooks' must be an object"},
    {"PoststopIsAnObject", R"({"hooks":{"poststop":{}}})", "key 'hooks.poststop' must be a list"},
    {"DeviceRulesIsText", R"({"linux":{"resources":{"devices":"x"}}})",
     "key 'linux.resources.devices' must be a list"},
    {"AnnotationIsANumber", R"({"annotations":{"a":1}})", "annotation 'a' must be a string"},
    {"NamespacePathIsANumber", R"({"linux":{"namespaces":[{"type":"network","path":1}]}})",
     "key 'path' of the network namespace"},
};

INSTANTIATE_TEST_SUITE_P(Examples, BadSpecTest, testing::ValuesIn(kBadSpecs),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(ParseSpec, RefusesAnEnvironmentThatNoProgramCanBeStartedWith) {
  const auto with_bytes = [](size_t bytes) {
    return R"({"process":{"env":["A=)" + std::string(bytes - 3, 'x') + R"("]}})";
  };
  EXPECT_TRUE(test::succeeds(parse_spec(with_bytes(2 << 20))));
  EXPECT_TRUE(test::fails(parse_spec(with_bytes((2 << 20) + 1)), Code::kInvalid,
                          "key 'process.env' has 2097153 bytes; at most 2097152"));
  EXPECT_FALSE(parse_spec(with_bytes(5 << 20)).ok());
}

TEST(ParseSpec, RefusesATextThatIsTooLong) {
  EXPECT_TRUE(test::fails(parse_spec("{}" + std::string(kMaxSpecBytes, ' ')), Code::kInvalid,
                          "longer than 16777216 bytes"));
}

}  // namespace
}  // namespace hook::oci
