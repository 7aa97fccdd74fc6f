// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/schema.h"

#include "hook/ledger/internal/conditions.h"

namespace hook::ledger {

const char* const kMigrations[kNewestVersion] = {
    R"sql(
CREATE TABLE lease (
  id TEXT PRIMARY KEY,
  container TEXT NOT NULL,
  bundle TEXT NOT NULL,
  tenant TEXT NOT NULL,
  pool TEXT NOT NULL,
  controller TEXT NOT NULL,
  partition TEXT NOT NULL,
  gcd INTEGER NOT NULL,
  origin TEXT NOT NULL,
  ipus INTEGER NOT NULL,
  state TEXT NOT NULL,
  generation INTEGER NOT NULL,
  owner_pid INTEGER NOT NULL,
  owner_start INTEGER NOT NULL,
  owner_pid_namespace INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  netns_device INTEGER NOT NULL,
  netns_inode INTEGER NOT NULL,
  netns_cookie INTEGER NOT NULL,
  netns_id INTEGER NOT NULL,
  host_netns_cookie INTEGER NOT NULL,
  attachment TEXT NOT NULL,
  prohibited TEXT NOT NULL,
  error TEXT NOT NULL,
  obstacle TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX lease_live ON lease(pool, partition, gcd)
  WHERE state NOT IN ('FREE', 'FAILED') AND origin NOT IN ('SHARED', 'JOINED');
CREATE INDEX lease_ended ON lease(changed_ms) WHERE state IN ('FREE', 'FAILED');
CREATE INDEX lease_partition ON lease(pool, partition);
CREATE INDEX lease_container ON lease(container);
CREATE INDEX lease_attachment ON lease(attachment);
CREATE INDEX lease_netns ON lease(netns_cookie) WHERE state IN ('ALLOCATED', 'RUNNING');

-- An interface by its address, of 4 or 16 bytes in network byte order. lease: the attachment that it
-- is part of. duplicate_mac: of another host that answers for the address; empty: none. free_at NULL:
-- held. Otherwise the unix time in ms from which the address may be given again.
CREATE TABLE address (
  address BLOB PRIMARY KEY,
  lease TEXT NOT NULL,
  kind TEXT NOT NULL,
  parent TEXT NOT NULL,
  rdma_device TEXT NOT NULL,
  mode TEXT NOT NULL,
  mtu INTEGER NOT NULL,
  interface TEXT NOT NULL,
  mac TEXT NOT NULL,
  subnet TEXT NOT NULL,
  peers TEXT NOT NULL,
  duplicate_mac TEXT NOT NULL,
  free_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX address_mac ON address(mac) WHERE free_at IS NULL;
CREATE UNIQUE INDEX address_interface ON address(lease, interface) WHERE free_at IS NULL;
CREATE UNIQUE INDEX address_function ON address(parent)
  WHERE free_at IS NULL AND kind = 'FUNCTION';
CREATE INDEX address_parent ON address(parent) WHERE free_at IS NULL;

CREATE TABLE ipu (
  pool TEXT NOT NULL,
  address BLOB NOT NULL,
  device INTEGER NOT NULL,
  server_port INTEGER NOT NULL,
  rdma_port INTEGER NOT NULL,
  lease TEXT NOT NULL,
  shared INTEGER NOT NULL,
  PRIMARY KEY (pool, address, device, lease)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX ipu_held ON ipu(pool, address, device) WHERE shared = 0;
CREATE INDEX ipu_lease ON ipu(lease);

CREATE TABLE event (
  lease TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  event TEXT NOT NULL
) STRICT;
CREATE INDEX event_lease ON event(lease);

-- Partitions of ours that no lease made: kind NAMED by an operator, WARM in advance for a container.
CREATE TABLE partition (
  pool TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, kind TEXT NOT NULL,
  state TEXT NOT NULL, ipus INTEGER NOT NULL, gcds INTEGER NOT NULL,
  shared INTEGER NOT NULL, reconfigurable INTEGER NOT NULL,
  dirty INTEGER NOT NULL, resetter TEXT NOT NULL,
  owner_pid INTEGER NOT NULL, owner_start INTEGER NOT NULL, owner_pid_namespace INTEGER NOT NULL,
  boot_id TEXT NOT NULL, created_ms INTEGER NOT NULL,
  PRIMARY KEY (pool, name)
) STRICT, WITHOUT ROWID;

-- Who waits for what, in order of arrival: the ticket, which is never given twice.
CREATE TABLE waiter (
  ticket INTEGER PRIMARY KEY AUTOINCREMENT,
  resource TEXT NOT NULL, container TEXT NOT NULL, ipus INTEGER NOT NULL,
  owner_pid INTEGER NOT NULL, owner_start INTEGER NOT NULL, owner_pid_namespace INTEGER NOT NULL,
  boot_id TEXT NOT NULL, since_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL
) STRICT;
)sql",
    // 2: what a reconciler needs to judge a lease, and a readable history. kRestOfVersion2 belongs
    // to it. Programs of version 1 that have the database open continue to work, because each new
    // column has a default.
    R"sql(
ALTER TABLE lease ADD COLUMN state_dir TEXT NOT NULL DEFAULT '';
ALTER TABLE lease ADD COLUMN cgroup TEXT NOT NULL DEFAULT '';
ALTER TABLE lease ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lease ADD COLUMN retry_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lease ADD COLUMN quarantine_until_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE partition ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE partition ADD COLUMN retry_ms INTEGER NOT NULL DEFAULT 0;
-- All that LeaseHold has, so that a look at a thousand of them reads no lease.
CREATE INDEX lease_held ON lease(created_ms, id, state, owner_pid, owner_start, owner_pid_namespace,
  boot_id, retry_ms) WHERE state NOT IN ('FREE', 'FAILED');

-- kind: STATE a change of the lease, CONTROLLER an answer of the controller, KERNEL what the kernel
-- said, ERROR what the user saw, NOTE anything else. An event that is of no lease names a partition.
ALTER TABLE event ADD COLUMN kind TEXT NOT NULL DEFAULT 'STATE';
ALTER TABLE event ADD COLUMN container TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN pool TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN partition TEXT NOT NULL DEFAULT '';
-- A JSON object: who did it, and what the change gave.
ALTER TABLE event ADD COLUMN details TEXT NOT NULL DEFAULT '';

-- Single values by name.
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
)sql",
    // 3: addresses that follow from IPUs; tenants, and what each has used.
    R"sql(
-- An IPU has one address, in whatever pool.
CREATE INDEX ipu_address ON ipu(address);
-- 1: the address follows from the IPUs of its lease.
ALTER TABLE address ADD COLUMN by_ipu INTEGER NOT NULL DEFAULT 0;
-- To which a reservation, or a request that waits, counts; '': none.
ALTER TABLE partition ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE waiter ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
-- When the lease got its IPUs and when it was asked for, unix time in ms; 0: not yet, or unknown.
ALTER TABLE lease ADD COLUMN allocated_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lease ADD COLUMN asked_ms INTEGER NOT NULL DEFAULT 0;
-- The uid of whoever started it; -1: unknown.
ALTER TABLE lease ADD COLUMN user INTEGER NOT NULL DEFAULT -1;
-- The prefix of the fleet whose hosts share the partition; '': none.
ALTER TABLE partition ADD COLUMN fleet TEXT NOT NULL DEFAULT '';
-- The lease by whose id GCDs are claimed at a fleet, and the prefix of that fleet; '': no claim.
ALTER TABLE lease ADD COLUMN claim TEXT NOT NULL DEFAULT '';
ALTER TABLE lease ADD COLUMN fleet TEXT NOT NULL DEFAULT '';
-- What ended leases and reservations had, in IPU-milliseconds, by day (since 1970, UTC).
CREATE TABLE usage (day INTEGER NOT NULL, tenant TEXT NOT NULL, user INTEGER NOT NULL,
  pool TEXT NOT NULL, held INTEGER NOT NULL, reserved INTEGER NOT NULL, starts INTEGER NOT NULL,
  PRIMARY KEY (day, tenant, user, pool)) STRICT, WITHOUT ROWID;
-- How many starts were refused, by day and cause.
CREATE TABLE refused (day INTEGER NOT NULL, tenant TEXT NOT NULL, user INTEGER NOT NULL,
  pool TEXT NOT NULL, cause TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (day, tenant, user, pool, cause)) STRICT, WITHOUT ROWID;
)sql",
    // 4: what a fleet is told of waits, and how much room pools had.
    R"sql(
-- How long those waited for IPUs that got them on that day, as base/histogram.h has it.
ALTER TABLE usage ADD COLUMN waits TEXT NOT NULL DEFAULT '';
-- How much room pools had, by day: IPU-milliseconds, and the worst look. room_look: the last looks.
CREATE TABLE room (day INTEGER NOT NULL, pool TEXT NOT NULL, measured_ms INTEGER NOT NULL,
  free INTEGER NOT NULL, largest INTEGER NOT NULL, worst_ms INTEGER NOT NULL,
  worst_free INTEGER NOT NULL, worst_largest INTEGER NOT NULL,
  PRIMARY KEY (day, pool)) STRICT, WITHOUT ROWID;
CREATE TABLE room_look (pool TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, free INTEGER NOT NULL,
  largest INTEGER NOT NULL) STRICT, WITHOUT ROWID;
)sql",
    // 5: how busy IPUs were.
    R"sql(
-- IPU-milliseconds of which a monitor said how busy the IPUs were, and of those the busy ones.
ALTER TABLE usage ADD COLUMN measured INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN busy INTEGER NOT NULL DEFAULT 0;
)sql",
};

