// SPDX-License-Identifier: Apache-2.0
// The way of users without root to what only root may read and do: ipu-agent.
#pragma once

#include <chrono>
#include <optional>

#include "cmd/ipuctl/command.h"

namespace ipuctl {

// Returns the command that asks ipu-agent what APP was told, as it was parsed; unset if ipu-agent
// does not serve it.
[[nodiscard]] std::optional<Command> command_by_agent(const CLI::App& app);

// Whether ipu-agent answers within TIME. kAbsent: it has no socket, or none for this user.
enum class AgentState { kAbsent, kAnswers, kSilent };
[[nodiscard]] AgentState find_agent(std::chrono::milliseconds time);

}  // namespace ipuctl
