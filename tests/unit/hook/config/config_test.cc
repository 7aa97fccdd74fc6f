// SPDX-License-Identifier: Apache-2.0
#include "hook/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::config {
namespace {

using namespace base::names;
using testing::ElementsAre;

constexpr const char* kPool = R"(
[pool]
name = "pod64"
provider = "vipu"
controller = "10.1.3.101:8090"
)";
constexpr const char* kRail = R"(
[[network.rail]]
parent = "ens1f0np0"
subnet = "10.5.0.0/16"
range = "10.5.200.10-10.5.200.99"
)";

// A host with nothing of Graphcore's.
HostFacts bare_host() { return {{}, "/no/vipu-cli.hcl", "/no/dev", "/no/ipuof.conf.d"}; }

base::Result<Config> parse(const std::string& text, const HostFacts& host = bare_host()) {
  return parse_config(text, "/etc/x.toml", host);
}

TEST(Config, HasDefaultsForWhatNeedNotBeSaid) {
  const base::Result<Config> config = parse(str(kPool, kRail));
  ASSERT_TRUE(test::succeeds(config));
  EXPECT_EQ(config.value().runtimes, default_runtimes());
  EXPECT_EQ(config.value().pools[0].timeout, std::chrono::seconds(120));
  EXPECT_EQ(config.value().network.rdma, RdmaUse::kAuto);
  EXPECT_EQ(config.value().policy.max_ipus, 64U);
  EXPECT_EQ(config.value().policy.max_wait, std::chrono::minutes(15));
  EXPECT_EQ(config.value().policy.max_wait_cri, std::chrono::seconds(90));
  EXPECT_EQ(config.value().policy.max_waiters, 64U);
  EXPECT_FALSE(config.value().agent.show_others);
  EXPECT_EQ(config.value().agent.max_ipus, 64U);
  EXPECT_EQ(config.value().agent.max_wait, std::chrono::hours(1));
  EXPECT_EQ(config.value().agent.max_time, std::chrono::hours(24));
  EXPECT_TRUE(config.value().policy.allow_env);
  EXPECT_TRUE(config.value().policy.allow_annotation);
  EXPECT_EQ(config.value().ledger.history, std::chrono::hours(7 * 24));
}

TEST(Config, HasEveryKeyOfTheFile) {
  const base::Result<Config> result = parse(str(R"(
[runtime]
paths = ["/usr/bin/crun", "/opt/runc"]
[ledger]
history = "30d"
[policy]
max_ipus = 16
sources = ["annotation"]
shared_net_admin = true
max_wait = "1h"
max_wait_cri = "10m"
max_waiters = 3
[agent]
show_others = true
max_ipus = 32
max_wait = "2h"
max_time = "7d"
[network]
rdma = "require"
host_network = "refuse"
)",
                                                kRail, kPool, "timeout = \"90s\"\n"));
  ASSERT_TRUE(test::succeeds(result));
  const Config& config = result.value();
  EXPECT_THAT(config.runtimes, ElementsAre("/usr/bin/crun", "/opt/runc"));
  EXPECT_EQ(config.pools[0].name, "pod64");
  EXPECT_EQ(config.pools[0].provider, Provider::kVipu);
  EXPECT_EQ(config.pools[0].controller, "10.1.3.101:8090");
  EXPECT_EQ(config.pools[0].timeout, std::chrono::seconds(90));
  EXPECT_EQ(config.network.rdma, RdmaUse::kRequire);
  ASSERT_EQ(config.network.rails.size(), 1U);
  EXPECT_EQ(config.network.rails[0].parent, "ens1f0np0");
  EXPECT_EQ(netns::to_string(config.network.rails[0].subnet), "10.5.0.0/16");
  EXPECT_EQ(netns::to_string(config.network.rails[0].first), "10.5.200.10");
  EXPECT_EQ(netns::to_string(config.network.rails[0].last), "10.5.200.99");
  EXPECT_EQ(config.ledger.history, std::chrono::hours(30 * 24));
  EXPECT_EQ(config.policy.max_ipus, 16U);
  EXPECT_FALSE(config.policy.allow_env);
  EXPECT_TRUE(config.policy.allow_annotation);
  EXPECT_TRUE(config.policy.shared_net_admin);
  EXPECT_EQ(config.policy.max_wait, std::chrono::hours(1));
  EXPECT_EQ(config.policy.max_wait_cri, std::chrono::minutes(10));
  EXPECT_EQ(config.policy.max_waiters, 3U);
  EXPECT_TRUE(config.agent.show_others);
  EXPECT_EQ(config.agent.max_ipus, 32U);
  EXPECT_EQ(config.agent.max_wait, std::chrono::hours(2));
  EXPECT_EQ(config.agent.max_time, std::chrono::hours(7 * 24));
}

