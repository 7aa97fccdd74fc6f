// SPDX-License-Identifier: Apache-2.0
// What a container asks for by CDI devices. An engine copies the hooks of a CDI file into
// config.json, but no annotations. Therefore each device of our files (hook/cdi) has a hook whose
// arguments are the annotations: "createRuntime --cdi graphcore.ai/ipu.devices=0".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::request {

inline constexpr std::string_view kCdiOption = "--cdi";

// Returns ANNOTATIONS with what the createRuntime hooks of CONFIG, the text of a config.json, ask
// for; ANNOTATIONS alone if CONFIG has no CDI device of ours. Cards of several devices add up.
// Fails with kInvalid if a card is named twice, if devices contradict each other or an annotation,
// or if a hook is malformed.
base::Result<std::map<std::string, std::string>> with_cdi(
    std::string_view config, std::map<std::string, std::string> annotations);

}  // namespace hook::request
