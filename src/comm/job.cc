#include "src/comm/job.h"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lockstep/version.h"
#include "src/backend/message_passing/message_passing_backend.h"
#include "src/backend/selection.h"
#include "src/transport/tcp/tcp_transport.h"

namespace lockstep::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kIncarnationKey[] = "lockstep/incarnation";
constexpr char kTableKey[] = "lockstep/table";
std::string RankKey(int rank) { return absl::StrCat("lockstep/rank/", rank); }

std::string HostName() {
  char name[256] = "unknown";
  gethostname(name, sizeof name - 1);
  return name;
}

uint64_t RandomId() {
  std::random_device device;
  uint64_t id = 0;
  while (id == 0) id = (static_cast<uint64_t>(device()) << 32) | device();
  return id;
}

// What a rank tells about itself: a line each for host, description, then its addresses.
std::string EncodeCard(const net::Switchboard& switchboard) {
  std::string card = absl::StrCat(HostName(), "\n", "host ", HostName(), ", pid ", getpid());
  for (const net::Address& address : switchboard.addresses())
    absl::StrAppend(&card, "\n", net::ToString(address));
  return card;
}

struct Card {
  std::string host, description;
  std::vector<net::Address> addresses;
};

absl::StatusOr<Card> DecodeCard(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (lines.size() < 3) return absl::DataLossError("the store holds a malformed rank entry");
  Card card{lines[0], lines[1], {}};
  for (size_t i = 2; i < lines.size(); ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(net::Address address, net::ParseAddress(lines[i]));
    card.addresses.push_back(std::move(address));
  }
  return card;
}

// One phase after the other, all within one deadline.
class Meeting {
 public:
  explicit Meeting(Job& job)
      : job_(job), launch_(job.settings.launch), deadline_(Clock::now() + job.settings.creation_timeout) {
    identity_.rank = launch_.rank;
    identity_.library_version = Version();
    identity_.protocol_version = net::kProtocolVersion;
    identity_.settings = job.settings.MustAgree();
  }

  absl::Status Run() {
    LOCKSTEP_RETURN_IF_ERROR(OpenStore());
    LOCKSTEP_RETURN_IF_ERROR(AgreeOnIncarnation());
    LOCKSTEP_RETURN_IF_ERROR(ExchangeCards());
    LOCKSTEP_RETURN_IF_ERROR(LinkUp());
    // Rank 0 may finish and take the store with it: not before everybody has read from it.
    return store_->Barrier("lockstep/created", launch_.rank, launch_.world_size, Left());
  }

 private:
  std::chrono::nanoseconds Left() const {
    return std::max<std::chrono::nanoseconds>(deadline_ - Clock::now(), std::chrono::milliseconds(1));
  }

  absl::Status OpenStore() {
    net::Switchboard::Options options;
    options.secret = job_.settings.secret;
    options.interface_filter = job_.settings.interface_filter;
    options.identity = identity_;
    LOCKSTEP_ASSIGN_OR_RETURN(job_.switchboard, net::Switchboard::Start(std::move(options)));
    uint16_t port = launch_.master_port;
    if (launch_.rank == 0) {
      bootstrap::StoreServer::Options store;
      store.port = port;
      store.socket = job_.settings.store_socket;
      store.secret = job_.settings.secret;
      store.identity = identity_;
      LOCKSTEP_ASSIGN_OR_RETURN(job_.store_server,
                                bootstrap::StoreServer::Start(*job_.switchboard, std::move(store)));
      port = job_.store_server->port();
    }
    LOCKSTEP_ASSIGN_OR_RETURN(
        store_, bootstrap::ConnectStore(
                    *job_.switchboard,
                    {launch_.rank == 0 ? std::string("127.0.0.1") : launch_.master_address, port}, Left()));
    return absl::OkStatus();
  }

  absl::Status AgreeOnIncarnation() {
    if (launch_.rank == 0) LOCKSTEP_RETURN_IF_ERROR(store_->Set(kIncarnationKey, absl::StrCat(RandomId())));
    LOCKSTEP_ASSIGN_OR_RETURN(std::string text, store_->Get(kIncarnationKey, Left()));
    if (!absl::SimpleAtoi(text, &identity_.incarnation))
      return absl::DataLossError("the store holds a malformed incarnation");
    job_.switchboard->SetIncarnation(identity_.incarnation);
    return absl::OkStatus();
  }

  absl::Status ExchangeCards() {
    const std::vector<backend::Candidate> candidates = backend::ProbeCandidates();
    LOCKSTEP_ASSIGN_OR_RETURN(job_.backend, backend::SelectBackend(job_.settings.backend, candidates));
    LOCKSTEP_RETURN_IF_ERROR(store_->Set(RankKey(launch_.rank), EncodeCard(*job_.switchboard)));
    if (launch_.rank == 0) LOCKSTEP_RETURN_IF_ERROR(PublishTable());
    LOCKSTEP_ASSIGN_OR_RETURN(std::string table, store_->Get(kTableKey, Left()));
    const std::vector<std::string> entries = absl::StrSplit(table, std::string(1, '\0'));
    if (static_cast<int>(entries.size()) != launch_.world_size)
      return absl::DataLossError(absl::StrCat("the table of ranks has ", entries.size(),
                                              " entries, the world size is ", launch_.world_size));
    for (const std::string& entry : entries) {
      LOCKSTEP_ASSIGN_OR_RETURN(Card card, DecodeCard(entry));
      hosts_.push_back(std::move(card.host));
      job_.descriptions.push_back(std::move(card.description));
      addresses_.push_back(std::move(card.addresses));
    }
    job_.ranks_on_host = static_cast<int>(std::count(hosts_.begin(), hosts_.end(), HostName()));
    return absl::OkStatus();
  }

