// SPDX-License-Identifier: Apache-2.0
// Every fault of the simulator against every call of the API, through the built client: what its
// caller sees, and that nothing is left behind. The table is printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/simulator_client.h"
#include "tests/support/simulator_process.h"
#include "tests/support/temp_dir.h"
#include "vipu/process_controller.h"

namespace vipu {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

constexpr const char* kNew = "c-1f2e3d4c-0123456789ab";
constexpr const char* kOld = "c-1f2e3d4c-ba9876543210";

// The calls of the API, each by what the product does with it.
struct Call {
  const char* rpc;
  const char* name;  // in errors
  Status (*make)(Controller& controller, const Deadline& deadline);
};

template <typename T>
Status without_value(const base::Result<T>& result) {
  return result.ok() ? Status() : Status(result.error());
}

const std::array<Call, 8> kCalls = {{
    {"CreatePartition", "create 'c-1f2e3d4c-0123456789ab'",
     [](Controller& c, const Deadline& d) {
       return without_value(c.create({kNew, 4}, d));
     }},
    {"GetPartitionStatus", "status 'c-1f2e3d4c-ba9876543210'",
     [](Controller& c, const Deadline& d) { return without_value(c.status(kOld, d)); }},
    {"GetPartitionIpuofConfig", "config 'c-1f2e3d4c-ba9876543210'",
     [](Controller& c, const Deadline& d) { return without_value(c.config(kOld, 0, d)); }},
    {"ListPartitions", "list",
     [](Controller& c, const Deadline& d) { return without_value(c.list(d)); }},
    {"ListIPUAttributes", "attributes",
     [](Controller& c, const Deadline& d) { return without_value(c.attributes({}, d)); }},
    {"ResetPartition", "reset 'c-1f2e3d4c-ba9876543210'",
     [](Controller& c, const Deadline& d) { return c.reset(kOld, Relocate::kNo, d); }},
    {"RemovePartition", "remove 'c-1f2e3d4c-ba9876543210'",
     [](Controller& c, const Deadline& d) {
       return without_value(c.remove(kOld, Force::kYes, d));
     }},
    {"GetVersion", "version",
     [](Controller& c, const Deadline& d) { return without_value(c.version(d)); }},
}};

struct Fault {
  const char* name;
  std::string json;  // of the fault, without the call and how often; empty: none
  // What the eight calls come to, when the fault hits once, and when it hits always: "ok", or the
  // code of the error.
  std::array<const char*, 8> once;
  std::array<const char*, 8> always;
  // Trouble that no call makes: a command of the simulator before, and one after.
  const char* before = nullptr;
  const char* after = nullptr;
  // For so long the controller is away, from the moment of the call; "always": longer than anybody
  // waits.
  const char* away_once = nullptr;
  const char* away_always = nullptr;
};

constexpr std::array<const char*, 8> kAllOk = {"ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"};
// On a slow machine the deadline may come in the middle of the last of several attempts.
constexpr const char* kNone = "unavailable|timeout";
constexpr std::array<const char*, 8> kAllFail = {kNone, kNone, kNone, kNone,
                                                 kNone, kNone, kNone, kNone};
constexpr std::array<const char*, 8> kAllTimeOut = {"timeout", "timeout", "timeout", "timeout",
                                                    "timeout", "timeout", "timeout", "timeout"};

const char* name_of(Code code) {
  constexpr std::array<const char*, 9> kNames = {"invalid",     "not found",   "exists",
                                                 "denied",      "busy",        "timeout",
                                                 "unavailable", "unsupported", "internal"};
  return kNames[static_cast<size_t>(code)];
}

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = {
      {"delay", R"("action":"delay","delay":"50ms")", kAllOk, kAllOk},
      {"unavailable",
       R"("action":"status","status":"UNAVAILABLE","message":"try later")",
       kAllOk,
       {"timeout|internal", kNone, kNone, kNone, kNone, kNone, kNone, kNone}},
      {"internal",
       R"("action":"status","status":"INTERNAL","message":"oops")",
       kAllOk,
       {"internal", "internal", "internal", "internal", "internal", "internal", "internal",
        "internal"}},
      {"refused",
       R"("action":"status","status":"FAILED_PRECONDITION","message":"not now")",
       {"ok", "busy", "not found", "busy", "busy", "busy", "ok", "busy"},
       {"busy|timeout", "busy", "not found", "busy", "busy", "busy", "busy", "busy"}},
      {"denied",
       R"("action":"status","status":"PERMISSION_DENIED","message":"not yours")",
       {"ok", "denied", "denied", "denied", "denied", "denied", "denied", "denied"},
       {"denied", "denied", "denied", "denied", "denied", "denied", "denied", "denied"}},
      {"hang", R"("action":"hang")", kAllOk, kAllTimeOut},
      {"drop before", R"("action":"drop_before")", kAllOk, kAllTimeOut},
      {"lose reply",
       R"("action":"lose_reply")",
       kAllOk,
       {"ok", "timeout", "timeout", "timeout", "timeout", "ok|timeout", "ok", "timeout"}},
      {"lose reply, INTERNAL",
       R"("action":"lose_reply","status":"INTERNAL")",
       kAllOk,
       {"ok", "internal", "internal", "internal", "internal", "ok", "ok", "internal"}},
      {"disconnect",
       R"("action":"disconnect")",
       kAllOk,
       {"ok", kNone, kNone, kNone, kNone, "ok", kNone, kNone}},
      {"garbage",
       R"("action":"garbage")",
       kAllOk,
       {"ok", "internal", "internal", "internal", "internal", "ok", "ok", "internal"}},
      {"to ERROR",
       R"("action":"error_state","errors":["IPU 3 failed"])",
       {"internal", "ok", "ok", "ok", "ok", "internal", "ok", "ok"},
       {"internal", "ok", "ok", "ok", "ok", "internal", "ok", "ok"}},
      {"stuck PENDING",
       R"("action":"stuck_pending")",
       {"timeout", "ok", "ok", "ok", "ok", "timeout", "ok", "ok"},
       {"timeout", "ok", "ok", "ok", "ok", "timeout", "ok", "ok"}},
      {"agent down",
       "",
       {"ok", "ok", "not found", "ok", "ok", "internal", "ok", "ok"},
       {"ok", "ok", "not found", "ok", "ok", "internal", "ok", "ok"},
       "agent-down ag1",
       "agent-up ag1"},
      {"restart", R"("action":"delay","delay":"1000ms")", kAllOk, kAllFail, nullptr, nullptr,
       R"({"down":"300ms"})", R"({"down":"2500ms"})"},
  };
  return all;
}

