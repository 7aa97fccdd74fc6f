// SPDX-License-Identifier: Apache-2.0
// RawServer: answers any gRPC call with bytes that a test put together, and keeps the bytes that
// came. It knows nothing of the messages.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace test {

class RawServer final : private grpc::CallbackGenericService {
 public:
  RawServer();
  ~RawServer() override;

  [[nodiscard]] std::string address() const;  // "127.0.0.1:PORT"

  // The bytes of the answer to each call of PATH, e.g. "/virmgrpc.VersionService/GetVersion".
  void answer(const std::string& path, const std::string& bytes);
  // The bytes of the last request to PATH; "(not called)" if there was none.
  [[nodiscard]] std::string request(const std::string& path);

 private:
  class Reactor;
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

  std::mutex mutex_;
  std::map<std::string, std::string> answers_;
  std::map<std::string, std::string> requests_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace test
