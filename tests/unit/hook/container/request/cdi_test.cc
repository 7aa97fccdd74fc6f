// SPDX-License-Identifier: Apache-2.0
#include "hook/container/request/cdi.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace hook::request {
namespace {

using base::str;
using Annotations = std::map<std::string, std::string>;

std::string hook(const std::string& asked) {
  return str(R"({"path": "/bin/ipu-container-hook", "args": ["hook", "createRuntime", "--cdi", )",
             asked, "]}");
}

std::string config(const std::string& hooks) {
  return str(R"({"hooks": {"createRuntime": [)", hooks, "]}}");
}

const std::string kCard0 = hook(R"("graphcore.ai/ipu.devices=0", "graphcore.ai/ipu.pool=c")");
const std::string kCard1 = hook(R"("graphcore.ai/ipu.devices=1", "graphcore.ai/ipu.pool=c")");
const std::string kPair = hook(R"("graphcore.ai/ipu.devices=0,1", "graphcore.ai/ipu.pool=c")");
const std::string kAll = hook(R"("graphcore.ai/ipu.devices=all", "graphcore.ai/ipu.pool=c")");
const std::string kP0 = hook(R"("graphcore.ai/ipu.partition=p0", "graphcore.ai/ipu.pool=c")");
const std::string kP1 = hook(R"("graphcore.ai/ipu.partition=p1", "graphcore.ai/ipu.pool=c")");

std::string refusal(const std::string& hooks, const Annotations& annotations = {}) {
  const auto asked = with_cdi(config(hooks), annotations);
  return asked.ok() ? "" : asked.error().message();
}

TEST(CdiTest, WithoutACdiDeviceTheAnnotationsStay) {
  const Annotations annotations = {{"a", "b"}};
  for (const std::string text : {"", "no JSON", R"({"hooks": {}})", R"({"x": "--cdi"})"}) {
    const auto asked = with_cdi(text, annotations);
    ASSERT_TRUE(asked.ok()) << text;
    EXPECT_EQ(asked.value(), annotations);
  }
}

TEST(CdiTest, ADeviceIsItsAnnotations) {
  const auto asked = with_cdi(config(kP0), {{"a", "b"}});
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked.value(),
            (Annotations{
                {"a", "b"}, {"graphcore.ai/ipu.partition", "p0"}, {"graphcore.ai/ipu.pool", "c"}}));
}

TEST(CdiTest, CardsAddUp) {
  const auto asked = with_cdi(config(str(kCard1, ',', kCard0)), {});
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked.value().at("graphcore.ai/ipu.devices"), "1,0");
}

TEST(CdiTest, ACardTwiceIsRefused) {
  EXPECT_NE(refusal(str(kCard0, ',', kCard0)).find("card 0 twice"), std::string::npos);
  EXPECT_NE(refusal(str(kCard1, ',', kPair)).find("card 1 twice"), std::string::npos);
}

TEST(CdiTest, AllBesideAnotherIsRefused) {
  EXPECT_NE(refusal(str(kAll, ',', kCard0)).find("'all' has every card"), std::string::npos);
  EXPECT_NE(refusal(str(kCard0, ',', kAll)).find("'all' has every card"), std::string::npos);
}

TEST(CdiTest, TwoPartitionsAreRefusedAndOneTwiceIsOne) {
  EXPECT_NE(refusal(str(kP0, ',', kP1)).find("'p0' and 'p1'"), std::string::npos);
  EXPECT_EQ(refusal(str(kP0, ',', kP0)), "");
}

TEST(CdiTest, AnAnnotationThatContradictsIsRefused) {
  EXPECT_NE(refusal(kP0, {{"graphcore.ai/ipu.partition", "p1"}}).find("contradicts a CDI device"),
            std::string::npos);
  EXPECT_NE(refusal(kCard0, {{"graphcore.ai/ipu.devices", "none"}}).find("contradicts"),
            std::string::npos);
  EXPECT_EQ(refusal(kP0, {{"graphcore.ai/ipu.partition", "p0"}}), "");
}

TEST(CdiTest, AMalformedHookIsRefused) {
  EXPECT_NE(refusal(hook(R"("ipu=0")")).find("ipuctl cdi generate"), std::string::npos);
  EXPECT_NE(refusal(hook("3")), "");
  EXPECT_NE(refusal(hook(R"("graphcore.ai/ipu.devices")")), "");
  EXPECT_FALSE(with_cdi(R"({"hooks": {"createRuntime": ["--cdi")", {}).ok());
}

TEST(CdiTest, OtherHooksSayNothing) {
  EXPECT_EQ(
      refusal(str(R"({"path": "/bin/true"}, 3, {"args": "--cdi"}, {"args": ["a", 1]},)", kP0)), "");
  EXPECT_EQ(refusal(R"({"path": "/bin/other-hook", "args": ["other-hook", "--cdi", "x"]})"), "");
}

}  // namespace
}  // namespace hook::request