const char* const kRestOfVersion2 = R"sql(
-- The name of the reservation that the partition is; '': none. It ends at until_ms (0: never).
ALTER TABLE partition ADD COLUMN reservation TEXT NOT NULL DEFAULT '';
ALTER TABLE partition ADD COLUMN until_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE partition ADD COLUMN reserved_for TEXT NOT NULL DEFAULT '';
-- The uid of whoever reserved it or waits, as the kernel told; -1: unknown.
ALTER TABLE partition ADD COLUMN user INTEGER NOT NULL DEFAULT -1;
ALTER TABLE waiter ADD COLUMN user INTEGER NOT NULL DEFAULT -1;
-- By which the name of a container that waits is found.
ALTER TABLE waiter ADD COLUMN bundle TEXT NOT NULL DEFAULT '';
-- The block that is pinned for it, by the numbers of its IPUs in the pool. pinned_ipus 0: none.
ALTER TABLE waiter ADD COLUMN pinned_first INTEGER NOT NULL DEFAULT 0;
ALTER TABLE waiter ADD COLUMN pinned_ipus INTEGER NOT NULL DEFAULT 0;

-- The lease has the GCDs from gcd on, so many. lease_live compares only the first of each lease.
ALTER TABLE lease ADD COLUMN gcds INTEGER NOT NULL DEFAULT 1;
CREATE TRIGGER lease_gcds_inserted BEFORE INSERT ON lease WHEN )sql" LEASE_GCDS_ARE_TAKEN(
    "NEW") R"sql(