// One simulator and its controller, and what the calls come to under one fault.
class Row {
 public:
  Row()
      : simulator_(
            PROGRAM_DIR "/vipu-simulator",
            {"--listen", "127.0.0.1:0", "--pod", "pod16", "--create-delay", "1ms", "--reset-delay",
             "700ms", "--max-auto-resets", "0", "--control", dir_ / "control"}),
        address_(simulator_.wait_until_ready()),
        api_(address_),
        controller_(make_process_controller({PROGRAM_DIR "/ipu-vipu-client", {address_}})) {}

  std::string outcome(const Fault& fault, const Call& call, bool always) {
    if (!api_.create(kOld, 4).status.ok() || !api_.reaches(kOld, virmgrpc::PS_ACTIVE)) {
      return "no partition to begin with";
    }
    if (!fault.json.empty()) {
      control({"faults", str(R"({"faults":[{"call":")", call.rpc, R"(","times":)", always ? 0 : 1,
                             ",", fault.json, "}]}")});
    }
    if (fault.before != nullptr) control(words(fault.before));
    const milliseconds time(always ? 1500 : 4000);
    const Deadline late = Deadline::after(time + milliseconds(2000));
    const char* away = always ? fault.away_always : fault.away_once;
    // In the middle of the call, which its delay makes long enough.
    std::thread restart([&] {
      if (away == nullptr) return;
      base::sleep_for(milliseconds(300), late);
      control({"restart", away});
    });
    const Status done = call.make(*controller_, Deadline::after(time));
    std::string outcome = done.ok() ? "ok" : name_of(done.error().code());
    if (late.passed()) outcome += ", too late";
    const std::string says = str("V-IPU controller ", address_, ": ", call.name);
    if (!done.ok() && !done.error().message().starts_with(says)) outcome += ", unclear";
    if (!done.ok()) errors += str(call.rpc, ": ", done.error().message(), "\n");
    restart.join();
    control({"clear"});
    if (fault.after != nullptr) control(words(fault.after));
    if (!is_clean()) outcome += ", leaks";
    return outcome;
  }
  std::string errors;

