// SPDX-License-Identifier: Apache-2.0
// Mounts that also take the place of others on directories of a name.
#include <gtest/gtest.h>

#include "base/json.h"
#include "hook/container/oci/spec.h"
#include "tests/support/outcome.h"

namespace hook::oci {
namespace {

using base::Json;

Json mounts_of(const base::Result<std::string>& spec) {
  EXPECT_TRUE(test::succeeds(spec));
  return base::parse_json(spec.value(), "x").take()["mounts"];
}

TEST(EditSpec, AlsoMountsOnDirectoriesOfAName) {
  SpecEdit edit;
  edit.leases = "/run/ipu/leases/";
  edit.mounts = {{"/run/ipu/leases/aa/ipuof.conf.d", "/etc/ipuof.conf.d", ".ipuof.conf.d"}};
  const std::string text =
      R"({"mounts":[{"destination":"/root/.ipuof.conf.d","type":"tmpfs","source":"tmpfs"},
                    {"destination":"/users/a/.ipuof.conf.d/p.conf","source":"/x"},
                    {"destination":"/users/a","source":"/y"},
                    {"destination":"/b/.ipuof.conf.d2","source":"/z"}]})";
  const std::string after = edit_spec(text, edit).take();
  const Json mounts = mounts_of(after);
  ASSERT_EQ(mounts.size(), 5U);
  EXPECT_EQ(mounts[0]["destination"], "/users/a");
  EXPECT_EQ(mounts[1]["destination"], "/b/.ipuof.conf.d2");
  EXPECT_EQ(mounts[2]["destination"], "/etc/ipuof.conf.d");
  EXPECT_EQ(mounts[3]["destination"], "/root/.ipuof.conf.d");
  EXPECT_EQ(mounts[4]["destination"], "/users/a/.ipuof.conf.d");
  EXPECT_EQ(mounts[4]["source"], "/run/ipu/leases/aa/ipuof.conf.d");
  // The next start of the bundle finds the places by what this one mounted there.
  edit.mounts[0].source = "/run/ipu/leases/bb/ipuof.conf.d";
  const Json again = mounts_of(edit_spec(after, edit));
  ASSERT_EQ(again.size(), 5U);
  EXPECT_EQ(again[4]["destination"], "/users/a/.ipuof.conf.d");
  EXPECT_EQ(again[4]["source"], "/run/ipu/leases/bb/ipuof.conf.d");
  EXPECT_EQ(mounts_of(forget_edit(after, edit)).size(), 2U);
}

}  // namespace
}  // namespace hook::oci
