// SPDX-License-Identifier: Apache-2.0
#include "cmd/common/rpc/transport/http2.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/names.h"
#include "base/text.h"

namespace transport {

using namespace base::names;

namespace {

constexpr size_t kPrefix = 5;              // of a message: whether it is compressed, and its length
constexpr size_t kMostHeaders = 64 << 10;  // of all headers of an answer, in bytes
constexpr int64_t kLongest = 99'999'999;   // the longest time that gRPC can tell, in ms
constexpr uint32_t kWindow = 1 << 20;      // what the server may send before we acknowledge it

std::string with_prefix(const std::string& message) {
  const auto size = static_cast<uint32_t>(message.size());
  std::string body(kPrefix, '\0');
  for (size_t i = 1; i < kPrefix; ++i) body[i] = static_cast<char>(size >> (8 * (kPrefix - 1 - i)));
  return body + message;
}

// Returns the length that PREFIX announces.
size_t size_in(std::string_view prefix) {
  size_t size = 0;
  for (const char byte : prefix.substr(1)) size = size << 8 | static_cast<unsigned char>(byte);
  return size;
}

std::string_view text_of(const uint8_t* bytes, size_t size) {
  const void* const generic = bytes;
  return {static_cast<const char*>(generic), size};
}

nghttp2_nv header(const std::string& name, const std::string& value) {
  const auto bytes = [](const std::string& text) {
    const void* const generic = text.data();
    return const_cast<uint8_t*>(static_cast<const uint8_t*>(generic));  // nghttp2 does not write
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

// Returns TEXT, in which gRPC escapes bytes as "%E2".
std::string unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '%' && i + 2 < text.size() &&
                         std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
                         std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0;
    out += escaped ? static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)) : text[i];
    if (escaped) i += 2;
  }
  return out;
}

// gRPC's http-grpc-status-mapping.
StatusCode code_of_http(std::string_view status) {
  if (status == "400") return StatusCode::INTERNAL;
  if (status == "401") return StatusCode::UNAUTHENTICATED;
  if (status == "403") return StatusCode::PERMISSION_DENIED;
  if (status == "404") return StatusCode::UNIMPLEMENTED;
  constexpr std::array kAway{"429", "502", "503", "504"};
  const bool away = std::find(kAway.begin(), kAway.end(), status) != kAway.end();
  return away ? StatusCode::UNAVAILABLE : StatusCode::UNKNOWN;
}

RpcStatus too_long() { return {StatusCode::INTERNAL, "its answer is too long", false}; }

RpcStatus without_status(const std::string& http_status) {
  const StatusCode code = code_of_http(http_status);
  // Others may come from a proxy that had no answer.
  const bool is_refusal = code == StatusCode::UNAUTHENTICATED ||
                          code == StatusCode::PERMISSION_DENIED ||
                          code == StatusCode::UNIMPLEMENTED;
  return {code,
          str("it answered without a status of gRPC, with HTTP status ",
              http_status.empty() ? "none" : http_status),
          is_refusal};
}

}  // namespace

struct Callbacks {
  static Http2& self(void* user) { return *static_cast<Http2*>(user); }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2& http2 = self(user);
    http2.has_answered_ = true;
    const bool has_headers = frame->hd.type == NGHTTP2_HEADERS;
    const bool is_last = (has_headers || frame->hd.type == NGHTTP2_DATA) &&
                         (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (is_last && frame->hd.stream_id == http2.stream_) http2.end_by_frame(has_headers);
    return 0;
  }
  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.stream_id == self(user).stream_) self(user).begin_headers();
    return 0;
  }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                       void* user) {
    if (frame->hd.stream_id != self(user).stream_) return 0;
    self(user).keep_header(text_of(name, name_size), text_of(value, value_size));
    return 0;
  }
  static int on_data(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                     void* user) {
    if (stream == self(user).stream_) self(user).keep_data(text_of(data, size));
    return 0;
  }
  static int on_close(nghttp2_session*, int32_t stream, uint32_t error, void* user) {
    if (stream == self(user).stream_) self(user).end(error);
    return 0;
  }
  static ssize_t read_body(nghttp2_session*, int32_t, uint8_t* buffer, size_t size, uint32_t* flags,
                           nghttp2_data_source* source, void*) {
    Http2& http2 = self(source->ptr);
    const size_t part = std::min(size, http2.body_.size() - http2.sent_);
    std::memcpy(buffer, http2.body_.data() + http2.sent_, part);
    http2.sent_ += part;
    const bool all = http2.sent_ == http2.body_.size();
    if (http2.is_stream_ && part == 0) return NGHTTP2_ERR_DEFERRED;
    if (all && !http2.is_stream_) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(part);
  }
};

Http2::Http2(size_t most) : most_(most) {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (::nghttp2_session_callbacks_new(&callbacks) != 0) std::abort();  // no memory
  ::nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
  ::nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Callbacks::on_begin_headers);
  ::nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  ::nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_close);
  nghttp2_session* session = nullptr;
  const int made = ::nghttp2_session_client_new(&session, callbacks, this);
  ::nghttp2_session_callbacks_del(callbacks);
  if (made != 0) std::abort();  // no memory
  session_.reset(session);
  const std::array settings{nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                            nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow}};
  (void)::nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  (void)::nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kWindow);
}

