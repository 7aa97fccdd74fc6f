// SPDX-License-Identifier: Apache-2.0
// Where things are on the host.
#pragma once

namespace fault {

inline constexpr const char* kScratch = "/run/fault";
inline constexpr const char* kHarness = "/run/fault/fault";      // this program
inline constexpr const char* kBaseline = "/run/fault/baseline";  // the ledger at the start of a run
inline constexpr const char* kLook = "/run/fault/look";          // a copy of it to look at
inline constexpr const char* kBundles = "/run/fault/bundles";
inline constexpr const char* kLowLevel = "/run/fault/low-level";  // the low-level runtime
inline constexpr const char* kCalled = "/run/fault/called";       // a line for each call of it
inline constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
inline constexpr const char* kSimulatorState = "/var/lib/vipu-simulator.json";
inline constexpr const char* kSimulatorLog = "/run/service/simulator.jsonl";
inline constexpr const char* kCopy = "/run/fault/copy.json";  // of a fleet
inline constexpr const char* kController = "10.1.3.101:8090";
inline constexpr const char* kEtcd = "10.1.3.101:2379";
inline constexpr const char* kEndpoint = "ipu-vipu-endpoint";
inline constexpr const char* kFunction = "vf0";

}  // namespace fault
