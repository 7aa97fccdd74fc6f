// SPDX-License-Identifier: Apache-2.0
#include "netns/checksums.h"

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/scope.h"

namespace netns {

using namespace base::names;

namespace {

constexpr std::string_view kFeature = "tx-checksum-ip-generic";
constexpr uint32_t kMostFeatures = 1024;  // the kernel has some sixty

// The requests of ethtool end with an array of as many items as the kernel has.
template <typename Request>
class Space {
 public:
  explicit Space(size_t more) : words_((sizeof(Request) + more) / sizeof(uint64_t) + 1) {}
  Request& operator*() { return *static_cast<Request*>(static_cast<void*>(words_.data())); }
  Request* operator->() { return &**this; }

 private:
  std::vector<uint64_t> words_;
};

class Ethtool {
 public:
  Ethtool(base::Fd socket, const std::string& interface) : socket_(std::move(socket)) {
    std::copy_n(interface.begin(), std::min<size_t>(interface.size(), IFNAMSIZ - 1),
                std::begin(request_.ifr_name));
  }
  bool ask(void* question) {
    request_.ifr_data = static_cast<char*>(question);
    return ::ioctl(socket_.get(), SIOCETHTOOL, &request_) == 0;
  }

 private:
  base::Fd socket_;
  ifreq request_{};
};

// Returns the number of kFeature; the number of all features if the kernel does not have it.
std::optional<uint32_t> number_of_feature(Ethtool& ethtool, uint32_t& count) {
  Space<ethtool_sset_info> info(sizeof(uint32_t));
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = uint64_t{1} << ETH_SS_FEATURES;
  if (!ethtool.ask(&*info) || info->sset_mask == 0) return std::nullopt;
  count = std::min(info->data[0], kMostFeatures);
  Space<ethtool_gstrings> names(size_t{count} * ETH_GSTRING_LEN);
  names->cmd = ETHTOOL_GSTRINGS;
  names->string_set = ETH_SS_FEATURES;
  names->len = count;
  if (!ethtool.ask(&*names)) return std::nullopt;
  for (uint32_t number = 0; number < count; ++number) {
    const auto* name = reinterpret_cast<const char*>(names->data) + number * ETH_GSTRING_LEN;
    if (std::string_view(name, strnlen(name, ETH_GSTRING_LEN)) == kFeature) return number;
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<bool>> leaves_checksums_to_device(const Namespace& host,
                                                       const std::string& interface) {
  Ethtool ethtool(TRY(internal::open_socket(host.fd(), AF_INET, SOCK_DGRAM, 0)), interface);
  uint32_t count = 0;
  const std::optional<uint32_t> number = number_of_feature(ethtool, count);
  if (!number) return std::optional<bool>();
  const uint32_t blocks = (count + 31) / 32;
  Space<ethtool_gfeatures> features(blocks * sizeof(ethtool_get_features_block));
  features->cmd = ETHTOOL_GFEATURES;
  features->size = blocks;
  if (!ethtool.ask(&*features)) return std::optional<bool>();
  return std::optional((features->features[*number / 32].active >> *number % 32 & 1) != 0);
}

}  // namespace netns