 private:
  // What a caller does after any outcome: it removes what may be there. Then nothing is held.
  bool is_clean() {
    if (!remove(kNew) || !remove(kOld)) return false;
    const auto left = api_.list();
    return left.status.ok() && left.reply.partitions_size() == 0 && control({"check"});
  }
  // Tries again while the simulator is away.
  bool remove(const char* name) {
    const Deadline soon = Deadline::after(milliseconds(10'000));
    for (;;) {
      const grpc::StatusCode code = api_.remove(name, true).code();
      if (code == grpc::StatusCode::OK || code == grpc::StatusCode::NOT_FOUND) return true;
      if (soon.passed()) return false;
      base::sleep_for(milliseconds(50), soon);
    }
  }
  static std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> words;
    for (const std::string_view word : base::split(text, ' ')) words.emplace_back(word);
    return words;
  }
  bool control(std::vector<std::string> args) {
    args.insert(args.begin(), {"vipu-simulator", "control", dir_ / "control"});
    const base::Result<base::Output> done =
        base::run({PROGRAM_DIR "/vipu-simulator", args, {}, "", 65536, {}},
                  Deadline::after(milliseconds(10'000)));
    return done.ok() && done.value().exit_status == 0;
  }

  test::TempDir dir_;
  test::SimulatorProcess simulator_;
  std::string address_;
  test::SimulatorClient api_;  // to begin and to clean up, without a process for each call
  std::unique_ptr<Controller> controller_;
};

struct Line {
  std::array<std::string, kCalls.size()> outcomes;
  std::string errors;
};

Line run_row(const Fault& fault, bool always) {
  Row row;
  Line line;
  for (size_t call = 0; call < kCalls.size(); ++call) {
    line.outcomes[call] = row.outcome(fault, kCalls[call], always);
  }
  line.errors = row.errors;
  return line;
}

std::string padded(const std::string& text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

TEST(FaultMatrix, EveryFaultOfEveryCallIsSurvivedOrRefusedClearlyAndLeavesNothing) {
  // Most of it is waiting: two rows for each fault, some at a time.
  std::vector<Line> lines(2 * faults().size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t row = next++; row < lines.size(); row = next++) {
      lines[row] = run_row(faults()[row / 2], row % 2 == 1);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  std::string table = padded("fault", 30);
  for (const Call& call : kCalls) table += padded(call.rpc, 24);
  for (size_t row = 0; row < lines.size(); ++row) {
    const Fault& fault = faults()[row / 2];
    const bool always = row % 2 == 1;
    table += "\n" + padded(str(fault.name, always ? ", always" : ", once"), 30);
    for (size_t call = 0; call < kCalls.size(); ++call) {
      const std::string& outcome = lines[row].outcomes[call];
      table += padded(outcome, 24);
      const auto expected = base::split((always ? fault.always : fault.once)[call], '|');
      EXPECT_NE(std::find(expected.begin(), expected.end(), outcome), expected.end())
          << outcome << ": " << fault.name << (always ? ", always, " : ", once, ")
          << kCalls[call].rpc << "\n"
          << lines[row].errors;
    }
  }
  std::printf("%s\n%zu faults x %zu calls, once and always: %zu cells\n", table.c_str(),
              faults().size(), kCalls.size(), lines.size() * kCalls.size());
}

}  // namespace
}  // namespace vipu
