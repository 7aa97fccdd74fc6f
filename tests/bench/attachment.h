// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of an attachment have in common: a rail, and the steps of its attachment.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "netns/attach.h"
#include "netns/namespace.h"

inline constexpr size_t kRounds = 31;
// The kernel removes a namespace later, and holds the lock of all interfaces meanwhile.
inline constexpr std::chrono::milliseconds kRest{40};

// Returns a rail on "rail0" with this address, an interface "roce0", and four peers.
netns::RailPlan rail_of(uint32_t address);
// Makes a network namespace, and returns to HOME.
base::Result<netns::Namespace> make_namespace(const base::Fd& home);
// Makes what no implementation can do without: the link, its address, its routes.
base::Status make_link(const netns::RailPlan& rail, const netns::Namespace& host,
                       const netns::Namespace& target);
// Makes the link and the filter of the container.
base::Status attach(const netns::RailPlan& rail, const netns::Namespace& host,
                    const netns::Namespace& target);
// Runs a program of this path. Fails if its exit status is not 0.
base::Status run_program(const std::string& path, std::vector<std::string> args,
                         std::vector<std::string> env = {}, const std::string& input = {});
