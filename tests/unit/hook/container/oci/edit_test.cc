// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/spec.h"
#include "tests/support/outcome.h"
#include "tests/unit/hook/container/oci/docker_config.h"

namespace hook::oci {
namespace {

using namespace base::names;
using base::Json;

constexpr const char* kHook = "/usr/local/bin/ipu-container-hook";
constexpr const char* kPoststop = "/usr/local/libexec/ipu-container-poststop";

Json parsed(const std::string& text) { return base::parse_json(text, "x").take(); }

SpecEdit edit_for(const std::string& lease) {
  SpecEdit edit;
  edit.devices = {{"/dev/infiniband/uverbs0", 231, 192}, {"/dev/infiniband/rdma_cm", 10, 58}};
  edit.mounts = {{str("/run/ipu/leases/", lease, "/ipu"), "/run/ipu"}};
  edit.environment = {{"IPUOF_CONFIG_PATH", "/etc/ipuof.conf.d/ipuof.conf"}};
  edit.forget_environment = {"IPUOF_VIPU_API_*"};
  edit.forget_capabilities = {"CAP_NET_ADMIN", "CAP_NET_RAW"};
  edit.memlock = RLIM_INFINITY;
  edit.create_runtime = {{kHook, {"ipu-container-hook", "createRuntime", "--lease", lease}, 15}};
  edit.poststop = {{kPoststop, {"ipu-container-hook", "poststop", "--lease", lease}, 15}};
  edit.annotations = {{"graphcore.ai/ipu.lease", lease}};
  return edit;
}

std::string edited(const std::string& text, const SpecEdit& edit) {
  const base::Result<std::string> result = edit_spec(text, edit);
  EXPECT_TRUE(test::succeeds(result));
  return result.ok() ? result.value() : "{}";
}

Json edited_docker_config() { return parsed(edited(docker_config(), edit_for("aa"))); }

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(EditSpec, ChangesNothingWithoutAnEdit) {
  const std::string text = docker_config();
  EXPECT_EQ(edited(text, {}), text);
}

TEST(EditSpec, ChangesNothingButWhatTheEditNames) {
  // Unordered, because diff() is not there for ordered objects.
  const nlohmann::json before = nlohmann::json::parse(docker_config());
  const nlohmann::json after = nlohmann::json::parse(edited(docker_config(), edit_for("aa")));
  for (const nlohmann::json& change : nlohmann::json::diff(before, after)) {
    EXPECT_THAT(change["path"].get<std::string>(),
                testing::MatchesRegex(
                    "/(process/(env|rlimits|capabilities/[a-z]+)/.*|mounts/-|"
                    "hooks/(createRuntime|poststop/.*)|annotations/graphcore.ai~1ipu.(lease|added)|"
                    "linux/devices/-|linux/resources/devices/-)"));
  }
}

TEST(EditSpec, KeepsTheOrderOfKeys) {
  const Json before = parsed(docker_config());
  const Json after = edited_docker_config();
  EXPECT_EQ(keys_of(after), keys_of(before));
  EXPECT_EQ(keys_of(after["process"]), keys_of(before["process"]));
  EXPECT_EQ(keys_of(after["linux"]), keys_of(before["linux"]));
  EXPECT_EQ(keys_of(after["linux"]["resources"]), keys_of(before["linux"]["resources"]));
}

TEST(EditSpec, KeepsNumbersAsTheyWereWritten) {
  const std::string text = edited(docker_config(), edit_for("aa"));
  for (const char* written :
       {R"("RLIMIT_CORE", "hard": 18446744073709551615)", R"("limit": 9223372036854771712)",
        R"("vendorFactor": 0.1)", "1.50e-7"}) {
    ASSERT_THAT(docker_config(), testing::HasSubstr(written));
    EXPECT_THAT(text, testing::HasSubstr(written));
  }
}

TEST(EditSpec, ChangesNothingTheSecondTime) {
  const std::string once = edited(docker_config(), edit_for("aa"));
  EXPECT_EQ(edited(once, edit_for("aa")), once);
}

// An engine may start a container again from the file of its last start.
TEST(EditSpec, ReplacesTheEntriesOfAnEarlierLease) {
  const std::string again = edited(edited(docker_config(), edit_for("aa")), edit_for("bb"));
  EXPECT_EQ(again, edited(docker_config(), edit_for("bb")));
  EXPECT_EQ(again.find("\"aa\""), std::string::npos);
}

TEST(EditSpec, AddsDeviceNodesAfterThoseThatAreThere) {
  const Json devices = edited_docker_config()["linux"]["devices"];
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[0]["path"], "/dev/fuse");
  EXPECT_EQ(base::to_text(devices[1]),
            R"({"path":"/dev/infiniband/uverbs0","type":"c","major":231,"minor":192,)"
            R"("fileMode":438,"uid":0,"gid":0})");
  EXPECT_EQ(devices[2]["path"], "/dev/infiniband/rdma_cm");
}

TEST(EditSpec, ReplacesADeviceNodeOfTheSamePath) {
  const Json spec = parsed(edited(
      R"({"linux":{"devices":[{"path":"/dev/infiniband/uverbs0","type":"c","major":1,"minor":1}]}})",
      edit_for("aa")));
  ASSERT_EQ(spec["linux"]["devices"].size(), 2U);
  EXPECT_EQ(spec["linux"]["devices"][0]["major"], 231);
}

TEST(EditSpec, AppendsDeviceRulesBehindTheOneThatDeniesAll) {
  const Json before = parsed(docker_config())["linux"]["resources"]["devices"];
  const Json rules = edited_docker_config()["linux"]["resources"]["devices"];
  ASSERT_EQ(rules.size(), before.size() + 2);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(rules[i], before[i]);
  EXPECT_EQ(base::to_text(rules[4]),
            R"({"allow":true,"type":"c","major":231,"minor":192,"access":"rw"})");
  EXPECT_EQ(base::to_text(rules[5]),
            R"({"allow":true,"type":"c","major":10,"minor":58,"access":"rw"})");
}

TEST(EditSpec, MountsDirectoriesReadOnlyBehindAllOtherMounts) {
  const Json mounts = edited_docker_config()["mounts"];
  EXPECT_EQ(base::to_text(mounts.back()),
            R"({"destination":"/run/ipu","type":"bind",)"
            R"("source":"/run/ipu/leases/aa/ipu",)"
            R"("options":["bind","ro","nosuid","nodev","noexec","rprivate"]})");
}

TEST(EditSpec, ReplacesAndForgetsVariables) {
  EXPECT_EQ(edited_docker_config()["process"]["env"],
            Json::array({"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                         "HOSTNAME=3f2a6b1c9d07", "IPU_COUNT=4", "IPUOF_LOG_LEVEL=INFO",
                         "EMPTY=", "MULTILINE=first\nsecond",
                         "IPUOF_CONFIG_PATH=/etc/ipuof.conf.d/ipuof.conf"}));
}

TEST(EditSpec, ForgetsAVariableThatHasNoValue) {
  SpecEdit edit;
  edit.forget_environment = {"A", "B_*"};
  EXPECT_EQ(edited(R"({"process":{"env":["A","AA=1","B_","B_X=1","B=1","A=2"]}})", edit),
            R"({"process":{"env":["AA=1","B=1"]}})");
}

TEST(EditSpec, TakesCapabilitiesFromAllFiveSets) {
  const Json sets = edited_docker_config()["process"]["capabilities"];
  ASSERT_EQ(sets.size(), 5U);
  EXPECT_EQ(base::to_text(sets).find("CAP_NET_"), std::string::npos);
  EXPECT_EQ(sets["bounding"],
            Json::array({"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_SYS_CHROOT", "CAP_KILL"}));
  EXPECT_EQ(sets["inheritable"], Json::array({"CAP_KILL"}));
  EXPECT_EQ(sets["ambient"], Json::array());
}

TEST(EditSpec, SetsMemlockOnce) {
  const Json limits = edited_docker_config()["process"]["rlimits"];
  ASSERT_EQ(limits.size(), 3U);
  EXPECT_EQ(base::to_text(limits[2]),
            R"({"type":"RLIMIT_MEMLOCK","hard":18446744073709551615,"soft":18446744073709551615})");
}

TEST(EditSpec, PutsItsPoststopHookFirst) {
  const Json hooks = edited_docker_config()["hooks"]["poststop"];
  ASSERT_EQ(hooks.size(), 2U);
  EXPECT_EQ(base::to_text(hooks[0]),
            R"({"path":"/usr/local/libexec/ipu-container-poststop",)"
            R"("args":["ipu-container-hook","poststop","--lease","aa"],)"
            R"("env":["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],"timeout":15})");
  EXPECT_EQ(hooks[1]["path"], "/usr/local/bin/report-end");
}

