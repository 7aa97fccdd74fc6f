// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/client_user.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::lifecycle {
namespace {

class ClientUserTest : public testing::Test {
 protected:
  ClientUser with(const std::string& passwd) {
    EXPECT_TRUE(test::succeeds(base::write_atomic(dir_ / "passwd", passwd, {0644, {}, {}})));
    return client_user(dir_ / "passwd");
  }
  test::TempDir dir_;
};

TEST_F(ClientUserTest, IsTheOneOfTheHost) {
  const ClientUser user = with("root:x:0:0::/:/bin/sh\nipu-vipu-client:x:997:996::/:/bin/false\n");
  EXPECT_EQ(user.credentials.uid, 997U);
  EXPECT_EQ(user.credentials.gid, 996U);
  EXPECT_TRUE(test::succeeds(user.is_its_own));
}

TEST_F(ClientUserTest, IsNobodyWithoutSecretsWhereTheHostHasNone) {
  for (const char* passwd :
       {"", "ipu-vipu-client:x:0:0::/:/bin/sh\n", "ipu-vipu-client:x:65534:65534::/:/bin/sh\n"}) {
    const ClientUser user = with(passwd);
    EXPECT_EQ(user.credentials.uid, 65534U) << passwd;
    EXPECT_TRUE(test::fails(user.is_its_own, base::Code::kDenied, "a user of its own")) << passwd;
  }
  EXPECT_TRUE(test::fails(with("").is_its_own, base::Code::kDenied, "run 'useradd --system "));
}

TEST(EndpointUser, IsNobodyWhereItHasNone) {
  const test::TempDir dir;
  const std::string passwd = dir / "passwd";
  EXPECT_TRUE(test::fails(endpoint_user(passwd).is_its_own, base::Code::kDenied,
                          "has no user 'ipu-vipu-endpoint'; run 'useradd --system "));
  EXPECT_EQ(endpoint_user(passwd).credentials.uid, 65534U);
  ASSERT_TRUE(test::succeeds(
      base::write_atomic(passwd, "ipu-vipu-endpoint:x:997:998::/:/bin/false\n", {0644, {}, {}})));
  EXPECT_TRUE(test::succeeds(endpoint_user(passwd).is_its_own));
  EXPECT_EQ(endpoint_user(passwd).credentials.uid, 997U);
}

TEST(ClientUser, SecretsAreCredentialsAndKeys) {
  config::ControllerSecurity security;
  EXPECT_FALSE(has_secrets(security));
  security.credentials = "/etc/credentials";
  EXPECT_TRUE(has_secrets(security));
  security.credentials.clear();
  security.tls = true;
  security.ca = "/etc/ca.pem";
  EXPECT_FALSE(has_secrets(security));
  security.key = "/etc/client.key";
  EXPECT_TRUE(has_secrets(security));
}

}  // namespace
}  // namespace hook::lifecycle
