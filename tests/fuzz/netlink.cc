// SPDX-License-Identifier: Apache-2.0
// Answers of route netlink and RDMA netlink. The first byte says what was asked.
#include <linux/netlink.h>

#include "netns/internal/border/tc_filter.h"
#include "netns/internal/link_facts.h"
#include "netns/internal/rdma_messages.h"
#include "netns/link_watch.h"
#include "netns/session.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/kernel.h"

namespace {

using netns::Session;
using netns::nl::Message;
using netns::nl::Socket;

template <typename Ask>
void with_session(Ask ask) {
  auto session = Session::open(fuzz::here());
  fuzz::require(session.ok(), "a session opens");
  (void)ask(session.value());
}

template <typename Ask>
void with_socket(Ask ask) {
  auto socket = Socket::open(fuzz::here(), NETLINK_ROUTE);
  fuzz::require(socket.ok(), "a socket opens");
  (void)ask(socket.value());
}

template <typename Parse>
void parse_each(Message request, Parse parse) {
  with_socket([&](Socket& socket) {
    return socket.exchange(request, [&](const nlmsghdr& reply) { (void)parse(reply); });
  });
}

constexpr void (*kReaders[])() = {
    [] { with_session([](Session& session) { return session.links(); }); },
    [] { with_session([](Session& session) { return session.find_link("roce0"); }); },
    [] { with_session([](Session& session) { return session.find_link_in(3, "roce0"); }); },
    [] { with_session([](Session& session) { return session.addresses(); }); },
    [] { with_session([](Session& session) { return session.routes(); }); },
    [] { with_session([](Session& session) { return session.neighbours(2); }); },
    [] { with_session([](Session& session) { return session.ensure_netns_id(fuzz::here()); }); },
    [] { with_session([](Session& session) { return session.remove_link(2); }); },
    [] {
      with_socket([](Socket& socket) { return netns::internal::find_link_facts(socket, "eth0"); });
    },
    [] {
      with_socket(
          [](Socket& socket) { return netns::internal::find_taker(socket, fuzz::here(), 2); });
    },
    [] { parse_each(netns::internal::rdma_mode_request(), netns::internal::parse_rdma_mode); },
    [] { parse_each(netns::internal::rdma_devices_request(), netns::internal::parse_rdma_device); },
    [] {
      parse_each(netns::internal::rdma_ports_request({1, "mlx5_0"}),
                 netns::internal::parse_rdma_port);
    },
    [] { with_socket([](Socket& socket) { return netns::tc::find_qdiscs(socket); }); },
    [] { with_socket([](Socket& socket) { return netns::tc::find_redirects(socket); }); },
    [] {
      auto watch = netns::LinkWatch::open(fuzz::here());
      if (watch.ok()) (void)watch.value().read();
    },
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  fuzz::set_answers(fuzz::text_of(data + 1, size - 1));
  kReaders[data[0] % std::size(kReaders)]();
  return 0;
}
