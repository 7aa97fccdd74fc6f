// SPDX-License-Identifier: Apache-2.0
// Files with secrets: who may have them, what is in them, and where it must not go.
#include "vipu/access.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace vipu {
namespace {

using namespace base::names;

constexpr const char* kPem = "-----BEGIN X-----\nc2VjcmV0LWtleQ==\n-----END X-----\n";

class AccessTest : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const base::FileAttributes attributes{mode, std::nullopt, std::nullopt};
    EXPECT_TRUE(test::succeeds(base::write_atomic(directory_ / name, text, attributes)));
    return directory_ / name;
  }
  Endpoint with_credentials(const std::string& text, mode_t mode = 0600) {
    return {"127.0.0.1:8090", std::nullopt, file("credentials", text, mode)};
  }

  test::TempDir directory_;
};

TEST_F(AccessTest, WithoutFilesThereIsOnlyTheAddress) {
  const Result<Access> access = read_access({"10.1.3.101:8090"});
  ASSERT_TRUE(test::succeeds(access));
  EXPECT_EQ(access.value(), Access{"10.1.3.101:8090"});
}

TEST_F(AccessTest, CredentialsAreNamesAndValues) {
  const Result<Access> access = read_access(
      with_credentials("# of the cluster\n\nuser: alice\r\n  access-key :  685X: K4  \n"));
  ASSERT_TRUE(test::succeeds(access));
  const std::map<std::string, std::string> expected = {{"user", "alice"},
                                                       {"access-key", "685X: K4"}};
  EXPECT_EQ(access.value().credentials, expected);
}

TEST_F(AccessTest, AMalformedLineIsNamedByItsNumberAndNotShown) {
  for (const char* line : {"s3cret", "User: s3cret", "grpc-user: s3cret", "user-bin: s3cret",
                           ": s3cret", "user: s3cret\x01", "user: s3cret\xC3", "us er: s3cret"}) {
    const Result<Access> access = read_access(with_credentials(base::str("ok: 1\n", line, "\n")));
    ASSERT_TRUE(test::fails(access, Code::kInvalid, "line 2")) << line;
    EXPECT_EQ(access.error().message().find("s3cret"), std::string::npos);
  }
  EXPECT_TRUE(test::fails(read_access(with_credentials("a: 1\na: 2\n")), Code::kInvalid, "before"));
  EXPECT_TRUE(test::fails(read_access(with_credentials("a:\n")), Code::kInvalid, "line 1"));
}

TEST_F(AccessTest, CredentialsThatOthersCanReadAreRefusedWithWhatMendsIt) {
  for (const mode_t mode : {0640U, 0604U, 0620U, 0601U}) {
    EXPECT_TRUE(
        test::fails(read_access(with_credentials("a: 1\n", mode)), Code::kDenied, "chmod 0600"));
  }
  EXPECT_TRUE(test::succeeds(read_access(with_credentials("a: 1\n", 0400))));
}

TEST_F(AccessTest, CredentialsOfAnotherUserAreRefused) {
  REQUIRES_ROOT();
  const Endpoint endpoint = with_credentials("a: 1\n");
  ASSERT_EQ(::chown(endpoint.credentials_file.c_str(), 12345, 0), 0);
  EXPECT_TRUE(test::fails(read_access(endpoint), Code::kDenied, "belongs to user 12345"));
}

TEST_F(AccessTest, WhatIsNoRegularFileIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  for (const std::string& path :
       {directory_ / "fifo", directory_.path(), std::string("/dev/zero")}) {
    EXPECT_TRUE(test::fails(read_access({"127.0.0.1:1", std::nullopt, path}), Code::kInvalid,
                            "regular file"));
  }
}

TEST_F(AccessTest, AnAbsentFileIsNotAnAbsentPartition) {
  EXPECT_TRUE(test::fails(read_access({"127.0.0.1:1", std::nullopt, directory_ / "none"}),
                          Code::kInvalid, "none"));
}

TEST_F(AccessTest, CredentialsDoNotGoOverTheNetworkWithoutTls) {
  Endpoint endpoint = with_credentials("a: 1\n");
  for (const char* local : {"127.0.0.1:8090", "localhost:8090"}) {
    endpoint.address = local;
    EXPECT_TRUE(test::succeeds(read_access(endpoint)));
  }
  for (const char* remote : {"10.1.3.101:8090", "127.0.0.1.example:8090", "127.example:1"}) {
    endpoint.address = remote;
    EXPECT_TRUE(test::fails(read_access(endpoint), Code::kInvalid, "without TLS"));
  }
  endpoint.allow_insecure_credentials = true;
  EXPECT_TRUE(test::succeeds(read_access(endpoint)));
  endpoint.allow_insecure_credentials = false;
  endpoint.tls = TlsFiles{file("ca", kPem, 0644)};
  EXPECT_TRUE(test::succeeds(read_access(endpoint)));
}

TEST_F(AccessTest, TlsFilesAreReadAndGuarded) {
  const std::string ca = file("ca", kPem, 0644);
  const std::string key = file("key", kPem);
  const std::string open_key = file("open-key", kPem, 0644);
  const auto with = [](TlsFiles files) { return read_access({"h:1", std::move(files)}); };
  const Result<Access> access = with({ca, ca, key, "vipu.example"});
  ASSERT_TRUE(test::succeeds(access));
  const Tls expected{kPem, kPem, kPem, "vipu.example"};
  EXPECT_EQ(access.value().tls, expected);
  EXPECT_TRUE(test::fails(with({ca, ca, open_key}), Code::kDenied, "chmod 0600"));
  EXPECT_TRUE(test::fails(with({file("ca", kPem, 0666)}), Code::kDenied, "chmod go-w"));
  EXPECT_TRUE(test::fails(with({ca, ca, ""}), Code::kInvalid, "both"));
  EXPECT_TRUE(test::fails(with({ca, "", key}), Code::kInvalid, "both"));
  EXPECT_TRUE(test::fails(with({""}), Code::kInvalid));
}

TEST_F(AccessTest, WhatIsNoPemFileIsRefusedAndNotShown) {
  for (const std::string& text : {std::string("s3cret"), std::string("-----BEGIN s3cret\0", 18),
                                  std::string("-----BEGIN \xFFs3cret"), std::string()}) {
    const Result<Access> access = read_access({"h:1", TlsFiles{file("ca", text)}});
    ASSERT_TRUE(test::fails(access, Code::kInvalid, "PEM"));
    EXPECT_EQ(access.error().message().find("s3cret"), std::string::npos);
  }
}

TEST_F(AccessTest, SecretsAreCutOutOfATextLongestFirst) {
  Access access;
  access.credentials = {{"a", "abcd"}, {"b", "abcdefgh"}, {"c", "x"}};
  access.tls = Tls{"ca", "certificate", kPem, ""};
  EXPECT_EQ(without_secrets("x abcd abcdefgh c2VjcmV0LWtleQ== -----BEGIN X-----", access),
            "x *** *** *** -----BEGIN X-----");
  EXPECT_EQ(without_secrets("x abcd", {}), "x abcd");
}

}  // namespace
}  // namespace vipu