TEST(EditSpec, LetsItsHooksLogEverything) {
  SpecEdit edit = edit_for("aa");
  edit.create_runtime[0].is_debugged = true;
  EXPECT_EQ(base::to_text(parsed(edited("{}", edit))["hooks"]["createRuntime"][0]["env"]),
            R"(["PATH=/usr/sbin:/usr/bin:/sbin:/bin","IPU_DEBUG=1"])");
}

TEST(EditSpec, PutsItsCreateRuntimeHookLast) {
  const Json spec =
      parsed(edited(R"({"hooks":{"createRuntime":[{"path":"/other"}]}})", edit_for("aa")));
  const Json& hooks = spec["hooks"]["createRuntime"];
  ASSERT_EQ(hooks.size(), 2U);
  EXPECT_EQ(hooks[0]["path"], "/other");
  EXPECT_EQ(hooks[1]["path"], kHook);
}

TEST(EditSpec, LeavesOtherStagesAlone) {
  const Json before = parsed(docker_config());
  EXPECT_EQ(edited_docker_config()["hooks"]["prestart"], before["hooks"]["prestart"]);
}

TEST(EditSpec, MakesSectionsThatAreAbsentOrNull) {
  const std::string from_nothing = edited("{}", edit_for("aa"));
  const Json spec = parsed(from_nothing);
  EXPECT_EQ(spec["annotations"]["graphcore.ai/ipu.lease"], "aa");
  EXPECT_EQ(spec["linux"]["resources"]["devices"].size(), 2U);
  EXPECT_FALSE(spec["process"].contains("capabilities"));
  const Json from_nulls = parsed(edited(
      R"({"process":{"env":null,"rlimits":null,"capabilities":null},"mounts":null,"hooks":null,
          "annotations":null,"linux":{"devices":null,"resources":null}})",
      edit_for("aa")));
  EXPECT_EQ(from_nulls["hooks"], spec["hooks"]);
  EXPECT_EQ(from_nulls["linux"], spec["linux"]);
  EXPECT_EQ(from_nulls["mounts"], spec["mounts"]);
}

