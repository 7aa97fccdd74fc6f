# SPDX-License-Identifier: Apache-2.0
LIB_netns_PKGS := libnl-route-3.0
