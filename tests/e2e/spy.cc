// SPDX-License-Identifier: Apache-2.0
// A low-level runtime that tells how it was called. Call N leaves in the program's own folder, in
// text, everything that it inherited as call.N, and the bytes of the bundle's config.json as
// config.N.json. Then it becomes the program "next" of that folder, with the same arguments; where
// there is none it has done its work.
#include <dirent.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

// In printable characters; of a long text only what tells it from others.
std::string escaped(std::string_view text) {
  if (text.size() > 1000) {
    return std::to_string(text.size()) + " bytes, hash " +
           std::to_string(std::hash<std::string_view>()(text));
  }
  std::string out;
  char code[5];
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    std::snprintf(code, sizeof code, "\\x%02x", byte);
    out += byte < ' ' || byte >= 0x7f || c == '\\' ? std::string(code) : std::string(1, c);
  }
  return out;
}

std::string read_file(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char part[65536];
  for (ssize_t n = 1; fd >= 0 && n > 0;) {
    n = read(fd, part, sizeof part);
    if (n > 0) text.append(part, static_cast<size_t>(n));
  }
  close(fd);
  return text;
}

// With a slash at its end.
std::string own_folder() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) std::exit(99);
  const std::string_view program(path, static_cast<size_t>(length));
  return std::string(program.substr(0, program.rfind('/') + 1));
}

// The first free name PREFIX + N + SUFFIX becomes a file with this text; N is 1 at first.
void write_next(const std::string& prefix, const std::string& suffix, std::string_view text) {
  int fd = -1;
  for (int n = 1; fd < 0; ++n) {
    const std::string path = prefix + std::to_string(n) + suffix;
    fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST) std::exit(99);
  }
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::exit(99);
  close(fd);
}

// The lines of /proc/self/status that execve passes on.
std::string status_lines() {
  constexpr std::string_view kKept[] = {"Umask",   "Uid",  "Gid",    "Groups",
                                        "Threads", "SigP", "ShdPnd", "SigBlk",
                                        "SigIgn",  "Cap",  "NoNew",  "Seccomp"};
  std::string out;
  const std::string status = read_file("/proc/self/status");
  for (size_t at = 0; at < status.size();) {
    const size_t end = std::min(status.find('\n', at), status.size());
    const std::string_view line = std::string_view(status).substr(at, end - at);
    const auto kept = [&](std::string_view name) { return line.starts_with(name); };
    if (std::any_of(std::begin(kKept), std::end(kKept), kept)) {
      out += std::string(line) + "\n";
    }
    at = end + 1;
  }
  return out;
}

// Each descriptor, with what it leads to, its position and its flags.
std::string descriptor_lines() {
  std::vector<std::string> lines;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) std::exit(99);
  for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (name[0] == '.' || name == std::to_string(dirfd(folder))) continue;
    char target[4096];
    const ssize_t length = readlinkat(dirfd(folder), name.c_str(), target, sizeof target);
    const std::string info = read_file("/proc/self/fdinfo/" + name);
    lines.push_back("fd " + name + " " +
                    escaped({target, static_cast<size_t>(length > 0 ? length : 0)}) + " " +
                    escaped(info.substr(0, info.find("mnt_id"))) + "\n");
  }
  closedir(folder);
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

std::string process_lines() {
  int death_signal = 0;
  int subreaper = 0;
  prctl(PR_GET_PDEATHSIG, &death_signal);
  prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  char cwd[4096] = "";
  if (getcwd(cwd, sizeof cwd) == nullptr) cwd[0] = '\0';
  const auto line = [](const char* name, long value) {
    return std::string(name) + " " + std::to_string(value) + "\n";
  };
  return "cwd " + escaped(cwd) + "\n" + line("pid", getpid()) + line("parent", getppid()) +
         line("group", getpgrp()) + line("session", getsid(0)) +
         line("death signal", death_signal) + line("subreaper", subreaper) +
         line("timer slack", prctl(PR_GET_TIMERSLACK)) +
         line("personality", personality(0xffffffff)) + line("nice", getpriority(PRIO_PROCESS, 0)) +
         "oom " + read_file("/proc/self/oom_score_adj") + "children " +
         read_file("/proc/thread-self/children") + "\n";
}

// The bundle as `--bundle X`, `--bundle=X`, `-b X` or the working directory.
std::string bundle_of(char** argv) {
  for (; *argv != nullptr; ++argv) {
    std::string_view word = *argv;
    if (!word.starts_with('-')) continue;
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    if ((word == "bundle" || word == "b") && argv[1] != nullptr) return argv[1];
    if (word.starts_with("bundle=")) return std::string(word.substr(7));
    if (word.starts_with("b=")) return std::string(word.substr(2));
  }
  return ".";
}

}  // namespace

int main(int, char** argv, char** environment) {
  std::string text = descriptor_lines() + process_lines() + status_lines();
  text += read_file("/proc/self/limits");
  for (char** word = argv; *word != nullptr; ++word) text += "arg " + escaped(*word) + "\n";
  for (char** word = environment; *word != nullptr; ++word) text += "env " + escaped(*word) + "\n";
  const std::string folder = own_folder();
  write_next(folder + "call.", "", text);
  const std::string config = read_file(bundle_of(argv + 1) + "/config.json");
  if (!config.empty()) write_next(folder + "config.", ".json", config);
  const std::string next = folder + "next";
  if (access(next.c_str(), F_OK) != 0) return 0;
  execv(next.c_str(), argv);
  std::perror("spy: next");
  return 99;
}
