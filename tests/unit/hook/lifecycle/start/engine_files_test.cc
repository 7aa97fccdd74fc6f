// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/engine_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using base::Json;
using request::FromImage;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Variables = std::vector<std::string>;

const Variables kShipped = {"PATH=/bin", "IPU_WAIT=5m"};
const std::string kContent = "io.containerd.content.v1.content/blobs/sha256";

class EngineFilesTest : public testing::Test {
 protected:
  void write(const std::string& folder, const std::string& file, const std::string& text) {
    std::filesystem::create_directories(dir_ / folder);
    ASSERT_TRUE(
        test::succeeds(base::write_atomic(dir_ / (folder + "/" + file), text, {0600, {}, {}})));
  }
  [[nodiscard]] std::optional<FromImage> find(const oci::SpecView& view,
                                              const std::string& container = "c1") const {
    return from_image(container, view, {dir_ / "nothing", dir_ / "containerd"});
  }
  static std::string image(const Variables& variables) {
    return Json{{"architecture", "amd64"}, {"config", {{"Env", variables}}}}.dump();
  }

  test::TempDir dir_;
};

// A containers/storage with the container "c1" of the image "5a".
class StorageTest : public EngineFilesTest {
 protected:
  StorageTest() {
    write("vfs-containers/c1/userdata", "config.json", "{}");
    write("vfs-containers", "containers.json",
          R"([{"id":"c0","image":"aa"},{"id":"c1","names":["job"],"image":"5a","layer":"77"}])");
    write("vfs-images/5a", "manifest", R"({"schemaVersion":2,"config":{"digest":"sha256:5a"}})");
    write("vfs-images/5a", "=c2hhMjU2OjVh", image(kShipped));
  }
  std::optional<FromImage> ask(const Variables& environment, const std::string& container = "c1") {
    oci::SpecView view;
    view.environment = environment;
    view.root = dir_ / "vfs/dir/77";
    return find(view, container);
  }
};

TEST_F(StorageTest, TellsWhatHasAValueOfTheImage) {
  const auto all = ask({"IPU_WAIT=5m", "A=1", "PATH=/bin"});
  ASSERT_TRUE(all);
  EXPECT_THAT(all->names, UnorderedElementsAre("IPU_WAIT", "PATH"));
  EXPECT_FALSE(all->certain);
  EXPECT_THAT(ask({"IPU_WAIT=1s"})->names, IsEmpty());
}

TEST_F(StorageTest, KnowsAlsoContainersThatAreRemovedAtTheirEnd) {
  std::filesystem::rename(dir_ / "vfs-containers/containers.json",
                          dir_ / "vfs-containers/volatile-containers.json");
  EXPECT_THAT(ask(kShipped)->names, UnorderedElementsAre("IPU_WAIT", "PATH"));
}

TEST_F(StorageTest, SaysNothingOfContainersWithoutAnImageHere) {
  EXPECT_FALSE(ask(kShipped, "c2"));
  EXPECT_FALSE(ask(kShipped, "../vfs-containers/c1"));
  write("vfs-containers", "containers.json", R"([{"id":"c1"}])");
  EXPECT_FALSE(ask(kShipped));
  write("vfs-containers", "containers.json", R"([{"id":"c1","image":"6b"}])");
  EXPECT_FALSE(ask(kShipped));
}

TEST_F(StorageTest, TakesAllVariablesForTheImagesIfTheFilesCannotBeUnderstood) {
  const Variables given = {"A=1", "IPU_WAIT=9m"};
  const auto expect_all = [&](const std::string& what) {
    const auto names = ask(given);
    ASSERT_TRUE(names) << what;
    EXPECT_THAT(names->names, UnorderedElementsAre("A", "IPU_WAIT")) << what;
  };
  for (const std::string& text :
       {std::string("not JSON"), std::string(R"({"config":{"Env":[1]}})"),
        str(R"({"config":{"Env":[]},"Config":)", Json{{"Env", kShipped}}.dump(), "}")}) {
    write("vfs-images/5a", "=c2hhMjU2OjVh", text);
    expect_all(text);
  }
  for (const char* text : {R"({"config":{"digest":"sha256:5a","Digest":"sha256:6b"}})", "{}",
                           R"({"config":{"digest":"../5a"}})"}) {
    write("vfs-images/5a", "manifest", text);
    expect_all(text);
  }
  write("vfs-containers", "containers.json", R"([{"id":"c1","image":"../5a"}])");
  expect_all("the name of an image");
}

// A containerd with an image of two platforms, of which one is here.
class ContainerdTest : public EngineFilesTest {
 protected:
  ContainerdTest() {
    blob("10", R"({"manifests":[{"digest":"sha256:a0"},{"digest":"sha256:20"}]})");
    blob("20", R"({"schemaVersion":2,"config":{"digest":"sha256:30"},"layers":[]})");
    blob("30", image(kShipped));
  }
  void blob(const std::string& name, const std::string& text) {
    write("containerd/" + kContent, name, text);
  }
  std::optional<FromImage> ask(const std::string& name, const Variables& environment = kShipped) {
    oci::SpecView view;
    view.environment = environment;
    view.root = "rootfs";
    view.annotations = {{"io.kubernetes.cri.image-name", name}};
    return find(view);
  }
};

