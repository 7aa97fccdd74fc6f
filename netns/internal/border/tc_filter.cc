// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/border/tc_filter.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>

#include <cerrno>
#include <cstring>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/route_messages.h"

namespace netns::tc {

using namespace base::names;
using base::Removed;
using nl::Message;

namespace {

constexpr const char* kClsact = "clsact";
constexpr uint32_t kOurPlace = uint32_t{kPriority} << 16;

uint32_t place_of(Direction direction) {
  return TC_H_MAKE(TC_H_CLSACT,
                   direction == Direction::kEgress ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS);
}

Message message(int type, int flags, uint32_t interface, uint32_t parent, uint32_t handle,
                uint32_t info, std::string what) {
  Message made(type, flags, std::move(what));
  tcmsg header{};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = static_cast<int>(interface);
  header.tcm_parent = parent;
  header.tcm_handle = handle;
  header.tcm_info = info;
  made.header(header);
  return made;
}

Message clsact_message(int type, int flags, uint32_t interface, std::string what) {
  Message made =
      message(type, flags, interface, TC_H_CLSACT, TC_H_MAKE(TC_H_CLSACT, 0), 0, std::move(what));
  made.put_text(TCA_KIND, kClsact);
  return made;
}

const tcmsg& header_of(const nlmsghdr& reply) {
  return *static_cast<const tcmsg*>(nlmsg_data(&reply));
}

std::optional<Filter> parse_filter(const nlmsghdr& reply, uint32_t interface, Direction direction) {
  if (nlmsg_datalen(&reply) < static_cast<int>(sizeof(tcmsg))) return std::nullopt;
  const nl::Attributes attributes(reply, sizeof(tcmsg), TCA_MAX);
  const tcmsg& header = header_of(reply);
  if (header.tcm_handle == 0) return std::nullopt;  // stands for all filters of a priority
  Filter filter{interface,
                direction,
                static_cast<uint16_t>(header.tcm_info >> 16),
                header.tcm_handle,
                attributes.text(TCA_KIND),
                ""};
  if (filter.kind != "bpf") return filter;
  const nl::Attributes options = attributes.nested(TCA_OPTIONS, TCA_BPF_MAX);
  filter.name = options.text(TCA_BPF_NAME);
  filter.program = options.u32(TCA_BPF_ID).value_or(0);
  return filter;
}

Status explain(Status status) {
  if (status.ok()) return status;
  const int err = status.error().sys_errno();
  if (err != ENOENT && err != EOPNOTSUPP) return status;
  return Error(Code::kUnsupported, str("tc with clsact and cls_bpf: ", status.error().message()));
}

Result<Removed> remove(nl::Socket& socket, Message& request) {
  request.request_ack();
  const Status status = socket.exchange(request);
  if (status.ok()) return Removed::kNow;
  switch (status.error().sys_errno()) {
    case ENOENT:
    case ENODEV:
    case EINVAL:  // the interface has no clsact
      return Removed::kWasAbsent;
    default:
      return status.error();
  }
}

std::optional<Redirect> parse_redirect(const nlattr* action) {
  const nlattr* const options =
      nla_find(static_cast<const nlattr*>(nla_data(action)), nla_len(action), TCA_OPTIONS);
  if (options == nullptr) return std::nullopt;
  const nlattr* const parameters =
      nla_find(static_cast<const nlattr*>(nla_data(options)), nla_len(options), TCA_MIRRED_PARMS);
  tc_mirred mirred{};
  if (parameters == nullptr || nla_len(parameters) < static_cast<int>(sizeof mirred))
    return std::nullopt;
  std::memcpy(&mirred, nla_data(parameters), sizeof mirred);
  if (mirred.eaction != TCA_EGRESS_REDIR && mirred.eaction != TCA_EGRESS_MIRROR)
    return std::nullopt;
  return Redirect{mirred.index, mirred.ifindex};
}

}  // namespace

Result<std::vector<Qdisc>> find_qdiscs(nl::Socket& socket) {
  Message request = message(RTM_GETQDISC, NLM_F_DUMP, 0, 0, 0, 0, "list queueing disciplines");
  return list<Qdisc>(socket, request, [](const nlmsghdr& reply) -> std::optional<Qdisc> {
    const nl::Attributes attributes(reply, sizeof(tcmsg), TCA_MAX);
    const std::string kind = attributes.text(TCA_KIND);
    if (kind != kClsact && kind != "ingress") return std::nullopt;
    const bool shares_filters = attributes.u32(TCA_INGRESS_BLOCK).value_or(0) != 0 ||
                                attributes.u32(TCA_EGRESS_BLOCK).value_or(0) != 0;
    return Qdisc{static_cast<uint32_t>(header_of(reply).tcm_ifindex), kind == kClsact,
                 shares_filters};
  });
}

Result<std::vector<Filter>> find_filters(nl::Socket& socket, uint32_t interface,
                                         Direction direction, Which which) {
  const bool is_first = which == Which::kFirst;
  Message request = message(RTM_GETTFILTER, NLM_F_DUMP, interface, place_of(direction), 0,
                            is_first ? kOurPlace : 0, "list filters of an interface");
  if (is_first) request.put_u32(TCA_CHAIN, 0);
  return list<Filter>(socket, request, [&](const nlmsghdr& reply) {
    return parse_filter(reply, interface, direction);
  });
}

Status make_clsact(nl::Socket& socket, uint32_t interface) {
  Message request = clsact_message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, interface,
                                   "make a clsact for the border");
  request.request_ack();
  request.tolerate(EEXIST);
  return explain(socket.exchange(request));
}