  // Rank 0 gathers what all ranks published into one value, so that each needs one message to read it.
  absl::Status PublishTable() {
    std::vector<std::string> keys, cards;
    for (int rank = 0; rank < launch_.world_size; ++rank) keys.push_back(RankKey(rank));
    LOCKSTEP_RETURN_IF_ERROR(store_->Wait(keys, Left()));
    for (const std::string& key : keys) {
      LOCKSTEP_ASSIGN_OR_RETURN(std::string card, store_->Get(key, Left()));
      cards.push_back(std::move(card));
    }
    return store_->Set(kTableKey, absl::StrJoin(cards, std::string(1, '\0')));
  }

  absl::Status LinkUp() {
    transport::tcp::TcpHub::SocketOptions sockets;
    sockets.congestion = job_.settings.tcp_congestion;
    job_.hub = std::make_shared<transport::tcp::TcpHub>(job_.switchboard, addresses_, identity_, sockets);
    ControlPlane::Options control;
    control.rank = launch_.rank;
    control.world_size = launch_.world_size;
    control.incarnation = identity_.incarnation;
    control.addresses = addresses_;
    control.descriptions = job_.descriptions;
    control.heartbeat_timeout = job_.settings.heartbeat_timeout;
    control.creation_timeout = Left();
    LOCKSTEP_ASSIGN_OR_RETURN(job_.control, ControlPlane::Start(job_.switchboard, std::move(control)));
    LOCKSTEP_ASSIGN_OR_RETURN(job_.progress, ProgressThread::Start());
    return absl::OkStatus();
  }

  Job& job_;
  const bootstrap::LaunchEnvironment& launch_;
  const Clock::time_point deadline_;
  net::Hello identity_;
  std::unique_ptr<bootstrap::Store> store_;
  std::vector<std::string> hosts_;
  std::vector<std::vector<net::Address>> addresses_;
};

}  // namespace

uint64_t MixId(uint64_t id, uint64_t value) {
  // splitmix64's finaliser (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
  uint64_t mixed = id + 0x9e3779b97f4a7c15 * (value + 1);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

absl::StatusOr<std::shared_ptr<Job>> Job::Join(const Settings& settings) {
  auto job = std::make_shared<Job>();
  job->settings = settings;
  if (settings.launch.world_size == 1) {
    LOCKSTEP_ASSIGN_OR_RETURN(job->backend,
                              backend::SelectBackend(settings.backend, backend::ProbeCandidates()));
    job->descriptions = {absl::StrCat("host ", HostName(), ", pid ", getpid())};
    LOCKSTEP_ASSIGN_OR_RETURN(job->progress, ProgressThread::Start());
    return job;
  }
  if (absl::Status met = Meeting(*job).Run(); !met.ok())
    return absl::Status(met.code(), absl::StrCat("rank ", job->rank(), " of ", job->world_size(),
                                                 " could not join the job: ", std::string(met.message())));
  return job;
}

absl::StatusOr<std::shared_ptr<Engine>> Job::MakeEngine(const std::string& name, uint64_t communicator,
                                                        uint32_t epoch, std::vector<int> members) const {
  Engine::Options options;
  options.name = name;
  options.communicator = communicator;
  options.epoch = epoch;
  options.rank = static_cast<int>(std::find(members.begin(), members.end(), rank()) - members.begin());
  options.members = std::move(members);
  options.timeout = settings.timeout;
  options.yield = ranks_on_host > static_cast<int>(std::thread::hardware_concurrency());
  options.spin = settings.spin;
  options.suspend_deadlines = settings.suspend_deadlines;
  return Engine::Create(options, control, progress,
                        [&](std::function<void()> wake) -> absl::StatusOr<std::unique_ptr<backend::Backend>> {
                          transport::tcp::TcpTransport::Options tcp;
                          tcp.communicator = options.communicator;
                          tcp.epoch = epoch;
                          tcp.rank = options.rank;
                          tcp.members = options.members;
                          tcp.connect_timeout = settings.timeout;
                          tcp.wake = std::move(wake);
                          backend::MessagePassingBackend::Options backend;
                          backend.name = this->backend;
                          backend.buffer_bytes = settings.buffer_bytes;
                          backend.algorithm = settings.algorithm;
                          return backend::MessagePassingBackend::Create(
                              std::make_unique<transport::tcp::TcpTransport>(hub, std::move(tcp)), backend);
                        });
}

}  // namespace lockstep::comm
