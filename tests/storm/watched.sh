#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tells whether the watch of the storm has seen enough: one look at least into four containers or more.
exec awk '$2 > most { most = $2 } END { exit most < 4 }' /run/storm/samples
