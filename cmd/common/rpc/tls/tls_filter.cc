// SPDX-License-Identifier: Apache-2.0
#include "cmd/common/rpc/tls/tls_filter.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/names.h"
#include "base/text.h"

namespace tls {
namespace {

using namespace base::names;

template <auto function>
struct Call {
  template <typename T>
  void operator()(T* object) const {
    function(object);
  }
};
using Bio = std::unique_ptr<BIO, Call<::BIO_free>>;
using Certificate = std::unique_ptr<X509, Call<::X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Call<::EVP_PKEY_free>>;
using Context = std::unique_ptr<SSL_CTX, Call<::SSL_CTX_free>>;

constexpr unsigned char kHttp2[] = {2, 'h', '2'};  // for ALPN

// OpenSSL's last reason, of a failure for which it gives one.
std::string reason() {
  const unsigned long error = ::ERR_peek_last_error();
  const char* const text = ::ERR_reason_error_string(error);
  return text == nullptr ? "no reason given" : text;
}

Bio reader(const std::string& text) {
  return Bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Certificate next_certificate(const Bio& pem) {
  return Certificate(::PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr));
}

// Asks nobody for the password of a key.
int no_password(char*, int, int, void*) { return -1; }

bool trust(SSL_CTX* context, const std::string& ca) {
  const Bio pem = reader(ca);
  X509_STORE* const store = ::SSL_CTX_get_cert_store(context);
  // What the operator names is trusted, also if it is an intermediate authority.
  (void)::X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  bool some = false;
  while (const Certificate certificate = next_certificate(pem)) {
    if (::X509_STORE_add_cert(store, certificate.get()) != 1) return false;
    some = true;
  }
  return some;
}

bool present(SSL_CTX* context, const std::string& chain, const std::string& key) {
  if (chain.empty()) return true;
  const Bio pem = reader(chain);
  const Certificate own = next_certificate(pem);
  if (!own || ::SSL_CTX_use_certificate(context, own.get()) != 1) return false;
  while (Certificate issuer = next_certificate(pem)) {
    if (::SSL_CTX_add_extra_chain_cert(context, issuer.get()) != 1) return false;
    (void)issuer.release();  // the context owns it now
  }
  const Key own_key(::PEM_read_bio_PrivateKey(reader(key).get(), nullptr, no_password, nullptr));
  return own_key && ::SSL_CTX_use_PrivateKey(context, own_key.get()) == 1 &&
         ::SSL_CTX_check_private_key(context) == 1;
}

bool expect(SSL* ssl, const std::string& host) {
  const bool is_address = ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), host.c_str()) == 1;
  if (is_address) return true;
  ::SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return ::SSL_set1_host(ssl, host.c_str()) == 1 &&
         ::SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    const_cast<char*>(host.c_str())) == 1;  // copied
}

Error impossible() {
  return {Code::kInvalid,
          str("TLS is not possible with the configured CA, certificate and key: ", reason())};
}

class TlsFilter final : public transport::Filter {
 public:
  explicit TlsFilter(SSL* ssl) : ssl_(ssl) {}
  Status receive(std::string_view arrived, std::string& plain) override;
  [[nodiscard]] bool has_ended() const override { return has_ended_; }
  Status send(std::string_view plain) override;
  void take_wire(std::string& wire) override;

 private:
  Status shake_hands();
  // Sends what waited for the end of the handshake.
  Status flush();

  std::unique_ptr<SSL, Call<::SSL_free>> ssl_;
  bool is_ready_ = false;
  bool has_ended_ = false;
  std::string waiting_;
};

