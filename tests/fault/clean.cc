// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/clean.h"

#include <sys/mount.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "netns/border.h"
#include "tests/fault/places.h"
#include "tests/fault/world.h"
#include "vipu/process_controller.h"

namespace fault {

using namespace base::names;

namespace {

Status remove_contents(const std::string& directory) {
  std::error_code err;
  for (const auto& entry : std::filesystem::directory_iterator(directory, err)) {
    std::filesystem::remove_all(entry.path(), err);
    if (err) return Error::from_errno(err.value(), str("remove ", entry.path().string()));
  }
  return {};
}

}  // namespace

Status remove_partition(const std::string& name) {
  const auto controller =
      vipu::make_process_controller({hook::config::client_program(), {kController}, {}});
  TRY(controller->remove(name, vipu::Force::kYes, Deadline::after(std::chrono::seconds(10))));
  return {};
}

Status clean_run_dir() {
  const std::string mounts = TRY(base::read_file("/proc/self/mounts", 1 << 20));
  for (const std::string_view line : base::split(mounts, '\n')) {
    const std::vector<std::string_view> words = base::split(line, ' ');
    if (words.size() < 2 || !words[1].starts_with(hook::config::run_dir())) continue;
    (void)::umount2(std::string(words[1]).c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  }
  return remove_contents(hook::config::run_dir());
}

Status clean_host() {
  const netns::Namespace host = TRY(netns::Namespace::current());
  TRY(netns::remove_border(host));
  TRY(clean_run_dir());
  TRY(remove_contents(hook::config::state_dir()));
  TRY(remove_contents(kBundles));
  TRY(remove_contents(kBaseline));
  const std::map<std::string, std::string> partitions = TRY(World::partitions());
  for (const auto& [name, text] : partitions) TRY(remove_partition(name));
  return {};
}

}  // namespace fault