struct Bad {
  const char* name;
  std::string text;
  std::string message;  // what stands behind "/etc/x.toml" and its ": "
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

class BadConfigTest : public testing::TestWithParam<Bad> {};

TEST_P(BadConfigTest, IsRefusedWithFileAndKey) {
  const base::Result<Config> config = parse(GetParam().text);
  EXPECT_TRUE(test::fails(config, Code::kInvalid, "/etc/x.toml"));
  EXPECT_TRUE(test::fails(config, Code::kInvalid, GetParam().message));
}

// The good file with a line of the pool in place of the one with the same key.
std::string with(std::string file, const std::string& line) {
  const std::string key = line.substr(0, line.find('='));
  const size_t at = file.find("\n" + key + "=") + 1;
  return file.replace(at, file.find('\n', at) - at, line);
}
std::string with_pool(const std::string& line) { return with(str(kPool, kRail), line); }
std::string with_more(const std::string& text) { return str(kPool, kRail, text); }

const Bad kBad[] = {
    {"NameEmpty", with_pool("name = \"\""), "pool.name must be"},
    {"NameIsANumber", with_pool("name = 7"), "pool.name must be"},
    {"NameWithASpace", with_pool("name = \"my pod\""), "pool.name: 'my pod' is not a name"},
    {"NameTooLong", with_pool("name = \"" + std::string(65, 'x') + "\""), "pool.name: "},
    {"ProviderUnknown", with_pool("provider = \"magic\""),
     "pool.provider must be \"vipu\", \"ipuof\" or"},
    {"ControllerWithoutPort", with_pool("controller = \"10.1.3.101\""), "is not HOST:PORT"},
    {"ControllerWithoutHost", with_pool("controller = \":8090\""), "is not HOST:PORT"},
    {"ControllerWithPort0", with_pool("controller = \"h:0\""), "pool.controller: 'h:0'"},
    {"ControllerWithPort65536", with_pool("controller = \"h:65536\""), "pool.controller: "},
    {"UnknownTableOfThePool", with_more("[pool.x]\n"), "'pool.x'"},
    {"NoRail", kPool, "network.rail must be set: one [[network.rail]]"},
    {"RailIsANumber", str(kPool, "[network]\nrail = 3\n"), "network.rail must be a table"},
    {"TwoPoolsOfOneName",
     str("[[pool]]\nname = \"a\"\nprovider = \"pcie\"\n[[pool]]\nname = \"a\"\n"
         "provider = \"pcie\"\n"),
     "there are two pools 'a'"},
    {"FileOfAVipuPool", with_pool("provider = \"vipu\"\nfile = \"/x\""),
     "pool.file must be left out with provider \"vipu\""},
    {"ControllerOfAPciePool", with_pool("provider = \"pcie\""),
     "pool.controller must be left out with provider \"pcie\""},
    {"IpuofWithoutFile", str("[pool]\nname = \"a\"\nprovider = \"ipuof\"\n", kRail),
     "pool.file must be set"},
    {"FileIsRelative", "[pool]\nname = \"a\"\nprovider = \"ipuof\"\nfile = \"p.conf\"\n",
     "pool.file must be the absolute path"},
    {"PartOfAVipuPool", with_pool("provider = \"vipu\"\npart = \"0-15\""),
     "pool.part must be left out with provider \"vipu\""},
    {"GroupsOverlap", "[pool]\nname = \"a\"\nprovider = \"pcie\"\ngroups = [[0, 1], [1, 2]]\n",
     "pool.groups must be lists in which each card appears once"},
    {"GroupsAreNoLists", "[pool]\nname = \"a\"\nprovider = \"pcie\"\ngroups = [0, 1]\n",
     "pool.groups must be lists"},
    {"BackfillWithoutACluster", with_pool("provider = \"vipu\"\nbackfill = true"),
     "pool.cluster must be set"},
    {"BackfillInAnAllocation",
     with_pool("provider = \"vipu\"\nbackfill = true\ncluster = \"c\"\nallocation = \"x\""),
     "pool.backfill must be left out with 'allocation'"},
    {"TaintIsNegative", "[pool]\nname = \"a\"\nprovider = \"pcie\"\ntaints = [-1]\n",
     "pool.taints must be a list of IPU numbers"},
    {"WarmOfNoSize", with_pool("provider = \"vipu\"\nwarm = { \"3\" = 1 }"),
     "pool.warm must be a table from partition sizes"},
    {"WarmOfNoCount", with_pool("provider = \"vipu\"\nwarm = { \"4\" = \"2\" }"),
     "pool.warm.4 must be a number from 0 to 256"},
    {"TlsKeyAlone", with_pool("provider = \"vipu\"\ntls = { key = \"/k.pem\" }"),
     "pool.tls.certificate must be set"},
    {"TlsWithoutAuthority", with_pool("provider = \"vipu\"\ntls = {}"), "pool.tls.ca must be set"},
    {"TlsOfAnUnknownKey", with_pool("provider = \"vipu\"\ntls = { cert = \"/k.pem\" }"),
     "unknown key 'pool.tls.cert'"},
    {"CredentialsAreRelative", with_pool("provider = \"vipu\"\ncredentials = \"c\""),
     "pool.credentials must be the absolute path"},
    {"NoController", str("[pool]\nname = \"a\"\nprovider = \"vipu\"\n", kRail),
     "pool.controller must be set"},
    {"NoSubnet", str(kPool, "[[network.rail]]\nparent = \"a\"\n"),
     "network.rail.subnet must be set"},
    {"PoolIsANumber", str("pool = 3\n", kRail), "pool must be a table"},
    {"RuntimeIsText", str("runtime = \"/usr/bin/crun\"\n", kPool, kRail),
     "runtime must be a table"},
    {"PolicyIsAListOfTables", with_more("[[policy]]\nmax_ipus = 4\n"), "policy must be a table"},
    {"HistoryTooLong", with_more("[ledger]\nhistory = \"366d\"\n"), "ledger.history: '366d'"},
    {"HistoryIsANumber", with_more("[ledger]\nhistory = 7\n"), "ledger.history must be a duration"},
    {"UnknownKeyOfLedger", with_more("[ledger]\nage = \"7d\"\n"), "ledger.age"},
    {"MaxIpus0", with_more("[policy]\nmax_ipus = 0\n"), "policy.max_ipus must be a number from 1"},
    {"MaxIpus257", with_more("[policy]\nmax_ipus = 257\n"), "policy.max_ipus must be"},
    {"MaxIpusIsText", with_more("[policy]\nmax_ipus = \"4\"\n"), "policy.max_ipus must be"},
    {"SourcesIsText", with_more("[policy]\nsources = \"env\"\n"), "policy.sources must be a list"},
    {"SourcesIsEmpty", with_more("[policy]\nsources = []\n"), "policy.sources must be a list"},
    {"SourceUnknown", with_more("[policy]\nsources = [\"env\", \"label\"]\n"), "policy.sources"},
    {"SourceIsANumber", with_more("[policy]\nsources = [1]\n"), "policy.sources must be a list"},
    {"SharedNetAdminIsText", with_more("[policy]\nshared_net_admin = \"no\"\n"),
     "policy.shared_net_admin must be"},
    {"MaxWaitTooLong", with_more("[policy]\nmax_wait = \"25h\"\n"), "policy.max_wait: '25h'"},
    {"MaxWaitIsANumber", with_more("[policy]\nmax_wait = 90\n"), "policy.max_wait must be"},
    {"MaxWaitCriIsNoTime", with_more("[policy]\nmax_wait_cri = \"soon\"\n"),
     "policy.max_wait_cri: 'soon'"},
    {"MaxWaitersNegative", with_more("[policy]\nmax_waiters = -1\n"),
     "policy.max_waiters must be a number from 0 to 10000"},
    {"AgentUnknownKey", with_more("[agent]\nshow = true\n"), "unknown key 'agent.show'"},
    {"AgentMaxIpus", with_more("[agent]\nmax_ipus = -1\n"),
     "agent.max_ipus must be a number from 0 to 10000"},
    {"AgentMaxTime", with_more("[agent]\nmax_time = \"0s\"\n"),
     "agent.max_time must be longer than 0"},
    {"MaxWaitersIsText", with_more("[policy]\nmax_waiters = \"4\"\n"),
     "policy.max_waiters must be"},
    {"PathsIsText", with_more("[runtime]\npaths = \"/usr/bin/runc\"\n"), "runtime.paths must be"},
    {"PathIsRelative", with_more("[runtime]\npaths = [\"runc\"]\n"), "runtime.paths must be"},
    {"PathsIsEmpty", with_more("[runtime]\npaths = []\n"), "runtime.paths must be"},
    {"UnknownSection", with_more("[polcy]\nmax_ipus = 4\n"),
     "line 11: unknown key 'polcy'; accepted here: runtime, pool, network, policy"},
    {"UnknownKeyOfThePool", str(kPool, "controler = \"x\"\n", kRail),
     "line 6: unknown key 'pool.controler'; accepted here: name, provider, controller, timeout"},
    {"UnknownKeyOfThePolicy", with_more("[policy]\nmax = 4\n"),
     "line 12: unknown key 'policy.max'; accepted here: max_ipus, sources, shared_net_admin"},
    {"UnknownKeyOfTheRuntime", with_more("[runtime]\npath = 4\n"), "unknown key 'runtime.path'"},
};

INSTANTIATE_TEST_SUITE_P(Examples, BadConfigTest, testing::ValuesIn(kBad),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Config, RefusesATimeoutThatNoPartitionCanKeep) {
  for (const char* timeout : {"\"90\"", "90", "\"0s\"", "\"\"", "\"25h\""}) {
    EXPECT_TRUE(test::fails(parse(str(kRail, kPool, "timeout = ", timeout, "\n")), Code::kInvalid,
                            "pool.timeout"))
        << timeout;
  }
}

TEST(Config, NamesTheLineOfASyntaxError) {
  EXPECT_TRUE(
      test::fails(parse(str(kPool, "timeout = = 3\n")), Code::kInvalid, "/etc/x.toml line 6: "));
  EXPECT_TRUE(test::fails(parse("[pool]\nname = \"a\"\nname = \"b\"\n"), Code::kInvalid, "line 3"));
  EXPECT_TRUE(test::fails(parse("[pool\n"), Code::kInvalid, "line 1"));
  EXPECT_TRUE(test::fails(parse("name = \"\xff\"\n"), Code::kInvalid, "line 1"));
}

TEST(Config, HasEveryKeyOfEveryProvider) {
  const base::Result<Config> result = parse(str(R"(
[[pool]]
name = "pod64"
provider = "vipu"
controller = "10.1.3.101:8090"
allocation = "alloc-1"
cluster = "c-1"
credentials = "/etc/c"
insecure_credentials = true
tls = { ca = "/ca.pem", certificate = "/c.pem", key = "/k.pem", server_name = "vipu" }
warm = { "4" = 2, "16" = 1, "64" = 0 }
[[pool]]
name = "slices"
provider = "ipuof"
file = "/etc/ipuof.conf.d/p64.conf"
part = "16-31"
taints = [3, 17]
health_command = "/usr/local/bin/ipu-health"
health_checks = 10
health_bad = 4
health_hold = "2d"
[[pool]]
name = "cards"
provider = "pcie"
groups = [[0, 1], [3, 2]]
backfill = false
)",
                                                kRail));
  ASSERT_TRUE(test::succeeds(result));
  const std::vector<PoolConfig>& pools = result.value().pools;
  ASSERT_EQ(pools.size(), 3U);
  EXPECT_EQ(pools[0].allocation, "alloc-1");
  EXPECT_EQ(pools[0].cluster, "c-1");
  EXPECT_EQ(pools[0].security,
            (ControllerSecurity{true, "/ca.pem", "/c.pem", "/k.pem", "vipu", "/etc/c", true}));
  EXPECT_EQ(pools[0].warm, (std::map<uint32_t, uint32_t>{{4, 2}, {16, 1}}));
  EXPECT_EQ(pools[1].provider, Provider::kIpuof);
  EXPECT_EQ(source_of(pools[1]), "ipuof:/etc/ipuof.conf.d/p64.conf");
  EXPECT_THAT(pools[1].taints, ElementsAre(3, 17));
  EXPECT_EQ(pools[1].part, (vipu::Block{16, 16}));
  EXPECT_FALSE(pools[2].part);
  EXPECT_EQ(pools[1].health_command, "/usr/local/bin/ipu-health");
  EXPECT_EQ(pools[1].damping, (vipu::Damping{10, 4, std::chrono::hours(48)}));
  EXPECT_EQ(pools[2].damping, (vipu::Damping{5, 3, std::chrono::hours(1)}));
  EXPECT_TRUE(pools[1].backfill);
  EXPECT_FALSE(pools[2].backfill);
  EXPECT_EQ(source_of(pools[2]), "pcie:");
  EXPECT_THAT(pools[2].groups, ElementsAre(ElementsAre(0, 1), ElementsAre(3, 2)));
  EXPECT_EQ(find_pool(result.value(), "").take().name, "pod64");
  EXPECT_EQ(find_pool(result.value(), "cards").take().name, "cards");
  EXPECT_TRUE(test::fails(find_pool(result.value(), "x"), Code::kInvalid,
                          "there is no pool 'x'; the pools are pod64, slices, cards"));
}

