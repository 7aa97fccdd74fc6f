// SPDX-License-Identifier: Apache-2.0
// A client that is absent, crashes, or says what it should not.
#include "vipu/process_controller.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "vipu/wire.h"

namespace vipu {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

class ProcessControllerTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/process-controller-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { (void)base::remove_flat_dir(directory_); }

  // A controller whose clients, with TLS and without, are this shell script.
  std::unique_ptr<Controller> with_client(const std::string& script) {
    const std::string path = directory_ + "/client";
    const base::FileAttributes executable{0755, std::nullopt, std::nullopt};
    for (const std::string& program : {path, path + "-plain"}) {
      EXPECT_TRUE(
          test::succeeds(base::write_atomic(program, "#!/bin/sh\n" + script + "\n", executable)));
    }
    return make_process_controller({path, endpoint_});
  }

  base::Result<std::vector<Partition>> list(const std::string& script,
                                            milliseconds time = milliseconds(10'000)) {
    return with_client(script)->list(Deadline::after(time));
  }

  void write(const std::string& name, const std::string& text) {
    const base::FileAttributes secret{0600, std::nullopt, std::nullopt};
    ASSERT_TRUE(test::succeeds(base::write_atomic(directory_ + "/" + name, text, secret)));
  }
  // Credentials, and a key, in files that the endpoint names.
  void use_secrets() {
    write("credentials", "user: alice-the-first\naccess-key: 685X_K4uCzN\n");
    write("pem", "-----BEGIN X-----\nc2VjcmV0LWtleQ==\n-----END X-----\n");
    endpoint_.tls = TlsFiles{directory_ + "/pem", directory_ + "/pem", directory_ + "/pem"};
    endpoint_.credentials_file = directory_ + "/credentials";
  }
  static bool has_secret(const std::string& text) {
    return text.find("685X_K4uCzN") != std::string::npos ||
           text.find("c2VjcmV0LWtleQ==") != std::string::npos;
  }

  Endpoint endpoint_{"10.1.3.101:8090"};
  std::string directory_;
};

TEST_F(ProcessControllerTest, GivesTheReplyOfTheClient) {
  const auto version = with_client(R"(cat >/dev/null; echo '{"ok":"1.18.0"}')")
                           ->version(Deadline::after(milliseconds(10'000)));
  ASSERT_TRUE(test::succeeds(version));
  EXPECT_EQ(version.value(), "1.18.0");
}

// Says its argument.
constexpr const char* kTellRole = R"(cat >/dev/null; printf '{"ok":"%s"}' "$*")";

TEST_F(ProcessControllerTest, AClientAsksForConnectionsAlsoWithTls) {
  EXPECT_EQ(with_client(kTellRole)->version(Deadline::after(milliseconds(10'000))).take(), "ask");
  use_secrets();
  EXPECT_EQ(with_client(kTellRole)->version(Deadline::after(milliseconds(10'000))).take(), "ask");
}

// The reply of a client that was granted an IPU.
constexpr const char* kGranted =
    R"({"ok":{"gcds":[{"attributes":{},"devices":[{"ip":"10.5.1.1",
"server_port":50052,"rdma_port":50152,"device_id":0,"ipulink_segment_id":0,"routing_id":0,
"ipu_arch_id":2,"ipu_id":0,"chip_id":"","gwsw_version":"","ipum_sw_version":""}]}]}})";

// It asks for one connection, which is refused.
TEST_F(ProcessControllerTest, AGrantHasAllAddressesOfAName) {
  endpoint_.address = "vipu.example:1";
  write("reply", kGranted);
  const auto grant = with_client(str(R"(
    [ "$1" != dns ] || { cat >/dev/null; echo '{"ok":["127.0.0.2","127.0.0.1","::1"]}'; exit; }
    cat >/dev/null; printf 1000 >&3; dd bs=100 count=1 <&3 >/dev/null 2>&1; cat )",
                                     directory_, "/reply"))
                         ->config("p0", std::nullopt, Deadline::after(milliseconds(10'000)));
  ASSERT_TRUE(test::succeeds(grant));
  EXPECT_EQ(grant.value().controller_addresses,
            (std::vector<std::string>{"127.0.0.2", "127.0.0.1", "::1"}));
}

TEST_F(ProcessControllerTest, AddressesAreLookedUpWithoutTheController) {
  const auto addresses = [&](const std::string& reply) {
    return with_client(str("cat >/dev/null; [ \"$1\" = dns ] && echo '", reply, "'"))
        ->addresses(Deadline::after(milliseconds(10'000)));
  };
  EXPECT_EQ(addresses("unused").take(), std::vector<std::string>{"10.1.3.101"});
  endpoint_.address = "vipu.example:8090";
  EXPECT_EQ(addresses(R"({"ok":["10.1.3.101","fd00::1"]})").take(),
            (std::vector<std::string>{"10.1.3.101", "fd00::1"}));
  EXPECT_TRUE(test::fails(addresses(R"({"error":{"code":"unavailable","message":"gone"}})"),
                          Code::kUnavailable, "V-IPU controller vipu.example:8090: resolve: gone"));
}

// For each question, a client of its own looks the name up.
TEST_F(ProcessControllerTest, ANameIsLookedUpByAnotherClient) {
  endpoint_.address = "vipu.example:1";
  const auto version = with_client(R"(
    [ "$1" != dns ] || { cat >/dev/null; echo '{"ok":["127.0.0.1","::1"]}'; exit; }
    printf 1000 >&3
    dd bs=100 count=1 <&3 2>/dev/null | sed 's/.*/{"ok":"&"}/')")
                           ->version(Deadline::after(milliseconds(10'000)));
  EXPECT_TRUE(test::succeeds(version));
  EXPECT_TRUE(version.value().starts_with("failed to connect to [::1]:1: ")) << version.value();
}

TEST_F(ProcessControllerTest, ErrorsNameTheControllerTheCallAndThePartition) {
  const auto status = with_client(R"(echo '{"error":{"code":"busy","message":"no capacity"}}')")
                          ->status("p0", Deadline::after(milliseconds(10'000)));
  EXPECT_TRUE(test::fails(status, Code::kBusy,
                          "V-IPU controller 10.1.3.101:8090: status 'p0': no capacity"));
}

TEST_F(ProcessControllerTest, TheClientHasLessTimeThanItsCaller) {
  const auto version = with_client(R"(sed 's/.*"timeout_ms":\([0-9]*\).*/{"ok":"\1"}/')")
                           ->version(Deadline::after(milliseconds(10'000)));
  ASSERT_TRUE(test::succeeds(version));
  EXPECT_LE(std::stoi(version.value()), 9750);
  EXPECT_GT(std::stoi(version.value()), 5000);
}

TEST_F(ProcessControllerTest, AnAbsentClientIsNotAnAbsentPartition) {
  const auto controller = make_process_controller({directory_ + "/none", endpoint_});
  EXPECT_TRUE(test::fails(controller->status("p0", Deadline::after(milliseconds(10'000))),
                          Code::kInternal, "/none-plain'"));
}

TEST_F(ProcessControllerTest, ACrashIsNamed) {
  EXPECT_TRUE(test::fails(list("kill -SEGV $$"), Code::kInternal, "signal 11"));
  EXPECT_TRUE(test::fails(list("exit 2"), Code::kInternal, "another version was installed"));
  EXPECT_TRUE(test::fails(list("exit 3"), Code::kInternal, "exit status 3"));
  EXPECT_TRUE(test::fails(list(R"(echo '{"ok":[]}'; exit 3)"), Code::kInternal, "exit status 3"));
}

TEST_F(ProcessControllerTest, AClientThatWasKilledMayBeTriedAgainAndMayHaveMadeThePartition) {
  EXPECT_TRUE(test::fails(list("kill -KILL $$"), Code::kUnavailable, "was killed (SIGKILL)"));
  const auto deadline = Deadline::after(milliseconds(10'000));
  const PartitionRequest request{"p0", 4, false, ""};
  const base::Status submitted = with_client("kill -KILL $$")->submit(request, deadline);
  ASSERT_TRUE(test::fails(submitted, Code::kTimeout, "was killed (SIGKILL)"));
  EXPECT_FALSE(made_nothing(submitted.error()));
  const base::Result<Grant> created = with_client("kill -KILL $$")->create(request, deadline);
  ASSERT_TRUE(test::fails(created, Code::kTimeout, "was killed (SIGKILL)"));
}

TEST_F(ProcessControllerTest, GarbageIsRefused) {
  EXPECT_TRUE(test::fails(list("exit 0"), Code::kInternal, "malformed"));
  EXPECT_TRUE(test::fails(list("echo hello"), Code::kInternal, "malformed"));
  EXPECT_TRUE(test::fails(list(R"(echo '{"ok":7}')"), Code::kInternal,
                          "the controller's answer cannot be right: "));
}

TEST_F(ProcessControllerTest, AGrantOfAnotherSizeIsRefused) {
  const auto controller = with_client(
      R"(cat <<'END'
{"ok":{"gcds":[{"attributes":{},"devices":[{"ip":"10.5.1.1",
"server_port":50052,"rdma_port":50152,"device_id":0,"ipulink_segment_id":0,"routing_id":0,
"ipu_arch_id":2,"ipu_id":0,"chip_id":"","gwsw_version":"","ipum_sw_version":""}]}]}}
END)");
  const Deadline deadline = Deadline::after(milliseconds(10'000));
  EXPECT_TRUE(test::succeeds(controller->create({.id = "p0", .size = 1}, deadline)));
  EXPECT_TRUE(test::fails(controller->create({.id = "p0", .size = 2}, deadline), Code::kInternal,
                          "create 'p0': it was given 1 devices for 2 IPUs"));
  EXPECT_TRUE(test::fails(controller->create({.id = "p0", .size = 1, .gcds = 2}, deadline),
                          Code::kInternal, "create 'p0': it was given 1 GCDs and not 2"));
}

TEST_F(ProcessControllerTest, OneGcdIsGivenWhereOneIsAskedFor) {
  const auto controller = with_client(R"(cat <<'END'
{"ok":{"gcds":[
{"attributes":{},"devices":[{"ip":"10.5.1.1","server_port":1,"rdma_port":1,"device_id":0,
"ipulink_segment_id":0,"routing_id":0,"ipu_arch_id":2,"ipu_id":0,"chip_id":"","gwsw_version":"",
"ipum_sw_version":""}]},
{"attributes":{},"devices":[{"ip":"10.5.1.1","server_port":1,"rdma_port":1,"device_id":1,
"ipulink_segment_id":0,"routing_id":1,"ipu_arch_id":2,"ipu_id":0,"chip_id":"","gwsw_version":"",
"ipum_sw_version":""}]}]}}
END)");
  const Deadline deadline = Deadline::after(milliseconds(10'000));
  EXPECT_TRUE(test::succeeds(controller->config("p0", std::nullopt, deadline)));
  EXPECT_TRUE(test::fails(controller->config("p0", 1, deadline), Code::kInternal,
                          "config 'p0': it was given 2 GCDs for GCD 1"));
}

TEST_F(ProcessControllerTest, ANameThatNoPartitionCanHaveIsNotAskedFor) {
  const auto controller = with_client(R"(echo '{"ok":true}')");
  const Deadline deadline = Deadline::after(milliseconds(10'000));
  EXPECT_TRUE(test::succeeds(controller->submit({.id = "p0", .size = 1}, deadline)));
  for (const std::string& bad : {std::string(), std::string("a/b"), std::string(37, 'x')}) {
    EXPECT_TRUE(test::fails(controller->submit({.id = bad, .size = 1}, deadline), Code::kInvalid,
                            "1 to 36 characters"));
    EXPECT_TRUE(test::fails(controller->create({.id = bad, .size = 1}, deadline), Code::kInvalid,
                            "1 to 36 characters"));
  }
}

TEST_F(ProcessControllerTest, SecretsGoThroughThePipeAndNowhereElse) {
  use_secrets();
  // What it finds in its request, in its arguments and in its environment.
  const auto version =
      with_client(
          "request=$(cat); found=; case $request in *685X_K4uCzN*) found=request;; esac; "
          "grep -qa 685X /proc/$$/cmdline /proc/$$/environ && found=$found+process; "
          R"(printf '{"ok":"%s"}' "$found")")
          ->version(Deadline::after(milliseconds(10'000)));
  ASSERT_TRUE(test::succeeds(version));
  EXPECT_EQ(version.value(), "request");
}

TEST_F(ProcessControllerTest, NoErrorHasASecretThatTheClientRepeats) {
  use_secrets();
  const char* const clients[] = {
      "cat",              // the whole request, which is no reply
      "cat; exit 3",      // and with a failure
      "cat | tr -d '{'",  // no JSON, with the secret where the parser stops
      R"(cat >/dev/null; echo '685X_K4uCzN')",
      R"(cat >/dev/null; echo '{"685X_K4uCzN":1}')",
      R"(cat >/dev/null; echo '{"error":{"code":"denied","message":"key 685X_K4uCzN is bad"}}')",
      R"(cat >/dev/null; echo '{"error":{"code":"685X_K4uCzN","message":"x"}}')",
      R"(cat >/dev/null; echo '{"error":{"code":"busy","message":"c2VjcmV0LWtleQ=="}}')",
      R"(cat >/dev/null; echo '{"error":{"c2VjcmV0LWtleQ==":1,"c2VjcmV0LWtleQ==":2}}')"};
  for (const char* client : clients) {
    const auto failed = list(client);
    ASSERT_FALSE(failed.ok()) << client;
    EXPECT_FALSE(has_secret(failed.error().message())) << failed.error().message();
  }
}

TEST_F(ProcessControllerTest, TheFilesAreReadAnewForEachCall) {
  use_secrets();
  const auto controller = with_client(R"sh(sed 's/.*"access-key":"\([^"]*\)".*/{"ok":"\1"}/')sh");
  const auto key = [&] { return controller->version(Deadline::after(milliseconds(10'000))); };
  EXPECT_EQ(key().take(), "685X_K4uCzN");
  write("credentials", "access-key: another\n");
  EXPECT_EQ(key().take(), "another");
  ASSERT_EQ(::unlink((directory_ + "/credentials").c_str()), 0);
  EXPECT_TRUE(
      test::fails(key(), Code::kInvalid, "V-IPU controller 10.1.3.101:8090: version: open"));
}

TEST_F(ProcessControllerTest, MoreThanAReplyCanBeIsRefused) {
  EXPECT_TRUE(test::fails(list("head -c 5000000 /dev/zero"), Code::kInternal, "more than 4194304"));
}

TEST_F(ProcessControllerTest, AClientThatHangsEndsAtTheDeadline) {
  EXPECT_TRUE(
      test::fails(list("exec sleep 60", milliseconds(100)), Code::kTimeout, "no answer within"));
  EXPECT_TRUE(test::fails(list("exit 0", milliseconds(0)), Code::kTimeout, "no time left"));
}

}  // namespace
}  // namespace vipu
