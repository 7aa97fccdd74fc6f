// SPDX-License-Identifier: Apache-2.0
#include "vipu/busy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/outcome.h"

namespace vipu {
namespace {

using base::Code;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(BusyTest, ReadsThePartOfEachIpu) {
  EXPECT_THAT(
      parse_busy(R"({"ipus":[{"ipu":"10.5.1.1:3","busy":0.25},{"ipu":"10.5.1.1:0","busy":1},
                             {"ipu":"0000:35:00.0","busy":0,"note":"idle"}],"at":7})")
          .take(),
      ElementsAre(Pair("0000:35:00.0", 0), Pair("10.5.1.1:0", 1), Pair("10.5.1.1:3", 0.25)));
  EXPECT_THAT(parse_busy(R"({"ipus":[]})").take(), IsEmpty());
}

TEST(BusyTest, RefusesWhatIsNoPart) {
  for (const char* busy :
       {"-0.01", "1.01", "50", "1e300", "1e999", "-1e999", "18446744073709551616", "NaN",
        "Infinity", "null", "true", "\"0.5\"", "[0.5]", "{}", ""}) {
    const std::string text = std::string(R"({"ipus":[{"ipu":"a:0","busy":)") + busy + "}]}";
    EXPECT_TRUE(test::fails(parse_busy(text), Code::kInvalid, "")) << busy;
  }
}

TEST(BusyTest, RefusesWhatIsNoListOfIpus) {
  const std::string long_name(300, 'a');
  for (const std::string& text :
       {std::string(), std::string("no IPU is attached"), std::string("[]"), std::string("{}"),
        std::string(R"({"ipus":{}})"), std::string(R"({"ipus":[1]})"),
        std::string(R"({"ipus":[{"busy":0.5}]})"), std::string(R"({"ipus":[{"ipu":"a:0"}]})"),
        std::string(R"({"ipus":[{"ipu":"","busy":0.5}]})"),
        std::string(R"({"devices":[{"pci id":"","ipu utilisation":"1.00%"}]})"),
        std::string(R"({"ipus":[{"ipu":7,"busy":0.5}]})"),
        std::string(R"({"ipus":[{"ipu":"a\nb","busy":0.5}]})"),
        R"({"ipus":[{"ipu":")" + long_name + R"(","busy":0.5}]})",
        std::string(R"({"ipus":[{"ipu":"a:0","busy":0.5}]} more)")}) {
    EXPECT_TRUE(test::fails(parse_busy(text), Code::kInvalid, "")) << text;
  }
  std::string many = R"({"ipus":[)";
  for (int i = 0; i < 4097; ++i)
    many +=
        (i == 0 ? "" : ",") + std::string(R"({"ipu":"a:)") + std::to_string(i) + R"(","busy":0})";
  EXPECT_TRUE(test::fails(parse_busy(many + "]}"), Code::kInvalid, "ipus"));
}

// Which of two would be true?
TEST(BusyTest, RefusesAnIpuThatIsThereTwice) {
  EXPECT_TRUE(
      test::fails(parse_busy(R"({"ipus":[{"ipu":"a:0","busy":0.5},{"ipu":"a:0","busy":0.5}]})"),
                  Code::kInvalid, "IPU 'a:0' is there twice"));
  EXPECT_TRUE(test::fails(parse_busy(R"({"devices":[{"pci id":"a","ipu utilisation":"0.00%"},
                                                    {"pci id":"a","ipu utilisation":"1.00%"}]})"),
                          Code::kInvalid, "is there twice"));
}

TEST(BusyTest, ReadsTheUtilisationOfCardsThatGcInventoryLists) {
  EXPECT_THAT(parse_busy(R"({"devices":[
      {"id":"0","pci id":"0000:35:00.0","board serial number":"7","ipu utilisation":"12.50%"},
      {"id":"1","pci id":"0000:36:00.0","ipu utilisation":"100.00%"},
      {"id":"2","target":"Multi IPU"}]})")
                  .take(),
              ElementsAre(Pair("0000:35:00.0", 0.125), Pair("0000:36:00.0", 1)));
  for (const char* percent : {"100.01%", "-1.00%", "12.5%", "12.50", "12%", "%", ".%", "a.00%",
                              "1.0a%", "12.500%", "99999999999.00%", " 1.00%", ""}) {
    const std::string text =
        std::string(R"({"devices":[{"pci id":"a","ipu utilisation":")") + percent + "\"}]}";
    EXPECT_TRUE(test::fails(parse_busy(text), Code::kInvalid, "ipu utilisation")) << percent;
  }
  EXPECT_TRUE(test::fails(parse_busy(R"({"devices":[{"id":"0","ipu utilisation":"1.00%"}]})"),
                          Code::kInvalid, "no card with a \"pci id\""));
}

TEST(BusyTest, SaysThatGcMonitorDoesNotTell) {
  EXPECT_TRUE(test::fails(
      parse_busy(R"({"cards":[{"IPU-M":"10.1.5.10","ipus":[{"ID":"0","PCIe ID":"3"}]}]})"),
      Code::kInvalid, "'gc-monitor -j' does not say how busy IPUs are"));
}

}  // namespace
}  // namespace vipu
