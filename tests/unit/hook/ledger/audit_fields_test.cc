// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/audit_fields.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/audit_log.h"
#include "hook/ledger/events.h"

namespace hook::ledger {
namespace {

using namespace base::names;

const std::string kDetails =
    R"({"tenant":"a","ipus":4,"addresses":["10.5.200.10"],"uid":0,"loginuid":null,"program":"x"})";

std::string line(const std::string& text) {
  const Event event{7, 1'000'000'000'000, "lease", "c", "pod64", "p", EventKind::kState, text};
  Event whole = event;
  whole.details = kDetails;
  return audit_line(whole, std::string(64, 'a'));
}

// What a reader of documents finds in TEXT.
Result<AuditFields> read_whole(const std::string& text) {
  const base::Json json = TRY(base::parse_json(text, "the line"));
  AuditFields fields;
  fields.number = TRY(base::get_int(json, "number", "the line"));
  fields.time = TRY(base::get_string(json, "time", "the line"));
  fields.previous = TRY(base::get_string(json, "previous", "the line"));
  return fields;
}

void expect_same(const std::string& text) {
  const Result<AuditFields> found = read_audit_fields(text);
  const Result<AuditFields> wanted = read_whole(text);
  ASSERT_EQ(found.ok(), wanted.ok()) << text;
  if (!wanted.ok()) {
    EXPECT_EQ(found.error().message(), wanted.error().message());
    return;
  }
  EXPECT_EQ(found.value().number, wanted.value().number) << text;
  EXPECT_EQ(found.value().time, wanted.value().time) << text;
  EXPECT_EQ(found.value().previous, wanted.value().previous) << text;
}

TEST(AuditFields, AreThoseOfTheLine) {
  const AuditFields fields = read_audit_fields(line("INTENT")).take();
  EXPECT_EQ(fields.number, 7);
  EXPECT_EQ(fields.time, "2001-09-09T01:46:40.000Z");
  EXPECT_EQ(fields.previous, std::string(64, 'a'));
}

TEST(AuditFields, AreThoseOfTheDocumentWhateverIsChangedInALine) {
  for (const char* text : {"INTENT", "a \"quoted\" word\tand\\", "caf\xc3\xa9 \x01"}) {
    const std::string whole = line(text);
    for (size_t at = 0; at <= whole.size(); ++at) {
      expect_same(whole.substr(0, at));
      expect_same(str(whole.substr(0, at), whole.substr(std::min(at + 1, whole.size()))));
      for (const char byte : std::string("\"\\{}[],: 0-.eu\n\0\x80", 17)) {
        expect_same(str(whole.substr(0, at), byte, whole.substr(at)));
        std::string other = whole;
        if (at < other.size()) other[at] = byte;
        expect_same(other);
      }
    }
  }
}

TEST(AuditFields, AreThoseOfTheDocumentIfTheLineIsOdd) {
  const std::string rest = R"("time":"t","previous":"p")";
  for (const char* number :
       {"0", "-0", "-7", "00", "1.5", "1e3", "9223372036854775807", "9223372036854775808", "\"7\"",
        "null", "[]", "{}", "[[\"a\"]]", "7 ", "true", "truefalse"}) {
    expect_same(str("{\"number\":", number, ",", rest, "}"));
  }
  for (const char* more :
       {",\"time\":\"twice\"", ",\"\\u0074ime\":\"twice\"", ",\"a\":[]", ",\"a\":{\"number\":1}",
        ",\"a\":[\"b\",\"c\"]", ",\"a\":[\"b\",]", ",\"a\":\"\\u0041\"", ",\"a\":\"\\x\"", ",",
        ",,", ",\"a\"", "}", ",\"number\":8", ",\"\":\"\"", ",\"a\":\"\x7f\""}) {
    expect_same(str("{\"number\":7,", rest, more, "}"));
  }
  std::string many = str("{\"number\":7,", rest);
  for (int i = 0; i < 40; ++i) {
    many += str(",\"key", i, "\":", i);
    expect_same(many + "}");
    expect_same(many + ",\"key0\":0}");
  }
  for (const char* text :
       {"", "{}", "[]", "{", "\xEF\xBB\xBF{}", "{\"number\":7}",
        R"({"number":7,"time":"\u0041","previous":"p"})",
        R"({"number":7,"time":"t","previous":"a\"b"})", R"({"number":7,"time":1})"}) {
    expect_same(text);
  }
}

}  // namespace
}  // namespace hook::ledger
