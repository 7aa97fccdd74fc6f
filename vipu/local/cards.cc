// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/cards.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace vipu::local {
namespace {

using namespace base::names;

constexpr size_t kMaxAttribute = 4096;  // bytes; sysfs returns at most a page
constexpr const char* kVendor = "0x1d95";

Result<std::vector<std::string>> list(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(directory, err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    names.push_back(it->path().filename().string());
  }
  if (err) return Error(Code::kUnavailable, str("list ", quote(directory), ": ", err.message()));
  return names;
}

Result<std::optional<std::string>> attribute(const std::string& device, const char* name) {
  const std::optional<std::string> text =
      TRY(base::read_file_if_exists(str(device, "/", name), kMaxAttribute));
  if (!text.has_value()) return std::optional<std::string>();
  return std::optional<std::string>(base::trim(*text));
}

std::optional<CardNode> find_node(const std::string& dev, const std::string& name) {
  struct stat status {};
  const bool found = ::lstat(str(dev, "/", name).c_str(), &status) == 0;
  if (!found || !S_ISCHR(status.st_mode)) return std::nullopt;
  return CardNode{str("/dev/", name), major(status.st_rdev), minor(status.st_rdev)};
}

std::vector<CardNode> nodes_of(const std::string& dev, uint32_t number) {
  std::vector<CardNode> nodes;
  for (const char* suffix : {"", "_ex", "_mem", "_mailbox"}) {
    const std::optional<CardNode> node = find_node(dev, str("ipu", number, suffix));
    if (node.has_value()) nodes.push_back(*node);
    if (nodes.empty()) return {};
  }
  return nodes;
}

// Returns nothing if the PCI device is not an IPU that the driver has bound.
Result<std::optional<Card>> read_card(const std::string& device, const std::string& dev) {
  const std::optional<std::string> number = TRY(attribute(device, "file_name"));
  if (!number.has_value()) return std::optional<Card>();
  const std::optional<std::string> vendor = TRY(attribute(device, "vendor"));
  if (vendor.value_or(kVendor) != kVendor) return std::optional<Card>();
  Card card;
  card.number =
      TRY_CTX(quote(device + "/file_name"), base::parse_int<uint32_t>(*number, 0, kMaxCardNumber));
  card.pci = device.substr(device.rfind('/') + 1);
  const std::optional<std::string> node = TRY(attribute(device, "numa_node"));
  if (node.has_value()) {
    card.numa_node =
        TRY_CTX(quote(device + "/numa_node"), base::parse_int<int32_t>(*node, -1, 65535));
  }
  card.nodes = nodes_of(dev, card.number);
  return std::optional<Card>(card);
}

}  // namespace

Result<std::vector<Card>> read_cards(const std::string& sysfs, const std::string& dev) {
  const std::string directory = str(sysfs, "/bus/pci/devices");
  const std::vector<std::string> devices = TRY(list(directory));
  std::vector<Card> cards;
  for (const std::string& device : devices) {
    const std::optional<Card> card = TRY(read_card(str(directory, "/", device), dev));
    if (card.has_value()) cards.push_back(*card);
  }
  if (cards.empty()) {
    return Error(Code::kUnavailable, str("there is no IPU card in ", quote(directory),
                                         "; is the kernel module ipu_driver loaded?"));
  }
  std::sort(cards.begin(), cards.end(),
            [](const Card& a, const Card& b) { return a.number < b.number; });
  for (size_t i = 1; i < cards.size(); ++i) {
    if (cards[i - 1].number == cards[i].number) {
      return Error(Code::kInvalid, str("the PCI devices ", cards[i - 1].pci, " and ", cards[i].pci,
                                       " are both IPU card ", cards[i].number));
    }
  }
  return cards;
}

}  // namespace vipu::local
