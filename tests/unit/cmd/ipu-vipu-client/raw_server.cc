// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cmd/ipu-vipu-client/raw_server.h"

#include <vector>

#include "base/text.h"

namespace test {
namespace {

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

// One call: reads its message, answers it, and deletes itself.
class RawServer::Reactor final : public grpc::ServerGenericBidiReactor {
 public:
  Reactor(RawServer& server, std::string path) : server_(server), path_(std::move(path)) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    const std::lock_guard<std::mutex> lock(server_.mutex_);
    const auto at = server_.answers_.find(path_);
    if (!ok || at == server_.answers_.end()) {
      Finish({grpc::StatusCode::UNIMPLEMENTED, "no answer is known to " + path_});
      return;
    }
    server_.requests_[path_] = bytes_of(request_);
    const grpc::Slice bytes(at->second);
    answer_ = grpc::ByteBuffer(&bytes, 1);
    StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  RawServer& server_;
  std::string path_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_;
};

RawServer::RawServer() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterCallbackGenericService(this);
  server_ = builder.BuildAndStart();
}

RawServer::~RawServer() { server_->Shutdown(std::chrono::system_clock::now()); }

std::string RawServer::address() const { return base::str("127.0.0.1:", port_); }

void RawServer::answer(const std::string& path, const std::string& bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  answers_[path] = bytes;
}

std::string RawServer::request(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = requests_.find(path);
  return at == requests_.end() ? "(not called)" : at->second;
}

grpc::ServerGenericBidiReactor* RawServer::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  return new Reactor(*this, context->method());
}

}  // namespace test
