// SPDX-License-Identifier: Apache-2.0
// spank_ipu.so: Slurm's --ipus and the like. It runs in srun, sbatch and salloc, in slurmd and in
// slurmstepd. ipu-slurm does its work as root. See ipu-slurm(8), and spank(7) of Slurm.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#include <slurm/spank.h>
// What Slurm knows a plugin by. Without these lines, a constant of C++ stays inside.
extern const char plugin_name[];
extern const char plugin_type[];
extern const unsigned int plugin_version;
extern const unsigned int spank_plugin_version;
SPANK_PLUGIN(ipu, 1)
}

#include "packaging/slurm/task.h"

namespace spank {
namespace {

constexpr const char* kProgram = IPU_LIBEXECDIR "/ipu-slurm";
constexpr const char* kFolder = IPU_RUNDIR "/slurm/";
constexpr size_t kLongestReply = 1 << 20;
// Steps that are no `srun` of the user (slurm/slurm.h): a batch script, and salloc's shell.
constexpr uint32_t kBatchStep = 0xfffffffb;
constexpr uint32_t kInteractiveStep = 0xfffffffa;

enum Option { kIpus, kPartition, kGcd, kReconfigurable, kOptions };
constexpr const char* kNames[kOptions] = {"ipus", "partition", "gcd", "reconfigurable"};
std::string given[kOptions];
std::string given_account;  // as slurmd says to a prolog

bool is_number(std::string_view text) {
  const bool has_digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (!has_digits || text.size() > 4 || text[0] == '0') return false;
  return std::atol(std::string(text).c_str()) <= 4096;
}

// Slurm checks nothing of the value, and this plugin only what no node can have. ipu-slurm
// checks all on the node. A failure of the plugin there would drain the node.
int take(int option, const char* value, int is_remote) {
  const std::string_view text = value == nullptr ? "" : value;
  const bool is_wrong =
      option == kIpus ? !is_number(text) : option != kReconfigurable && text.empty();
  if (is_remote == 0 && is_wrong) {
    if (option == kIpus)
      slurm_error("ipu: --ipus: '%s' is no number from 1 to 4096", value == nullptr ? "" : value);
    else
      slurm_error("ipu: --ipu-%s needs a value", kNames[option]);
    return -1;
  }
  given[option] = option == kReconfigurable ? "1" : text;
  return 0;
}

spank_option option_of(Option option) {
  static char name[kOptions][24] = {"ipus", "ipu-partition", "ipu-gcd", "ipu-reconfigurable"};
  static char argument[kOptions][8] = {"N", "NAME", "K", ""};
  static char usage[kOptions][96] = {
      "number of IPUs on each node of the job",
      "IPUs of this named partition, instead of --ipus",
      "its GCD: a number, all, or auto for a free one",
      "the job may reset and divide its partition",
  };
  const bool has_argument = option != kReconfigurable;
  return {name[option],  has_argument ? argument[option] : nullptr,
          usage[option], has_argument ? 1 : 0,
          option,        take};
}

bool is_asked() {
  for (const std::string& each : given)
    if (!each.empty()) return true;
  return false;
}

// The options contradict each other on every node.
const char* contradiction() {
  if (!given[kIpus].empty() && !given[kPartition].empty())
    return "--ipus and --ipu-partition exclude each other: give one";
  if (!given[kGcd].empty() && given[kPartition].empty())
    return "--ipu-gcd needs --ipu-partition=NAME";
  if (!given[kReconfigurable].empty() && given[kIpus].empty())
    return "--ipu-reconfigurable needs --ipus=N";
  return nullptr;
}

std::vector<std::string> arguments(const char* verb, uint32_t job, int count, char** settings) {
  std::vector<std::string> all = {"ipu-slurm", verb, std::to_string(job)};
  for (int i = 0; i < count; ++i) all.emplace_back(settings[i]);
  all.emplace_back("--");
  for (int i = 0; i < kOptions; ++i)
    if (!given[i].empty()) all.push_back(std::string(kNames[i]) + "=" + given[i]);
  if (!given_account.empty()) all.push_back("account=" + given_account);
  return all;
}

// In a child of PARENT: it ends with its parent, and signals do what they do by default. slurmstepd
// blocks most of them.
void take_signals(pid_t parent) {
  for (int signal = 1; signal < NSIG; ++signal) (void)::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(126);
}

// Where the standard error of ipu-slurm goes: to the task's, or into REPLY.
enum class Errors { kTask, kReply };

// Runs ipu-slurm and returns its exit status; REPLY gets its standard output.
int run(const std::vector<std::string>& words, std::string& reply, Errors errors) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  char* environment[] = {nullptr};
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    take_signals(self);
    const int nowhere = ::open("/dev/null", O_RDONLY);
    if (nowhere >= 0 && ::dup2(nowhere, 0) == 0 && ::dup2(ends[1], 1) == 1 &&
        (errors == Errors::kTask || ::dup2(ends[1], 2) == 2) && ::chdir("/") == 0 &&
        ::syscall(SYS_close_range, 3, ~0U, 0) == 0)
      ::execve(kProgram, argv.data(), environment);
    std::fprintf(stderr, "ipu: %s: %s\n", kProgram, std::strerror(errno));
    ::_exit(127);
  }
  ::close(ends[1]);
  char buffer[4096];
  while (child > 0 && reply.size() < kLongestReply) {
    const ssize_t count = ::read(ends[0], buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    reply.append(buffer, static_cast<size_t>(count));
  }
  ::close(ends[0]);
  int status = -1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child > 0 && WIFSIGNALED(status))
    std::fprintf(stderr, "ipu: ipu-slurm was ended by signal %d\n", WTERMSIG(status));
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

uint32_t number(spank_t spank, spank_item item) {
  uint32_t value = 0;
  return spank_get_item(spank, item, &value) == ESPANK_SUCCESS ? value : 0;
}

bool is_above_one(spank_t spank, const char* variable) {
  char value[16] = "";
  return spank_getenv(spank, variable, value, sizeof value) == ESPANK_SUCCESS &&
         std::atoi(value) > 1;
}

// A batch script of a job of several nodes starts steps on all of them, so it stays where they can
// reach it. Slurm says S_JOB_NNODES of steps only. A user may forge the variables: he gains
// nothing.
bool stays_outside(spank_t spank) {
  const uint32_t step = number(spank, S_JOB_STEPID);
  return (step == kBatchStep || step == kInteractiveStep) &&
         (is_above_one(spank, "SLURM_JOB_NUM_NODES") || is_above_one(spank, "SLURM_HET_SIZE"));
}

bool is_recorded(uint32_t job) {
  return ::access((kFolder + std::to_string(job)).c_str(), F_OK) == 0;
}

// The options, which Slurm gives to prolog and epilog otherwise than to a step.
void read_options(spank_t spank) {
  const char* const account = std::getenv("SLURM_JOB_ACCOUNT");
  given_account = account == nullptr ? "" : account;
  for (int i = 0; i < kOptions; ++i) {
    spank_option option = option_of(static_cast<Option>(i));
    char* value = nullptr;
    if (spank_option_getopt(spank, &option, &value) == ESPANK_SUCCESS)
      given[i] = i == kReconfigurable ? "1" : value == nullptr ? "" : value;
  }
}

// Options are known where they are given, and in the task that they are for.
int register_options(spank_t spank) {
  if (spank_context() == S_CTX_SLURMD || spank_context() == S_CTX_JOB_SCRIPT) return 0;
  for (int i = 0; i < kOptions; ++i) {
    spank_option option = option_of(static_cast<Option>(i));
    if (spank_option_register(spank, &option) == ESPANK_SUCCESS) continue;
    slurm_error("ipu: --%s cannot be registered", option.name);
    return spank_context() == S_CTX_REMOTE ? 0 : -1;
  }
  return 0;
}

// On a node, ipu-slurm says what is wrong: a failure here would drain the node.
int check_options() {
  const char* const wrong = spank_context() == S_CTX_REMOTE ? nullptr : contradiction();
  if (wrong != nullptr) slurm_error("ipu: %s", wrong);
  return wrong == nullptr ? 0 : -1;
}

// Runs a VERB that has no task, and puts what it says into Slurm's log.
void run_for_job(const char* verb, uint32_t job, int count, char** settings) {
  std::string said;
  if (run(arguments(verb, job, count, settings), said, Errors::kReply) == 0) return;
  slurm_error("ipu: %s of job %u failed; see ipu-slurm(8): %s", verb, job, said.c_str());
}

void begin_job(spank_t spank, int count, char** settings) {
  const uint32_t job = number(spank, S_JOB_ID);
  read_options(spank);
  if (job != 0 && (is_asked() || is_recorded(job))) run_for_job("prolog", job, count, settings);
}

void end_job(spank_t spank, int count, char** settings) {
  const uint32_t job = number(spank, S_JOB_ID);
  if (job != 0 && is_recorded(job)) run_for_job("epilog", job, count, settings);
}

bool is_confined = false;  // this task

int begin_task(spank_t spank, int count, char** settings) {
  const uint32_t job = number(spank, S_JOB_ID);
  if (!is_asked() && !is_recorded(job)) return 0;
  is_confined = true;
  const char* const verb = stays_outside(spank) ? "outside" : "enter";
  std::string reply;
  if (run(arguments(verb, job, count, settings), reply, Errors::kTask) != 0 || reply.empty())
    return -1;
  Task task(spank);
  for (size_t at = 0; at < reply.size();) {
    const size_t end = reply.find('\n', at);
    if (!task.obey(reply.substr(at, end - at))) return -1;
    at = end == std::string::npos ? reply.size() : end + 1;
  }
  return 0;
}

}  // namespace
}  // namespace spank

