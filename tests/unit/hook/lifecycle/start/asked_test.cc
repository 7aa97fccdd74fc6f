// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/asked.h"

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
using Variables = std::vector<std::string>;

const Variables kImage = {"PATH=/bin", "IPU_WAIT=5m", "A=1", "IPU_PARTITION=p0"};

// A docker with one container, "c1", of one image.
class AskedTest : public testing::Test {
 protected:
  AskedTest() { know(kImage, Json{{"config", {{"Env", kImage}}}}.dump()); }

  // Writes what docker knows.
  void know(const Variables& container, const std::string& image) {
    write("containers/c1", "config.v2.json",
          Json{{"Image", "sha256:5a"}, {"Driver", "overlay2"}, {"Config", {{"Env", container}}}}
              .dump());
    write("image/overlay2/imagedb/content/sha256", "5a", image);
  }
  void write(const std::string& folder, const std::string& file, const std::string& text) {
    std::filesystem::create_directories(dir_ / folder);
    ASSERT_TRUE(
        test::succeeds(base::write_atomic(dir_ / (folder + "/" + file), text, {0600, {}, {}})));
  }
  base::Result<std::optional<request::Request>> ask(const Variables& environment,
                                                    const std::string& container = "c1") {
    oci::SpecView view;
    view.environment = environment;
    view.root = dir_ / "overlay2/abc/merged";
    return asked_of(container, view, {});
  }

  test::TempDir dir_;
};

TEST_F(AskedTest, DoesNotHonourAPartitionThatOnlyTheImageNames) {
  EXPECT_TRUE(test::fails(ask(kImage), Code::kDenied,
                          "IPU_PARTITION='p0' is not honoured, because only the image sets it; give"
                          " it with -e, or as the annotation graphcore.ai/ipu.partition; without it"
                          " the container asks for no IPUs"));
}

TEST_F(AskedTest, HonoursWhatTheUserGaveAndSaysWhatWasIgnored) {
  Variables environment = {"IPU_COUNT=2"};
  environment.insert(environment.end(), kImage.begin(), kImage.end());
  know(environment, Json{{"config", {{"Env", kImage}}}}.dump());
  const auto asked = ask(environment);
  ASSERT_TRUE(test::succeeds(asked));
  EXPECT_EQ(asked.value()->ipus, 2U);
  EXPECT_EQ(asked.value()->partition, "");
  EXPECT_EQ(asked.value()->wait.count(), 0);
  EXPECT_EQ(asked.value()->ignored.size(), 2U);
}

TEST_F(AskedTest, LeavesItToThePolicyWhereNoFileTells) {
  const auto stranger = ask(kImage, "c2");
  ASSERT_TRUE(test::succeeds(stranger));
  EXPECT_EQ(stranger.value()->partition, "p0");
  std::filesystem::remove_all(dir_ / "image");
  EXPECT_EQ(ask(kImage).value()->partition, "p0");
}

TEST_F(AskedTest, HonoursNothingOfAnImageThatHidesItsVariables) {
  const std::string env = Json(kImage).dump();
  for (const std::string& image : {
           str(R"({"config":{"Env":["PATH=/bin"]},"Config":{"Env":)", env, "}}"),
           str(R"({"config":{"Env":["PATH=/bin"],"ENV":)", env, "}}"),
           str(R"({"config":{"Env":["PATH=/bin"],"Env":)", env, "}}"),
           str(R"({"config":{"Env":[1]}})"),
           std::string("not JSON"),
           std::string(130, '['),
       }) {
    know(kImage, image);
    EXPECT_TRUE(test::fails(ask(kImage), Code::kDenied, "only the image sets it")) << image;
  }
}

TEST_F(AskedTest, HonoursNothingOfAnImageByWhichDockersOwnFileIsTooLarge) {
  std::string labels = "{";
  for (int i = 0; i < 5000; ++i) labels += str(i == 0 ? "" : ",", "\"l", i, "\":\"\"");
  write("containers/c1", "config.v2.json", str("{\"Config\":{\"Labels\":", labels, "}}}"));
  EXPECT_TRUE(test::fails(ask(kImage), Code::kDenied, "only the image sets it"));
}

TEST_F(AskedTest, TakesTheLastValueWhereContainerdWroteTwo) {
  oci::SpecView view;
  view.environment = {"IPU_COUNT=2", "A=1", "IPU_COUNT=4"};
  EXPECT_TRUE(test::fails(asked_of("c1", view, {}), Code::kInvalid, "IPU_COUNT is set twice"));
  view.annotations = {{"io.kubernetes.cri.container-type", "container"}};
  const auto asked = asked_of("c1", view, {});
  ASSERT_TRUE(test::succeeds(asked));
  EXPECT_EQ(asked.value()->ipus, 4U);
}

}  // namespace
}  // namespace hook::lifecycle::start
