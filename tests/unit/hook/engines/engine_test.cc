// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/hook/engines/entry.h"

namespace hook::engines {
namespace {

using namespace base::names;

class EngineTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text, mode_t mode = 0644) const {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    ASSERT_TRUE(test::succeeds(base::write_atomic(path, text, {mode, {}, {}})));
  }
  static FileText read(const std::string& path) {
    return base::read_file_if_exists(path, 1 << 20).take();
  }
  static void configure(Engine engine, const std::string& path) {
    ASSERT_TRUE(test::succeeds(apply_edit(plan_configure(engine, path, kEntry).take())));
  }
  static void unconfigure(Engine engine, const std::string& path) {
    ASSERT_TRUE(test::succeeds(apply_edit(plan_unconfigure(engine, path, "ipu").take())));
  }
  Surroundings root() const { return {dir_.path()}; }

  const test::TempDir dir_;
  const std::string file_ = dir_ / "etc/engine/file";
};

TEST_F(EngineTest, NamesAreFoundAgain) {
  for (const Engine engine : kEngines) EXPECT_EQ(parse_engine(name_of(engine)).take(), engine);
  EXPECT_TRUE(test::fails(parse_engine("lxc"), Code::kInvalid, "docker, containerd, crio, podman"));
}

TEST_F(EngineTest, TheFileIsTheUsualOneOrWhatTheDaemonWasTold) {
  EXPECT_EQ(file_of(Engine::kDocker, {}, root()).take(), dir_ / "etc/docker/daemon.json");
  const Daemon told{{}, {"dockerd", "--config-file", "/d.json"}};
  EXPECT_EQ(file_of(Engine::kDocker, {told}, root()).take(), dir_ / "d.json");
  const Daemon other{{}, {"dockerd", "--config-file=/e.json"}};
  EXPECT_TRUE(
      test::fails(file_of(Engine::kDocker, {told, other}, root()), Code::kInvalid, "--config"));
  EXPECT_EQ(file_of(Engine::kPodman, {}, {"", false, "/users/a/.config"}).take(),
            "/users/a/.config/containers/containers.conf.d/ipu-container-toolkit.conf");
}

TEST_F(EngineTest, TheFileOfASnapIsTakenWhereOnlyThatIsThere) {
  std::filesystem::create_directories(dir_ / "var/snap/docker/current/config");
  EXPECT_EQ(file_of(Engine::kDocker, {}, root()).take(),
            dir_ / "var/snap/docker/current/config/daemon.json");
  write(dir_ / "etc/docker/daemon.json", "{}");
  EXPECT_EQ(file_of(Engine::kDocker, {}, root()).take(), dir_ / "etc/docker/daemon.json");
}

TEST_F(EngineTest, WhoIsNotRootHasFilesOfHisOwn) {
  const Daemon rootless{{}, {"dockerd"}, "/users/a/.config", "/run/user/7"};
  EXPECT_EQ(file_of(Engine::kDocker, {rootless}, {"", false, ""}).take(),
            "/users/a/.config/docker/daemon.json");
  EXPECT_TRUE(test::fails(file_of(Engine::kCrio, {}, {"", false, "/users/a/.config"}),
                          Code::kDenied, "crio: only root can change its files"));
  EXPECT_TRUE(
      test::fails(file_of(Engine::kPodman, {}, {"", false, ""}), Code::kInvalid, "set HOME"));
}

TEST_F(EngineTest, WhatCouldNotWorkIsRefused) {
  EXPECT_TRUE(test::fails(
      plan_configure(Engine::kDocker, dir_ / "var/snap/docker/current/config/daemon.json", kEntry),
      Code::kUnsupported, "snap remove docker"));
  const std::string generated = dir_ / "k3s/agent/etc/containerd/config.toml";
  EXPECT_TRUE(test::fails(plan_configure(Engine::kContainerd, generated, kEntry),
                          Code::kUnsupported, generated + ".tmpl"));
  EXPECT_TRUE(test::fails(plan_unconfigure(Engine::kContainerd, generated, "ipu"),
                          Code::kUnsupported, generated + ".tmpl"));
}

TEST_F(EngineTest, ATemplateThatWasNotThereIsGoneAgain) {
  const std::string file = dir_ / "agent/etc/containerd/config-v3.toml.tmpl";
  configure(Engine::kContainerd, file);
  EXPECT_EQ(find_runtime(Engine::kContainerd, file, "ipu").take().path, kEntry.path);
  unconfigure(Engine::kContainerd, file);
  EXPECT_EQ(read(file), std::nullopt);
}

TEST_F(EngineTest, ADisabledPluginIsAHindrance) {
  write(file_, "version = 2\ndisabled_plugins = [\"cri\"]\n");
  EXPECT_NE(find_hindrance(Engine::kContainerd, file_).take().find("remove 'cri'"),
            std::string::npos);
  write(file_, "version = 2\n");
  EXPECT_EQ(find_hindrance(Engine::kContainerd, file_).take(), "");
  EXPECT_EQ(find_hindrance(Engine::kDocker, file_).take(), "");
}

TEST_F(EngineTest, ADropInOfAnotherNameIsNotTakenAway) {
  for (const Engine engine : {Engine::kCrio, Engine::kPodman}) {
    configure(engine, file_);
    ASSERT_TRUE(test::succeeds(apply_edit(plan_unconfigure(engine, file_, "other").take())));
    EXPECT_EQ(find_runtime(engine, file_, "ipu").take().path, kEntry.path);
    unconfigure(engine, file_);
  }
}

