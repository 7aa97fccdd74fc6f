// SPDX-License-Identifier: Apache-2.0
// top: a page of pools, leases and the queue that stays up to date, with keys.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>

#include "base/fs.h"
#include "base/names.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/print_pool.h"
#include "cmd/ipuctl/queue_commands.h"
#include "cmd/ipuctl/screen/top.h"
#include "cmd/ipuctl/watch.h"
#include "hook/config/paths.h"
#include "hook/confinement/enter.h"
#include "hook/ledger/usage.h"
#include "hook/lifecycle/env.h"

namespace ipuctl {
namespace {

using namespace base::names;
using screen::TopEntry;
using screen::TopFacts;
using screen::TopLook;
using screen::TopPool;
using std::chrono::milliseconds;

constexpr milliseconds kSurveyTime{2000};  // for one controller: keys wait for it
constexpr milliseconds kLookTime{2000};    // between two looks
constexpr screen::Size kOnPaper{120, 100'000};
constexpr size_t kMaxTrouble = 300;

// ---- what it shows

// Returns how busy the measured IPUs of each pool were today, in percent.
Result<std::map<std::string, uint32_t>> busy_today(hook::ledger::Ledger& ledger) {
  const int64_t day = base::unix_millis() / hook::ledger::kDayMs;
  std::map<std::string, std::pair<int64_t, int64_t>> sums;
  for (const hook::ledger::UsageRow& row : TRY(ledger.usage().between(day, day + 1))) {
    sums[row.pool].first += row.busy;
    sums[row.pool].second += row.measured;
  }
  std::map<std::string, uint32_t> percents;
  for (const auto& [pool, sum] : sums)
    if (sum.second > 0) percents[pool] = static_cast<uint32_t>(sum.first * 100 / sum.second);
  return percents;
}

Status add_pools(hook::lifecycle::Env& env, const hook::config::Config& config, TopFacts& facts) {
  const std::map<std::string, uint32_t> busy = TRY(busy_today(env.ledger));
  for (const hook::config::PoolConfig& config_of_pool : config.pools) {
    TopPool pool;
    pool.name = config_of_pool.name;
    if (const auto at = busy.find(pool.name); at != busy.end()) pool.busy = at->second;
    const auto survey = env.controller(config_of_pool)->survey(Deadline::after(kSurveyTime));
    if (survey.ok()) {
      const Usage usage = usage_of(survey.value());
      pool.answers = true;
      pool.ipus = usage.total;
      pool.used = usage.used;
      pool.tainted = usage.tainted;
      pool.largest_free = usage.largest_free;
    } else {
      facts.troubles.push_back(base::one_line(survey.error().message(), kMaxTrouble));
    }
    facts.pools.push_back(std::move(pool));
  }
  return {};
}

TopEntry entry_of(const hook::ledger::Lease& lease) {
  TopEntry entry;
  entry.container = lease.container;
  entry.tenant = lease.tenant;
  entry.pool = lease.pool;
  entry.partition = lease.partition;
  if (!lease.rails.empty()) entry.address = netns::to_string(lease.rails.front().address);
  entry.lease = lease.id;
  entry.ipus = lease.ipus;
  entry.state = name_of(lease.state);
  entry.since_ms = lease.created_ms;
  return entry;
}

std::string waiting_state(const Place& place) {
  return str("WAITING ", place.position, " of ", place.length);
}

TopEntry entry_of(const Place& place) {
  TopEntry entry;
  entry.container = place.waiter.container;
  entry.tenant = place.waiter.tenant;
  entry.pool = pool_of(place.waiter);
  entry.ipus = place.waiter.ipus;
  entry.state = waiting_state(place);
  entry.since_ms = place.waiter.since_ms;
  return entry;
}

Status add_entries(hook::ledger::Ledger& ledger, TopFacts& facts) {
  const std::vector<hook::ledger::Lease> leases = TRY(ledger.live());
  const std::vector<Place> queue = TRY(queue_of(ledger, ""));
  Names names = names_of(leases);
  for (const Place& place : queue) names.merge(names_of({place.waiter}));
  for (const hook::ledger::Lease& lease : leases) {
    // The IPUs of one in quarantine are free; only its addresses are not.
    if (lease.state != hook::ledger::LeaseState::kQuarantine)
      facts.entries.push_back(entry_of(lease));
  }
  for (const Place& place : queue) {
    const auto at =
        std::find_if(facts.entries.begin(), facts.entries.end(),
                     [&](const TopEntry& one) { return one.container == place.waiter.container; });
    if (at == facts.entries.end()) {
      facts.entries.push_back(entry_of(place));
    } else {
      at->state = waiting_state(place);
    }
  }
  for (TopEntry& entry : facts.entries) entry.name = name_in(names, entry.container);
  for (const hook::ledger::PartitionRecord& record : TRY(reservations_of(ledger, ""))) {
    const bool is_used = std::any_of(leases.begin(), leases.end(), [&](const auto& lease) {
      return lease.pool == record.pool && lease.partition == record.name;
    });
    if (is_used) continue;
    TopEntry entry;
    entry.container = "reservation";
    entry.name = record.reservation;
    entry.tenant = record.tenant.empty() ? record.reserved_for : record.tenant;
    entry.pool = record.pool;
    entry.partition = record.name;
    entry.ipus = record.ipus;
    entry.state = reservation_state(record);
    entry.since_ms = record.created_ms;
    facts.entries.push_back(std::move(entry));
  }
  return {};
}

Status look(TopFacts& facts) {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  // First the controllers, which may take long: a view of the ledger is to be read at once.
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  TRY(add_pools(env, config, facts));
  hook::ledger::Ledger now = TRY(view_ledger());
  return add_entries(now, facts);
}

TopFacts facts_now() {
  TopFacts facts;
  const Status looked = look(facts);
  if (!looked.ok()) facts.troubles.push_back(base::one_line(looked.error().message(), kMaxTrouble));
  facts.now_ms = base::unix_millis();
  return facts;
}

bool wants_colour() {
  const char* const none = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool is_dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return (none == nullptr || *none == '\0') && !is_dumb;
}

// ---- the terminal

Status confine_top() {
  if (::geteuid() != 0) return {};
  return hook::confinement::enter(hook::confinement::Phase::kLease, "ipuctl top",
                                  hook::config::forbidden_calls_file());
}

// Waits for a key; unset: TIME has passed. 'q': nobody is at the keyboard any more.
std::optional<char> wait_for_key(const Deadline& deadline) {
  pollfd keyboard{STDIN_FILENO, POLLIN, 0};
  if (::poll(&keyboard, 1, static_cast<int>(deadline.left().count())) <= 0) return std::nullopt;
  char key = 'q';
  if (::read(STDIN_FILENO, &key, 1) == 1) return key;
  return 'q';
}

// Shows the page until 'q'. Returns the exit status.
int show(TopLook page) {
  for (;;) {
    const TopFacts facts = facts_now();
    const Deadline deadline = Deadline::after(kLookTime);
    while (!deadline.passed()) {
      page.size = terminal_size();
      const std::string text = screen::drawing(screen::top_page(facts, page), page.size);
      if (!base::write_all(STDOUT_FILENO, text, "terminal").ok()) return 1;
      const std::optional<char> key = wait_for_key(deadline);
      if (!key) break;
      if (*key == 'q') return 0;
      if (*key == 'r') page.reversed = !page.reversed;
      page.sort = screen::sort_of(*key).value_or(page.sort);
    }
  }
}

pid_t shower = 0;  // for the handler

void end_shower(int /*signal*/) { (void)::kill(shower, SIGTERM); }

// Gives this process's child the keys one by one, and restores the terminal at the child's end,
// however that ended.
class Keyboard {
 public:
  explicit Keyboard(const termios& before) : before_(before) {
    termios keys = before;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    // A program that is stopped, or ends at once, would leave the terminal like this.
    keys.c_cc[VSUSP] = keys.c_cc[VQUIT] = _POSIX_VDISABLE;
    (void)::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    tell("\033[?1049h\033[?25l\033[2J");  // the other page, no cursor
  }
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;
  ~Keyboard() {
    tell("\033[?25h\033[?1049l");
    (void)::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

 private:
  static void tell(std::string_view escapes) {
    (void)base::write_all(STDOUT_FILENO, escapes, "terminal");
  }
  termios before_;
};

// What parses answers of controllers is confined, and cannot change a terminal: a child does it.
Result<Outcome> run_on_terminal(const termios& before) {
  TopLook page;
  page.colour = wants_colour();
  const pid_t parent = ::getpid();
  // None comes between the change of the terminal and the handlers.
  sigset_t ends;
  sigset_t mask;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  (void)std::signal(SIGTSTP, SIG_IGN);
  (void)::sigprocmask(SIG_BLOCK, &ends, &mask);
  const Keyboard keyboard(before);
  shower = ::fork();
  if (shower < 0) return Error::from_errno(errno, "start a process");
  if (shower == 0) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    end_by_signals("");
    (void)::sigprocmask(SIG_SETMASK, &mask, nullptr);
    if (::getppid() != parent || !confine_top().ok()) ::_exit(1);
    ::_exit(show(page));
  }
  (void)std::signal(SIGINT, SIG_IGN);  // the terminal sends it to the child, too
  struct sigaction action {};
  action.sa_handler = end_shower;
  for (const int signal : {SIGQUIT, SIGTERM, SIGHUP}) (void)::sigaction(signal, &action, nullptr);
  (void)::sigprocmask(SIG_SETMASK, &mask, nullptr);
  int status = 0;
  while (::waitpid(shower, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Outcome{};
  return Error(Code::kInternal,
               WIFSIGNALED(status)
                   ? str("top was ended by signal ", WTERMSIG(status))
                   : std::string("top could not draw its page; 'ipuctl top | cat' says why"));
}

Result<Outcome> run_top() {
  // What is wrong from the beginning is said before the terminal changes.
  (void)TRY(hook::config::load_config(hook::config::config_file()));
  (void)TRY(view_ledger());
  termios before{};
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before) == 0;
  if (is_terminal) return run_on_terminal(before);
  TRY(confine_top());
  TopLook page;
  page.size = kOnPaper;
  return Outcome{screen::top_page(facts_now(), page)};
}

}  // namespace

void add_top(CLI::App& app, Command& chosen) {
  add_command(app,
              {"top", "Show pools, leases and the queue on one page that stays up to date",
               "ipuctl top\nipuctl top | head -n 20"},
              chosen, [] { return run_top(); });
}

}  // namespace ipuctl
