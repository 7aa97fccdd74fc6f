// SPDX-License-Identifier: Apache-2.0
// SQL on a ledger's database, past the ledger: to damage it, and to read what it holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace test {

// Runs one or more statements on the database at PATH.
base::Status run_sql(const std::string& path, const std::string& sql);
// Returns the first column of each row, as text. Fails the test if SQL fails.
std::vector<std::string> query_sql(const std::string& path, std::string_view sql);
// Fills the first page of TABLE with zeros, so that SQLite cannot read the table. Nobody may write
// the database meanwhile.
base::Status zero_root(const std::string& path, const std::string& table);

}  // namespace test
