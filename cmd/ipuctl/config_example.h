// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ipuctl {

extern const char* const kConfigExample;  // packaging/config.toml, made part of the program

}  // namespace ipuctl
