// SPDX-License-Identifier: Apache-2.0
// The requests of a Batch.
#include "netns/internal/nft.h"

// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/names.h"
#include "base/text.h"

namespace netns::nft {

using namespace base::names;
using nl::Message;

namespace {

// An element with its key, its comment and their attributes takes at most 128 bytes. The elements
// of one request must fit 64 KiB.
constexpr size_t kElementBytes = 128;
constexpr size_t kElementsPerRequest = 400;
constexpr uint32_t kMostGrown = 1024;

KeyType type_of(KeyKind kind, Family family) {
  const KeyType address = family == Family::kIpv4 ? kIpv4Part : kIpv6Part;
  return kind == KeyKind::kAddress ? address : key_of({address, kPortPart});
}

Message control(int type) {
  Message message(type, 0, "change the packet filter");
  message.header(nfgenmsg{
      .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES)});
  return message;
}

void put_element(Message& message, const Element& element) {
  message.nest(NFTA_LIST_ELEM, [&] {
    message.nest(NFTA_SET_ELEM_KEY, [&] {
      message.put_bytes(NFTA_DATA_VALUE, element.key.data(), element.key.size());
    });
    if (element.ends_range) message.put_be32(NFTA_SET_ELEM_FLAGS, NFT_SET_ELEM_INTERVAL_END);
    if (element.comment.empty()) return;
    const std::vector<uint8_t> data = to_user_data(element.comment);
    message.put_bytes(NFTA_SET_ELEM_USERDATA, data.data(), data.size());
  });
}

// Returns the ranges of NETWORKS, which are sorted: none within another, and none next to another.
std::vector<Element> ranges_of(const std::vector<Prefix>& networks) {
  std::vector<Element> ends;
  std::optional<Address> last;
  for (const Prefix& network : networks) {
    const Address first = first_of(network);
    const Address end = next(last_of(network));
    const bool is_within = last && last_of(network) <= *last;
    const bool continues = last && !ends.empty() && first == next(*last);
    if (is_within) continue;
    if (continues) {
      ends.pop_back();
    } else {
      ends.push_back({address_key(first)});
    }
    last = last_of(network);
    ends.push_back({address_key(end), "", true});
  }
  // A range up to the last address of the family has no end.
  if (last && next(*last) < *last) ends.pop_back();
  return ends;
}

}  // namespace

Message request(int type, int flags, uint8_t family, std::string what, size_t capacity) {
  Message message(NFNL_SUBSYS_NFTABLES << 8 | type, flags, std::move(what), capacity);
  message.header(nfgenmsg{.nfgen_family = family, .version = NFNETLINK_V0, .res_id = 0});
  return message;
}

Batch::Batch() { messages_.push_back(control(NFNL_MSG_BATCH_BEGIN)); }

void Batch::remove_table(const Table& table) {
  Message message = request(NFT_MSG_DELTABLE, 0, table.family,
                            str("remove filter table ", quote(table.name)), kRequestBytes);
  message.put_text(NFTA_TABLE_NAME, table.name);
  messages_.push_back(std::move(message));
}

void Batch::make_table(const Table& table, int flags) {
  Message message = request(NFT_MSG_NEWTABLE, NLM_F_CREATE | flags, table.family,
                            str("add filter table ", quote(table.name)), kRequestBytes);
  message.put_text(NFTA_TABLE_NAME, table.name);
  messages_.push_back(std::move(message));
}

void Batch::add_table(const Table& table, IfExists if_exists) {
  if (if_exists == IfExists::kReplace) {
    // Made first, which does nothing if it exists: removing an absent table would fail.
    make_table(table, 0);
    remove_table(table);
  }
  make_table(table, NLM_F_EXCL);
}

void Batch::add_chain(const Table& table, const std::string& chain) {
  Message message = request(NFT_MSG_NEWCHAIN, NLM_F_CREATE, table.family,
                            str("add filter chain ", quote(chain)), kRequestBytes);
  message.put_text(NFTA_CHAIN_TABLE, table.name);
  message.put_text(NFTA_CHAIN_NAME, chain);
  messages_.push_back(std::move(message));
}

void Batch::add_chain(const Table& table, const std::string& chain, uint32_t hook) {
  Message message = request(NFT_MSG_NEWCHAIN, NLM_F_CREATE, table.family,
                            str("add filter chain ", quote(chain)), kRequestBytes);
  message.put_text(NFTA_CHAIN_TABLE, table.name);
  message.put_text(NFTA_CHAIN_NAME, chain);
  message.nest(NFTA_CHAIN_HOOK, [&] {
    message.put_be32(NFTA_HOOK_HOOKNUM, hook);
    message.put_be32(NFTA_HOOK_PRIORITY, 0);
  });
  message.put_be32(NFTA_CHAIN_POLICY, NF_ACCEPT);
  message.put_text(NFTA_CHAIN_TYPE, "filter");
  messages_.push_back(std::move(message));
}

Set Batch::add_set(const Table& table, const std::string& name, KeyKind kind, Family family,
                   const Keys& keys) {
  Set set = add_set(table, name, type_of(kind, family), Growth::kFixed);
  set.family = family;
  std::vector<Element> elements;
  for (const std::vector<uint8_t>& key : keys) elements.push_back({key});
  add_elements(table, name, elements);
  return set;
}

