// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/spec.h"
#include "tests/support/outcome.h"

namespace hook::oci {
namespace {

using namespace base::names;
using base::Json;

Json mounts_in(const std::string& text) { return base::parse_json(text, "x").take()["mounts"]; }

std::string resized(const std::string& text, const SpecEdit& edit) {
  const base::Result<std::string> result = edit_spec(text, edit);
  EXPECT_TRUE(test::succeeds(result));
  return result.ok() ? result.value() : "{}";
}

std::string with_shm(const std::string& type, const std::string& option,
                     const std::string& place = "/dev/shm") {
  return str(R"({"mounts":[{"destination":")", place, R"(","type":")", type,
             R"(","source":"shm","options":["nosuid",")", option, R"("]}]})");
}

TEST(SharedMemory, GivesMoreSharedMemoryThanTheEnginesDefault) {
  SpecEdit edit;
  edit.shm_size = "50%";
  for (const char* size : {"size=65536k", "size=67108864", "size=65536000", "size=64000k"})
    EXPECT_EQ(mounts_in(resized(with_shm("tmpfs", size), edit)),
              mounts_in(with_shm("tmpfs", "size=50%")))
        << size;
  EXPECT_EQ(mounts_in(resized(with_shm("tmpfs", "size=65536k", "//dev/./shm/"), edit)),
            mounts_in(with_shm("tmpfs", "size=50%", "//dev/./shm/")));
}

TEST(SharedMemory, LeavesSharedMemoryOfWhichSomebodyChoseTheSize) {
  SpecEdit edit;
  edit.shm_size = "50%";
  for (const std::string& text :
       {with_shm("tmpfs", "size=1073741824"), with_shm("tmpfs", "mode=1777"),
        with_shm("bind", "size=65536k"), with_shm("tmpfs", "size=65536k", "/dev/shm/x"),
        std::string(R"({"mounts":[{"destination":"/dev/shm","type":"tmpfs"}]})"),
        std::string("{}")}) {
    EXPECT_EQ(mounts_in(resized(text, edit)), mounts_in(text));
  }
}

}  // namespace
}  // namespace hook::oci