// plain runc may start a bundle twice. The first lease's devices are somebody else's by then.
TEST(EditSpec, TakesBackWhatAnEarlierEditAdded) {
  SpecEdit first = edit_for("aa");
  first.devices.push_back({"/dev/ipu3", 240, 12});
  first.mounts.push_back({"/run/ipu/leases/aa/ipuof.conf.d", "/etc/ipuof.conf.d"});
  first.poststop[0].path = kHook;  // as before there was another program for it
  SpecEdit second = edit_for("bb");
  second.leases = "/run/ipu/leases/";
  second.devices = {{"/dev/infiniband/uverbs1", 231, 193}, {"/dev/infiniband/rdma_cm", 10, 58}};
  const std::string text = edited(edited(docker_config(), first), second);
  EXPECT_EQ(parsed(text), parsed(edited(docker_config(), second)));
  EXPECT_EQ(edited(text, second), text);
}

TEST(ForgetEdit, TakesBackWhatAnEarlierEditAdded) {
  SpecEdit edit = edit_for("bb");
  edit.leases = "/run/ipu/leases/";
  SpecEdit first = edit_for("aa");
  first.poststop.push_back({kHook, {"ipu-container-hook", "poststop", "--lease", "aa"}, 15});
  const Json before = parsed(docker_config());
  const Json after = parsed(forget_edit(edited(docker_config(), first), edit).value());
  EXPECT_EQ(after["mounts"], before["mounts"]);
  EXPECT_EQ(after["linux"]["resources"], before["linux"]["resources"]);
  EXPECT_EQ(after["linux"]["devices"], before["linux"]["devices"]);
  EXPECT_EQ(after["hooks"]["createRuntime"], Json::array());
  EXPECT_EQ(after["hooks"]["poststop"], before["hooks"]["poststop"]);
  EXPECT_EQ(after["annotations"], before["annotations"]);
  EXPECT_EQ(after.dump().find(kHook), std::string::npos);
  EXPECT_EQ(after.dump().find("ipuof.conf\""), std::string::npos);
}

