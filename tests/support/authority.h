// SPDX-License-Identifier: Apache-2.0
// Authority: a certificate authority for tests, in a directory of its own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace test {

// A certificate authority in a directory of its own, and what it has signed.
class Authority {
 public:
  Authority() { openssl("ca", {"-subj", "/CN=authority"}); }

  // Signs a certificate for NAME, and for a server on 127.0.0.1 of that name.
  void sign(const std::string& name) {
    openssl(name, {"-subj", base::str("/CN=", name), "-addext",
                   base::str("subjectAltName=DNS:", name, ",IP:127.0.0.1"), "-CA",
                   certificate("ca"), "-CAkey", key("ca")});
  }
  [[nodiscard]] std::string certificate(const std::string& name) const {
    return directory_ / (name + ".pem");
  }
  [[nodiscard]] std::string key(const std::string& name) const {
    return directory_ / (name + ".key");
  }

 private:
  void openssl(const std::string& name, const std::vector<std::string>& options) {
    base::Command command;
    command.path = "/usr/bin/openssl";
    command.args = {"openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:prime256v1",
                    "-nodes",
                    "-days",
                    "1",
                    "-keyout",
                    key(name),
                    "-out",
                    certificate(name)};
    command.args.insert(command.args.end(), options.begin(), options.end());
    command.max_output = 65536;
    const auto output =
        base::run(command, base::Deadline::after(std::chrono::milliseconds(10'000)));
    ASSERT_TRUE(succeeds(output));
    ASSERT_EQ(output.value().exit_status, 0) << name;
  }

  TempDir directory_;
};

}  // namespace test
