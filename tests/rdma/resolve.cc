// SPDX-License-Identifier: Apache-2.0
// What a tenant could run in its container: asks rdma_cm for the way to an address, without a
// connection.
//   resolve ADDRESS [SOURCE]
// Exit 0 and "resolved" if address and route resolve, else 1 and what the kernel answered.
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

constexpr int kTimeoutMs = 3000;

bool parse(const char* text, sockaddr_in& address) {
  address = {};
  address.sin_family = AF_INET;
  return inet_pton(AF_INET, text, &address.sin_addr) == 1;
}

bool fail(const char* what) {
  std::printf("%s: %s\n", what, std::strerror(errno));
  return false;
}

// Waits for the next event. rdma_cm always sends one: it has the time limit of the request.
bool expect(rdma_event_channel* channel, rdma_cm_event_type wanted) {
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(channel, &event) != 0) {
    return fail("rdma_get_cm_event");
  }
  const rdma_cm_event_type type = event->event;
  const int status = event->status;
  rdma_ack_cm_event(event);
  if (type != wanted) {
    std::printf("%s: %s\n", rdma_event_str(type), std::strerror(-status));
  }
  return type == wanted;
}

bool resolve(sockaddr_in& target, sockaddr_in* source) {
  rdma_event_channel* channel = rdma_create_event_channel();
  rdma_cm_id* id = nullptr;
  if (channel == nullptr || rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0) {
    return fail("rdma_create_id");
  }
  if (rdma_resolve_addr(id, reinterpret_cast<sockaddr*>(source),
                        reinterpret_cast<sockaddr*>(&target), kTimeoutMs) != 0) {
    return fail("rdma_resolve_addr");
  }
  if (!expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED)) {
    return false;
  }
  if (rdma_resolve_route(id, kTimeoutMs) != 0) {
    return fail("rdma_resolve_route");
  }
  return expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

}  // namespace

int main(int argc, char** argv) {
  sockaddr_in target;
  sockaddr_in source;
  if (argc < 2 || argc > 3 || !parse(argv[1], target) || (argc == 3 && !parse(argv[2], source))) {
    std::fputs("usage: resolve ADDRESS [SOURCE]\n", stderr);
    return 2;
  }
  if (!resolve(target, argc == 3 ? &source : nullptr)) {
    return 1;
  }
  std::puts("resolved");
  return 0;
}
