// SPDX-License-Identifier: Apache-2.0
// Starts containers of hostile images, one after the other, and looks at the host after each.
//   hostile DIRECTORY FIRST COUNT CGROUP
//       the starts of the seeds FIRST to FIRST + COUNT - 1, with bundles in DIRECTORY
//   hostile true
//       what runs in the containers: ends at once
// Prints a line "not ok ..." for each start that broke a promise, a line "by the runtime itself
// ..." for each in which the low-level runtime was led outside or waited for a FIFO, and at the end
// lines "WAY STARTED REFUSED" and "SLOWEST ms, N swaps". Fails if a promise was broken.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "base/text.h"
#include "tests/hostile/image.h"
#include "tests/hostile/outside.h"
#include "tests/hostile/swapper.h"

namespace {

namespace fs = std::filesystem;
using hostile::Way;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Words = std::vector<std::string>;

constexpr milliseconds kHang{30'000};

pid_t launch(const Words& words, const std::string& log) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::setsid();
  // Not /dev/null, which crun would chown.
  const int in = ::open(log.c_str(), O_RDONLY | O_CREAT, 0600);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

std::string line_of(const fs::path& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

// crun 1.8 opens the place of a mount of a file to write. If that is a FIFO, it waits for a reader.
bool crun_waits_for_a_reader() {
  for (const fs::directory_entry& process : fs::directory_iterator("/proc"))
    if (line_of(process.path() / "comm") == "crun" &&
        line_of(process.path() / "wchan") == "wait_for_partner")
      return true;
  return false;
}

// Returns the exit status; nothing if the program, which is then killed, took too long. BY_CRUN
// becomes whether crun alone made it so.
std::optional<int> run(const Words& words, const std::string& log, bool& by_crun) {
  const pid_t pid = launch(words, log);
  const auto end = steady_clock::now() + kHang;
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (steady_clock::now() > end) {
      by_crun = crun_waits_for_a_reader();
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return std::nullopt;
    }
    ::usleep(1000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Figures {
  std::map<Way, std::pair<int, int>> starts;  // started, refused
  milliseconds slowest{0};
  uint64_t swaps = 0;
  int made_by_runtime = 0;  // starts in which the low-level runtime made something outside
  int broken = 0;
};

class Starts {
 public:
  Starts(std::string directory, hostile::Site site)
      : directory_(std::move(directory)), site_(std::move(site)) {
    before_ = look();
  }

  void start(uint64_t seed) {
    hostile::Random random(seed);
    const Way way = hostile::kWays[random() % std::size(hostile::kWays)];
    const std::string id = base::str("hostile-", seed);
    const std::string bundle = base::str(directory_, "/", id);
    const hostile::Image image = hostile::make_bundle(random, way, site_, bundle);
    const auto begin = steady_clock::now();
    hostile::Swapper swapper(image.swaps, seed);
    std::optional<int> status = 0;
    bool by_crun = false;
    for (const char* step : steps(way)) {
      if (status == 0) status = run(command(way, step, bundle, id), bundle + "/log", by_crun);
    }
    figures_.swaps += swapper.end();
    const std::optional<int> deleted =
        run(command(way, "delete", bundle, id), bundle + "/log.delete", by_crun);
    figures_.slowest = std::max(
        figures_.slowest, std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin));
    if (!status && by_crun && image.has_mounts) {
      tell("by the runtime itself: seed", seed, way, image, "the start hangs");
      remove_cgroup(id);
    } else if (!status) {
      complain(seed, way, image, "the start hangs");
    }
    if (!deleted) complain(seed, way, image, "delete hangs");
    auto& [started, refused] = figures_.starts[way];
    ++(status == 0 ? started : refused);
    compare(seed, way, image);
    if (std::getenv("HOSTILE_KEEP") == nullptr) fs::remove_all(bundle);
  }

  [[nodiscard]] const Figures& figures() const { return figures_; }

 private:
  // A low-level runtime makes /dev, and the places of mounts, before any hook. A swap at that time
  // leads it outside: runc before 1.1.14 by CVE-2024-45310. In a start by a hook, the only such
  // mounts are the attacker's.
  void compare(uint64_t seed, Way way, const hostile::Image& image) {
    const hostile::Snapshot now = look();
    const std::string changed = hostile::differences(before_, now);
    const bool makes_places = way == Way::kWrapper || image.has_mounts;
    if (!changed.empty() && !image.swaps.empty() &&
        hostile::is_of_runtime(before_, now, makes_places)) {
      ++figures_.made_by_runtime;
      tell("by the runtime itself: seed", seed, way, image, "outside:" + changed);
    } else if (!changed.empty()) {
      complain(seed, way, image, "outside:" + changed);
    }
    before_ = now;
  }

  // `crun run` also waits for all processes that its hooks have left, such as one that reconciles.
  // Engines do not use it.
  [[nodiscard]] static std::vector<const char*> steps(Way way) {
    if (way == Way::kHookCrun) return {"create", "start"};
    return {"run"};
  }

  // It was made before the mounts, and its processes were killed.
  void remove_cgroup(const std::string& id) const {
    for (int attempt = 0; attempt < 100; ++attempt) {
      bool is_gone = true;
      for (const fs::directory_entry& hierarchy : fs::directory_iterator("/sys/fs/cgroup")) {
        const fs::path cgroup = hierarchy.path().string() + site_.cgroup + "/" + id;
        if (::rmdir(cgroup.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) is_gone = false;
      }
      if (is_gone) return;
      ::usleep(10'000);
    }
  }

  // The directory to which the images lead, the places of the host that have the names of the
  // container's, and what is beside them.
  [[nodiscard]] hostile::Snapshot look() const {
    hostile::Snapshot found = hostile::look_at(site_.outside);
    for (const char* place : {"/dev", "/etc/ipuof.conf.d", "/run/ipu"})
      found.merge(hostile::look_at(place));
    for (const char* place : {"/", "/etc", "/run"}) found.merge(hostile::names_in(place));
    return found;
  }

  [[nodiscard]] static Words command(Way way, const std::string& what, const std::string& bundle,
                                     const std::string& id) {
    Words words{"/usr/local/bin/ipu-container-runtime", "--root", "/run/oci", what};
    if (way == Way::kHookRunc) words[0] = "/usr/sbin/runc";
    if (way == Way::kHookCrun) words = {"/run/hostile/crun", "--root", "/run/oci-crun", what};
    if (what == "run" || what == "create") words.insert(words.end(), {"--bundle", bundle});
    if (what == "delete") words.emplace_back("--force");
    words.push_back(id);
    return words;
  }

  void complain(uint64_t seed, Way way, const hostile::Image& image, const std::string& what) {
    ++figures_.broken;
    tell("not ok seed", seed, way, image, what);
  }

  static void tell(const char* kind, uint64_t seed, Way way, const hostile::Image& image,
                   const std::string& what) {
    (void)std::printf("%s %llu (%s): %s. The image:%s\n", kind,
                      static_cast<unsigned long long>(seed), hostile::name_of(way), what.c_str(),
                      image.what.c_str());
    (void)std::fflush(stdout);
  }

  std::string directory_;
  hostile::Site site_;
  hostile::Snapshot before_;
  Figures figures_;
};

// The program itself is what the containers run.
std::string copy_of_this(const std::string& directory) {
  const std::string copy = directory + "/program";
  fs::copy_file("/proc/self/exe", copy);
  return copy;
}

void print(const Figures& figures) {
  for (const auto& [way, counts] : figures.starts) {
    (void)std::printf("%s: %d started, %d refused\n", hostile::name_of(way), counts.first,
                      counts.second);
  }
  (void)std::printf("the slowest: %lld ms; %llu swaps; %d by runtimes\n",
                    static_cast<long long>(figures.slowest.count()),
                    static_cast<unsigned long long>(figures.swaps), figures.made_by_runtime);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "true") == 0) return 0;
  if (argc != 5) {
    (void)std::fputs("usage: hostile DIRECTORY FIRST COUNT CGROUP\n", stderr);
    return 2;
  }
  const std::string directory = argv[1];
  const uint64_t first = std::strtoull(argv[2], nullptr, 10);
  const uint64_t count = std::strtoull(argv[3], nullptr, 10);
  for (const char* place :
       {"/etc/ipuof.conf.d", "/run/ipu", "/run/oci", "/run/oci-crun", directory.c_str()})
    fs::create_directories(place);
  hostile::Site site{"/usr/local/bin/ipu-container-hook", directory + "/outside",
                     copy_of_this(directory), argv[4]};
  hostile::make_outside(site.outside);
  Starts starts(directory, site);
  for (uint64_t seed = first; seed < first + count; ++seed) starts.start(seed);
  print(starts.figures());
  return starts.figures().broken == 0 ? 0 : 1;
}
