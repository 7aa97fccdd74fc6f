// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/local_controller.h"

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "vipu/local/partition_store.h"

namespace vipu::local {
namespace {

using namespace base::names;
using base::Removed;

Error not_found(const std::string& id) {
  return {Code::kNotFound, str("there is no partition ", quote(id))};
}

auto find_record(std::vector<Record>& records, const std::string& id) {
  return std::find_if(records.begin(), records.end(),
                      [&](const Record& record) { return record.id == id; });
}

std::string why_gone(const std::string& id, const std::vector<std::string>& gone) {
  return str("partition ", quote(id), " is in state ERROR: its IPUs ", base::join(gone, ", "),
             " are not in the pool any more");
}

class LocalController final : public Controller {
 public:
  explicit LocalController(LocalOptions options)
      : options_(std::move(options)), store_(options_.state_file) {}

  Result<Grant> create(const PartitionRequest& request, const Deadline& deadline) override {
    return run("create", deadline, [&] { return add(request, deadline); });
  }

  Status submit(const PartitionRequest& request, const Deadline& deadline) override {
    return run("submit", deadline, [&]() -> Status {
      TRY(add(request, deadline));
      return {};
    });
  }

  Result<Grant> wait(const std::string& id, const Deadline& deadline) override {
    return run("wait", deadline, [&] { return ready_grant(id); });
  }

  Result<std::vector<Partition>> list(const Deadline& deadline) override {
    return run("list", deadline, [&]() -> Result<std::vector<Partition>> {
      const Survey survey = TRY(look());
      return survey.partitions;
    });
  }

  Result<PartitionStatus> status(const std::string& id, const Deadline& deadline) override {
    return run("status", deadline, [&]() -> Result<PartitionStatus> {
      const Held held = TRY(get(id));
      PartitionStatus status{ReadyState::kActive, OperationState::kIdle};
      if (!held.ipus.gone.empty()) {
        status.ready = ReadyState::kError;
        status.errors = {why_gone(id, held.ipus.gone)};
      }
      return status;
    });
  }

  Result<Grant> config(const std::string& id, std::optional<uint32_t> gcd,
                       const Deadline& deadline) override {
    return run("config", deadline, [&]() -> Result<Grant> {
      const Held held = TRY(get(id));
      if (!held.ipus.gone.empty()) return Error(Code::kNotFound, why_gone(id, held.ipus.gone));
      if (gcd.value_or(0) != 0) {
        return Error(Code::kNotFound, str("partition ", quote(id), " has no GCD ", *gcd));
      }
      return held.pool.grant(held.ipus.numbers);
    });
  }

  Status reset(const std::string& id, Relocate, const Deadline& deadline) override {
    return run("reset", deadline, [&]() -> Status {
      TRY(ready_grant(id));
      return {};
    });
  }

  Result<Removed> remove(const std::string& id, Force, const Deadline& deadline) override {
    return run("remove", deadline, [&]() -> Result<Removed> {
      Removed removed = Removed::kWasAbsent;
      const auto erase = [&](std::vector<Record>& records) -> Status {
        const auto at = find_record(records, id);
        if (at == records.end()) return {};
        records.erase(at);
        removed = Removed::kNow;
        return {};
      };
      TRY(store_.change(erase, deadline));
      return removed;
    });
  }

  Result<Survey> survey(const Deadline& deadline) override {
    return run("survey", deadline, [&] { return look(); });
  }

  Result<std::vector<IpuAttributes>> attributes(const std::vector<std::string>& agents,
                                                const Deadline& deadline) override {
    return run("attributes", deadline, [&]() -> Result<std::vector<IpuAttributes>> {
      std::vector<IpuAttributes> all = TRY(options_.look()).attributes;
      std::erase_if(all, [&](const IpuAttributes& ipu) {
        return !agents.empty() &&
               std::find(agents.begin(), agents.end(), ipu.agent) == agents.end();
      });
      return all;
    });
  }

  Result<std::vector<std::string>> addresses(const Deadline& /*deadline*/) override {
    return std::vector<std::string>();
  }

  Result<std::string> version(const Deadline& deadline) override {
    return run("version", deadline, [&]() -> Result<std::string> { return options_.version; });
  }

 private:
  struct Held {
    Pool pool;
    Found ipus;
  };

  // Returns CALL's result, if DEADLINE has not passed. Errors name the pool and the call.
  template <typename Call>
  auto run(const char* name, const Deadline& deadline, const Call& call) -> decltype(call()) {
    const std::string context = str("pool ", quote(options_.name), ": ", name);
    if (deadline.passed()) return Error(Code::kTimeout, str(context, ": no time is left"));
    auto result = call();
    if (result.ok()) return result;
    return std::move(result).error().wrap(context);
  }

  Result<Survey> look() const {
    const Pool pool = TRY(options_.look());
    const std::vector<Record> records = TRY(store_.read());
    return survey_of(pool, records);
  }

  Result<Grant> add(const PartitionRequest& request, const Deadline& deadline) const {
    TRY(check_request(request));
    Grant grant;
    const auto edit = [&](std::vector<Record>& records) -> Status {
      if (find_record(records, request.id) != records.end()) {
        return Error(Code::kExists, str("there is a partition ", quote(request.id)));
      }
      const Pool pool = TRY(options_.look());
      if (!pool.why_no_create.empty()) return Error(Code::kUnsupported, pool.why_no_create);
      const Survey survey = survey_of(pool, records);
      const std::vector<uint32_t> numbers = TRY(choose(pool, survey, request));
      Record made{request.id, {}};
      for (const uint32_t number : numbers) made.ipus.push_back(pool.ipus[number]);
      records.push_back(std::move(made));
      grant = pool.grant(numbers);
      return {};
    };
    TRY(store_.change(edit, deadline));
    return grant;
  }

  Result<Held> get(const std::string& id) const {
    Pool pool = TRY(options_.look());
    std::vector<Record> records = TRY(store_.read());
    const auto at = find_record(records, id);
    if (at == records.end()) return not_found(id);
    Found ipus = local::find(pool, *at);
    return Held{std::move(pool), std::move(ipus)};
  }

  Result<Grant> ready_grant(const std::string& id) const {
    const Held held = TRY(get(id));
    if (!held.ipus.gone.empty()) return Error(Code::kInternal, why_gone(id, held.ipus.gone));
    return held.pool.grant(held.ipus.numbers);
  }

  LocalOptions options_;
  PartitionStore store_;
};

}  // namespace

std::unique_ptr<Controller> make_local_controller(LocalOptions options) {
  return std::make_unique<LocalController>(std::move(options));
}

}  // namespace vipu::local
