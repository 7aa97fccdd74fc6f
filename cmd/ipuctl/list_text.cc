// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/list_text.h"

#include "cmd/ipuctl/formats/formats.h"

namespace ipuctl {

std::string list_text(const base::Json& list, const Rows& rows, Output output) {
  switch (output) {
    case Output::kJson:
      return base::to_pretty_text(list);
    case Output::kYaml:
      return formats::yaml_text(list);
    case Output::kCsv:
      return formats::csv_text(list);
    case Output::kTable:
    case Output::kWide:
      break;
  }
  return table(rows);
}

}  // namespace ipuctl