Status TlsFilter::shake_hands() {
  ::ERR_clear_error();
  const int done = ::SSL_do_handshake(ssl_.get());
  if (done != 1) {
    if (::SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_READ) return {};
    const long verified = ::SSL_get_verify_result(ssl_.get());
    if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH) {
      return Error(Code::kDenied,
                   "TLS handshake failed, its certificate is for another server name");
    }
    if (verified == X509_V_ERR_CERT_HAS_EXPIRED || verified == X509_V_ERR_CERT_NOT_YET_VALID) {
      return Error(Code::kDenied, str("TLS handshake failed, its certificate is not valid now: ",
                                      ::X509_verify_cert_error_string(verified)));
    }
    if (verified != X509_V_OK) {
      return Error(Code::kDenied,
                   str("TLS handshake failed, its certificate is not signed by the configured CA: ",
                       ::X509_verify_cert_error_string(verified)));
    }
    const bool other = ::ERR_GET_REASON(::ERR_peek_last_error()) == SSL_R_WRONG_VERSION_NUMBER;
    return Error(Code::kDenied, other ? "TLS handshake failed, it does not speak TLS"
                                      : str("TLS handshake failed: ", reason()));
  }
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  ::SSL_get0_alpn_selected(ssl_.get(), &protocol, &size);
  if (size == 0) return Error(Code::kDenied, "TLS handshake failed, it does not offer HTTP/2");
  is_ready_ = true;
  return flush();
}

Status TlsFilter::receive(std::string_view arrived, std::string& plain) {
  BIO* const wire = ::SSL_get_rbio(ssl_.get());
  const auto size_of_it = static_cast<int>(arrived.size());
  if (::BIO_write(wire, arrived.data(), size_of_it) != size_of_it) {
    return Error(Code::kInternal, "there is no memory for what it sends");
  }
  if (!is_ready_) TRY(shake_hands());
  if (!is_ready_) return {};
  char part[16384];
  for (;;) {
    ::ERR_clear_error();
    const int size = ::SSL_read(ssl_.get(), part, sizeof part);
    if (size > 0) {
      plain.append(part, static_cast<size_t>(size));
      continue;
    }
    const int error = ::SSL_get_error(ssl_.get(), size);
    has_ended_ = error == SSL_ERROR_ZERO_RETURN;
    if (error == SSL_ERROR_WANT_READ || has_ended_) return {};
    return Error(Code::kDenied,
                 str("it ended TLS, and may not accept our certificate: ", reason()));
  }
}

Status TlsFilter::send(std::string_view plain) {
  waiting_ += plain;
  return is_ready_ ? flush() : shake_hands();
}

Status TlsFilter::flush() {
  if (waiting_.empty()) return {};
  // Memory takes all of it.
  const int sent = ::SSL_write(ssl_.get(), waiting_.data(), static_cast<int>(waiting_.size()));
  if (sent <= 0) return Error(Code::kInternal, str("encrypt: ", reason()));
  waiting_.clear();
  return {};
}

void TlsFilter::take_wire(std::string& wire) {
  BIO* const out = ::SSL_get_wbio(ssl_.get());
  const size_t size = ::BIO_ctrl_pending(out);
  const size_t before = wire.size();
  wire.resize(before + size);
  (void)::BIO_read(out, wire.data() + before, static_cast<int>(size));
}

}  // namespace

Result<std::unique_ptr<transport::Filter>> make_filter(const vipu::Tls& tls,
                                                       const std::string& host) {
  const Context context(::SSL_CTX_new(::TLS_client_method()));
  if (!context) return impossible();
  ::ERR_clear_error();
  if (!trust(context.get(), tls.ca) || !present(context.get(), tls.certificate, tls.key)) {
    return impossible();
  }
  ::ERR_clear_error();  // the end of a PEM file is one
  (void)::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  (void)::SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL* const ssl = ::SSL_new(context.get());
  std::unique_ptr<transport::Filter> filter = std::make_unique<TlsFilter>(ssl);
  const bool made = ssl != nullptr && ::SSL_set_alpn_protos(ssl, kHttp2, sizeof kHttp2) == 0 &&
                    expect(ssl, tls.server_name.empty() ? host : tls.server_name);
  if (!made) return impossible();
  ::SSL_set_bio(ssl, ::BIO_new(::BIO_s_mem()), ::BIO_new(::BIO_s_mem()));
  ::SSL_set_connect_state(ssl);
  return filter;
}

}  // namespace tls
