// SPDX-License-Identifier: Apache-2.0
// Which host a ledger is of. A disk is copied to other machines (a golden image, a restored
// virtual machine), and with it a ledger, whose partitions belong to the containers of another
// host. So a ledger keeps what identifies its host, and changes nothing on another one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hook::ledger {

// What identifies a host. Each is a digest of 16 hexadecimal digits, so that a ledger shows no
// raw identifier; empty: the host does not have it, or it cannot be read.
struct HostWitnesses {
  std::string id = {};       // [host] id of the configuration; replaces the machine-id
  std::string machine = {};  // machine-id(5), which golden images copy
  std::string board = {};    // the UUID of the board, by DMI
  std::string rnic = {};     // the node GUID of the first RNIC, made from its permanent MAC

  bool operator==(const HostWitnesses&) const = default;
};

// Where the witnesses are.
struct HostPlaces {
  std::string machine_id = "/etc/machine-id";
  std::string sysfs = "/sys";
};

// Returns the witnesses of this host. ID is [host] id; empty: none, or unknown. Reads the board's
// UUID only as root. Leaves out what vendors give to many boards, and functions of RNICs (VFs).
[[nodiscard]] HostWitnesses read_witnesses(std::string_view id, const HostPlaces& places = {});

// Returns the 8 hexadecimal digits that stand for the host in the names of its partitions. If one
// witness differs, so do they: two hosts never share them because of a copied file alone.
[[nodiscard]] std::string tag_of(const HostWitnesses& host);
// Returns whether no copy of a disk is taken for HOST: it has a configured id, or two witnesses.
[[nodiscard]] bool is_certain(const HostWitnesses& host);
// Returns tag_of() of a host that is certain. To any other, which can have the machine-id of the
// image that it was made from, it gives digits that no other host has.
base::Result<std::string> new_tag(const HostWitnesses& host);

// Returns what differs of two hosts: "machine-id and board". Empty if they are one host, that is:
// they do not differ in a configured id, and more of the witnesses that both have agree than
// differ. Without a witness that both have, they are one. The machine-id of a host with a
// configured id says nothing.
[[nodiscard]] std::string difference(const HostWitnesses& recorded, const HostWitnesses& now);

struct Store;

// What a host last wrote into its fleet's store, so that it notices if the store goes back: see
// hook/fleet/marks.h. Zero: nothing.
struct FleetMark {
  int64_t revision = 0;  // of the store
  int64_t restores = 0;
  std::string import = {};  // the word that names the last import; empty: there was none
  bool operator==(const FleetMark&) const = default;
};

// Whose a ledger is.
class LedgerHost {
 public:
  explicit LedgerHost(Store& store) : store_(store) {}

  // Tells the ledger on which host it is used. A new ledger becomes that host's. One of another
  // host changes nothing from here on: each change fails with kDenied, with what to do.
  base::Status be_on(const HostWitnesses& host);
  // Returns whether be_on() needs [host] id: the ledger has one, or does not know its host yet.
  base::Result<bool> needs_id();
  // Fails with kDenied, with what to do, if be_on() found that the ledger is of another host. For
  // effects that need no change of the ledger.
  base::Status check();
  // Fails so if the ledger is not of HOST. Changes nothing.
  base::Status check_is(const HostWitnesses& host);
  // Makes a ledger of another host this host's, with all that it holds.
  base::Status adopt(const HostWitnesses& host);
  // Returns the 8 hexadecimal digits in the names of this host's partitions.
  [[nodiscard]] const std::string& tag() const;
  // Returns whether the ledger was made since this boot, on a host that was known by [host] id or
  // by two witnesses then: all that this host's names mark and the ledger does not have is from
  // before.
  base::Result<bool> is_of_this_boot();

  // Returns the id of the fleet below PREFIX that this host joined; empty: none.
  base::Result<std::string> fleet_id(const std::string& prefix);
  // Remembers it instead of that of another prefix, and that this host left none.
  base::Status join_fleet(const std::string& prefix, const std::string& id);
  // Forgets it, if there is one, with its mark.
  base::Status leave_fleet();
  // Remembers that this host leaves the fleet that it has joined, if there is one.
  base::Status begin_leaving();
  // Returns the id of the fleet below PREFIX that this host left, or began to leave; empty: none.
  base::Result<std::string> left_fleet(const std::string& prefix);
  // Fails with kDenied, and says what to do, if this host left the fleet below PREFIX, or leaves
  // it, and joined no other one there since. May run inside the caller's transaction.
  base::Status check_in(const std::string& prefix);
  // Forgets that this host left one.
  base::Status come_back();
  // Returns the mark that this host made last in the fleet ID below PREFIX.
  base::Result<FleetMark> fleet_mark(const std::string& prefix, const std::string& id);
  // Remembers it instead of an earlier one.
  base::Status keep_fleet_mark(const std::string& prefix, const std::string& id,
                               const FleetMark& mark);

 private:
  base::Result<std::string> read_fleet(const char* name, const std::string& prefix);
  // Writes what HOST adds to what is recorded.
  base::Status record(const HostWitnesses& host);
  Store& store_;
};

// Returns whose the ledger at PATH is; absent if it does not say. Changes nothing.
base::Result<std::optional<HostWitnesses>> recorded_host(const std::string& path);

}  // namespace hook::ledger
