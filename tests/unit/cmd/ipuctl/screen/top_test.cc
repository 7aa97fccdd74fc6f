// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/screen/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace ipuctl::screen {
namespace {

using testing::HasSubstr;
using testing::Not;

TopEntry entry(const std::string& name, uint32_t ipus, int64_t since_ms,
               const std::string& state = "RUNNING") {
  TopEntry made;
  made.container = "0123456789abcdef" + name;
  made.name = name;
  made.pool = "pod64";
  made.ipus = ipus;
  made.since_ms = since_ms;
  made.state = state;
  return made;
}

TopFacts facts() {
  TopFacts made;
  made.now_ms = 10'000'000;
  made.pools = {{"pod64", true, 64, 16, 1, 32, 63}};
  made.entries = {entry("b", 4, 1'000), entry("a", 8, 2'000),
                  entry("c", 4, 3'000, "WAITING 1 of 1")};
  return made;
}

std::vector<std::string> lines(const std::string& page) {
  std::vector<std::string> list;
  std::istringstream in(page);
  for (std::string line; std::getline(in, line);) list.push_back(line);
  return list;
}

// The names of the entries, from the top.
std::string order(const std::string& page) {
  std::string names;
  for (const std::string& line : lines(page))
    if (line.starts_with("0123456789ab")) names += line.substr(14, 1);
  return names;
}

TEST(TopTest, HasASummaryThePoolsAndTheEntries) {
  const std::string page = top_page(facts(), {{80, 24}});
  EXPECT_THAT(page, HasSubstr("16 of 64 IPUs used (25%), 2 have some, 1 waits"));
  EXPECT_THAT(page,
              HasSubstr("pod64      16/64  [####------------]   25%       32        1   63%"));
  EXPECT_THAT(page, HasSubstr("WAITING 1 of 1"));
  EXPECT_THAT(page, Not(HasSubstr("\033")));
}

TEST(TopTest, APoolThatDoesNotAnswerSaysSo) {
  TopFacts silent;
  silent.pools = {{"pod64"}};
  silent.troubles = {"V-IPU controller 10.1.3.101:8090: refused"};
  const std::string page = top_page(silent, {{80, 24}});
  EXPECT_THAT(page, HasSubstr("does not answer"));
  EXPECT_THAT(page, HasSubstr("8090: refused\n"));
  EXPECT_THAT(page, HasSubstr("0 of 0 IPUs used (-)"));
}

TEST(TopTest, SortsByTheColumnOfTheKey) {
  EXPECT_EQ(order(top_page(facts(), {{80, 24}})), "bac");
  EXPECT_EQ(order(top_page(facts(), {{80, 24}, Sort::kAge, true})), "cab");
  EXPECT_EQ(order(top_page(facts(), {{80, 24}, *sort_of('i')})), "abc");
  EXPECT_EQ(order(top_page(facts(), {{80, 24}, *sort_of('n')})), "abc");
  EXPECT_EQ(order(top_page(facts(), {{80, 24}, *sort_of('s')})), "bac");
  EXPECT_FALSE(sort_of('q'));
  EXPECT_FALSE(sort_of('\033'));
}

TEST(TopTest, NoLineIsWiderThanTheTerminalAndNoPageLonger) {
  TopFacts many = facts();
  for (int i = 0; i < 200; ++i) {
    many.entries.push_back(entry(std::string(200, 'x'), 4, i));
    many.entries.back().tenant = std::string(100, 't');
    many.entries.back().partition = std::string(36, 'p');
  }
  many.pools.push_back({std::string(90, 'p'), true, 4'000'000'000, 4'000'000'000, 7, 0});
  many.troubles = {std::string(500, 'y')};
  for (const size_t columns : {1UL, 7UL, 20UL, 40UL, 80UL, 109UL, 110UL, 120UL, 300UL}) {
    for (const size_t rows : {1UL, 4UL, 7UL, 8UL, 9UL, 12UL, 24UL, 60UL}) {
      const std::vector<std::string> page = lines(top_page(many, {{columns, rows}}));
      EXPECT_LE(page.size(), rows) << columns;
      for (const std::string& line : page) EXPECT_LE(line.size(), columns) << rows << ": " << line;
    }
  }
}

TEST(TopTest, SaysHowManyEntriesHaveNoRoom) {
  TopFacts many = facts();
  for (int i = 0; i < 30; ++i) many.entries.push_back(entry("d", 1, 9'000 + i));
  const std::string page = top_page(many, {{80, 20}});
  EXPECT_EQ(lines(page).size(), 20u);
  EXPECT_EQ(lines(page).back(), "... and 21 more");
}

TEST(TopTest, AWideTerminalHasLeasePartitionAndAddress) {
  TopFacts one = facts();
  one.entries[0].lease = "fedcba9876543210";
  one.entries[0].partition = "c-1";
  one.entries[0].address = "10.5.200.10";
  EXPECT_THAT(top_page(one, {{120, 24}}), HasSubstr("fedcba987654  c-1         10.5.200.10"));
  EXPECT_THAT(top_page(one, {{80, 24}}), Not(HasSubstr("10.5.200.10")));
}

TEST(TopTest, NamesAreTextWhateverIsInThem) {
  TopFacts hostile = facts();
  hostile.pools[0].name = "p\033[31m";
  hostile.entries[0].name = "\033]0;owned\x07\033[2J\r\nroot";
  hostile.entries[1].tenant =
      "\x9b"
      "31m\xe2\x80\xae";
  hostile.entries[2].state = "\033c";
  const std::string page = top_page(hostile, {{80, 24}});
  for (const char c : page) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << page;
  EXPECT_EQ(lines(page).size(), lines(top_page(facts(), {{80, 24}})).size());
  EXPECT_THAT(page, HasSubstr("]0;owned"));
}

TEST(TopTest, ColoursAreOnlyAroundText) {
  const std::string page = top_page(facts(), {{80, 24}, Sort::kAge, false, true});
  EXPECT_THAT(page, HasSubstr("\033[32mRUNNING"));
  std::string plain;
  for (size_t i = 0; i < page.size(); ++i) {
    if (page[i] != '\033') {
      plain += page[i];
    } else {
      i = page.find('m', i);
    }
  }
  const std::vector<std::string> colourless = lines(top_page(facts(), {{80, 24}}));
  EXPECT_EQ(lines(plain).size(), colourless.size());
  for (const std::string& line : lines(plain)) EXPECT_LE(line.size(), 80u);
}

}  // namespace
}  // namespace ipuctl::screen
