// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/host.h"

#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "base/fs.h"
#include "base/text.h"
#include "vipu/made_name.h"

namespace hook::ledger {
namespace {

using base::str;

constexpr size_t kDigestDigits = 16;
constexpr size_t kLongest = 128;  // of a file that holds one identifier

std::string digest(std::string_view kind, std::string_view text, size_t digits = kDigestDigits) {
  const std::string all = str("ipu-container-toolkit ", kind, '\n', text);
  struct sha256_ctx context {};
  sha256_init(&context);
  sha256_update(&context, all.size(), reinterpret_cast<const uint8_t*>(all.data()));
  std::array<uint8_t, SHA256_DIGEST_SIZE> bytes{};
  sha256_digest(&context, bytes.size(), bytes.data());
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string hex;
  for (size_t i = 0; i < digits / 2; ++i) {
    hex += kHex[bytes.at(i) >> 4];
    hex += kHex[bytes.at(i) & 0xf];
  }
  return hex;
}

// Returns the first line of a file in lower case; empty if it cannot be read.
std::string read_line(const std::string& path) {
  const base::Result<std::string> text = base::read_file(path, kLongest);
  if (!text.ok()) return {};
  std::string line = text.value().substr(0, text.value().find('\n'));
  std::transform(line.begin(), line.end(), line.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return line;
}

// Returns TEXT's hexadecimal digits; empty if it has others than these and SEPARATOR, not DIGITS of
// them, or only one that is repeated, as 0 and f are where there is no identifier.
std::string digits_of(std::string_view text, char separator, size_t digits) {
  std::string found(text);
  std::erase(found, separator);
  const bool is_hex = found.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hex || found.size() != digits) return {};
  return found.find_first_not_of(found.front()) == std::string::npos ? std::string() : found;
}

std::string machine_of(const HostPlaces& places) {
  return digits_of(read_line(places.machine_id), '-', 32);
}

std::string board_of(const HostPlaces& places) {
  // Boards whose vendor set none have this one.
  constexpr std::string_view kOfMany = "03000200040005000006000700080009";
  std::string uuid = digits_of(read_line(places.sysfs + "/class/dmi/id/product_uuid"), '-', 32);
  return uuid == kOfMany ? std::string() : uuid;
}

// Returns the node GUID of the first RNIC by its PCI address, whatever its device is called.
std::string rnic_of(const HostPlaces& places) {
  std::error_code err;
  std::vector<std::pair<std::string, std::string>> found;  // by device
  for (auto it = std::filesystem::directory_iterator(places.sysfs + "/class/infiniband", err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    const std::filesystem::path device = it->path() / "device";
    std::error_code ignored;
    if (std::filesystem::exists(device / "physfn", ignored)) continue;
    std::string guid = digits_of(read_line(it->path() / "node_guid"), ':', 16);
    if (guid.empty()) continue;
    found.emplace_back(std::filesystem::canonical(device, ignored).string(), std::move(guid));
  }
  return found.empty() ? std::string() : std::min_element(found.begin(), found.end())->second;
}

struct Witness {
  std::string HostWitnesses::*value;
  std::string_view name;
};

}  // namespace

HostWitnesses read_witnesses(std::string_view id, const HostPlaces& places) {
  const auto digest_of = [](std::string_view kind, const std::string& text) {
    return text.empty() ? std::string() : digest(kind, text);
  };
  HostWitnesses host;
  host.id = digest_of("id", std::string(id));
  host.machine = digest_of("machine", machine_of(places));
  host.board = digest_of("board", board_of(places));
  host.rnic = digest_of("rnic", rnic_of(places));
  return host;
}

std::string tag_of(const HostWitnesses& host) {
  const std::string& first = host.id.empty() ? host.machine : host.id;
  return digest("host", str(first, ' ', host.board, ' ', host.rnic), vipu::kHostDigits);
}

bool is_certain(const HostWitnesses& host) {
  const int others = (host.board.empty() ? 0 : 1) + (host.rnic.empty() ? 0 : 1);
  return !host.id.empty() || others == 2 || (others == 1 && !host.machine.empty());
}

base::Result<std::string> new_tag(const HostWitnesses& host) {
  if (is_certain(host)) return tag_of(host);
  return base::random_hex(vipu::kHostDigits / 2);
}

std::string difference(const HostWitnesses& recorded, const HostWitnesses& now) {
  constexpr Witness kId{&HostWitnesses::id, "[host] id"};
  const bool has_id = !recorded.id.empty() && !now.id.empty();
  if (has_id && recorded.id != now.id) return std::string(kId.name);
  const bool is_diskless = !recorded.id.empty() || !now.id.empty();
  const std::array<Witness, 3> witnesses{
      is_diskless ? kId : Witness{&HostWitnesses::machine, "machine-id"},
      Witness{&HostWitnesses::board, "board"}, Witness{&HostWitnesses::rnic, "RNIC"}};
  std::vector<std::string> differ;
  size_t agree = 0;
  for (const Witness& witness : witnesses) {
    const std::string& before = recorded.*witness.value;
    const std::string& after = now.*witness.value;
    if (before.empty() || after.empty()) continue;
    if (before == after) {
      ++agree;
    } else {
      differ.emplace_back(witness.name);
    }
  }
  if (differ.empty() || agree > differ.size()) return {};
  return base::join(differ, " and ");
}

}  // namespace hook::ledger
