// SPDX-License-Identifier: Apache-2.0
#include "vipu/cli_settings.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/names.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace vipu {
namespace {

using namespace base::names;

class CliSettingsTest : public testing::Test {
 protected:
  void write(const std::string& text) {
    ASSERT_TRUE(test::succeeds(base::write_atomic(file_, text, {})));
  }
  Result<std::optional<CliSettings>> find(const std::vector<std::string>& environment = {}) {
    return find_cli_settings(environment, file_);
  }
  // HOST:PORT that a file with TEXT gives, or the error, or "none".
  std::string found_in(const std::string& text, const std::vector<std::string>& environment = {}) {
    write(text);
    const Result<std::optional<CliSettings>> settings = find(environment);
    if (!settings.ok()) return settings.error().message();
    if (!settings.value().has_value()) return "none";
    return settings.value()->host + ":" + std::to_string(settings.value()->port);
  }

  test::TempDir dir_;
  const std::string file_ = dir_ / "vipu-cli.hcl";
};

TEST_F(CliSettingsTest, AreAbsentWithoutEnvironmentAndFile) {
  const auto settings = find({"PATH=/bin", "VIPU_CLI_API_HOSTS=x", "VIPU_CLI_API_PORT=1"});
  ASSERT_TRUE(test::succeeds(settings));
  EXPECT_FALSE(settings.value().has_value());
}

TEST_F(CliSettingsTest, AreAbsentInAFileWithoutAHost) {
  for (const char* text : {"", "\n", "# api-host=\"a\"", "api-port = 9", "other { }",
                           "pod { api-host = \"nested\" }", "list = [\n\"api-host\",\n]"}) {
    EXPECT_EQ(found_in(text), "none") << text;
  }
}

TEST_F(CliSettingsTest, ComeFromTheFile) {
  write("api-host=\"10.1.3.101\"\n");
  const auto settings = find();
  ASSERT_TRUE(test::succeeds(settings));
  EXPECT_EQ(settings.value()->host, "10.1.3.101");
  EXPECT_EQ(settings.value()->port, 8090);
  EXPECT_EQ(settings.value()->source, file_);
}

TEST_F(CliSettingsTest, AreReadFromTheUsualFormsOfAFile) {
  EXPECT_EQ(found_in("api-host = \"pod-1.example\"\napi-port = 9090\n"), "pod-1.example:9090");
  EXPECT_EQ(found_in("api-port=\"9090\"\r\napi-host=\"h\"\r\n"), "h:9090");
  EXPECT_EQ(found_in("\"api-host\" = \"h\" # note\napi-port = 1 // note"), "h:1");
  EXPECT_EQ(found_in("\t/* api-host = \"no\"\n */ api-host = \"h\" /* x */"), "h:8090");
  EXPECT_EQ(found_in("a { b = \"}\" # }\n c \"d\" {} }\napi-host = \"h\""), "h:8090");
  EXPECT_EQ(found_in("a = [\"]\",\n{x = 1}]\nb = {}\nc = true\napi-host = \"h\""), "h:8090");
  EXPECT_EQ(found_in("a = \"\\\" \\\\\"\nkind \"x\" y {\n}\napi-host = \"h\""), "h:8090");
}

TEST_F(CliSettingsTest, OfTheEnvironmentComeFirst) {
  write("not even readable {");
  const auto settings = find({"VIPU_CLI_API_HOST=env", "VIPU_CLI_API_HOST=second"});
  ASSERT_TRUE(test::succeeds(settings));
  EXPECT_EQ(settings.value()->host, "env");
  EXPECT_EQ(settings.value()->port, 8090);
  EXPECT_EQ(settings.value()->source, "VIPU_CLI_API_HOST");
}

TEST_F(CliSettingsTest, TakeThePortFromTheEnvironmentFirst) {
  const std::string text = "api-host = \"h\"\napi-port = 9090\n";
  EXPECT_EQ(found_in(text, {"VIPU_CLI_API_PORT=70"}), "h:70");
  EXPECT_EQ(found_in(text, {"VIPU_CLI_API_HOST=env", "VIPU_CLI_API_PORT=70"}), "env:70");
  EXPECT_EQ(found_in(text, {"VIPU_CLI_API_HOST=env"}), "env:8090");
  EXPECT_EQ(found_in(text, {"VIPU_CLI_API_HOST=", "VIPU_CLI_API_PORT="}), "h:9090");
}

TEST_F(CliSettingsTest, NameTheWrongVariable) {
  for (const char* host : {"a b", "a:1", "a/b", "unix:/x", "a\nb", "[::1]", "\""}) {
    EXPECT_TRUE(test::fails(find({std::string("VIPU_CLI_API_HOST=") + host}), Code::kInvalid,
                            "VIPU_CLI_API_HOST: '"))
        << host;
  }
  EXPECT_FALSE(find({"VIPU_CLI_API_HOST=" + std::string(254, 'a')}).ok());
  for (const char* port : {"0", "65536", "-1", "x", "80 "}) {
    EXPECT_TRUE(test::fails(find({"VIPU_CLI_API_HOST=h", std::string("VIPU_CLI_API_PORT=") + port}),
                            Code::kInvalid, "VIPU_CLI_API_PORT: '"))
        << port;
  }
}

TEST_F(CliSettingsTest, NameTheFileTheLineAndTheKey) {
  write("\napi-host = \"a b\"\n");
  EXPECT_TRUE(test::fails(find(), Code::kInvalid, "vipu-cli.hcl', line 2: api-host: 'a b'"));
  write("api-host = \"a\"\n\napi-port = \"x\"\n");
  EXPECT_TRUE(test::fails(find(), Code::kInvalid, "vipu-cli.hcl', line 3: api-port: 'x'"));
  write("/*\n*/ api-host = \"a\"\napi-host = \"b\"\n");
  EXPECT_TRUE(test::fails(find(), Code::kInvalid, "line 3: api-host: it is there twice"));
  write("api-host = \"\"\n");
  EXPECT_TRUE(test::fails(find(), Code::kInvalid, "line 1: api-host: ''"));
}

TEST_F(CliSettingsTest, AreRefusedInAMalformedFile) {
  for (const char* line : {"api-host", "api-host =", "= 1", "api-host = \"h",
                           "api-host = \"h\" more", "api-host \"h\"", "a = 1 b = 2", "a = <<END",
                           "}", "a {", "a = [1", "a b = 1", "/* x", "a {\n\"x\n}", "\\"}) {
    write(std::string("api-port = 1\n") + line);
    EXPECT_TRUE(test::fails(find(), Code::kInvalid, "vipu-cli.hcl': line ")) << line;
  }
}

TEST_F(CliSettingsTest, AreRefusedInAFileThatIsTooLargeOrNone) {
  write("api-host = \"h\"\n" + std::string(65536, '#'));
  EXPECT_FALSE(find().ok());
  EXPECT_FALSE(find_cli_settings({}, dir_.path()).ok());
}

TEST_F(CliSettingsTest, EndOnAnyCutOfAFile) {
  const std::string text = "a \"b\" { c = [\"\\\"]\", 1] /* } */ }\napi-host = \"h\" # x\n";
  for (size_t size = 0; size < text.size(); ++size) {
    write(text.substr(0, size));
    const auto settings = find();
    if (!settings.ok() || !settings.value().has_value()) continue;
    EXPECT_EQ(settings.value()->host, "h") << size;
  }
}

TEST_F(CliSettingsTest, PassOverUserAndAccessKey) {
  const std::string secrets = "api-user-id = \"alice\"\napi-access-key = \"s3cret\"\n";
  EXPECT_EQ(found_in(secrets + "api-host = \"h\""), "h:8090");
  EXPECT_EQ(found_in("api-host = \"h\"", {"VIPU_CLI_API_ACCESS_KEY=s3cret"}), "h:8090");
}

TEST_F(CliSettingsTest, NeverSayTheAccessKey) {
  for (const char* line :
       {"api-access-key = \"s3cret", "api-access-key = \"s3cret\" x", "api-access-key = s3cret x",
        "api-access-key s3cret", "api-access-key = \"a\" s3cret", "\"s3cret\"", "s3cret"}) {
    write(std::string("api-host = \"h\"\n") + line);
    const auto settings = find();
    ASSERT_FALSE(settings.ok()) << line;
    EXPECT_EQ(settings.error().message().find("s3cret"), std::string::npos)
        << settings.error().message();
  }
}

}  // namespace
}  // namespace vipu