Status Http2::begin(const Call& call) {
  std::vector<std::pair<std::string, std::string>> fields{{":method", "POST"},
                                                          {":scheme", call.tls ? "https" : "http"},
                                                          {":path", call.path},
                                                          {":authority", call.authority},
                                                          {"te", "trailers"},
                                                          {"content-type", "application/grpc"},
                                                          {"user-agent", "ipu-container-toolkit"}};
  if (!call.is_stream) {
    const auto time = std::clamp<int64_t>(call.timeout.count(), 1, kLongest);
    fields.emplace_back("grpc-timeout", str(time, "m"));
  }
  fields.insert(fields.end(), call.metadata.begin(), call.metadata.end());
  std::vector<nghttp2_nv> headers;
  for (const auto& [name, value] : fields) headers.push_back(header(name, value));
  body_ = with_prefix(call.message);
  sent_ = 0;
  http_status_.clear();
  headers_.clear();
  header_bytes_ = 0;
  data_.clear();
  is_too_long_ = false;
  is_stream_ = call.is_stream;
  messages_.clear();
  outcome_.reset();
  nghttp2_data_provider provider{};
  provider.source.ptr = this;
  provider.read_callback = Callbacks::read_body;
  stream_ = ::nghttp2_submit_request(session_.get(), nullptr, headers.data(), headers.size(),
                                     &provider, nullptr);
  if (stream_ >= 0) return {};
  return Error(Code::kInternal, str("begin a call: ", ::nghttp2_strerror(stream_)));
}

void Http2::cancel() {
  (void)::nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream_, NGHTTP2_CANCEL);
}

Status Http2::receive(std::string_view bytes) {
  const void* const generic = bytes.data();
  const ssize_t taken = ::nghttp2_session_mem_recv(
      session_.get(), static_cast<const uint8_t*>(generic), bytes.size());
  if (taken < 0) return Error(Code::kInvalid, ::nghttp2_strerror(static_cast<int>(taken)));
  return {};
}

Result<std::string> Http2::to_send() {
  std::string bytes;
  for (;;) {
    const uint8_t* part = nullptr;
    const ssize_t size = ::nghttp2_session_mem_send(session_.get(), &part);
    if (size < 0) return Error(Code::kInternal, ::nghttp2_strerror(static_cast<int>(size)));
    if (size == 0) return bytes;
    bytes += text_of(part, static_cast<size_t>(size));
  }
}

bool Http2::is_open() const { return ::nghttp2_session_check_request_allowed(session_.get()) != 0; }

bool Http2::has_ended() const {
  return ::nghttp2_session_want_read(session_.get()) == 0 &&
         ::nghttp2_session_want_write(session_.get()) == 0;
}

std::string_view Http2::reply() const { return std::string_view(data_).substr(kPrefix); }

void Http2::keep_header(std::string_view name, std::string_view value) {
  if (is_too_long_) return;
  header_bytes_ += name.size() + value.size();
  is_too_long_ = header_bytes_ > kMostHeaders;
  if (is_too_long_) return cancel();
  if (name == ":status") http_status_ = value;
  headers_.insert_or_assign(std::string(name), std::string(value));
}

void Http2::keep_data(std::string_view data) {
  if (is_too_long_) return;
  data_ += data;
  if (is_stream_) return split_messages();
  is_too_long_ = data_.size() > kPrefix + most_;
  if (is_too_long_) cancel();
}

void Http2::split_messages() {
  size_t start = 0;
  while (data_.size() - start >= kPrefix) {
    const size_t size = size_in(std::string_view(data_).substr(start, kPrefix));
    is_too_long_ = size > most_ || data_[start] != 0;
    if (is_too_long_) return cancel();
    if (data_.size() - start - kPrefix < size) break;
    messages_.push_back(data_.substr(start + kPrefix, size));
    start += kPrefix + size;
  }
  data_.erase(0, start);
}

std::optional<std::string> Http2::take_message() {
  if (messages_.empty()) return std::nullopt;
  std::string message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

// The status of a call is in its last block of headers, and counts for none before.
void Http2::begin_headers() { headers_.clear(); }

void Http2::end_by_frame(bool has_headers) {
  if (!has_headers) headers_.clear();
  outcome_ = status();
  // It may have answered before it had the whole call, and a stream is open on our side.
  if (is_stream_ || sent_ < body_.size()) cancel();
}

void Http2::end(uint32_t error) {
  if (outcome_) return;
  if (is_too_long_) {
    outcome_ = too_long();
  } else if (error == NGHTTP2_NO_ERROR) {
    headers_.clear();
    outcome_ = status();
  } else {
    // A proxy may have ended it, while the server works on the call.
    outcome_ = {StatusCode::UNAVAILABLE,
                str("the call was ended: ", ::nghttp2_http2_strerror(error))};
  }
}

RpcStatus Http2::status() const {
  if (is_too_long_) return too_long();
  const auto code = headers_.find("grpc-status");
  if (code == headers_.end()) return without_status(http_status_);
  const auto number =
      base::parse_int<int>(code->second, 0, static_cast<int>(StatusCode::UNAUTHENTICATED));
  const auto message = headers_.find("grpc-message");
  const std::string text = message == headers_.end() ? "" : unescaped(message->second);
  if (!number.ok()) {
    return {StatusCode::UNKNOWN,
            str("it answered with the unknown gRPC status ", quote(code->second),
                text.empty() ? "" : ": ", text),
            false};
  }
  if (number.value() != 0) return {static_cast<StatusCode>(number.value()), text};
  if (is_stream_ && data_.empty()) return {};
  // Exactly one message, not compressed.
  const bool is_whole =
      !is_stream_ && data_.size() >= kPrefix && data_[0] == 0 &&
      data_.compare(0, kPrefix, with_prefix(data_.substr(kPrefix)), 0, kPrefix) == 0;
  if (!is_whole) return {StatusCode::INTERNAL, "its answer cannot be parsed", false};
  return {};
}

}  // namespace transport