TEST(Config, TakesTheControllerFromTheHostWhereItNamesNone) {
  HostFacts host = bare_host();
  host.environment = {"VIPU_CLI_API_HOST=10.1.3.7"};
  const std::string pool = "[pool]\nname = \"a\"\nprovider = \"vipu\"\n";
  const base::Result<Config> config = parse(str(pool, kRail), host);
  ASSERT_TRUE(test::succeeds(config));
  EXPECT_EQ(config.value().pools[0].controller, "10.1.3.7:8090");
}

// What stands on a host, in the order in which it is looked for.
class DetectedPool : public testing::Test {
 protected:
  void add(const std::string& name, const std::string& text = "") {
    const std::string path = dir_ / name;
    ASSERT_TRUE(base::ensure_dir(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(base::write_atomic(path, text, {}).ok());
  }
  base::Result<Config> detect() { return parse(kRail, host_); }

  test::TempDir dir_;
  HostFacts host_{{}, dir_ / "vipu/vipu-cli.hcl", dir_ / "dev", dir_ / "ipuof.conf.d"};
};

TEST_F(DetectedPool, IsTheSharedPartitionBeforeTheCardsBeforeTheCliBeforeTheEnvironment) {
  EXPECT_TRUE(test::fails(detect(), Code::kNotFound, "no source of IPUs"));
  add("ipuof.conf.d/p64.conf");
  EXPECT_EQ(source_of(detect().take().pools[0]), "ipuof:" + (dir_ / "ipuof.conf.d/p64.conf"));
  add("dev/ipu_driver");
  EXPECT_EQ(detect().take().pools[0].provider, Provider::kIpuof) << "no card";
  add("dev/ipu0");
  EXPECT_EQ(detect().take().pools[0].provider, Provider::kPcie);
  EXPECT_TRUE(detect().take().pools[0].backfill);
  add("vipu/vipu-cli.hcl", "api-host=\"10.1.3.101\"\n");
  EXPECT_EQ(source_of(detect().take().pools[0]), "10.1.3.101:8090");
  EXPECT_FALSE(detect().take().pools[0].backfill);
  host_.environment = {"VIPU_CLI_API_HOST=10.1.3.7", "VIPU_CLI_API_PORT=8091"};
  EXPECT_EQ(source_of(detect().take().pools[0]), "10.1.3.7:8091");
}

TEST_F(DetectedPool, IsNoneWhereSeveralPartitionsAreShared) {
  add("ipuof.conf.d/p64.conf");
  add("ipuof.conf.d/p16.conf");
  EXPECT_TRUE(test::fails(detect(), Code::kNotFound, "more than one"));
}

TEST(LoadSecurity, NeedsNothingElseOfTheFileToBeRight) {
  const test::TempDir dir;
  const std::string text =
      "nonsense = 3\n[[pool]]\nname = \"a\"\nx = 1\ntls = { ca = \"/ca.pem\" }\n";
  ASSERT_TRUE(base::write_atomic(dir / "c", text, {}).ok());
  EXPECT_EQ(load_security(dir / "c", "a").ca, "/ca.pem");
  EXPECT_FALSE(load_security(dir / "c", "b").tls);
  EXPECT_FALSE(load_security(dir / "absent", "a").tls);
}

TEST(LoadRuntimes, AreTheDefaultOnesUnlessTheirOwnSectionIsRight) {
  const test::TempDir dir;
  const auto load = [&](const std::string& text) {
    EXPECT_TRUE(base::write_atomic(dir / "c", text, {}).ok());
    return load_runtimes(dir / "c");
  };
  EXPECT_EQ(load_runtimes(dir / "absent"), default_runtimes());
  EXPECT_THAT(load("nonsense = 3\n[runtime]\npaths = [\"/opt/runc\"]\n"), ElementsAre("/opt/runc"));
  EXPECT_EQ(load("[runtime]\npaths = [\"runc\"]\n"), default_runtimes());
  EXPECT_EQ(load("[[["), default_runtimes());
}

TEST(LoadConfig, ReadsTheFile) {
  const test::TempDir dir;
  ASSERT_TRUE(base::write_atomic(dir / "config.toml", str(kPool, kRail), {}).ok());
  const base::Result<Config> config = load_config(dir / "config.toml");
  ASSERT_TRUE(test::succeeds(config));
  EXPECT_EQ(config.value().pools[0].name, "pod64");
}

TEST(LoadConfig, RefusesAFileThatOthersCanChange) {
  const test::TempDir dir;
  ASSERT_TRUE(base::write_atomic(dir / "c", "[[pool]]\nname = \"a\"\ntls = { ca = \"/ca.pem\" }\n",
                                 {.mode = 0666})
                  .ok());
  EXPECT_TRUE(test::fails(load_config(dir / "c"), Code::kDenied, "mode 0666); run 'chown root: "));
  EXPECT_FALSE(load_security(dir / "c", "a").tls);
}

TEST(LoadConfig, SaysWhatToWriteWhereThereIsNoFile) {
  const base::Result<Config> config = load_config("/no/such/config.toml");
  EXPECT_TRUE(test::fails(config, Code::kNotFound, "there is no /no/such/config.toml; write one"));
}

TEST(LoadConfig, RefusesAFileThatIsTooLong) {
  const test::TempDir dir;
  ASSERT_TRUE(base::write_atomic(dir / "c", std::string((1 << 20) + 1, '\n'), {}).ok());
  EXPECT_TRUE(test::fails(load_config(dir / "c"), Code::kInvalid, "longer than 1048576 bytes"));
}

}  // namespace
}  // namespace hook::config
