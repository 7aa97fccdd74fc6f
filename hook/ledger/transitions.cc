// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/transitions.h"

#include <algorithm>
#include <iterator>

namespace hook::ledger {
namespace {

using enum LeaseState;

constexpr Transition kTransitions[] = {
    {Change::kIntend, std::nullopt, kIntent, Holder::kCaller, "a container asks for IPUs"},
    {Change::kTakeWarm, kIntent, kIntent, Holder::kSame, "a warm partition of its size is ready"},
    {Change::kAllocate, kIntent, kAllocated, Holder::kSame, "the controller has granted its IPUs"},
    {Change::kAttach, kAllocated, kAllocated, Holder::kCaller,
     "the hook starts to attach its network"},
    {Change::kRun, kAllocated, kRunning, Holder::kContainer, "its network is ready"},
    {Change::kAdopt, kRunning, kRunning, Holder::kContainer, "it has a new first process"},
    {Change::kRelocate, kRunning, kRunning, Holder::kSame, "the controller has moved its IPUs"},
    {Change::kProhibit, kRunning, kRunning, Holder::kSame, "a controller has another address"},
    {Change::kRelease, kIntent, kReleasing, Holder::kCaller, "its start was cut short"},
    {Change::kRelease, kAllocated, kReleasing, Holder::kCaller, "its start was cut short"},
    {Change::kRelease, kRunning, kReleasing, Holder::kCaller, "its container has ended"},
    {Change::kRelease, kReleasing, kReleasing, Holder::kCaller,
     "the process that released it has ended"},
    {Change::kHold, kReleasing, kReleasing, Holder::kNobody, "something cannot be released yet"},
    {Change::kQuarantine, kReleasing, kQuarantine, Holder::kNobody,
     "everything except its addresses is released"},
    {Change::kFree, kReleasing, kFree, Holder::kNobody, "everything is released"},
    {Change::kFree, kQuarantine, kFree, Holder::kNobody, "the quarantine of its addresses is over"},
    {Change::kFail, kReleasing, kFailed, Holder::kNobody,
     "everything is released; the container never ran"},
};

}  // namespace

std::span<const Transition> transitions() { return kTransitions; }

const Transition* find_transition(Change change, std::optional<LeaseState> from) {
  const auto* const found =
      std::find_if(std::begin(kTransitions), std::end(kTransitions),
                   [&](const Transition& row) { return row.change == change && row.from == from; });
  return found == std::end(kTransitions) ? nullptr : found;
}

std::string_view name_of(Change change) {
  switch (change) {
    case Change::kIntend:
      return "intend";
    case Change::kTakeWarm:
      return "take warm";
    case Change::kAllocate:
      return "allocate";
    case Change::kAttach:
      return "attach";
    case Change::kRun:
      return "run";
    case Change::kAdopt:
      return "adopt";
    case Change::kRelocate:
      return "relocate";
    case Change::kProhibit:
      return "prohibit";
    case Change::kRelease:
      return "release";
    case Change::kHold:
      return "hold";
    case Change::kQuarantine:
      return "quarantine";
    case Change::kFree:
      return "free";
    case Change::kFail:
      return "fail";
  }
  return "?";
}

}  // namespace hook::ledger
