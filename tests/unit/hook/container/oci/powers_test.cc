// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/powers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"

namespace hook::oci {
namespace {

using namespace base::names;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kNames = {"CAP_NET_ADMIN", "CAP_NET_RAW"};

std::string reduced(const std::string& text, Document document = Document::kSpec) {
  const Result<Powers> powers = find_powers(text, document, kNames);
  EXPECT_TRUE(test::succeeds(powers)) << text;
  return powers.ok() ? without(text, powers.value().cuts) : "";
}

std::string set_of(const std::string& items) {
  return str(R"({"process": {"capabilities": {"bounding": [)", items, R"(]}}, "linux": 1})");
}

std::vector<std::string> namespaces_of(const std::string& text) {
  return find_powers(text, Document::kSpec, kNames).take().namespaces;
}

TEST(Powers, CutsTheCapabilitiesAndNothingElse) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("CAP_NET_RAW")", ""},
      {R"("CAP_NET_RAW", "CAP_NET_ADMIN")", ""},
      {R"( "CAP_KILL", "CAP_NET_RAW" , "CAP_CHOWN" )", R"( "CAP_KILL" , "CAP_CHOWN" )"},
      {R"("CAP_NET_RAW", "CAP_KILL")", R"("CAP_KILL")"},
      {R"("CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_KILL")", R"("CAP_KILL")"},
      {R"("CAP_KILL", "CAP_NET_RAW", "CAP_NET_ADMIN")", R"("CAP_KILL")"},
      {R"("CAP_NET_RAW", "CAP_KILL", "CAP_NET_RAW", null)", R"("CAP_KILL", null)"},
      {R"("cap_net_raw", "CAP\u005fNET_RAW", "CAP_NET_RAWS")", R"("CAP_NET_RAWS")"},
      {R"("CAP_KILL")", R"("CAP_KILL")"},
      {"", ""},
  };
  for (const auto& [before, after] : cases) {
    EXPECT_EQ(reduced(set_of(before)), set_of(after)) << before;
  }
}

TEST(Powers, CutsWhatARuntimeMayTakeForTheCapabilities) {
  for (const char* item :
       {R"("CAP_NET_ADMIN=")", R"("cap_net_raw+ep")", R"("12")", R"("CAP_12")",
        R"("CAP_NET_RAW\u0000x")", R"("NET_RAW")", R"("all")", R"("")", R"("\ud800")"}) {
    EXPECT_EQ(reduced(set_of(str(item, R"(, "CAP_KILL")"))), set_of(R"("CAP_KILL")")) << item;
  }
}

TEST(Powers, FindsEachSetInEachSpellingThatRuncTakes) {
  EXPECT_EQ(
      reduced(
          R"({"PROCESS":{"capabilitie\u017f":{"effective":["CAP_NET_RAW"],"x":["CAP_NET_ADMIN","CAP_KILL"]}},)"
          R"("process":{"Capabilities":{"permitted":["CAP_NET_RAW"]}}})"),
      R"({"PROCESS":{"capabilitie\u017f":{"effective":[],"x":["CAP_KILL"]}},)"
      R"("process":{"Capabilities":{"permitted":[]}}})");
  // Strings end for crun where they have a NUL, whatever follows.
  for (const char* end : {R"(\u0000)", R"(\u0000x)", R"(\u0000\ud800)", R"(\u0000\\)"}) {
    const std::string key = str(R"({"process)", end, R"(":{"capabilities)", end, R"(":{"a":[)");
    EXPECT_EQ(reduced(str(key, R"("CAP_NET_RAW"]}}})")), str(key, "]}}}")) << end;
  }
  EXPECT_EQ(reduced(R"({"process\\u0000":{"capabilities":{"a":["CAP_NET_RAW"]}}})"),
            R"({"process\\u0000":{"capabilities":{"a":["CAP_NET_RAW"]}}})");
  EXPECT_EQ(reduced(R"({"args":["CAP_NET_RAW"],"capabilities":{"ambient":["CAP_NET_RAW"]}})",
                    Document::kProcess),
            R"({"args":["CAP_NET_RAW"],"capabilities":{"ambient":[]}})");
}

TEST(Powers, LeavesThatNameElsewhere) {
  for (const char* text :
       {R"({"process":{"env":["CAP_NET_RAW"]}})",
        R"({"capabilities":{"bounding":["CAP_NET_RAW"]}})",
        R"({"a":{"process":{"capabilities":{"bounding":["CAP_NET_RAW"]}}}})",
        R"({"annotations":{"process":"{\"capabilities\":{\"bounding\":[\"CAP_NET_RAW\"]}}"}})"}) {
    EXPECT_EQ(reduced(text), text);
  }
}

TEST(Powers, FindsThePathsOfNamespaces) {
  EXPECT_THAT(
      namespaces_of(R"({"linux":{"namespaces":[{"type":"pid","path":"/p"},{"type":"network"},)"
                    R"({"path":"\/n","type":"network"}]}})"),
      ElementsAre("/p", "/n"));
  EXPECT_THAT(
      namespaces_of(R"({"Linux":{"namespaceſ":[{"Type":"network","PATH":"/n","path":"/o"}]}})"),
      ElementsAre("/n", "/o"));
  EXPECT_THAT(namespaces_of(R"({"linux\u0000x":{"namespaces":[{"path\u0000":"/n"}]}})"),
              ElementsAre("/n"));
  EXPECT_THAT(namespaces_of(
                  R"({"linux":{"namespaces":[{"path":"/n"}],"Namespaces":[{"type":"network"}]}})"),
              ElementsAre("/n"));
  EXPECT_THAT(namespaces_of(R"({"linux":{"namespaces":[{"type":"network"}]}})"), IsEmpty());
  EXPECT_THAT(namespaces_of(R"({"namespaces":[{"type":"network","path":"/n"}]})"), IsEmpty());
  EXPECT_THAT(namespaces_of(R"({"a":1} garbage that runc does not read)"), IsEmpty());
}

TEST(Powers, RefusesWhatIsNoJson) {
  for (const std::string& text :
       {std::string(), std::string("no"), std::string("{"), std::string("{]"),
        std::string(R"({"a)"), std::string(R"({"a":/* */1})"), std::string(R"({"a":1/*})"),
        std::string(R"({"a":1/*,"b":{n*/,"process":{},"c":1/*}n*/})"), std::string(R"({"a":nul})"),
        std::string("\xef\xbb\xbf{}"), std::string(20'000, '[')}) {
    EXPECT_TRUE(
        test::fails(find_powers(text, Document::kSpec, kNames), Code::kInvalid, "malformed"))
        << text.substr(0, 20);
  }
}

TEST(Powers, TakesLinearTime) {
  std::string items;
  for (int i = 0; i < 200'000; ++i) items += R"("CAP_NET_RAW","CAP_KILL",)";
  const std::string text = str(R"({"annotations":{"a":[[[[{"b":")", std::string(4 << 20, '\\'),
                               R"("}]]]]},)", set_of(items + R"("CAP_CHOWN")").substr(1));
  EXPECT_EQ(reduced(text).size(),
            text.size() - 200'000 * std::string_view(R"("CAP_NET_RAW",)").size());
}

}  // namespace
}  // namespace hook::oci
