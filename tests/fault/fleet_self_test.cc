// SPDX-License-Identifier: Apache-2.0
// Plants mistakes into the fleet's etcd, and asks the judge.
#include "base/names.h"
#include "base/text.h"
#include "tests/fault/fleet_inspect.h"
#include "tests/fault/self_test.h"

namespace fault {

using namespace base::names;

namespace {

constexpr const char* kPlanted = "planted";
constexpr const char* kBelow = "partitions/pod64/p0/";

// A container has GCD 0 of p0.
Status make_claim(World& world) {
  TRY(world.rebuild(Bystander::kYes));
  TRY(world.begin({false, false, true}));
  TRY(must_run(World::ipuctl({"partition", "create", "p0", "--size", "4"})));
  return world.create_now(kPlanted, {{"IPU_PARTITION=p0"}});
}

std::string claim_text(const std::string& host, bool uses) {
  return str(R"({"host":")", host, R"(","container":"other","process":"","gcd":0,"gcds":1,"uses":)",
             uses ? "true}" : "false}");
}

struct Mistake {
  std::string key;
  std::string value;  // empty: the key is removed
  const char* wanted;
};

using Judge = Status (*)(const FleetView&, Findings&);

// What is wrong with what JUDGE says of MISTAKE, which is undone.
Result<std::string> try_mistake(const Mistake& mistake, const std::string& before, Judge judge) {
  TRY(mistake.value.empty() ? remove_key(mistake.key) : plant_key(mistake.key, mistake.value));
  const FleetView view = TRY(read_fleet());
  Findings findings;
  TRY(judge(view, findings));
  TRY(before.empty() ? remove_key(mistake.key) : plant_key(mistake.key, before));
  const std::string found = base::join(findings.violations, "; ");
  if (found.find(mistake.wanted) != std::string::npos) return std::string();
  return str(mistake.key, ": found '", found, "' and not '", mistake.wanted, "'");
}

}  // namespace

Result<std::string> finds_mistakes_in_a_fleet() {
  World world;
  TRY(make_claim(world));
  const FleetView view = TRY(read_fleet());
  if (view.claims.size() != 1) return str(view.claims.size(), " claims");
  const FleetClaim& claim = view.claims.front();
  const std::string mine = str(kBelow, "claims/", claim.id);
  const std::string whole = claim_text(claim.host, true);
  const struct {
    Mistake mistake;
    std::string before;
    Judge judge;
  } all[] = {
      {{mine, "", "others may claim what container planted has"}, whole, inspect_fleet},
      {{mine, claim_text(claim.host, false), "others may claim"}, whole, inspect_fleet},
      {{str(kBelow, "claims/theirs"), claim_text(kDeadHost, true), "have one GCD"},
       "",
       inspect_fleet},
      {{str(kBelow, "claims/lost"), claim_text(claim.host, false), "no live lease leads to claim"},
       "",
       inspect_fleet},
      {{"unknown/key", "{}", "a strange key: unknown/key"}, "", inspect_fleet},
      {{"importing", "0011223344556677", "an import"}, "", inspect_fleet_rest},
      {{"restored/1f2e3d4c", "{}", "host 1f2e3d4c has not told"}, "", inspect_fleet_rest},
      {{"partitions/pod64/p1/record", R"({"phase":"READY","dirty":false,"shared":false})",
        "left in the fleet: partition p1"},
       "",
       inspect_fleet_rest},
      {{str(kBelow, "record"), R"({"phase":"READY","dirty":false,"shared":false})",
        "nobody is to reset it"},
       R"({"phase":"READY","dirty":true,"shared":false})",
       inspect_fleet}};
  for (const auto& [mistake, before, judge] : all) {
    const std::string wrong = TRY(try_mistake(mistake, before, judge));
    if (!wrong.empty()) return wrong;
  }
  return std::string();
}

}  // namespace fault
