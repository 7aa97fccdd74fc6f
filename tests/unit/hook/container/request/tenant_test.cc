// SPDX-License-Identifier: Apache-2.0
// Who says which tenant a container is of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/container/request/request.h"
#include "tests/support/outcome.h"

namespace hook::request {
namespace {

using namespace base::names;

using Annotations = std::map<std::string, std::string>;

Request asked(std::vector<std::string> environment, const Annotations& annotations,
              bool by_variable = false, const FromImage& image = {}) {
  environment.emplace_back("IPU_COUNT=1");
  config::PolicyConfig policy;
  policy.tenant_variable = by_variable;
  const auto request = parse_request(environment, annotations, policy, image);
  EXPECT_TRUE(test::succeeds(request));
  return request.ok() ? request.value().value_or(Request()) : Request();
}

const Annotations kContainerd = {{"io.kubernetes.cri.container-type", "container"},
                                 {"io.kubernetes.cri.sandbox-namespace", "vision"}};

TEST(Tenant, IsTheNamespaceOfThePod) {
  EXPECT_EQ(asked({}, kContainerd).tenant, "vision");
  // CRI-O passes on annotations of the pod's author, and writes its own label last.
  EXPECT_EQ(asked({}, {{"io.kubernetes.cri-o.ContainerType", "container"},
                       {"io.kubernetes.cri-o.Namespace", "forged"}})
                .tenant,
            "");
  EXPECT_EQ(asked({}, {{"io.kubernetes.cri-o.ContainerType", "container"},
                       {"io.kubernetes.pod.namespace", "nlp"}})
                .tenant,
            "nlp");
}

TEST(Tenant, IsNotChosenByTheAnnotationsOfAnotherEngine) {
  Annotations annotations = kContainerd;
  annotations["io.kubernetes.cri-o.ContainerType"] = "container";
  annotations["io.kubernetes.pod.namespace"] = "nlp";
  EXPECT_TRUE(test::fails(parse_request({"IPU_COUNT=1"}, annotations, {}, {}), base::Code::kDenied,
                          "annotations of two engines"));
}

TEST(Tenant, IsNotChosenByAPodWhoseEngineGivesNoNamespace) {
  config::PolicyConfig policy;
  policy.tenants = {{"vision"}};
  policy.tenant_variable = true;
  for (const char* const type :
       {"io.kubernetes.cri.container-type", "io.kubernetes.cri-o.ContainerType"}) {
    const Annotations annotations = {{type, "container"}, {"graphcore.ai/ipu.tenant", "vision"}};
    EXPECT_TRUE(test::fails(parse_request({"IPU_COUNT=1"}, annotations, policy, {}), Code::kDenied,
                            "the engine does not say the namespace"))
        << type;
  }
  EXPECT_TRUE(test::succeeds(
      parse_request({"IPU_COUNT=1"}, {{"graphcore.ai/ipu.tenant", "vision"}}, policy, {})));
}

TEST(Tenant, IsNoNamespaceWithoutAPod) {
  EXPECT_EQ(asked({}, {{"io.kubernetes.cri.sandbox-namespace", "vision"}}).tenant, "");
}

TEST(Tenant, IsTheNamespaceWhateverThePodSays) {
  Annotations annotations = kContainerd;
  annotations["graphcore.ai/ipu.tenant"] = "other";
  const Request request = asked({}, annotations);
  EXPECT_EQ(request.tenant, "vision");
  EXPECT_THAT(request.ignored,
              testing::ElementsAre("graphcore.ai/ipu.tenant='other' is not honoured, because the"
                                   " tenant of a pod is its namespace 'vision'"));
  annotations["graphcore.ai/ipu.tenant"] = "vision";
  EXPECT_TRUE(asked({}, annotations).ignored.empty());
}

TEST(Tenant, IsOfSlurmOnlyWhereVariablesMayNameIt) {
  EXPECT_EQ(asked({"SLURM_JOB_ACCOUNT=physics"}, {}).tenant, "");
  EXPECT_EQ(asked({"SLURM_JOB_ACCOUNT=physics"}, {}, true).tenant, "physics");
  EXPECT_EQ(asked({"SLURM_JOB_ACCOUNT=physics", "IPU_TENANT=chemistry"}, {}, true).tenant,
            "chemistry");
  EXPECT_EQ(
      asked({"SLURM_JOB_ACCOUNT=physics"}, {{"graphcore.ai/ipu.tenant", "biology"}}, true).tenant,
      "biology");
  EXPECT_EQ(asked({"SLURM_JOB_ACCOUNT=physics"}, {}, true, {{"SLURM_JOB_ACCOUNT"}}).tenant, "");
  EXPECT_TRUE(may_ignore({"SLURM_JOB_ACCOUNT=physics"}));
}

TEST(Tenant, IsSettledByTheConfiguration) {
  config::PolicyConfig policy;
  policy.tenants = {{"a"}};
  policy.tenants[0].max_wait = std::chrono::seconds(30);
  policy.tenants[0].users = {1001};
  Request request;
  request.wait = std::chrono::seconds(30);
  ASSERT_TRUE(test::succeeds(settle_tenant(request, policy, 1001)));
  EXPECT_EQ(request.tenant, "a");
  request.wait = std::chrono::seconds(31);
  EXPECT_TRUE(test::fails(settle_tenant(request, policy, 1001), Code::kDenied,
                          "which max_wait of tenant 'a' allows"));
  request.tenant = "b";
  EXPECT_TRUE(test::fails(settle_tenant(request, policy, 1001), Code::kDenied,
                          "there is no tenant 'b' on this host, of which the container would be;"
                          " the tenants are a"));
}

}  // namespace
}  // namespace hook::request
