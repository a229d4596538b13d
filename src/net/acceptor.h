#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/net/handshake.h"
#include "src/net/unique_fd.h"

namespace boost::asio {
class io_context;
}

namespace lockstep::net {

// Takes connections from listening sockets, proves them, and hands over those that are.
//
// What strangers can hold here is bounded: at most `max_unproven` connections of a few KiB, each for at most
// `handshake_limit`. When that many are waiting, the oldest goes: a real peer needs two round trips, so a
// flood would have to bring `max_unproven` connections within them to push it out, and then the peer dials
// again. A refusal of a peer that knows the secret is logged; strangers are counted and logged once.
//
// When the process runs out of descriptors the acceptor gives up its oldest unproven connection and waits
// 100 ms at a time until there are some again.
//
// Lives on the thread that runs the io_context: every call, the destructor's too, is made there (or when it
// no longer runs).
class Acceptor {
 public:
  struct Options {
    std::vector<UniqueFd> listeners;
    std::string secret;
    std::function<Hello()> identity;
    Handshake::Admit admit;
    std::function<void(const Hello& peer, UniqueFd fd)> deliver;
    std::function<void(const std::string&)> log;
    size_t max_unproven = 256;
    std::chrono::nanoseconds handshake_limit = std::chrono::seconds(5);
  };
  static std::unique_ptr<Acceptor> Start(boost::asio::io_context& io, Options options);
  virtual ~Acceptor() = default;
  // Connections that wait for their handshake to end.
  virtual size_t unproven() const = 0;
};

}  // namespace lockstep::net
