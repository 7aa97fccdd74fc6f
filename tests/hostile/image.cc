// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/image.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/json.h"
#include "base/text.h"

namespace hostile {
namespace {

namespace fs = std::filesystem;
using base::Json;
using base::str;

// The paths of a container that the product touches, parents first; and /x, which the container
// runs.
constexpr std::array kPlaces{"etc",      "etc/ipuof.conf.d", "etc/ipuof.conf.d/ipuof.conf",
                             "run",      "run/ipu",          "run/ipu/lease.json",
                             "dev/ipu0", "dev/infiniband"};

template <typename List>
auto pick(Random& random, const List& list) {
  return list[random() % std::size(list)];
}
bool one_in(Random& random, uint64_t n) { return random() % n == 0; }

std::string target(Random& random, const std::string& outside) {
  const std::string targets[] = {outside,
                                 outside + "/ipu",
                                 outside + "/lease.json",
                                 outside + "/absent",
                                 "../../../../../../../.." + outside,
                                 "/proc/self/root" + outside,
                                 "/proc/1/root" + outside,
                                 "/proc/self/cwd",
                                 "/proc/self/fd/" + std::to_string(random() % 12),
                                 "/proc/self/exe",
                                 "nowhere",
                                 "..",
                                 ".",
                                 std::string(3000, 'x')};
  return pick(random, targets);
}

enum class Kind { kAbsent, kDirectory, kFile, kLink, kFifo, kCharacter, kBlock, kSocket, kClosed };

// What stands at one place: something hostile once in RARITY times, else what an image has.
Kind kind_of(Random& random, uint64_t rarity) {
  constexpr Kind kUsual[] = {Kind::kAbsent, Kind::kDirectory, Kind::kDirectory};
  constexpr Kind kHostile[] = {Kind::kFile,  Kind::kLink,   Kind::kLink,
                               Kind::kLink,  Kind::kFifo,   Kind::kCharacter,
                               Kind::kBlock, Kind::kSocket, Kind::kClosed};
  return one_in(random, rarity) ? pick(random, kHostile) : pick(random, kUsual);
}

void make_file(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

// Returns a word for what it made.
std::string make_place(Random& random, Kind kind, const std::string& path,
                       const std::string& outside) {
  switch (kind) {
    case Kind::kAbsent:
      return "";
    case Kind::kDirectory:
      fs::create_directory(path);
      return "";
    case Kind::kClosed:
      fs::create_directory(path);
      (void)::chmod(path.c_str(), 0);
      return "closed directory";
    case Kind::kFile:
      make_file(path, "theirs");
      return "file";
    case Kind::kLink: {
      const std::string to = target(random, outside);
      fs::create_symlink(to, path);
      return str("link to ", to.substr(0, 40));
    }
    case Kind::kFifo:
      (void)::mkfifo(path.c_str(), 0666);
      return "fifo";
    case Kind::kCharacter:
      (void)::mknod(path.c_str(), S_IFCHR | 0666, makedev(1, 3));
      return "character device";
    case Kind::kBlock:
      (void)::mknod(path.c_str(), S_IFBLK | 0666, makedev(7, 0));
      return "block device";
    case Kind::kSocket:
      (void)::mknod(path.c_str(), S_IFSOCK | 0666, 0);
      return "socket";
  }
  return "";
}

// What a volume of the container's holds, and what may take the place of a directory.
void make_tree(Random& random, const std::string& path, const std::string& outside) {
  fs::create_directories(path);
  for (const char* name : {"ipu", "ipuof.conf.d", "ipuof.conf", "lease.json"}) {
    (void)make_place(random, kind_of(random, 3), str(path, "/", name), outside);
  }
}

// The other end of a swap of PLACE: a link to the outside, or a tree.
Swap make_swap(Random& random, const std::string& place, const std::string& outside) {
  const std::string other = place + ".other";
  if (one_in(random, 4)) {
    make_tree(random, other, outside);
  } else {
    fs::create_symlink(one_in(random, 2) ? outside : target(random, outside), other);
  }
  return {place, other};
}

Image make_image(Random& random, const Site& site, const std::string& root) {
  constexpr uint64_t kRarities[] = {2, 8, 30};
  const uint64_t rarity = pick(random, kRarities);
  Image image;
  fs::create_directories(root);
  fs::create_hard_link(site.program, root + "/x");
  // A hostile /dev leads runc 1.1.5 and crun 1.8 outside by themselves: they make links in it by
  // its path.
  std::set<std::string> directories{root, root + "/dev"};
  fs::create_directory(root + "/dev");
  for (const std::string place : kPlaces) {
    const std::string path = str(root, "/", place);
    if (!directories.contains(fs::path(path).parent_path())) continue;
    const Kind kind = kind_of(random, rarity);
    const std::string word = make_place(random, kind, path, site.outside);
    if (kind == Kind::kDirectory) directories.insert(path);
    if (!word.empty()) image.what += str(" /", place, ": ", word, ";");
    if (kind != Kind::kAbsent && one_in(random, rarity)) {
      image.swaps.push_back(make_swap(random, path, site.outside));
      image.what += str(" /", place, " is swapped;");
    }
  }
  return image;
}

Json mount(const std::string& destination, const std::string& type, const std::string& source,
           std::initializer_list<const char*> options) {
  return {{"destination", destination}, {"type", type}, {"source", source}, {"options", options}};
}

// A mount of the attacker's at one of the places, or in the way to it.
Json hostile_mount(Random& random, const Site& site, const std::string& volume) {
  constexpr const char* kDestinations[] = {"/etc",
                                           "/etc/ipuof.conf.d",
                                           "/etc//ipuof.conf.d/",
                                           "/run/../etc/ipuof.conf.d",
                                           "/etc/ipuof.conf.d/ipuof.conf",
                                           "/run",
                                           "/run/ipu",
                                           "/run/ipu/lease.json",
                                           "/dev/infiniband",
                                           "/dev/ipu0",
                                           "/tmp"};
  const std::string destination = pick(random, kDestinations);
  switch (random() % 5) {
    case 0:
      return mount(destination, "tmpfs", "tmpfs", {"mode=0755"});
    case 1:
      return mount(destination, "bind", site.outside, {"bind", "ro"});
    case 2:
      return mount(destination, "bind", site.outside + "/lease.json", {"bind", "ro"});
    case 3:
      return mount(destination, "bind", volume + "/lease.json", {"rbind", "rw"});
    default:
      return mount(destination, "bind", volume, {"rbind", "rw"});
  }
}

Json hook_entry(const Site& site, const char* stage) {
  return Json::array(
      {{{"path", site.hook}, {"args", {"ipu-container-hook", stage}}, {"timeout", 60}}});
}

Json config_of(Random& random, Way way, const Site& site, const std::string& directory,
               Image& image) {
  Json mounts = Json::array(
      {mount("/proc", "proc", "proc", {}), mount("/dev", "tmpfs", "tmpfs", {"mode=0755"})});
  for (uint64_t left = random() % 3; left > 0; --left) {
    image.has_mounts = true;
    mounts.push_back(hostile_mount(random, site, directory + "/volume"));
    image.what += str(" mount of ", mounts.back()["source"].get<std::string>(), " at ",
                      mounts.back()["destination"].get<std::string>(), ";");
  }
  const std::string pool = one_in(random, 3) ? "cards" : "slices";
  image.what += str(" pool ", pool);
  Json annotations = {{"graphcore.ai/ipu.pool", pool}};
  annotations[pool == "cards" ? "graphcore.ai/ipu.devices" : "graphcore.ai/ipu.count"] =
      pool == "cards" ? "0" : "1";
  Json namespaces = Json::array();
  for (const char* type : {"pid", "network", "ipc", "uts", "mount"})
    namespaces.push_back({{"type", type}});
  Json config = {
      {"ociVersion", "1.0.2"},
      {"process",
       {{"user", {{"uid", 0}, {"gid", 0}}},
        {"args", {"/x", "true"}},
        {"cwd", "/"},
        {"env", {"PATH=/"}}}},
      {"root", {{"path", "rootfs"}, {"readonly", one_in(random, 8)}}},
      {"mounts", mounts},
      {"annotations", annotations},
      {"linux",
       {{"namespaces", namespaces},
        {"cgroupsPath", str(site.cgroup, "/", fs::path(directory).filename().string())}}}};
  if (way != Way::kWrapper) {
    config["hooks"] = {{"createRuntime", hook_entry(site, "createRuntime")},
                       {"poststop", hook_entry(site, "poststop")}};
  }
  return config;
}

}  // namespace

const char* name_of(Way way) {
  switch (way) {
    case Way::kWrapper:
      return "wrapper";
    case Way::kHookRunc:
      return "hook, runc";
    case Way::kHookCrun:
      return "hook, crun";
  }
  return "";
}

Image make_bundle(Random& random, Way way, const Site& site, const std::string& directory) {
  fs::create_directories(directory);
  Image image = make_image(random, site, directory + "/rootfs");
  make_tree(random, directory + "/volume", site.outside);
  for (const char* name : {"ipu", "ipuof.conf.d"}) {
    const std::string place = str(directory, "/volume/", name);
    if (fs::exists(fs::symlink_status(place)) && one_in(random, 4)) {
      image.swaps.push_back(make_swap(random, place, site.outside));
      image.what += str(" ", name, " of the volume is swapped;");
    }
  }
  make_file(directory + "/config.json",
            base::to_text(config_of(random, way, site, directory, image)));
  return image;
}

}  // namespace hostile
