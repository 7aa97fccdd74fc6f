// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/stream.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/network/border.h"
#include "hook/lifecycle/network/controllers.h"
#include "hook/lifecycle/network/guard.h"
#include "netns/border.h"
#include "netns/filter_watch.h"
#include "netns/guard.h"
#include "netns/link_watch.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::lifecycle::network::Mended;

// Between two looks without an event: nobody says that an interface was made anew, or that a border
// by tc was removed.
constexpr std::chrono::milliseconds kWatchTime{4000};
constexpr std::chrono::milliseconds kMendTime{4000};

Status mend_guard(hook::lifecycle::Env& env, Outcome& done) {
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  if (!config.ok()) return {};
  const Mended guard = TRY(
      hook::lifecycle::network::guard_forwarding(env, config.value(), Deadline::after(kMendTime)));
  if (guard == Mended::kYes) done.text += "mended the table inet ipu-guard\n";
  done.obstacles =
      hook::lifecycle::network::remembered_controllers(env.run_dir, config.value()).damaged;
  return {};
}

Status mend_all(Outcome& done) {
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const Result<Mended> border =
      hook::lifecycle::network::mend_border(env, Deadline::after(kMendTime));
  if (border.ok() && border.value() == Mended::kYes) done.text += "mended the border of the host\n";
  // What keeps the border from being mended does not keep the guard.
  TRY(mend_guard(env, done));
  return border.ok() ? Status() : Status(border.error());
}

// Makes again what is missing. The outcome has a line for all that was, and what could not be done.
Outcome mend() {
  Outcome done;
  Status status = mend_all(done);
  if (!status.ok()) done.obstacles.push_back(std::move(status).error());
  return done;
}

// Returns a line for each obstacle of NOW that is not in TOLD, which becomes those of NOW: an
// obstacle that stays is told once.
std::string new_obstacles(const Outcome& now, std::set<std::string>& told) {
  std::string text;
  std::set<std::string> all;
  for (const Error& obstacle : now.obstacles) {
    if (!all.insert(obstacle.message()).second || told.contains(obstacle.message())) continue;
    text += obstacle.message() + '\n';
  }
  told = std::move(all);
  return text;
}

Result<Outcome> run_watch() {
  // The error says who may. What keeps root from it may end, as a full disk does; mend() tells it.
  if (::geteuid() != 0) (void)TRY(open_ledger());
  const netns::Namespace host = TRY(netns::Namespace::current());
  // Before the first look, so that nothing is missed in between.
  netns::FilterWatch filters = TRY(netns::FilterWatch::open(host));
  netns::LinkWatch links = TRY(netns::LinkWatch::open(host));
  Stream stream = TRY(Stream::open());
  std::set<std::string> told;
  for (;;) {
    const Outcome mended = mend();
    const std::string text = mended.text + new_obstacles(mended, told);
    if (TRY(stream.write(text)) == Stream::Goes::kEnd) return Outcome{};
    const Deadline look = Deadline::after(kWatchTime);
    while (!look.passed()) {
      const Stream::Goes goes = TRY(stream.pause(look.left(), {filters.fd(), links.fd()}));
      if (goes == Stream::Goes::kEnd) return Outcome{};
      const bool is_removed = TRY(filters.read()) == netns::FilterWatch::Seen::kRemoval;
      const bool is_changed = TRY(links.read()) == netns::LinkWatch::Seen::kChange;
      if (is_removed || is_changed) break;
    }
  }
}

// The border stands as long as a lease needs it; its last release removes it.
Result<Outcome> run_remove() {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  for (const hook::ledger::Lease& lease : TRY(ledger.live())) {
    if (lease.rails.empty()) continue;
    return Error(Code::kBusy, str("container ", base::short_id(lease.container),
                                  " has IPUs; the packet filter keeps it from other tenants. Run",
                                  " 'ipuctl drain' first"));
  }
  const netns::Namespace host = TRY(netns::Namespace::current());
  const base::Removed border = TRY(netns::remove_border(host));
  const base::Removed guard = TRY(netns::remove_guard(host));
  const bool was_there = border == base::Removed::kNow || guard == base::Removed::kNow;
  return Outcome{was_there ? "removed the packet filter of the host\n"
                           : "there is no packet filter of the host\n"};
}

}  // namespace

void add_border_commands(CLI::App& app, Command& chosen) {
  CLI::App& group =
      add_group(app, {"border", "Keep the host's packet filter in place", "ipuctl border watch"});
  add_command(
      group,
      {"mend", "Make the host's tables again if somebody has removed them", "ipuctl border mend"},
      chosen, [] { return Result<Outcome>(mend()); });
  add_command(
      group,
      {"watch", "Make the host's tables again whenever somebody removes them, until stopped",
       "ipuctl border watch"},
      chosen, [] { return run_watch(); });
  add_command(group,
              {"remove", "Remove the host's tables, if no container has IPUs over the network",
               "ipuctl border remove"},
              chosen, [] { return run_remove(); });
}

}  // namespace ipuctl
