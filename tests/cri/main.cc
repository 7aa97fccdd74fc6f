// SPDX-License-Identifier: Apache-2.0
// A kubelet for tests: cri-client SOCKET METHOD [REQUEST] calls a method of an engine's CRI with a
// request in JSON, and prints the reply in JSON on one line. Exit 1, with the engine's message, if
// the call failed; 2 if there is no such method or the request does not fit it.
#include <google/protobuf/util/json_util.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <cstdio>
#include <memory>
#include <string>

#include "tests/cri/cri.pb.h"

namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;

// Longer than any call takes, unless the engine hangs.
constexpr std::chrono::seconds kPatience{60};

const MethodDescriptor* find_method(const std::string& name) {
  const FileDescriptor& file = *runtime::v1::Nothing::descriptor()->file();
  for (int i = 0; i < file.service_count(); ++i) {
    if (const MethodDescriptor* method = file.service(i)->FindMethodByName(name)) return method;
  }
  return nullptr;
}

std::unique_ptr<Message> make(const google::protobuf::Descriptor* type) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(type)->New());
}

grpc::Status call(const std::string& socket, const MethodDescriptor& method, const Message& request,
                  Message& reply) {
  grpc::GenericStub stub(grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  const grpc::Slice sent(request.SerializeAsString());
  grpc::CompletionQueue queue;
  const auto caller =
      stub.PrepareUnaryCall(&context, "/" + method.service()->full_name() + "/" + method.name(),
                            grpc::ByteBuffer(&sent, 1), &queue);
  caller->StartCall();
  grpc::ByteBuffer received;
  grpc::Status status;
  caller->Finish(&received, &status, nullptr);
  void* tag = nullptr;
  bool done = false;
  queue.Next(&tag, &done);
  if (!status.ok()) return status;
  grpc::Slice whole;
  status = received.DumpToSingleSlice(&whole);
  if (!status.ok()) return status;
  if (reply.ParseFromArray(whole.begin(), static_cast<int>(whole.size()))) return status;
  return {grpc::StatusCode::INTERNAL, "the reply is none of this method"};
}

std::string json_of(const Message& reply) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(reply, &text, options);
  return printed.ok() ? text : printed.ToString();
}

int complain(const std::string& message, int status) {
  std::fprintf(stderr, "cri-client: %s\n", message.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return complain("usage: cri-client SOCKET METHOD [REQUEST]", 2);
  const MethodDescriptor* method = find_method(argv[2]);
  if (method == nullptr) return complain(std::string("there is no method ") + argv[2], 2);
  const std::unique_ptr<Message> request = make(method->input_type());
  const std::unique_ptr<Message> reply = make(method->output_type());
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(argc > 3 ? argv[3] : "{}", request.get());
  if (!parsed.ok()) return complain(parsed.ToString(), 2);
  const grpc::Status status = call(argv[1], *method, *request, *reply);
  if (!status.ok()) return complain(status.error_message(), 1);
  std::printf("%s\n", json_of(*reply).c_str());
  return 0;
}
