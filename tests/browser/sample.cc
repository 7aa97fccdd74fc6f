// SPDX-License-Identifier: Apache-2.0
// Prints the page of a site with so many leases: report-sample LEASES.
#include <cstdio>

#include "base/text.h"
#include "tests/support/sample_page.h"

int main(int argc, char** argv) {
  const auto leases = base::parse_int<size_t>(argc == 2 ? argv[1] : "", 0, 1000);
  if (!leases.ok()) {
    std::fputs("usage: report-sample LEASES, from 0 to 1000\n", stderr);
    return 2;
  }
  const std::string html = ipuctl::page::to_html(test::sample_page(leases.value()));
  return std::fwrite(html.data(), 1, html.size(), stdout) == html.size() ? 0 : 1;
}
