// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/devices/devices.h"

#include <gtest/gtest.h>

namespace ipuctl::devices {
namespace {

using vipu::Partition;
using vipu::Survey;

// A partition of IPUs FIRST and so on of domain 0.
Partition partition(const std::string& id, uint32_t first, uint32_t ipus, uint32_t gcds = 1) {
  Partition made;
  made.id = id;
  made.gcds = gcds;
  made.ready = vipu::ReadyState::kActive;
  for (uint32_t i = 0; i < ipus; ++i) made.ipus.push_back({0, first + i});
  return made;
}

Holder holder(const std::string& of, const std::string& container, uint32_t gcd = 0,
              uint32_t gcds = 1) {
  Holder made{of, gcd, gcds};
  made.container = container;
  return made;
}

// The containers that have each IPU, such as "a b,c,,": IPU 0 has two, IPU 2 and 3 have none.
std::string held(const std::vector<Device>& devices) {
  std::string text;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i > 0) text += ',';
    for (size_t k = 0; k < devices[i].holders.size(); ++k)
      text += (k == 0 ? "" : " ") + devices[i].holders[k].container;
  }
  return text;
}

TEST(DevicesTest, AreAllIpusOfAllDomainsInLinkOrder) {
  const std::vector<Device> devices = devices_of(Survey{{2, 1}, {}, {}}, {}, {}, false);
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[1].place, (vipu::IpuPlace{0, 1}));
  EXPECT_EQ(devices[2].place, (vipu::IpuPlace{1, 0}));
  EXPECT_EQ(devices[2].health, Health::kUnknown);
  EXPECT_EQ(devices[2].partition, "");
  EXPECT_EQ(devices_of(Survey{{1}, {}, {}}, {}, {}, true)[0].health, Health::kOk);
  EXPECT_TRUE(devices_of(Survey{}, {partition("p", 0, 4)}, {}, true).empty());
}

TEST(DevicesTest, AHolderHasTheIpusOfItsGcds) {
  const std::vector<Partition> two = {partition("p", 2, 4, 2)};
  const Survey pool{{8}, {}, {}};
  EXPECT_EQ(held(devices_of(pool, two, {holder("p", "a", 1)}, false)), ",,,,a,a,,");
  EXPECT_EQ(held(devices_of(pool, two, {holder("p", "a", 0), holder("p", "b", 1)}, false)),
            ",,a,a,b,b,,");
  EXPECT_EQ(held(devices_of(pool, two, {holder("p", "a", 0, 2)}, false)), ",,a,a,a,a,,");
  EXPECT_EQ(held(devices_of(pool, two, {holder("p", "a"), holder("p", "b")}, false)),
            ",,a b,a b,,,,");
  EXPECT_EQ(held(devices_of(pool, two, {holder("other", "a")}, false)), ",,,,,,,");
}

TEST(DevicesTest, EachHolderHasAllIpusIfNobodyKnowsTheGcds) {
  const std::vector<Partition> odd = {partition("p", 0, 3, 2)};
  const std::vector<Device> devices =
      devices_of(Survey{{4}, {}, {}}, odd, {holder("p", "a", 1)}, false);
  EXPECT_EQ(held(devices), "a,a,a,");
  EXPECT_FALSE(devices[0].gcd);
}

TEST(DevicesTest, IpusOutsideOfThePoolAreIgnored) {
  const Survey pool{{2}, {}, {{{7, 0}, "gone"}}};
  const std::vector<Device> devices =
      devices_of(pool, {partition("p", 1, 4)}, {holder("p", "a")}, true);
  EXPECT_EQ(held(devices), ",a");
  EXPECT_EQ(devices[0].health, Health::kOk);
}

TEST(DevicesTest, ATaintIsShownBeforeAnErrorOfThePartition) {
  Partition broken = partition("p", 0, 2);
  broken.ready = vipu::ReadyState::kError;
  const std::vector<Device> devices =
      devices_of(Survey{{3}, {}, {{{0, 0}, "parity"}}}, {broken}, {}, true);
  EXPECT_EQ(name_of(devices[0].health), "tainted");
  EXPECT_EQ(devices[0].reason, "parity");
  EXPECT_EQ(devices[0].partition, "p");
  EXPECT_EQ(name_of(devices[1].health), "error");
  EXPECT_EQ(name_of(devices[2].health), "ok");
}

}  // namespace
}  // namespace ipuctl::devices