TEST(ForgetEdit, KeepsWhatIsTheBundlesOwn) {
  SpecEdit edit = edit_for("aa");
  edit.leases = "/run/ipu/leases/";
  const std::string text =
      str(R"({"hooks":{"createRuntime":[{"path":")", kHook, R"(","args":["x","createRuntime"]},1],
       "poststop":[{"path":"/x","args":["--lease"]}]},
       "mounts":[{"destination":"/watched","source":"/run/ipu/leases/aa/lease.json"},
       {"destination":"/run/ipu","source":"/mine"}],
       "process":{"env":["IPUOF_CONFIG_PATH=/mine"]},"annotations":{"a":"b"}})");
  EXPECT_EQ(forget_edit(text, edit).value(), text);
  for (const char* odd : {"{}", R"({"hooks":null,"mounts":null})", R"({"annotations":null})"}) {
    EXPECT_EQ(forget_edit(odd, edit).value(), odd);
  }
}

TEST(EditSpec, MountsInsteadOfWhatIsMountedThereOrBelow) {
  const std::string text = R"({"mounts":[{"destination":"/run/ipu","source":"/x"},
      {"destination":"/run/ipu/b","source":"/x"},{"destination":"/run/ipu2","source":"/x"},
      {"destination":"/run","source":"/x"},1,{"destination":2}]})";
  const Json mounts = parsed(edited(text, edit_for("aa")))["mounts"];
  ASSERT_EQ(mounts.size(), 5U);
  EXPECT_EQ(mounts[0]["destination"], "/run/ipu2");
  EXPECT_EQ(mounts[1]["destination"], "/run");
  EXPECT_EQ(mounts[4]["destination"], "/run/ipu");
}

TEST(EditSpec, MountsInsteadOfAMountHoweverItsPathIsWritten) {
  for (const char* path : {"/run//ipu/", "/run/./ipu", "/run/x/../ipu/a", "run/ipu", "/../run/ipu",
                           "/run//ipu/lease.json"}) {
    const std::string text = str(R"({"mounts":[{"destination":")", path, R"(","source":"/x"}]})");
    const Json mounts = parsed(edited(text, edit_for("aa")))["mounts"];
    ASSERT_EQ(mounts.size(), 1U) << path;
    EXPECT_EQ(mounts[0]["source"], "/run/ipu/leases/aa/ipu") << path;
  }
}

TEST(EditProcess, ChangesWhatTheEditSaysAndKeepsAllElse) {
  SpecEdit edit;
  edit.forget_capabilities = {"CAP_NET_RAW"};
  edit.mounts = {{"/x", "/etc"}};
  const std::string text =
      R"({ "args": ["sh"], "capabilities": {"bounding": ["CAP_KILL"]}, "x":1.0})";
  EXPECT_EQ(edit_process(text, edit).value(), text);
  const Json process = parsed(
      edit_process(R"({"capabilities":{"permitted":["CAP_NET_RAW","CAP_KILL"]},"cwd":"/"})", edit)
          .take());
  EXPECT_EQ(process, parsed(R"({"capabilities":{"permitted":["CAP_KILL"]},"cwd":"/"})"));
}

TEST(EditProcess, RefusesWhatIsNoProcess) {
  const SpecEdit edit;
  for (const char* text : {"", "[]", "{", R"({"capabilities":[]})", R"({},"root":{)",
                           R"({"Capabilities":{"bounding":["CAP_NET_RAW"]}})"}) {
    EXPECT_FALSE(edit_process(text, edit).ok()) << text;
  }
}

TEST(EditSpec, ForgetsACapabilityWhateverItsCase) {
  const Json spec = parsed(edited(
      R"({"process":{"capabilities":{"bounding":["cap_net_raw","CAP_KILL",1]}}})", edit_for("aa")));
  EXPECT_EQ(spec["process"]["capabilities"]["bounding"], parsed(R"(["CAP_KILL",1])"));
}

TEST(EditSpec, RefusesANoteThatIsLongerThanAnyOfOurs) {
  const auto with_note = [](size_t bytes) {
    return str(R"({"annotations":{"graphcore.ai/ipu.added":")", std::string(bytes, 'x'), R"("}})");
  };
  EXPECT_TRUE(test::succeeds(edit_spec(with_note(65536), edit_for("aa"))));
  EXPECT_TRUE(test::fails(edit_spec(with_note(65537), edit_for("aa")), Code::kInvalid,
                          "'graphcore.ai/ipu.added' has 65537 bytes; at most 65536"));
}

