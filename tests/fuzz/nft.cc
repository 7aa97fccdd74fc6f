// SPDX-License-Identifier: Apache-2.0
// Answers and events of nf_tables. The first byte says what was asked.
#include <linux/netlink.h>

#include "netns/filter_watch.h"
#include "netns/internal/nft_find.h"
#include "netns/internal/nft_table.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/kernel.h"

namespace {

using netns::nl::Socket;

constexpr uint8_t kInet = 1;  // NFPROTO_INET
constexpr netns::nft::Table kTable{kInet, netns::nft::kGuardName};

template <typename Ask>
void with_socket(Ask ask) {
  // Any protocol: nothing is sent.
  auto socket = Socket::open(fuzz::here(), NETLINK_ROUTE);
  fuzz::require(socket.ok(), "a socket opens");
  (void)ask(socket.value());
}

void find_chains() {
  with_socket([](Socket& socket) { return netns::nft::find_chains(socket, kTable); });
}
void find_rules() {
  with_socket([](Socket& socket) { return netns::nft::find_rules(socket, kTable); });
}
void find_counts() {
  with_socket([](Socket& socket) { return netns::nft::find_counts(socket, kTable); });
}
void find_elements() {
  with_socket([](Socket& socket) { return netns::nft::find_elements(socket, kTable, "peers"); });
}
void find_table() {
  with_socket([](Socket& socket) { return netns::nft::has_table(socket, kTable); });
}
void remove_tables() { (void)netns::nft::remove_tables(fuzz::here(), {kTable}); }
void watch() {
  auto watched = netns::FilterWatch::open(fuzz::here());
  if (watched.ok()) (void)watched.value().read();
}

constexpr void (*kReaders[])() = {find_rules, find_elements, find_table, remove_tables,
                                  watch,      find_chains,   find_counts};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  fuzz::set_answers(fuzz::text_of(data + 1, size - 1));
  kReaders[data[0] % std::size(kReaders)]();
  return 0;
}
