// SPDX-License-Identifier: Apache-2.0
// Hosts and command lines of tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cmd/gc-docker/front_end/translate.h"

namespace front {

using Words = std::vector<std::string>;

// A host of a POD whose pool "pod64" has a controller, as seen by a user with these variables.
inline Caller pod_host(Variables environment = {}) {
  Caller caller;
  caller.environment = std::move(environment);
  caller.infiniband = true;
  hook::config::PoolConfig pool{"pod64"};
  pool.controller = "10.1.3.101:8090";
  caller.pools = {pool};
  return caller;
}

// A host without a configuration with COUNT cards.
inline Caller cards_host(uint32_t count) {
  Caller caller;
  for (uint32_t number = 0; number < count; ++number) {
    vipu::Card card{number, "", -1, {}};
    for (const char* suffix : {"", "_ex", "_mem"}) {
      card.nodes.push_back({base::str("/dev/ipu", number, suffix), 60, 0});
    }
    caller.cards.push_back(card);
  }
  return caller;
}

inline hook::config::PoolConfig ipuof_pool(const std::string& name, const std::string& file) {
  hook::config::PoolConfig pool{name, hook::config::Provider::kIpuof};
  pool.file = file;
  return pool;
}

// Adds a directory with FILES of 16 IPUs.
inline void add_directory(Caller& caller, const std::string& path, const Words& files) {
  IpuofPlace place{path, true};
  for (const std::string& file : files) place.files.push_back({base::str(path, "/", file), 16});
  caller.places[path] = place;
}

inline void add_file(Caller& caller, const std::string& path) {
  caller.places[path] = {path, false, {{path, 16}}};
}

inline base::Result<Translation> try_translate(const Caller& caller, const Words& args) {
  const base::Result<FrontEndArguments> arguments = parse_front_end(args);
  if (!arguments.ok()) return arguments.error();
  return translate(caller, arguments.value());
}

inline Translation translated(const Caller& caller, const Words& args) {
  base::Result<Translation> to = try_translate(caller, args);
  EXPECT_TRUE(to.ok()) << (to.ok() ? "" : to.error().message());
  return to.ok() ? std::move(to).take() : Translation();
}

inline std::string line(const Caller& caller, const Words& args) {
  return shell_line(translated(caller, args).command);
}

inline std::string notes(const Caller& caller, const Words& args) {
  return base::join(translated(caller, args).notes, "\n");
}

// The message of the refusal.
inline std::string refusal(const Caller& caller, const Words& args) {
  const base::Result<Translation> to = try_translate(caller, args);
  return to.ok() ? base::str("accepted: ", shell_line(to.value().command)) : to.error().message();
}

}  // namespace front
