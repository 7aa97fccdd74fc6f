// SPDX-License-Identifier: Apache-2.0
// The page's style and script, and what names them in its Content-Security-Policy. The build makes
// them of page.css and page.js.
#pragma once

namespace ipuctl::page {

extern const char* const kStyle;
extern const char* const kStyleHash;  // "sha256-" and base64
extern const char* const kScript;
extern const char* const kScriptHash;

}  // namespace ipuctl::page
