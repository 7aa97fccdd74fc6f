// SPDX-License-Identifier: Apache-2.0
#include "netns/link_watch.h"

#include <gtest/gtest.h>

#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using Seen = LinkWatch::Seen;

class LinkWatchTest : public World {};

TEST_F(LinkWatchTest, SeesAnotherNameAndAnotherMac) {
  LinkWatch watch = must(LinkWatch::open(host()));
  EXPECT_EQ(must(watch.read()), Seen::kNothing);
  run_ip(host(), "link set host0 name host9");
  EXPECT_EQ(must(watch.read()), Seen::kChange);
  EXPECT_EQ(must(watch.read()), Seen::kNothing);
  run_ip(host(), "link set host9 address 02:00:00:00:77:77");
  EXPECT_EQ(must(watch.read()), Seen::kChange);
  EXPECT_EQ(must(watch.read()), Seen::kNothing);
}

TEST_F(LinkWatchTest, DoesNotMindInterfacesThatComeAndGoAndOtherChanges) {
  LinkWatch watch = must(LinkWatch::open(host()));
  add_spare_link(host(), "spare0", "02:00:00:00:00:55");
  run_ip(host(), "link set host0 mtu 1400");
  run_ip(host(), "link set host0 down");
  run_ip(host(), "link delete spare0");
  EXPECT_EQ(must(watch.read()), Seen::kNothing);
  add_spare_link(host(), "spare1", "02:00:00:00:00:56");
  EXPECT_EQ(must(watch.read()), Seen::kNothing);
  run_ip(host(), "link set spare1 name spare2");
  EXPECT_EQ(must(watch.read()), Seen::kChange) << "it came after the watch was opened";
}

}  // namespace
}  // namespace netns