TEST_F(EngineTest, TheFirstTextIsKeptUntilTheLastNameGoes) {
  const std::string text = "{\"default-runtime\":\"runc\"}";
  write(file_, text);
  const RuntimeEntry other{"other", kEntry.path, true};
  configure(Engine::kDocker, file_);
  ASSERT_TRUE(test::succeeds(apply_edit(plan_configure(Engine::kDocker, file_, other).take())));
  unconfigure(Engine::kDocker, file_);
  EXPECT_EQ(read(file_ + ".before-ipu"), text);
  ASSERT_TRUE(test::succeeds(apply_edit(plan_unconfigure(Engine::kDocker, file_, "other").take())));
  EXPECT_EQ(read(file_), text);
  EXPECT_EQ(read(file_ + ".before-ipu"), std::nullopt);
}

TEST_F(EngineTest, TheDefaultFromBeforeIsThereAgainWhateverElseChanged) {
  write(file_, "{\"default-runtime\":\"x\",\"runtimes\":{\"x\":{\"path\":\"/x\"}}}");
  RuntimeEntry entry = kEntry;
  entry.make_default = true;
  ASSERT_TRUE(test::succeeds(apply_edit(plan_configure(Engine::kDocker, file_, entry).take())));
  write(file_, base::str("{\"debug\":true,", read(file_)->substr(1)));
  unconfigure(Engine::kDocker, file_);
  EXPECT_EQ(read(file_),
            "{\"debug\":true,\"default-runtime\":\"x\",\"runtimes\":{\"x\":{\"path\":\"/x\"}}}");
}

TEST_F(EngineTest, WhatWasThereBeforeIsThereAgain) {
  const std::string texts[] = {"{\n  \"debug\" : true\n}", "{\"default-runtime\":\"x\"}"};
  for (const std::string& text : texts) {
    write(file_, text, 0600);
    configure(Engine::kDocker, file_);
    EXPECT_EQ(read(file_ + ".before-ipu"), text);
    EXPECT_EQ(find_runtime(Engine::kDocker, file_, "ipu").take().path, kEntry.path);
    unconfigure(Engine::kDocker, file_);
    EXPECT_EQ(read(file_), text);
    EXPECT_EQ(read(file_ + ".before-ipu"), std::nullopt);
    struct stat status {};
    ASSERT_EQ(::stat(file_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600);
  }
}

TEST_F(EngineTest, AFileThatWasNotThereIsGoneAgain) {
  for (const Engine engine : kEngines) {
    configure(engine, file_);
    EXPECT_EQ(find_runtime(engine, file_, "ipu").take().path, kEntry.path) << name_of(engine);
    unconfigure(engine, file_);
    EXPECT_EQ(read(file_), std::nullopt) << name_of(engine);
  }
}

TEST_F(EngineTest, WhatSomebodyChangedMeanwhileStays) {
  write(file_, "{\"debug\":true}");
  configure(Engine::kDocker, file_);
  write(file_, base::str("{\"labels\":[],", read(file_)->substr(1)));
  unconfigure(Engine::kDocker, file_);
  EXPECT_EQ(read(file_), "{\"labels\":[],\"debug\":true}");
  EXPECT_EQ(read(file_ + ".before-ipu"), std::nullopt);
}

TEST_F(EngineTest, TheFirstTextIsKeptOnce) {
  write(file_, "{\"debug\":true}");
  configure(Engine::kDocker, file_);
  RuntimeEntry entry = kEntry;
  entry.make_default = true;
  ASSERT_TRUE(test::succeeds(apply_edit(plan_configure(Engine::kDocker, file_, entry).take())));
  EXPECT_EQ(read(file_ + ".before-ipu"), "{\"debug\":true}");
  unconfigure(Engine::kDocker, file_);
  EXPECT_EQ(read(file_), "{\"debug\":true}");
}

TEST_F(EngineTest, WhatIsTheDefaultStaysIt) {
  RuntimeEntry entry = kEntry;
  entry.make_default = true;
  for (const Engine engine : {Engine::kCrio, Engine::kPodman}) {
    ASSERT_TRUE(test::succeeds(apply_edit(plan_configure(engine, file_, entry).take())));
    const FileEdit again = plan_configure(engine, file_, kEntry).take();
    EXPECT_EQ(again.after, again.before) << name_of(engine);
    unconfigure(engine, file_);
  }
}

TEST_F(EngineTest, AChangeOfWhatWeAddedKeepsNothing) {
  RuntimeEntry entry = kEntry;
  entry.make_default = true;
  for (const Engine engine : {Engine::kDocker, Engine::kCrio, Engine::kPodman}) {
    configure(engine, file_);
    ASSERT_TRUE(test::succeeds(apply_edit(plan_configure(engine, file_, entry).take())));
    EXPECT_EQ(read(file_ + ".before-ipu"), std::nullopt) << name_of(engine);
    unconfigure(engine, file_);
    EXPECT_EQ(read(file_), std::nullopt) << name_of(engine);
  }
}

TEST_F(EngineTest, ADropInOfSomebodyElseIsLeftAlone) {
  write(file_, "[engine]\n");
  EXPECT_TRUE(
      test::fails(plan_configure(Engine::kPodman, file_, kEntry), Code::kExists, "move it away"));
  EXPECT_TRUE(
      test::fails(plan_unconfigure(Engine::kPodman, file_, "ipu"), Code::kExists, "move it away"));
}

}  // namespace
}  // namespace hook::engines