Status put_filter(nl::Socket& socket, uint32_t interface, Direction direction,
                  const base::Fd& program, const std::string& name) {
  Message request =
      message(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_REPLACE, interface, place_of(direction), kHandle,
              kOurPlace | htons(ETH_P_ALL), "put the border on an interface");
  request.put_text(TCA_KIND, "bpf");
  request.nest(TCA_OPTIONS, [&] {
    request.put_u32(TCA_BPF_FD, static_cast<uint32_t>(program.get()));
    request.put_text(TCA_BPF_NAME, name);
    request.put_u32(TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
  });
  request.request_ack();
  Status put = socket.exchange(request);
  return put.ok() || put.error().sys_errno() != ENOENT ? put : explain(std::move(put));
}

Result<Removed> remove_filter(nl::Socket& socket, uint32_t interface, Direction direction) {
  Message request = message(RTM_DELTFILTER, 0, interface, place_of(direction), kHandle,
                            kOurPlace | htons(ETH_P_ALL), "remove the border of an interface");
  request.put_text(TCA_KIND, "bpf");
  return remove(socket, request);
}

Result<Removed> remove_clsact(nl::Socket& socket, uint32_t interface) {
  Message request = clsact_message(RTM_DELQDISC, 0, interface, "remove the clsact of an interface");
  return remove(socket, request);
}

Result<std::vector<Redirect>> find_redirects(nl::Socket& socket) {
  Message request(RTM_GETACTION, NLM_F_DUMP, "list the actions of tc");
  request.header(tcamsg{});
  request.nest(TCA_ACT_TAB,
               [&] { request.nest(1, [&] { request.put_text(TCA_ACT_KIND, "mirred"); }); });
  std::vector<Redirect> all;
  TRY(socket.exchange(request, [&](const nlmsghdr& reply) {
    const nl::Attributes attributes(reply, sizeof(tcamsg), TCA_ROOT_MAX);
    const std::span<const uint8_t> actions = attributes.bytes(TCA_ACT_TAB);
    const void* at = actions.data();
    int left = static_cast<int>(actions.size());
    // The first one has type 0, which nla_parse() would skip.
    for (const auto* action = static_cast<const nlattr*>(at); nla_ok(action, left) != 0;
         action = nla_next(action, &left)) {
      if (const std::optional<Redirect> found = parse_redirect(action)) all.push_back(*found);
    }
  }));
  return all;
}

}  // namespace netns::tc
