// SPDX-License-Identifier: Apache-2.0
#include "hook/container/inject/bundle.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "base/scope.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace hook::inject {
namespace {

using base::Code;
using testing::ElementsAre;

class BundleTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    ASSERT_TRUE(test::succeeds(base::write_atomic(dir_ / name, text, {mode, {}, {}})));
  }
  std::string read(const std::string& name) { return base::read_file(dir_ / name, 1000).take(); }
  test::TempDir dir_;
};

TEST_F(BundleTest, HasItsConfigurationAndItsPath) {
  write("config.json", "{}");
  const base::Result<Bundle> bundle = Bundle::open(dir_.path(), "config.json");
  ASSERT_TRUE(test::succeeds(bundle));
  EXPECT_EQ(bundle.value().config(), "{}");
  EXPECT_EQ(bundle.value().path(), dir_.path());
}

TEST_F(BundleTest, IsTheWorkingDirectoryByDefault) {
  write("config.json", "{}");
  const base::Fd here = base::open_at(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY).take();
  ASSERT_EQ(::chdir(dir_.path().c_str()), 0);
  const base::ScopeExit back([&] { (void)!::fchdir(here.get()); });
  const base::Result<Bundle> bundle = Bundle::open("", "config.json");
  ASSERT_TRUE(test::succeeds(bundle));
  EXPECT_TRUE(bundle.value().path().starts_with(dir_.path())) << bundle.value().path();
}

TEST_F(BundleTest, IsReplacedWithItsOwnMode) {
  write("config.json", "{}", 0640);
  Bundle bundle = Bundle::open(dir_.path(), "config.json").take();
  ASSERT_TRUE(test::succeeds(bundle.replace_config("{\"a\":1}")));
  EXPECT_EQ(read("config.json"), "{\"a\":1}");
  EXPECT_EQ(bundle.config(), "{\"a\":1}");
  struct stat status {};
  ASSERT_EQ(::stat((dir_ / "config.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
  EXPECT_THAT(dir_.entries(), ElementsAre("config.json"));
}

TEST_F(BundleTest, MayHaveAnotherConfiguration) {
  write("config.json", "not this one");
  write("other.json", "{}");
  Bundle bundle = Bundle::open(dir_.path(), dir_ / "other.json").take();
  ASSERT_TRUE(test::succeeds(bundle.replace_config("{\"a\":1}")));
  EXPECT_EQ(read("other.json"), "{\"a\":1}");
  EXPECT_EQ(read("config.json"), "not this one");
}

TEST_F(BundleTest, StaysItselfWhenItsPathComesToNameAnother) {
  ASSERT_TRUE(base::ensure_dir(dir_ / "bundle", 0755).ok());
  write("bundle/config.json", "{}");
  Bundle bundle = Bundle::open(dir_ / "bundle", "config.json").take();
  ASSERT_EQ(::rename((dir_ / "bundle").c_str(), (dir_ / "moved").c_str()), 0);
  ASSERT_TRUE(base::ensure_dir(dir_ / "bundle", 0755).ok());
  write("bundle/config.json", "of another");
  ASSERT_TRUE(test::succeeds(bundle.replace_config("new")));
  EXPECT_EQ(read("moved/config.json"), "new");
  EXPECT_EQ(read("bundle/config.json"), "of another");
}

TEST_F(BundleTest, IsReadThroughALink) {
  write("elsewhere.json", "{}");
  ASSERT_EQ(::symlink("elsewhere.json", (dir_ / "config.json").c_str()), 0);
  EXPECT_EQ(Bundle::open(dir_.path(), "config.json").take().config(), "{}");
}

TEST_F(BundleTest, RefusesAConfigurationThatIsNoRegularFile) {
  ASSERT_EQ(::mkfifo((dir_ / "config.json").c_str(), 0600), 0);
  EXPECT_TRUE(
      test::fails(Bundle::open(dir_.path(), "config.json"), Code::kInvalid, "regular file"));
}

TEST_F(BundleTest, IsNotFoundWhereThereIsNone) {
  EXPECT_TRUE(test::fails(Bundle::open(dir_ / "no", "config.json"), Code::kNotFound));
  EXPECT_TRUE(test::fails(Bundle::open(dir_.path(), "config.json"), Code::kNotFound));
}

TEST_F(BundleTest, MayHaveItsConfigurationElsewhereFromTheWorkingDirectory) {
  ASSERT_TRUE(test::succeeds(base::ensure_dir(dir_ / "bundle", 0700)));
  write("other.json", "{}");
  const std::string absolute = dir_ / "other.json";
  const std::string relative = std::filesystem::relative(absolute);
  for (const std::string& name : {absolute, relative}) {
    Bundle bundle = Bundle::open(dir_ / "bundle", name).take();
    EXPECT_EQ(bundle.path(), dir_ / "bundle");
    ASSERT_TRUE(test::succeeds(bundle.replace_config(name)));
    EXPECT_EQ(base::read_file(absolute, 4096).value(), name);
  }
  for (const std::string& none : {std::string(), dir_ / "", dir_ / "no/x"}) {
    EXPECT_TRUE(test::fails(Bundle::open(dir_ / "bundle", none), Code::kNotFound)) << none;
  }
  EXPECT_TRUE(test::fails(Bundle::open(dir_ / "bundle", dir_ / "bundle"), Code::kInvalid));
}

TEST_F(BundleTest, RefusesAConfigurationThatIsTooLong) {
  write("config.json", std::string(kMaxBundleConfig + 1, ' '));
  EXPECT_TRUE(test::fails(Bundle::open(dir_.path(), "config.json"), Code::kInvalid, "longer than"));
}

// Also without SELinux the kernel keeps the attribute.
TEST_F(BundleTest, KeepsTheSelinuxLabel) {
  REQUIRES_ROOT();
  constexpr std::string_view kLabel = "system_u:object_r:container_file_t:s0";
  write("config.json", "{}");
  const std::string path = dir_ / "config.json";
  ASSERT_EQ(::setxattr(path.c_str(), "security.selinux", kLabel.data(), kLabel.size(), 0), 0);
  Bundle bundle = Bundle::open(dir_.path(), "config.json").take();
  ASSERT_TRUE(test::succeeds(bundle.replace_config("new")));
  char label[64] = {};
  const ssize_t length = ::getxattr(path.c_str(), "security.selinux", label, sizeof label);
  EXPECT_EQ(std::string_view(label, static_cast<size_t>(std::max<ssize_t>(length, 0))), kLabel);
}

}  // namespace
}  // namespace hook::inject
