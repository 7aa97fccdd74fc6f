// SPDX-License-Identifier: Apache-2.0
// SQL conditions on a row of `lease`. They are macros because a statement joins them with its other
// literals; the partial indexes of schema.h have the same words, or SQLite would not use them.
#pragma once

#define LEASE_IS_LIVE "state NOT IN ('FREE', 'FAILED')"
#define LEASE_HAS_ENDED "state IN ('FREE', 'FAILED')"
