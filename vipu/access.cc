// SPDX-License-Identifier: Apache-2.0
#include "vipu/access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace vipu {
namespace {

using namespace base::names;

constexpr size_t kMaxNames = 32;
constexpr mode_t kReadByOthers = 077;
constexpr mode_t kWrittenByOthers = 022;

// Reads the regular file PATH of root or of the caller, without the permissions FORBIDDEN.
Result<std::string> read_guarded(const std::string& path, size_t max_bytes, mode_t forbidden) {
  // O_NONBLOCK prevents waiting for a pipe in its place.
  const Result<base::Fd> opened = base::open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!opened.ok()) {
    const bool denied = opened.error().code() == Code::kDenied;
    // kNotFound would mean an absent partition.
    return Error(denied ? Code::kDenied : Code::kInvalid, opened.error().message());
  }
  const int fd = opened.value().get();
  struct stat file {};
  if (::fstat(fd, &file) != 0) return Error::from_errno(errno, str("stat ", base::quote(path)));
  if (!S_ISREG(file.st_mode)) {
    return Error(Code::kInvalid, str(base::quote(path), " is not a regular file"));
  }
  if (file.st_uid != 0 && file.st_uid != ::geteuid()) {
    return Error(Code::kDenied, str(base::quote(path), " belongs to user ", file.st_uid,
                                    ": chown root ", base::quote(path)));
  }
  if ((file.st_mode & forbidden) != 0) {
    const bool secret = (forbidden & S_IROTH) != 0;
    return Error(Code::kDenied, str("others may ", secret ? "read " : "write ", base::quote(path),
                                    secret ? ": chmod 0600 " : ": chmod go-w ", base::quote(path)));
  }
  return base::read_all(fd, max_bytes, path);
}

Result<std::string> read_pem(const std::string& path, mode_t forbidden) {
  std::string text = TRY(read_guarded(path, kMaxPem, forbidden));
  if (!is_pem(text) || text.find("-----BEGIN ") == std::string::npos) {
    return Error(Code::kInvalid, str(base::quote(path), " is not a PEM file"));
  }
  return text;
}

Result<Tls> read_tls(const TlsFiles& files) {
  if (files.certificate.empty() != files.key.empty()) {
    return Error(Code::kInvalid, "TLS needs both a certificate and its key, or neither");
  }
  Tls tls;
  tls.ca = TRY(read_pem(files.ca, kWrittenByOthers));
  if (!files.key.empty()) {
    tls.certificate = TRY(read_pem(files.certificate, kWrittenByOthers));
    tls.key = TRY(read_pem(files.key, kReadByOthers));
  }
  tls.server_name = files.server_name;
  return tls;
}

// Parses one line of a credentials file into CREDENTIALS. Errors must not show the line's content.
Status parse_line(std::string_view line, std::map<std::string, std::string>& credentials) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return Error(Code::kInvalid, "it is not 'name: value'");
  const std::string name(base::trim(line.substr(0, colon)));
  const std::string value(base::trim(line.substr(colon + 1)));
  if (!is_metadata(name, value)) {
    return Error(Code::kInvalid,
                 "it cannot be sent: a name is of a-z, 0-9, '_', '.' and '-', without 'grpc-' "
                 "before or '-bin' after it, and a value is printable ASCII");
  }
  if (!credentials.emplace(name, value).second) {
    return Error(Code::kInvalid, "its name was given before");
  }
  if (credentials.size() > kMaxNames) {
    return Error(Code::kInvalid, str("there are more than ", kMaxNames, " names"));
  }
  return {};
}

Result<std::map<std::string, std::string>> read_credentials(const std::string& path) {
  const std::string text = TRY(read_guarded(path, kMaxCredentials, kReadByOthers));
  std::map<std::string, std::string> credentials;
  size_t number = 0;
  for (const std::string_view raw : base::split(text, '\n')) {
    ++number;
    const std::string_view line = base::trim(raw);
    if (line.empty() || line.front() == '#') continue;
    TRY_CTX(str(base::quote(path), " line ", number), parse_line(line, credentials));
  }
  return credentials;
}

bool is_loopback(std::string_view address) {
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "127.0.0.1";
}

bool is_printable(char c) { return c >= 0x20 && c <= 0x7e; }

}  // namespace

Result<Access> read_access(const Endpoint& endpoint) {
  Access access{endpoint.address};
  if (endpoint.tls) access.tls = TRY(read_tls(*endpoint.tls));
  if (endpoint.credentials_file.empty()) return access;
  if (!endpoint.tls && !is_loopback(endpoint.address) && !endpoint.allow_insecure_credentials) {
    return Error(Code::kInvalid,
                 str("the credentials of ", base::quote(endpoint.credentials_file),
                     " would go over the network without TLS; configure TLS for this controller, "
                     "or allow it explicitly"));
  }
  access.credentials = TRY(read_credentials(endpoint.credentials_file));
  return access;
}

Result<std::string> read_secret(const std::string& path, size_t max_bytes) {
  return read_guarded(path, max_bytes, kReadByOthers);
}

bool is_metadata(std::string_view name, std::string_view value) {
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), in_name) &&
         !name.starts_with("grpc-") && !name.ends_with("-bin") && !value.empty() &&
         base::trim(value) == value && std::all_of(value.begin(), value.end(), is_printable);
}

bool is_pem(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_printable(c) || c == '\n' || c == '\r' || c == '\t'; });
}

bool has_secrets(const Access& access) {
  return !access.credentials.empty() || (access.tls && !access.tls->key.empty());
}

std::string without_secrets(std::string text, const Access& access) {
  constexpr size_t kShortest = 4;  // shorter texts also occur in other words
  std::vector<std::string_view> secrets;
  for (const auto& [name, value] : access.credentials) secrets.emplace_back(value);
  if (access.tls) {
    for (const std::string_view line : base::split(access.tls->key, '\n')) {
      if (!line.starts_with("-----")) secrets.push_back(base::trim(line));
    }
  }
  // A secret may be part of another one.
  std::sort(secrets.begin(), secrets.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (const std::string_view secret : secrets) {
    if (secret.size() < kShortest) continue;
    for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
      text.replace(at, secret.size(), "***");
    }
  }
  return text;
}

}  // namespace vipu
