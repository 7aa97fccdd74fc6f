// SPDX-License-Identifier: Apache-2.0
// What a power cut leaves, at every point between two writes: every commit that was seen, and
// nothing half.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <set>
#include <unordered_set>

#include "base/fs.h"
#include "base/text.h"
#include "hook/ledger/check.h"
#include "hook/ledger/internal/schema.h"
#include "tests/kernel/hook/ledger/ledger_script.h"
#include "tests/kernel/hook/ledger/recording_vfs.h"
#include "tests/support/sql.h"

namespace hook::ledger {
namespace {

using base::str;
using test::Disk;
using test::FileEvent;
using test::Image;
using test::RecordingVfs;
using test::Syncs;

constexpr const char* kDatabase = "ledger.db";
constexpr const char* kLog = "ledger.db-wal";
constexpr size_t kMaxFile = 64 << 20;

// The content of all tables, as text.
std::string content_of(const std::string& path) {
  std::string text;
  for (const char* sql :
       {"SELECT id || state || generation || partition || origin || owner_pid || netns_cookie ||"
        " obstacle || changed_ms FROM lease",
        "SELECT hex(address) || lease || mac || duplicate_mac || ifnull(free_at, '') FROM address",
        "SELECT pool || hex(address) || device || lease FROM ipu",
        "SELECT name || kind || state || owner_pid FROM partition",
        "SELECT ticket || container FROM waiter", "SELECT lease || at_ms || event FROM event"}) {
    for (const std::string& row : test::query_sql(path, sql)) text += row + '\n';
  }
  return text;
}

// What a caller knows: after so many events the ledger said so.
struct Seen {
  size_t events;
  std::string content;
};

struct Tally {
  size_t points = 0;
  size_t images = 0;
  size_t lost = 0;     // commits that were seen and are not there
  size_t damaged = 0;  // images that do not open, are flawed, or hold what never was
};

class PowerCutTest : public testing::Test {
 protected:
  ledger::Ledger open(const std::string& path) {
    return ledger::Ledger::open(path, [this] { return now_; }).take();
  }
  Image files(const std::string& directory) {
    Image image;
    for (const char* name : {kDatabase, kLog}) {
      base::Result<std::string> content = base::read_file(directory + "/" + name, kMaxFile);
      if (content.ok()) image[name] = std::move(content).take();
    }
    return image;
  }
  // Makes CHANGES changes; what happened to the files, and what was seen.
  void record(int changes, Syncs syncs) {
    const std::string path = dir_ / "state/ledger.db";
    { const ledger::Ledger made = open(path); }
    start_ = files(dir_ / "state");
    RecordingVfs vfs(syncs);
    {
      ledger::Ledger ledger = open(path);
      LedgerScript script(ledger, now_);
      seen_.push_back({0, content_of(path)});
      int done = 0;
      script.run(changes, [&] {
        seen_.push_back({vfs.events().size(), content_of(path)});
        // Now and then the log becomes part of the database, and begins anew.
        if (++done % 9 == 0) checkpoint(path);
      });
    }
    events_ = vfs.events();
  }
  static void checkpoint(const std::string& path) {
    ASSERT_TRUE(test::succeeds(test::run_sql(path, "PRAGMA wal_checkpoint(RESTART)")));
  }
  // Opens the image of a power cut after EVENTS events.
  void look_at(const Image& image, size_t events, Tally& tally) {
    const std::string path = put(image);
    std::string content;
    {
      base::Result<ledger::Ledger> ledger = ledger::Ledger::open(path, [this] { return now_; });
      if (!ledger.ok() || !ledger::check_ledger(path).value().empty()) {
        ++tally.damaged;
        return;
      }
      content = content_of(path);
    }
    judge(content, events, tally);
  }
  std::string put(const Image& image) {
    const std::string directory = dir_ / "cut";
    EXPECT_TRUE(test::succeeds(base::ensure_dir(directory, 0700)));
    for (const char* name : {kDatabase, kLog, "ledger.db-shm"}) {
      EXPECT_TRUE(test::succeeds(base::remove_file(directory + "/" + name)));
    }
    for (const auto& [name, content] : image) {
      const base::Fd file =
          base::open_at(AT_FDCWD, directory + "/" + name, O_WRONLY | O_CREAT, 0600).take();
      EXPECT_TRUE(test::succeeds(base::write_all(file.get(), content, name)));
    }
    return directory + "/" + kDatabase;
  }
  // What was seen last, or, of a change that was under way, that.
  void judge(const std::string& content, size_t events, Tally& tally) {
    const size_t last = last_seen(events);
    for (size_t at = last; at < std::min(last + 2, seen_.size()); ++at) {
      if (seen_[at].content == content) return;
    }
    const bool was_once = std::any_of(seen_.begin(), seen_.end(),
                                      [&](const Seen& seen) { return seen.content == content; });
    ++(was_once ? tally.lost : tally.damaged);
  }
  using Look = std::function<void(const Image&, size_t events)>;
  // LOOK at each image that a power cut leaves, once; the counts.
  Tally each_image(const Look& look) {
    Tally tally;
    std::unordered_set<std::string> done;
    Disk disk(start_);
    for (size_t events = 0; events <= events_.size(); ++events, ++tally.points) {
      for (const Image& image : disk.after_power_cut()) {
        std::string key = str(last_seen(events), ' ');
        for (const auto& [name, content] : image) {
          key += str(std::hash<std::string>()(content), ' ');
        }
        if (!done.insert(std::move(key)).second) continue;
        ++tally.images;
        look(image, events);
      }
      if (events < events_.size()) disk.happen(events_[events]);
    }
    return tally;
  }
  Tally cut_everywhere() {
    Tally found;
    Tally tally =
        each_image([&](const Image& image, size_t events) { look_at(image, events, found); });
    tally.lost = found.lost;
    tally.damaged = found.damaged;
    return tally;
  }
  size_t last_seen(size_t events) const {
    size_t last = 0;
    while (last + 1 < seen_.size() && seen_[last + 1].events <= events) ++last;
    return last;
  }
  static void print(const char* what, const Tally& tally) {
    (void)std::printf("%s: %zu points, %zu images, %zu without a commit, %zu damaged\n", what,
                      tally.points, tally.images, tally.lost, tally.damaged);
  }