BEGIN SELECT RAISE(ABORT, 'another live lease has one of its GCDs'); END;
CREATE TRIGGER lease_gcds_updated BEFORE UPDATE OF pool, partition, gcd, gcds, origin ON lease
WHEN )sql" LEASE_GCDS_ARE_TAKEN("NEW") R"sql(
BEGIN SELECT RAISE(ABORT, 'another live lease has one of its GCDs'); END;

-- 1: the start waits for IPUs, and can be told to give up. 2: it was told.
ALTER TABLE lease ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
-- Partitions of random names that were absent when their rows were removed, since this unix time in
-- ms: a request whose answer was lost may still make them.
CREATE TABLE late_partition (pool TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL,
  since_ms INTEGER NOT NULL, PRIMARY KEY (pool, name)) STRICT, WITHOUT ROWID;

-- The process that answers in a lease's container. attempts: how often it was started again.
CREATE TABLE endpoint (lease TEXT PRIMARY KEY, pid INTEGER NOT NULL, start INTEGER NOT NULL,
  pid_namespace INTEGER NOT NULL, boot_id TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
  retry_ms INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
-- IPUs of which something bad is recorded (vipu/health.h). taint: NONE, CHECK or OPERATOR.
CREATE TABLE ipu_health (
  pool TEXT NOT NULL, ipu TEXT NOT NULL, taint TEXT NOT NULL, reason TEXT NOT NULL,
  seen TEXT NOT NULL, bad_ms INTEGER NOT NULL, since_ms INTEGER NOT NULL, PRIMARY KEY (pool, ipu)
) STRICT, WITHOUT ROWID;
-- 0: the event is for the history alone, not for the audit log.
ALTER TABLE event ADD COLUMN audited INTEGER NOT NULL DEFAULT 1;
-- Refused starts of one kind, from first_ms on. leases: those that the next one replaces.
CREATE TABLE refusal (
  pool TEXT NOT NULL, tenant TEXT NOT NULL, user INTEGER NOT NULL, kind TEXT NOT NULL,
  count INTEGER NOT NULL, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,
  container TEXT NOT NULL, error TEXT NOT NULL, leases TEXT NOT NULL,
  PRIMARY KEY (pool, tenant, user, kind)
) STRICT, WITHOUT ROWID;
)sql";

}  // namespace hook::ledger
