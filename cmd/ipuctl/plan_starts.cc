// SPDX-License-Identifier: Apache-2.0
// The commands that start a plan.
#include <algorithm>
#include <cctype>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/print_plan.h"
#include "hook/container/request/request.h"

namespace ipuctl {
namespace {

using namespace base::names;

// Returns TEXT as one word of a shell.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "_@%+=:,./-";
  const bool is_plain =
      !text.empty() && std::all_of(text.begin(), text.end(), [&](unsigned char c) {
        return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
      });
  if (is_plain) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// Returns "t8p8r4", or with a number what nobody has yet.
std::string free_name(const vipu::plan::Split& split, const std::set<std::string>& taken) {
  const std::string name = str('t', split.tensor, 'p', split.pipeline, 'r', split.replicas);
  std::string free = name;
  for (size_t number = 2; taken.contains(free); ++number) free = str(name, '-', number);
  return free;
}

struct Asked {
  std::string_view variable;
  std::string value;
};

std::string docker_run(const StartPlace& place, const std::vector<Asked>& all,
                       const std::string& launcher) {
  std::string line = "docker run --rm --runtime=ipu";
  const auto ask = [&](const Asked& asked) {
    line += place.by_variable ? str(" -e ", asked.variable)
                              : str(" --annotation ", hook::request::annotation_of(asked.variable));
    line += '=' + shell_word(asked.value);
  };
  if (!place.pool.empty()) ask({"IPU_POOL", place.pool});
  for (const Asked& asked : all) ask(asked);
  line += str(' ', shell_word(place.image), launcher);
  for (const std::string& word : place.program) line += ' ' + shell_word(word);
  return line;
}

// Makes a partition of GCDS, runs a container on it, and removes it.
std::vector<std::string> on_named(const vipu::plan::Plan& plan, const StartPlace& place,
                                  uint64_t gcds, const std::vector<Asked>& more,
                                  const std::string& launcher) {
  const vipu::plan::Partitions& partitions = plan.partitions;
  const std::string name = free_name(plan.split, place.taken);
  const std::string of_pool = place.pool.empty() ? "" : str(" --pool ", shell_word(place.pool));
  std::string create = str("ipuctl partition create ", name, " --size ", partitions.size);
  if (partitions.domains > 1) create += str(" --segments ", partitions.domains);
  if (gcds > 1) create += str(" --gcds ", gcds);
  std::vector<Asked> asked = {{"IPU_PARTITION", name}};
  asked.insert(asked.end(), more.begin(), more.end());
  // A container that has ended has its partition for a moment more.
  const std::string remove = str("ipuctl partition remove ", name, of_pool);
  return {create + of_pool, docker_run(place, asked, launcher),
          str("timeout 60 sh -c 'until ", remove, "; do sleep 1; done'")};
}

std::string poprun(const vipu::plan::Plan& plan, const std::string& partition) {
  return str(" poprun --vipu-partition=", partition,
             " --reset-partition=no --update-partition=no --remove-partition=no --num-instances=",
             plan.launch.instances, " --num-replicas=", plan.split.replicas,
             " --ipus-per-replica=", plan.split.of_replica());
}

}  // namespace

std::vector<Start> starts_of(const vipu::plan::Plan& plan, const StartPlace& place) {
  std::vector<Start> starts;
  if (plan.has_errors() || plan.partitions.count != 1) return starts;
  if (!place.has_room && place.wait.empty()) return starts;
  // Nothing waits for 'ipuctl partition create'.
  const bool may_name = place.has_controller && place.has_room;
  if (plan.partitions.domains == 1 || !place.has_controller) {
    std::vector<Asked> asked = {{"IPU_COUNT", std::to_string(plan.partitions.size)}};
    if (!place.wait.empty()) asked.push_back({"IPU_WAIT", place.wait});
    starts.push_back({"process", {docker_run(place, asked, "")}});
  } else if (may_name) {
    starts.push_back({"process", on_named(plan, place, 1, {}, "")});
  }
  // poprun gives each GCD whole replicas, and leaves none of its IPUs out.
  const bool fits_poprun = plan.split.replicas > 1 && plan.partitions.idle == 0;
  if (may_name && place.has_endpoint && fits_poprun) {
    const std::string launcher = poprun(plan, free_name(plan.split, place.taken));
    const std::vector<Asked> more = {{"IPU_GCD", "all"}, {"IPU_VIPU_ENDPOINT", "1"}};
    starts.push_back({"poprun", on_named(plan, place, plan.launch.instances, more, launcher)});
  }
  return starts;
}

}  // namespace ipuctl
