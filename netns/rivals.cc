// SPDX-License-Identifier: Apache-2.0
#include "netns/rivals.h"

#include <vector>

#include "base/bpf.h"
#include "base/names.h"
#include "base/text.h"
#include "netns/internal/border/tc.h"
#include "netns/internal/border/tc_filter.h"
#include "netns/internal/route_messages.h"
#include "netns/internal/scope.h"

namespace netns {

using namespace base::names;
namespace bpf = base::bpf;
using bpf::TcxPlace;

namespace {

// Returns "'cil_to_netdev' (egress)". A program may end meanwhile.
std::string describe(uint32_t program, TcxPlace place) {
  std::string name;
  const Result<base::Fd> opened = bpf::open_program(program);
  const Result<std::string> known =
      opened.ok() ? bpf::name_of(opened.value()) : Result<std::string>(opened.error());
  if (known.ok()) name = known.value();
  return str(name.empty() ? str("number ", program) : quote(name),
             place == TcxPlace::kEgress ? " (egress)" : " (ingress)");
}

// Returns all tcx programs of an interface of HOST.
Result<std::vector<std::string>> find_tcx(const Namespace& host, uint32_t interface) {
  std::vector<std::string> found;
  const internal::Scope scope = TRY(internal::Scope::enter(host.fd()));
  for (const TcxPlace place : {TcxPlace::kIngress, TcxPlace::kEgress}) {
    for (const uint32_t program : TRY(bpf::tcx_programs(interface, place))) {
      found.push_back(describe(program, place));
    }
  }
  return found;
}

Result<std::optional<Rival>> find_rival_of_tc(const Namespace& host, nl::Socket& socket,
                                              const border::Parent& parent) {
  std::optional<std::string> obstacle = TRY(border::find_obstacle(socket, parent));
  if (obstacle) return std::optional(Rival{std::move(*obstacle), true});
  const std::vector<std::string> programs = TRY(find_tcx(host, parent.index));
  if (programs.empty()) return std::optional<Rival>();
  return std::optional(Rival{
      str("tcx programs on ", quote(parent.name), " run before the border by tc and can let frames",
          " of containers pass: ", base::join(programs, ", "),
          "; detach them ('bpftool net show dev ", parent.name,
          "' lists them), or set filter = \"nftables\" in [network]"),
      false});
}

Result<std::optional<Rival>> find_rival_of_nftables(nl::Socket& socket,
                                                    const border::Parent& parent) {
  for (const tc::Redirect& redirect : TRY(tc::find_redirects(socket))) {
    if (redirect.interface != parent.index) continue;
    return std::optional(Rival{
        str("the tc action 'mirred' with index ", redirect.number, " sends frames out of ",
            quote(parent.name), " past the border by nftables; remove the filter that uses it",
            " ('tc actions list action mirred' lists it), or set filter = \"tc\" in [network]"),
        false});
  }
  return std::optional<Rival>();
}

}  // namespace

Result<std::optional<Rival>> find_rival(const Namespace& host, FilterPlace way,
                                        const std::string& parent) {
  nl::Socket socket = TRY(nl::Socket::open(host, NETLINK_ROUTE));
  const std::optional<Link> link = TRY(find_link(socket, parent, std::nullopt));
  if (!link) return std::optional<Rival>();
  const border::Parent found{link->index, link->name, link->mac, Others::kDrop};
  if (way == FilterPlace::kTc) return find_rival_of_tc(host, socket, found);
  return find_rival_of_nftables(socket, found);
}

}  // namespace netns