  test::TempDir dir_;
  int64_t now_ = 1'000'000'000'000;
  Image start_;
  std::vector<FileEvent> events_;
  std::vector<Seen> seen_;
};

TEST_F(PowerCutTest, LeavesEveryCommitAndNothingHalf) {
  record(24, Syncs::kKept);
  const Tally tally = cut_everywhere();
  print("power cut", tally);
  EXPECT_GT(tally.points, 200U);
  EXPECT_EQ(tally.lost, 0U);
  EXPECT_EQ(tally.damaged, 0U);
}

TEST_F(PowerCutTest, LosesCommitsWhereSyncsDoNothing) {
  record(3, Syncs::kSwallowed);
  const Tally tally = cut_everywhere();
  print("power cut without syncs", tally);
  EXPECT_GT(tally.lost, 0U);
}

std::string value_in(const std::string& path, const char* sql) {
  return test::query_sql(path, sql).at(0);
}

TEST_F(PowerCutTest, MigratesWhollyOrNotAtAll) {
  const std::string path =
      put({{kDatabase, base::read_file(TEST_DATA_DIR "/ledger-1.db", kMaxFile).take()}});
  const std::string leases = value_in(path, "SELECT COUNT(*) FROM lease");
  start_ = files(dir_ / "cut");
  {
    RecordingVfs vfs;
    { const ledger::Ledger migrated = open(path); }
    events_ = vfs.events();
  }
  std::set<std::string> versions;
  const Tally tally = each_image([&](const Image& image, size_t) {
    const std::string cut = put(image);
    versions.insert(value_in(cut, "PRAGMA user_version"));
    ASSERT_TRUE(test::succeeds(ledger::Ledger::open(cut)));
    EXPECT_TRUE(ledger::check_ledger(cut).value().empty());
    EXPECT_EQ(value_in(cut, "SELECT COUNT(*) FROM lease"), leases);
  });
  print("power cut in a migration", tally);
  EXPECT_EQ(versions, (std::set<std::string>{"1", std::to_string(ledger::kNewestVersion)}));
}

TEST_F(PowerCutTest, IsPaidForByOneSyncACommit) {
  const std::string path = dir_ / "state/ledger.db";
  constexpr int kCommits = 40;
  RecordingVfs vfs;
  ledger::Ledger ledger = open(path);
  const auto commit = [&] {
    const int64_t ticket = ledger.queue().enter({0, "pod64", "c", 1, {1, 1}, "b", 0, 1}).take();
    ASSERT_TRUE(test::succeeds(ledger.queue().leave(ticket)));
  };
  const auto syncs = [&](const char* file) {
    return std::count_if(vfs.events().begin(), vfs.events().end(), [&](const FileEvent& event) {
      return event.kind == FileEvent::Kind::kSync && event.file == file;
    });
  };
  commit();  // the log has its header now
  const auto log_before = syncs(kLog);
  const auto database_before = syncs(kDatabase);
  for (int i = 0; i < kCommits / 2; ++i) commit();
  EXPECT_EQ(syncs(kLog) - log_before, kCommits);
  EXPECT_EQ(syncs(kDatabase), database_before);
}

}  // namespace
}  // namespace hook::ledger
