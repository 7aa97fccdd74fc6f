// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/inspect_host.h"

#include "base/names.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

// Recognizes the host's namespace under any name. If this host is itself a container, the namespace
// of process 1 is hidden; then ours is the host's.
Result<bool> is_hosts_namespace(const netns::Namespace& given) {
  const netns::Namespace ours = TRY(netns::Namespace::current());
  if (given.identity() == ours.identity()) return true;
  const Result<netns::Namespace> first = netns::Namespace::at("/proc/1/ns/net");
  if (!first.ok() && first.error().code() != Code::kDenied) return first.error();
  return first.ok() && given.identity() == first.value().identity();
}

Result<HostLook> look_at_network(const oci::NetworkNamespace& network) {
  HostLook look;
  look.own_network = network.kind == oci::NetworkNamespace::Kind::kHost;
  if (network.kind != oci::NetworkNamespace::Kind::kPath) return look;
  const netns::Namespace given = TRY(netns::Namespace::at(network.path));
  const bool is_hosts = TRY(is_hosts_namespace(given));
  if (is_hosts) {
    look.own_network = true;
  } else {
    look.shared = given.identity();
  }
  return look;
}

}  // namespace

Result<HostLook> inspect_host(Env& env, const config::NetworkConfig& config,
                              const oci::NetworkNamespace& network) {
  HostLook look = TRY(look_at_network(network));
  if (look.own_network && config.host_network == config::HostNetwork::kRefuse) {
    return Error(Code::kDenied,
                 "a container with IPUs may not use the host's network (--net=host); leave out the"
                 " option or use --net=none; the container gets roce0 in both cases");
  }
  look.addresses = TRY(env.host.addresses());
  look.rails = TRY(network::inspect_rails(env, config, look.addresses));
  return look;
}

}  // namespace hook::lifecycle::start
