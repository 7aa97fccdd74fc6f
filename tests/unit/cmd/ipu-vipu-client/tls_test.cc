// SPDX-License-Identifier: Apache-2.0
// TLS and credentials between ipu-vipu-client and a controller, with certificates that are made
// here.
#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/names.h"
#include "tests/support/authority.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/cmd/ipu-vipu-client/rig.h"

namespace vipu {
namespace {

using namespace base::names;

std::string text_of(const std::string& path) { return base::read_file(path, 65536).take(); }

class ClientTlsTest : public ClientTest {
 protected:
  void SetUp() override {
    authority_.sign("vipu.example");
    authority_.sign("client");
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = text_of(authority_.certificate("ca"));
    options.pem_key_cert_pairs.push_back(
        {text_of(authority_.key("vipu.example")), text_of(authority_.certificate("vipu.example"))});
    secure_ = std::make_unique<test::ScriptedServer>(
        test::ScriptedServer::Options{grpc::SslServerCredentials(options)});
    endpoint_.address = secure_->address();
    endpoint_.tls = TlsFiles{authority_.certificate("ca"), authority_.certificate("client"),
                             authority_.key("client")};
  }
  base::Result<std::string> version() { return controller_at(endpoint_)->version(soon()); }

  test::Authority authority_;
  std::unique_ptr<test::ScriptedServer> secure_;
  Endpoint endpoint_;
};

TEST_F(ClientTlsTest, BothSidesAreKnownToEachOther) {
  EXPECT_EQ(version().take(), "1.18.0");
  endpoint_.tls->server_name = "vipu.example";
  EXPECT_EQ(version().take(), "1.18.0");
  EXPECT_TRUE(test::succeeds(controller_at(endpoint_)->create(four(), soon())));
}

TEST_F(ClientTlsTest, ACertificateOfAnotherAuthorityIsNotTrusted) {
  const test::Authority another;
  endpoint_.tls->ca = another.certificate("ca");
  EXPECT_TRUE(test::fails(version(), Code::kUnavailable,
                          "its certificate is not signed by the configured CA"));
  EXPECT_EQ(secure_->calls("GetVersion"), 0);
}

// As an intermediate authority, whose own one is not configured.
TEST_F(ClientTlsTest, WhatIsConfiguredIsTrustedWhoeverSignedIt) {
  endpoint_.tls->ca = authority_.certificate("vipu.example");
  EXPECT_EQ(version().take(), "1.18.0");
}

TEST_F(ClientTlsTest, ACertificateOfAnotherNameIsNotTrusted) {
  endpoint_.tls->server_name = "other.example";
  EXPECT_TRUE(
      test::fails(version(), Code::kUnavailable, "its certificate is for another server name"));
}

TEST_F(ClientTlsTest, WithoutItsCertificateTheClientIsNotServed) {
  endpoint_.tls->certificate = "";
  endpoint_.tls->key = "";
  EXPECT_TRUE(test::fails(version(), Code::kUnavailable, "may not accept our certificate"));
  EXPECT_EQ(secure_->calls("GetVersion"), 0);
}

TEST_F(ClientTlsTest, AKeyOfAnotherCertificateIsNamedAsTheCause) {
  endpoint_.tls->key = authority_.key("vipu.example");
  EXPECT_TRUE(test::fails(version(), Code::kUnavailable,
                          "TLS is not possible with the configured CA, certificate and key"));
}

TEST_F(ClientTlsTest, OneSideWithoutTlsIsNamedAsTheCause) {
  endpoint_.address = server().address();
  EXPECT_TRUE(test::fails(version(), Code::kUnavailable, "it does not speak TLS"));
  EXPECT_TRUE(test::fails(controller_at({secure_->address()})->version(soon()), Code::kUnavailable,
                          "may want TLS"));
}

class ClientCredentialsTest : public ClientTest {
 protected:
  void SetUp() override {
    const base::FileAttributes secret{0600, std::nullopt, std::nullopt};
    ASSERT_TRUE(test::succeeds(base::write_atomic(
        directory_ / "credentials", "user: alice\naccess-key: 685X_K4uCzN\n", secret)));
  }

  test::TempDir directory_;
};

TEST_F(ClientCredentialsTest, AreSentWithEveryCall) {
  const auto controller =
      controller_at({server().address(), std::nullopt, directory_ / "credentials"});
  ASSERT_TRUE(test::succeeds(controller->create(four(), soon())));
  for (const char* rpc : {"GetPartitionStatus", "CreatePartition", "GetPartitionIpuofConfig"}) {
    EXPECT_EQ(server().metadata_of(rpc, "user"), "alice") << rpc;
    EXPECT_EQ(server().metadata_of(rpc, "access-key"), "685X_K4uCzN") << rpc;
  }
}

TEST_F(ClientCredentialsTest, AreNotGivenToAClientThatOthersMayTrace) {
  const base::Credentials user{65534, 65534};
  const std::string program = PROGRAM_DIR "/ipu-vipu-client";  // everybody may read it
  const Endpoint with{server().address(), std::nullopt, directory_ / "credentials"};
  EXPECT_TRUE(test::fails(make_process_controller({program, with, user})->version(soon()),
                          Code::kDenied, " && chmod 0711 "));
  const Error shared(Code::kDenied, "this user is not its own");
  EXPECT_TRUE(test::fails(make_process_controller({program, with, user, shared})->version(soon()),
                          Code::kDenied, shared.message()));
  EXPECT_EQ(server().calls("GetVersion"), 0);
}

TEST_F(ClientCredentialsTest, AreNotShownWhenTheControllerRepeatsThem) {
  server().script("GetVersion", {{.code = grpc::StatusCode::UNAUTHENTICATED,
                                  .message = "key 685X_K4uCzN of alice is unknown"}});
  const auto version = controller_at({server().address(), std::nullopt, directory_ / "credentials"})
                           ->version(soon());
  EXPECT_TRUE(test::fails(version, Code::kDenied,
                          "the credentials are not accepted: key *** of *** is unknown"));
}

}  // namespace
}  // namespace vipu
