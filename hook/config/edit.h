// SPDX-License-Identifier: Apache-2.0
// Single values of a configuration's text. Comments, order and everything else stay as they are.
//
// A KEY is the way to a value, such as "policy.max_ipus". Of several tables of one kind, the next
// word is the name of the pool or tenant, the parent of the rail, or a number from 0 on:
// "pool.pod64.timeout", "network.rail.0.mtu". A word that has a '.' stands in double quotes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::config {

// Returns the value of KEY in TEXT, in TOML; FILE names the text in errors. kNotFound if it is not
// set there.
base::Result<std::string> value_in(std::string_view text, const std::string& file,
                                   const std::string& key);

// Returns TEXT, where KEY has VALUE, as TOML or, if it is none, as text. kInvalid if it cannot be
// done in one place; the error says what to do. Whether the configuration is valid afterwards is
// for parse_config() to say.
base::Result<std::string> with_value(std::string_view text, const std::string& file,
                                     const std::string& key, const std::string& value);

// Returns TEXT without the lines of KEY; kNotFound if it is not set.
base::Result<std::string> without_key(std::string_view text, const std::string& file,
                                      const std::string& key);

}  // namespace hook::config
