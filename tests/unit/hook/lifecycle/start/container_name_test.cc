// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/container_name.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

class ContainerNameTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(dir_ / path).parent_path());
    EXPECT_TRUE(test::succeeds(base::write_atomic(dir_ / path, text, {})));
  }
  // A bundle whose root file system is at ROOT in the test's directory.
  [[nodiscard]] std::string name(const std::string& root,
                                 const std::string& annotations = "{}") const {
    write("bundle/config.json", str(R"({"ociVersion":"1.0.2","root":{"path":")", dir_ / root,
                                    R"("},"annotations":)", annotations, "}"));
    return container_name("abc123", dir_ / "bundle");
  }
  const test::TempDir dir_;
};

TEST_F(ContainerNameTest, IsThatInDockersFile) {
  write("docker/containers/abc123/config.v2.json", R"({"Name":"/alice","Config":{}})");
  EXPECT_EQ(name("docker/overlay2/def/merged"), "alice");
}

TEST_F(ContainerNameTest, IsTheFirstOneOfContainersStorage) {
  std::filesystem::create_directories(dir_ / "storage/overlay-containers/abc123");
  write("storage/overlay-containers/containers.json",
        R"([{"id":"other","names":["no"]},{"id":"abc123","names":["bob","later"]}])");
  EXPECT_EQ(name("storage/overlay/def/merged"), "bob");
}

TEST_F(ContainerNameTest, OfAPodHasNamespacePodAndContainer) {
  EXPECT_EQ(name("rootfs", R"({"io.kubernetes.cri.sandbox-namespace":"lab",
      "io.kubernetes.cri.sandbox-name":"train","io.kubernetes.cri.container-name":"main"})"),
            "lab/train/main");
}

TEST_F(ContainerNameTest, IsEmptyWhereNoFileTells) {
  EXPECT_EQ(name("rootfs"), "");
  EXPECT_EQ(container_name("abc123", ""), "");
  EXPECT_EQ(container_name("abc123", dir_ / "nowhere"), "");
  write("bundle/config.json", "{");
  EXPECT_EQ(container_name("abc123", dir_ / "bundle"), "");
  write("docker/containers/abc123/config.v2.json", R"({"Name":7})");
  EXPECT_EQ(name("docker/overlay2/def/merged"), "");
}

TEST_F(ContainerNameTest, HasNoControlCharacters) {
  write("docker/containers/abc123/config.v2.json", "{\"Name\":\"/a\\u001b[2Jb\"}");
  EXPECT_EQ(name("docker/overlay2/def/merged"), "a [2Jb");
}

}  // namespace
}  // namespace hook::lifecycle::start