Set Batch::add_networks(const Table& table, const std::string& name, Family family,
                        const std::vector<Prefix>& networks) {
  Set set = make_set(table, name, type_of(KeyKind::kAddress, family), NFT_SET_INTERVAL);
  set.family = family;
  add_elements(table, name, ranges_of(networks));
  return set;
}

Set Batch::add_set(const Table& table, const std::string& name, KeyType type, Growth growth) {
  return make_set(table, name, type, growth == Growth::kGrowing ? NFT_SET_EVAL : 0);
}

Set Batch::make_set(const Table& table, const std::string& name, KeyType type, uint32_t flags) {
  const Set set{name, ++sets_};
  Message message = request(NFT_MSG_NEWSET, NLM_F_CREATE, table.family,
                            str("add filter set ", quote(name)), kRequestBytes);
  message.put_text(NFTA_SET_TABLE, table.name);
  message.put_text(NFTA_SET_NAME, name);
  message.put_be32(NFTA_SET_FLAGS, flags);
  message.put_be32(NFTA_SET_KEY_TYPE, type.display);
  message.put_be32(NFTA_SET_KEY_LEN, type.bytes);
  if (flags == NFT_SET_EVAL) {
    message.nest(NFTA_SET_DESC, [&] { message.put_be32(NFTA_SET_DESC_SIZE, kMostGrown); });
  }
  message.put_be32(NFTA_SET_ID, set.id);
  messages_.push_back(std::move(message));
  return set;
}

void Batch::add_elements(const Table& table, const std::string& set,
                         const std::vector<Element>& elements) {
  change_elements(NFT_MSG_NEWSETELEM, table, set, elements);
}

// The kernel refuses to remove an absent element. One that is added first is never absent.
void Batch::remove_elements(const Table& table, const std::string& set,
                            const std::vector<Element>& elements) {
  change_elements(NFT_MSG_NEWSETELEM, table, set, elements);
  change_elements(NFT_MSG_DELSETELEM, table, set, elements);
}

void Batch::change_elements(int type, const Table& table, const std::string& set,
                            const std::vector<Element>& elements) {
  const int flags = type == NFT_MSG_NEWSETELEM ? NLM_F_CREATE : 0;
  for (size_t first = 0; first < elements.size(); first += kElementsPerRequest) {
    const size_t count = std::min(kElementsPerRequest, elements.size() - first);
    Message message = request(type, flags, table.family, str("change filter set ", quote(set)),
                              kRequestBytes + count * kElementBytes);
    message.put_text(NFTA_SET_ELEM_LIST_TABLE, table.name);
    message.put_text(NFTA_SET_ELEM_LIST_SET, set);
    message.nest(NFTA_SET_ELEM_LIST_ELEMENTS, [&] {
      for (size_t i = 0; i < count; ++i) put_element(message, elements[first + i]);
    });
    messages_.push_back(std::move(message));
  }
}

void Batch::add_device_chain(const Table& table, const std::string& chain, uint32_t hook,
                             const std::string& device, const std::string& comment) {
  Message message = request(NFT_MSG_NEWCHAIN, NLM_F_CREATE, table.family,
                            str("add filter chain ", quote(chain)), kRequestBytes);
  message.put_text(NFTA_CHAIN_TABLE, table.name);
  message.put_text(NFTA_CHAIN_NAME, chain);
  if (!device.empty()) {
    message.nest(NFTA_CHAIN_HOOK, [&] {
      message.put_be32(NFTA_HOOK_HOOKNUM, hook);
      message.put_be32(NFTA_HOOK_PRIORITY, 0);
      message.put_text(NFTA_HOOK_DEV, device);
    });
    message.put_be32(NFTA_CHAIN_POLICY, NF_ACCEPT);
    message.put_text(NFTA_CHAIN_TYPE, "filter");
  }
  const std::vector<uint8_t> data = to_user_data(comment);
  message.put_bytes(NFTA_CHAIN_USERDATA, data.data(), data.size());
  messages_.push_back(std::move(message));
}

Status Batch::commit(const Namespace& in) {
  nl::Socket socket = TRY(nl::Socket::open(in, NETLINK_NETFILTER));
  return commit(socket);
}

Status Batch::commit(nl::Socket& socket) {
  // The kernel acknowledges the requests between the two ends of a transaction, not the ends.
  messages_.back().request_ack();
  messages_.push_back(control(NFNL_MSG_BATCH_END));
  return socket.exchange(messages_);
}

KeyType key_of(const std::vector<KeyType>& parts) {
  constexpr uint32_t kTypeBits = 6;
  KeyType whole;
  for (const KeyType& part : parts) {
    whole.display = whole.display << kTypeBits | part.display;
    whole.bytes += (part.bytes + 3) / 4 * 4;
  }
  return whole;
}

std::vector<uint8_t> address_key(const Address& address) {
  return {address.raw().begin(), address.raw().end()};
}

std::vector<uint8_t> endpoint_key(const Address& address, uint16_t port) {
  std::vector<uint8_t> key = address_key(address);
  key.push_back(static_cast<uint8_t>(port >> 8));
  key.push_back(static_cast<uint8_t>(port & 0xff));
  key.resize(key.size() + 2);
  return key;
}

}  // namespace netns::nft