TEST_F(ContainerdTest, KnowsAnImageByItsDigest) {
  for (const char* name :
       {"reg.example/i@sha256:10", "reg.example:5000/i@sha256:20", "sha256:30"}) {
    const auto names = ask(name);
    ASSERT_TRUE(names) << name;
    EXPECT_THAT(names->names, UnorderedElementsAre("IPU_WAIT", "PATH")) << name;
    EXPECT_FALSE(names->certain);
  }
  const Variables twice = {"PATH=/bin", "IPU_WAIT=5m", "IPU_WAIT=5m"};
  EXPECT_THAT(ask("i@sha256:10", twice)->names, UnorderedElementsAre("PATH"));
}

TEST_F(ContainerdTest, SaysNothingOfATagAndOfWhatIsNotHere) {
  for (const char* name : {"reg.example/i:latest", "i@sha256:77", "sha256:77", ""}) {
    EXPECT_FALSE(ask(name)) << name;
  }
}

TEST_F(ContainerdTest, TakesAllVariablesForTheImagesIfItsFilesCannotBeUnderstood) {
  for (const char* text :
       {"not JSON", R"({"manifests":[{"digest":"sha256:20"}],"config":{"digest":"sha256:30"}})",
        R"({"config":{"digest":"sha256:30"},"Config":{"digest":"sha256:31"}})",
        R"({"manifests":[{"digest":"../20"}]})",
        R"({"manifests":[{"digest":"sha256:20","dige\u017ft":"sha256:21"}]})",
        R"({"manifests":[{"digest":"sha256:30"}]})"}) {
    blob("10", text);
    const auto names = ask("i@sha256:10", {"A=1"});
    ASSERT_TRUE(names) << text;
    EXPECT_THAT(names->names, UnorderedElementsAre("A")) << text;
  }
}

TEST_F(ContainerdTest, BoundsTheFilesOfOneImageTogether) {
  Json manifests = Json::array();
  for (int i = 0; i < 3; ++i) {
    const std::string name = str("b", i);
    blob(name, str(R"({"config":{"digest":"sha256:30"},"a":")", std::string(6 << 20, 'x'), "\"}"));
    manifests.push_back({{"digest", "sha256:" + name}});
  }
  blob("10", Json{{"manifests", manifests}}.dump());
  EXPECT_THAT(ask("i@sha256:10", {"A=1"})->names, UnorderedElementsAre("A"));
}

// A docker with the container "c1", whose images are in a containerd.
class DockerTest : public ContainerdTest {
 protected:
  void know(const Json& fields) {
    Json known = {{"Driver", "overlayfs"}, {"Config", {{"Env", kGiven}}}};
    known.update(fields);
    write("docker/containers/c1", "config.v2.json", known.dump());
  }
  std::optional<FromImage> ask_docker() {
    oci::SpecView view;
    view.environment = kGiven;
    view.root = dir_ / "docker/rootfs/overlayfs/c1";
    return find(view);
  }
  // The user gave the variable with the value of the image.
  const Variables kGiven = {"IPU_WAIT=5m", "PATH=/bin"};
};

TEST_F(DockerTest, FindsAnImageInContainerdsContentStore) {
  for (const char* digest : {"sha256:10", "sha256:20"}) {
    know({{"Image", digest}});
    const auto names = ask_docker();
    ASSERT_TRUE(names) << digest;
    EXPECT_THAT(names->names, UnorderedElementsAre("PATH"));
    EXPECT_TRUE(names->certain);
  }
}

TEST_F(DockerTest, FindsThePlatformThatItNotes) {
  blob("40", R"({"config":{"digest":"sha256:50"}})");
  blob("50", image({"IPU_WAIT=5m", "PATH=/bin"}));
  blob("10", R"({"manifests":[{"digest":"sha256:20"},{"digest":"sha256:40"}]})");
  know({{"Image", "sha256:10"}, {"ImageManifest", {{"digest", "sha256:20"}}}});
  EXPECT_THAT(ask_docker()->names, UnorderedElementsAre("PATH"));
  know({{"Image", "sha256:10"}, {"ImageManifest", {{"digest", "sha256:40"}}}});
  EXPECT_THAT(ask_docker()->names, UnorderedElementsAre("PATH", "IPU_WAIT"));
  // Of several platforms, each counts.
  know({{"Image", "sha256:10"}});
  EXPECT_THAT(ask_docker()->names, UnorderedElementsAre("PATH", "IPU_WAIT"));
}

TEST_F(DockerTest, FindsTheContentStoreOfItsOwnContainerd) {
  std::filesystem::create_directories(dir_ / "docker/containerd");
  std::filesystem::rename(dir_ / "containerd", dir_ / "docker/containerd/daemon");
  know({{"Image", "sha256:10"}});
  EXPECT_THAT(ask_docker()->names, UnorderedElementsAre("PATH"));
}

TEST_F(DockerTest, SaysNothingIfTheImageIsNowhere) {
  know({{"Image", "sha256:77"}});
  EXPECT_FALSE(ask_docker());
}

TEST_F(DockerTest, HidesNothingByAnAnnotation) {
  know({{"Image", "sha256:10"}});
  oci::SpecView view;
  view.environment = kGiven;
  view.root = dir_ / "docker/rootfs/overlayfs/c1";
  view.annotations = {{"io.kubernetes.cri.image-name", "i@sha256:77"}};
  EXPECT_THAT(find(view)->names, UnorderedElementsAre("PATH"));
}

}  // namespace
}  // namespace hook::lifecycle::start
