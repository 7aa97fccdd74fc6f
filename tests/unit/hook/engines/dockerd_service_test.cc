// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/dockerd_service.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::engines {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kUnit =
    "[Unit]\nDescription=Docker\n[Service]\n"
    "ExecStart=/usr/sbin/dockerd -H fd:// \\\n  --label \"a b\" $DOCKER_OPTS ${NONE}\n";

TEST(DockerdServiceTest, TheCommandHasTheWordsOfItsVariables) {
  EXPECT_EQ(service_args({kUnit}, {"# no\nDOCKER_OPTS=\"--add-runtime x=/x --debug\"\n"}),
            (Words{"/usr/sbin/dockerd", "-H", "fd://", "--label", "a b", "--add-runtime", "x=/x",
                   "--debug"}));
  EXPECT_EQ(
      service_args({"[Service]\nEnvironment=\"A=1\" 'OPTS=--x --y'\nExecStart=d ${OPTS}\n"}, {}),
      (Words{"d", "--x", "--y"}));
}

TEST(DockerdServiceTest, TheLastCommandCounts) {
  EXPECT_EQ(service_args({kUnit, "[Service]\nExecStart=\nExecStart=/opt/dockerd --a\n"}, {}),
            (Words{"/opt/dockerd", "--a"}));
}

TEST(DockerdServiceTest, WithNoUnitThereAreTheOptionsOfTheInitScript) {
  EXPECT_EQ(service_args({}, {"DOCKER_OPTS='--a'\n"}), (Words{"dockerd", "--a"}));
  EXPECT_EQ(service_args({}, {}), (Words{"dockerd"}));
}

class DockerdServiceFileTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(dir_ / path).parent_path());
    ASSERT_TRUE(test::succeeds(base::write_atomic(dir_ / path, text, {})));
  }
  static std::string unit(const std::string& command) {
    return "[Service]\nExecStart=" + command + "\n";
  }
  const test::TempDir dir_;
};

TEST_F(DockerdServiceFileTest, TheUnitOfTheHostIsBeforeThatOfThePackage) {
  write("lib/systemd/system/docker.service", unit("package"));
  EXPECT_EQ(read_dockerd_args(dir_.path()), Words{"package"});
  write("etc/systemd/system/docker.service", unit("host"));
  EXPECT_EQ(read_dockerd_args(dir_.path()), Words{"host"});
}

TEST_F(DockerdServiceFileTest, DropInsComeAfterByTheirNames) {
  write("lib/systemd/system/docker.service", unit("package $DOCKER_OPTS"));
  write("etc/default/docker", "DOCKER_OPTS=--a\n");
  EXPECT_EQ(read_dockerd_args(dir_.path()), (Words{"package", "--a"}));
  write("etc/systemd/system/docker.service.d/b.conf", unit("second"));
  write("lib/systemd/system/docker.service.d/a.conf", unit("first"));
  write("etc/systemd/system/docker.service.d/c.conf.off", unit("none"));
  EXPECT_EQ(read_dockerd_args(dir_.path()), Words{"second"});
  write("etc/systemd/system/docker.service.d/a.conf", "");
  write("etc/systemd/system/docker.service.d/b.conf", "");
  EXPECT_EQ(read_dockerd_args(dir_.path()), (Words{"package", "--a"}));
}

}  // namespace
}  // namespace hook::engines
