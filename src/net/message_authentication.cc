#include "src/net/message_authentication.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <memory>

namespace lockstep::net {
namespace {

struct Free {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};

bool Update(EVP_MAC_CTX* context, absl::string_view bytes) {
  return EVP_MAC_update(context, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) == 1;
}

}  // namespace

std::string Mac(const std::string& key, absl::string_view label, absl::string_view message) {
  const std::unique_ptr<EVP_MAC, Free> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  if (mac == nullptr) return "";
  const std::unique_ptr<EVP_MAC_CTX, Free> context(EVP_MAC_CTX_new(mac.get()));
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  std::string result(kMacBytes, '\0');
  size_t written = 0;
  // c_str() is never null, which an empty key must not be.
  if (context == nullptr ||
      EVP_MAC_init(context.get(), reinterpret_cast<const unsigned char*>(key.c_str()), key.size(),
                   parameters) != 1 ||
      !Update(context.get(), label) || !Update(context.get(), absl::string_view("\0", 1)) ||
      !Update(context.get(), message) ||
      EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(result.data()), &written,
                    result.size()) != 1 ||
      written != kMacBytes)
    return "";
  return result;
}

bool SameMac(absl::string_view one, absl::string_view other) {
  return one.size() == kMacBytes && other.size() == kMacBytes &&
         CRYPTO_memcmp(one.data(), other.data(), kMacBytes) == 0;
}

std::string RandomBytes(size_t bytes) {
  std::string result(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(result.data()), static_cast<int>(bytes)) != 1) return "";
  return result;
}

}  // namespace lockstep::net