// What takes something back makes nothing: a section that is added moves the others.
TEST(ForgetEdit, AddsNoSectionThatIsNotThere) {
  const std::string note = R"("annotations":{"graphcore.ai/ipu.added":"[\"/dev/ipu0\"]"})";
  SpecEdit edit = edit_for("aa");
  EXPECT_EQ(parsed(forget_edit(str("{", note, "}"), edit).value()),
            parsed(R"({"annotations":{}})"));
  const std::string device = R"({"path":"/dev/ipu0","type":"c","major":240,"minor":0})";
  const std::string text = str("{", note, R"(,"linux":{"devices":[)", device, "]}}");
  EXPECT_EQ(parsed(forget_edit(text, edit).value()),
            parsed(R"({"annotations":{},"linux":{"devices":[]}})"));
}

// Pods may set annotations of ours.
TEST(EditSpec, TakesNoMountBackByAForgedNote) {
  const std::string text = R"({"annotations":{"graphcore.ai/ipu.added":"[\"/proc\"]"},
      "mounts":[{"destination":"/proc","type":"proc","source":"proc"}]})";
  SpecEdit edit = edit_for("aa");
  edit.leases = "/run/ipu/leases/";
  EXPECT_EQ(parsed(edited(text, edit))["mounts"].size(), 2U);
}

TEST(EditSpec, DoesNotTakeBackWhatWasThereBefore) {
  const std::string text =
      R"({"linux":{"devices":[{"path":"/dev/ipu3","type":"c","major":240,"minor":12}]}})";
  SpecEdit first = edit_for("aa");
  first.devices = {{"/dev/ipu3", 240, 12}};
  SpecEdit second = edit_for("bb");
  second.devices = {};
  EXPECT_EQ(parsed(edited(edited(text, first), second))["linux"]["devices"].size(), 1U);
}

TEST(EditSpec, TakesNothingBackByANoteOfAnotherForm) {
  for (const char* note : {"1", R"("no json")", R"("[1]")", R"("{\"devices\":[1,{}]}")"}) {
    const std::string text = str(R"({"annotations":{"graphcore.ai/ipu.added":)", note, "}}");
    const Json spec = parsed(edited(text, edit_for("aa")));
    EXPECT_EQ(spec["linux"], parsed(edited("{}", edit_for("aa")))["linux"]) << note;
    EXPECT_EQ(spec["annotations"].size(), 2U) << note;
  }
}

TEST(EditSpec, PassesOverEntriesThatAreNoObjects) {
  const Json spec = parsed(
      edited(R"({"mounts":[1,"x",null],"linux":{"devices":[null,[]]},"hooks":{"poststop":["x"]}})",
             edit_for("aa")));
  EXPECT_EQ(spec["mounts"].size(), 4U);
  EXPECT_EQ(spec["linux"]["devices"].size(), 4U);
}

TEST(EditSpec, FailsAsParseSpecDoes) {
  EXPECT_TRUE(test::fails(edit_spec(R"({"Linux":{}})", edit_for("aa")), Code::kInvalid, "'Linux'"));
  EXPECT_TRUE(test::fails(edit_spec(R"({"mounts":{}})", edit_for("aa")), Code::kInvalid, "mounts"));
  EXPECT_TRUE(test::fails(edit_spec("", edit_for("aa")), Code::kInvalid, "empty"));
}

TEST(EditSpec, GivesANetworkOfItsOwnInsteadOfOneByPath) {
  SpecEdit edit;
  edit.own_network = true;
  const Json spec = parsed(edited(
      R"({"linux":{"namespaces":[{"type":"pid"},{"type":"network","path":"/proc/1/ns/net"}]}})",
      edit));
  EXPECT_EQ(spec["linux"]["namespaces"], parsed(R"([{"type":"pid"},{"type":"network"}])"));
}

TEST(EditSpec, GivesANetworkWhereThereWasNone) {
  SpecEdit edit;
  edit.own_network = true;
  EXPECT_EQ(parsed(edited("{}", edit))["linux"]["namespaces"], parsed(R"([{"type":"network"}])"));
}

TEST(EditSpec, LimitsTheRdmaDeviceAndKeepsTheLimitsOfOthers) {
  SpecEdit edit;
  edit.rdma_limits["mlx5_0"].handles = 8;
  const Json spec = parsed(edited(
      R"({"linux":{"resources":{"rdma":{"mlx5_1":{"hcaObjects":5},"mlx5_0":{"hcaObjects":6}}}}})",
      edit));
  EXPECT_EQ(spec["linux"]["resources"]["rdma"],
            parsed(R"({"mlx5_1":{"hcaObjects":5},"mlx5_0":{"hcaObjects":6,"hcaHandles":8}})"));
}

}  // namespace
}  // namespace hook::oci
