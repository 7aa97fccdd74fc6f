// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/doctor_trial.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/doctor/rail_findings.h"
#include "hook/engines/listing.h"
#include "hook/engines/program.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/network/border.h"
#include "hook/lifecycle/network/guard.h"
#include "hook/lifecycle/recording.h"

namespace ipuctl {
namespace {

using namespace base::names;
using doctor::Finding;
using doctor::Verdict;
using std::chrono::milliseconds;

constexpr std::chrono::minutes kTrialTime{5};
constexpr milliseconds kComesBackTime{20'000};
constexpr milliseconds kLookTime{100};
constexpr milliseconds kFixTime{10'000};

// Returns the command line that starts the container. The engine's own checks of the options hold.
Result<std::vector<std::string>> words_of(const std::string& image) {
  if (image.empty() || image.starts_with('-'))
    return Error(Code::kInvalid, str("--try ", quote(image), " is not the name of an image"));
  return std::vector<std::string>{"run", "--rm",        "--runtime=ipu",
                                  "-e",  "IPU_COUNT=1", "--entrypoint",
                                  "cat", image,         "/run/ipu/lease.json"};
}

// Returns lease.json of the container, which has ended.
Result<base::Json> run_container(const std::string& image) {
  const std::vector<std::string> words = TRY(words_of(image));
  Result<std::string> program = hook::engines::find_program("docker");
  if (!program.ok()) program = hook::engines::find_program("podman");
  if (!program.ok())
    return Error(Code::kNotFound,
                 "neither docker nor podman is installed; --try needs one of them");
  const hook::engines::Answer answer =
      TRY(hook::engines::ask(program.value(), words, Deadline::after(kTrialTime)));
  if (answer.exit_status != 0) {
    return Error(Code::kInternal, str(base::one_line(answer.errors, 1000), " (exit status ",
                                      answer.exit_status, " of ", program.value(), ")"));
  }
  return base::parse_json(answer.out, "lease.json of the container");
}

Finding examine_release(const std::string& lease) {
  const std::string check = "trial: release";
  const auto start = std::chrono::steady_clock::now();
  const Deadline deadline = Deadline::after(kComesBackTime);
  for (;;) {
    Result<hook::ledger::Ledger> ledger = read_ledger();
    const auto found =
        ledger.ok() ? ledger.value().get(lease) : Result<hook::ledger::Lease>(ledger.error());
    if (!found.ok()) return {check, Verdict::kFailed, found.error().message(), ""};
    const hook::ledger::LeaseState state = found.value().state;
    // Only its addresses rest then.
    if (!is_live(state) || state == hook::ledger::LeaseState::kQuarantine) break;
    if (deadline.passed()) {
      return {check, Verdict::kFailed,
              str("the lease is ", name_of(state), " still",
                  found.value().obstacle.empty() ? "" : ": ", found.value().obstacle),
              str("run 'ipuctl explain ", base::short_id(lease), "'")};
    }
    base::sleep_for(kLookTime, deadline);
  }
  const auto time = std::chrono::steady_clock::now() - start;
  return {check, Verdict::kOk,
          str("all that the container held came back, ", hook::lifecycle::time_text(time),
              " after its end"),
          ""};
}

Finding mend_filter(hook::lifecycle::Env& env, const Result<hook::config::Config>& config) {
  const std::string check = "fix: packet filter";
  using hook::lifecycle::network::Mended;
  const auto border = hook::lifecycle::network::mend_border(env, Deadline::after(kFixTime));
  if (!border.ok()) return doctor::finding_of(check, Verdict::kFailed, border.error().message());
  Mended guard = Mended::kNo;
  if (config.ok()) {
    const auto done =
        hook::lifecycle::network::guard_forwarding(env, config.value(), Deadline::after(kFixTime));
    if (!done.ok()) return doctor::finding_of(check, Verdict::kFailed, done.error().message());
    guard = done.value();
  }
  const bool is_mended = border.value() == Mended::kYes || guard == Mended::kYes;
  return {check, Verdict::kOk, is_mended ? "made again what was missing" : "nothing is missing",
          ""};
}

Finding release_ended(hook::lifecycle::Env& env) {
  const std::string check = "fix: ended containers";
  const auto done = hook::lifecycle::end::reconcile(env, Deadline::after(kComesBackTime));
  if (!done.ok()) return doctor::finding_of(check, Verdict::kFailed, done.error().message());
  if (!done.value().obstacles.empty()) {
    return doctor::finding_of(check, Verdict::kFailed, done.value().obstacles.front().message());
  }
  return {check, Verdict::kOk,
          str("released ", done.value().released.size(), " leases, removed ",
              done.value().partitions.size(), " partitions"),
          ""};
}

// Makes a link as udev would. Replaces one that leads elsewhere, but nothing else.
Status make_link(const doctor::DeviceLink& link) {
  const std::string path = str("/dev/char/", link.device.major, ":", link.device.minor);
  const std::string target = str("../", link.device.path.substr(std::string_view("/dev/").size()));
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) (void)::unlink(path.c_str());
  (void)::mkdir("/dev/char", 0755);
  if (::symlink(target.c_str(), path.c_str()) == 0) return {};
  return Error::from_errno(errno, str("make the link ", path));
}

std::optional<Finding> make_links(const std::vector<doctor::DeviceLink>& links) {
  const std::string check = "fix: device links";
  size_t made = 0;
  for (const doctor::DeviceLink& link : links) {
    if (link.is_there) continue;
    const Status done = make_link(link);
    if (!done.ok()) return doctor::finding_of(check, Verdict::kFailed, done.error().message());
    ++made;
  }
  if (made == 0) return std::nullopt;
  return Finding{check, Verdict::kOk,
                 str("made ", made, " links in /dev/char, until the next boot"), ""};
}

}  // namespace

std::vector<Finding> try_container(const std::string& image) {
  const std::string check = "trial: start";
  const auto start = std::chrono::steady_clock::now();
  const Result<base::Json> got = run_container(image);
  if (!got.ok())
    return {{check, Verdict::kFailed, got.error().message(), "mend this, and try again"}};
  const Result<std::string> lease = base::get_string(got.value(), "lease", "lease.json");
  if (!lease.ok()) return {doctor::finding_of(check, Verdict::kFailed, lease.error().message())};
  const auto time = std::chrono::steady_clock::now() - start;
  return {{check, Verdict::kOk,
           str("a container of ", image, " had 1 IPU, and ended after ",
               hook::lifecycle::time_text(time)),
           ""},
          examine_release(lease.value())};
}

std::vector<Finding> fix_host(Result<hook::ledger::Ledger>& ledger,
                              const Result<hook::config::Config>& config,
                              const std::optional<std::vector<doctor::DeviceLink>>& links) {
  std::vector<Finding> findings;
  if (links) {
    std::optional<Finding> made = make_links(*links);
    if (made) findings.push_back(std::move(*made));
  }
  if (!ledger.ok()) {
    findings.push_back(
        doctor::finding_of("fix: ledger", Verdict::kFailed, ledger.error().message()));
    return findings;
  }
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger.value());
  findings.push_back(release_ended(env));
  findings.push_back(mend_filter(env, config));
  return findings;
}

}  // namespace ipuctl