// Slurm is C: no exception may reach it, such as that of a memory that is full.
extern "C" {

int slurm_spank_init(spank_t spank, int /*count*/, char** /*settings*/) {
  try {
    return spank::register_options(spank);
  } catch (...) {
    return spank_context() == S_CTX_REMOTE ? 0 : -1;
  }
}

int slurm_spank_init_post_opt(spank_t /*spank*/, int /*count*/, char** /*settings*/) {
  return spank::check_options();
}

// A prolog or an epilog that fails drains the node, so these never do. A task finds out.
int slurm_spank_job_prolog(spank_t spank, int count, char** settings) {
  try {
    spank::begin_job(spank, count, settings);
  } catch (...) {
    slurm_error("ipu: the request of a job could not be recorded: no memory");
  }
  return 0;
}

int slurm_spank_job_epilog(spank_t spank, int count, char** settings) {
  try {
    spank::end_job(spank, count, settings);
  } catch (...) {
    slurm_error("ipu: the IPUs of a job could not be given back: no memory");
  }
  return 0;
}

// The task is its user's by now, with its streams.
int slurm_spank_task_init(spank_t /*spank*/, int /*count*/, char** /*settings*/) {
  return !spank::is_confined || spank::check_streams() ? 0 : -1;
}

int slurm_spank_task_init_privileged(spank_t spank, int count, char** settings) {
  try {
    return spank::begin_task(spank, count, settings);
  } catch (...) {
    return -1;
  }
}

}  // extern "C"
