// SPDX-License-Identifier: Apache-2.0
// Who may call vipu-simulator: users with keys, and TLS.
#include "base/process.h"
#include "tests/support/requires.h"
#include "tests/unit/cmd/vipu-simulator/fixture.h"

namespace test {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;

class SimulatorSecureTest : public SimulatorFixture {
 protected:
  void start_secure(std::vector<std::string> args = {}) {
    const std::string users = write(
        "users", R"({"alice":{"key":"key-of-alice","allocations":["a"]},)"
                 R"("bob":{"key":"key-of-bob","allocations":["b"]},"root":{"key":"key-of-root"}})");
    args.insert(args.end(), {"--pod", "pod16", "--allocation", "a=ag1-ag2", "--allocation",
                             "b=ag3-ag4", "--secure", users, "--log", dir_ / "log"});
    start(std::move(args));
  }
  SimulatorClient user(const std::string& name, const std::string& key) {
    return SimulatorClient(address_, {{"vipu-user-id", name}, {"vipu-access-key", key}});
  }
};

TEST_F(SimulatorSecureTest, CallsWithoutAUserOrWithAWrongKeyAreUnauthenticated) {
  start_secure();
  EXPECT_EQ(client().version().code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(client().create("p0", 4).code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(user("alice", "key-of-bob").list().code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(user("carol", "key-of-bob").list().code(), StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(user("alice", "key-of-alice").list().status.ok());
}

TEST_F(SimulatorSecureTest, PartitionsOfOtherAllocationsAreNotOnesOwn) {
  start_secure();
  SimulatorClient alice = user("alice", "key-of-alice");
  SimulatorClient bob = user("bob", "key-of-bob");
  ASSERT_TRUE(alice.create("of-alice", 4).status.ok());
  ASSERT_TRUE(bob.create("of-bob", 4).status.ok());
  EXPECT_EQ(alice.list().reply.partitions_size(), 1);
  EXPECT_EQ(user("root", "key-of-root").list().reply.partitions_size(), 2);
  EXPECT_EQ(alice.list("b").code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(alice.status("of-bob").code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(alice.config("of-bob").code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(alice.reset("of-bob").code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(alice.remove("of-bob", true).code(), StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(bob.status("of-bob").status.ok());
  virmgrpc::CreatePartitionRequest request;
  request.mutable_requirements()->set_id("p0");
  request.mutable_requirements()->set_size(4);
  request.mutable_requirements()->set_allocation_id("b");
  EXPECT_EQ(alice.create(request).code(), StatusCode::PERMISSION_DENIED);
}

TEST_F(SimulatorSecureTest, AUserSeesTheAttributesOfTheUsersAgents) {
  start_secure();
  const auto said =
      user("alice", "key-of-alice")
          .call(&SimulatorClient::Users::ListIPUAttributes, virmgrpc::ListIPUAttributesRequest());
  ASSERT_EQ(said.reply.entries_size(), 2);
  EXPECT_EQ(said.reply.entries(1).agent(), "ag2");
}

TEST_F(SimulatorSecureTest, TheLogHasTheUserAndNeverAKey) {
  start_secure();
  EXPECT_TRUE(user("alice", "key-of-alice").version().status.ok());
  EXPECT_FALSE(user("alice", "key-of-nobody").version().status.ok());
  const std::string log = read("log");
  EXPECT_NE(log.find(R"("user":"alice")"), std::string::npos) << log;
  EXPECT_EQ(log.find("key-of"), std::string::npos) << log;
  EXPECT_EQ(simulator().output().find("key-of"), std::string::npos);
}

TEST_F(SimulatorSecureTest, TheNamesOfTheMetadataCanBeChosen) {
  start_secure({"--user-metadata", "x-user", "--key-metadata", "x-key"});
  EXPECT_FALSE(user("alice", "key-of-alice").version().status.ok());
  SimulatorClient alice(address_, {{"x-user", "alice"}, {"x-key", "key-of-alice"}});
  EXPECT_TRUE(alice.version().status.ok());
}

class SimulatorTlsTest : public SimulatorFixture {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/bin/openssl")) {
      if (tests_must_run()) FAIL() << "no openssl";
      GTEST_SKIP() << "no openssl";
    }
    make_authority();
    make_certificate("server", "subjectAltName=IP:127.0.0.1");
    make_certificate("client", "subjectAltName=DNS:client");
  }
  std::shared_ptr<grpc::ChannelCredentials> credentials(bool with_client) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = read("ca.pem");
    if (with_client) {
      options.pem_cert_chain = read("client.pem");
      options.pem_private_key = read("client.key");
    }
    return grpc::SslCredentials(options);
  }
  StatusCode version_with(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    SimulatorClient client(address_, {}, credentials);
    client.set_patience(milliseconds(5000));
    return client.version().code();
  }

 private:
  void openssl(std::vector<std::string> args) {
    args.insert(args.begin(), "openssl");
    const base::Command command{
        "/usr/bin/openssl", std::move(args), {"HOME=/"}, "", size_t{1} << 20, {}};
    const base::Result<base::Output> output =
        base::run(command, base::Deadline::after(milliseconds(10'000)));
    ASSERT_TRUE(succeeds(output));
    EXPECT_EQ(output.value().exit_status, 0);
  }
  void make_authority() {
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-days", "1", "-subj", "/CN=test", "-keyout", dir_ / "ca.key", "-out",
             dir_ / "ca.pem"});
  }
  void make_certificate(const std::string& name, const std::string& extension) {
    openssl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
             "/CN=" + name, "-keyout", dir_ / (name + ".key"), "-out", dir_ / (name + ".csr")});
    openssl({"x509", "-req", "-in", dir_ / (name + ".csr"), "-CA", dir_ / "ca.pem", "-CAkey",
             dir_ / "ca.key", "-CAcreateserial", "-days", "1", "-extfile",
             write(name + ".ext", extension + "\n"), "-out", dir_ / (name + ".pem")});
  }
};

TEST_F(SimulatorTlsTest, AClientThatKnowsTheAuthorityGetsIn) {
  start({"--tls-cert", dir_ / "server.pem", "--tls-key", dir_ / "server.key"});
  EXPECT_EQ(version_with(credentials(false)), StatusCode::OK);
  EXPECT_EQ(version_with(grpc::InsecureChannelCredentials()), StatusCode::UNAVAILABLE);
}

TEST_F(SimulatorTlsTest, WithAClientAuthorityAClientNeedsACertificate) {
  start({"--tls-cert", dir_ / "server.pem", "--tls-key", dir_ / "server.key", "--tls-client-ca",
         dir_ / "ca.pem"});
  EXPECT_EQ(version_with(credentials(true)), StatusCode::OK);
  EXPECT_EQ(version_with(credentials(false)), StatusCode::UNAVAILABLE);
}

TEST_F(SimulatorTlsTest, ACertificateThatIsNoneIsAnError) {
  SimulatorProcess process(PROGRAM_DIR "/vipu-simulator",
                           {"--listen", "127.0.0.1:0", "--tls-cert", write("bad", "nonsense"),
                            "--tls-key", dir_ / "server.key"});
  EXPECT_EQ(process.end(0), 1);
  EXPECT_NE(process.output().find("certificate"), std::string::npos) << process.output();
}

}  // namespace
}  // namespace test
