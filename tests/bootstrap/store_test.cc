#include "src/bootstrap/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/net/socket.h"

namespace lockstep::bootstrap {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kSecret[] = "the job's secret";

std::string Message(const absl::Status& status) { return std::string(status.message()); }

net::Switchboard::Options Rank(int rank, const std::string& secret = kSecret) {
  net::Switchboard::Options options;
  options.secret = secret;
  options.loopback_only = true;
  options.identity.rank = rank;
  options.identity.settings = "timeout=600";
  options.log = [](const std::string&) {};
  return options;
}

std::unique_ptr<net::Switchboard> Start(net::Switchboard::Options options) {
  return net::Switchboard::Start(std::move(options)).value();
}

StoreServer::Options Serving(const net::Switchboard& switchboard) {
  StoreServer::Options options;
  options.secret = switchboard.secret();
  options.loopback_only = true;
  options.identity = switchboard.identity();
  return options;
}

class StoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> Connect(net::Switchboard& switchboard,
                                 std::chrono::nanoseconds timeout = seconds(10)) {
    return ConnectStore(switchboard, {"127.0.0.1", server_->port()}, timeout).value();
  }
  std::unique_ptr<Store> Connect() { return Connect(*client_switchboard_); }

  std::unique_ptr<net::Switchboard> switchboard_ = Start(Rank(0));
  std::unique_ptr<net::Switchboard> client_switchboard_ = Start(Rank(1));
  std::unique_ptr<StoreServer> server_ = StoreServer::Start(*switchboard_, Serving(*switchboard_)).value();
};

TEST_F(StoreTest, KeepsWhatIsSet) {
  const auto store = Connect();
  const std::string bytes("a\0b", 3);
  ASSERT_TRUE(store->Set("key", bytes).ok());
  EXPECT_EQ(store->Get("key", seconds(1)).value(), bytes);
  ASSERT_TRUE(store->Set("key", "").ok());
  EXPECT_EQ(store->Get("key", seconds(1)).value(), "");
  EXPECT_TRUE(store->Delete("key").value());
  EXPECT_FALSE(store->Delete("key").value());
}

TEST_F(StoreTest, CountsAndComparesAndSets) {
  const auto store = Connect();
  EXPECT_EQ(store->Add("n", 5).value(), 5);
  EXPECT_EQ(store->Add("n", -7).value(), -2);
  EXPECT_EQ(store->Get("n", seconds(1)).value(), "-2");
  EXPECT_EQ(store->CompareAndSet("leader", "", "1").value(), "1");
  EXPECT_EQ(store->CompareAndSet("leader", "", "2").value(), "1");
  EXPECT_EQ(store->CompareAndSet("leader", "1", "2").value(), "2");
  ASSERT_TRUE(store->Set("n", "many").ok());
  EXPECT_EQ(store->Add("n", 1).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(StoreTest, CarriesValuesUpToTheMaximumAndNoMore) {
  const auto store = Connect();
  const std::string longest(1 << 20, 'v');
  ASSERT_TRUE(store->Set("key", longest).ok());
  EXPECT_EQ(store->Get("key", seconds(5)).value(), longest);
  const absl::Status status = store->Set("key", longest + "v");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("1048577 bytes"));
  EXPECT_TRUE(store->Set(std::string(1024, 'k'), "v").ok());
  EXPECT_EQ(store->Set(std::string(1025, 'k'), "v").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StoreTest, RefusesWhatDoesNotFitItsMemory) {
  const auto store = Connect();
  const std::string value(1 << 20, 'v');
  absl::Status status;
  int stored = 0;
  for (; stored < 100 && status.ok(); ++stored) status = store->Set(absl::StrCat("key", stored), value);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(stored, 64);  // 63 fit, with their keys
  EXPECT_TRUE(store->Delete("key0").value());
  EXPECT_TRUE(store->Set("another", value).ok());
}

TEST_F(StoreTest, WakesWhoWaitsWhenTheKeyIsSet) {
  const auto store = Connect();
  auto get = std::async(std::launch::async, [&] { return store->Get("late", seconds(20)); });
  auto wait = std::async(std::launch::async, [&] { return store->Wait({"late", "later"}, seconds(20)); });
  // Over the same connection: what waits must not hold up what does not.
  ASSERT_TRUE(store->Set("late", "here").ok());
  EXPECT_EQ(get.get().value(), "here");
  EXPECT_EQ(wait.wait_for(milliseconds(20)), std::future_status::timeout);
  ASSERT_TRUE(store->Set("later", "too").ok());
  EXPECT_TRUE(wait.get().ok());
}

TEST_F(StoreTest, NamesTheKeysThatNobodySet) {
  const auto store = Connect();
  const absl::Status get = store->Get("absent", milliseconds(30)).status();
  EXPECT_EQ(get.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(get), AllOf(HasSubstr("\"absent\""), HasSubstr("0.03 s")));
  ASSERT_TRUE(store->Set("b", "").ok());
  EXPECT_THAT(Message(store->Wait({"a", "b", "c"}, milliseconds(30))), HasSubstr("keys \"a\", \"c\""));
}

TEST_F(StoreTest, BarrierHoldsUntilAllHaveCome) {
  constexpr int kRanks = 8, kRounds = 20;
  std::vector<std::unique_ptr<Store>> stores;
  for (int rank = 0; rank < kRanks; ++rank) stores.push_back(Connect());
  std::atomic<int> entered = 0, failures = 0;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      for (int round = 0; round < kRounds; ++round) {
        ++entered;
        if (!stores[rank]->Barrier("start", rank, kRanks, seconds(20)).ok()) ++failures;
        if (entered < kRanks * (round + 1)) ++failures;
        if (!stores[rank]->Barrier("end", rank, kRanks, seconds(20)).ok()) ++failures;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(StoreTest, BarrierNamesTheRanksThatHaveNotCome) {
  const auto store = Connect();
  const auto other = Connect(*switchboard_);
  auto second = std::async(std::launch::async, [&] { return other->Barrier("b", 3, 4, milliseconds(400)); });
  const absl::Status status = store->Barrier("b", 1, 4, milliseconds(200));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("\"b\""), HasSubstr("2 of 4 ranks"), HasSubstr("ranks 0, 2 did not")));
  EXPECT_THAT(Message(second.get()), HasSubstr("1 of 4 ranks"));
}

TEST_F(StoreTest, ServesEightClientThreadsOverOneConnection) {
  const auto store = Connect();
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string mine = absl::StrCat("t", t, "/", i), next = absl::StrCat("t", (t + 1) % 8, "/", i);
        if (!store->Set(mine, absl::StrCat(t, ":", i)).ok()) ++failures;
        if (store->Get(next, seconds(20)).value_or("") != absl::StrCat((t + 1) % 8, ":", i)) ++failures;
        if (!store->Add("sum", t).ok()) ++failures;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(store->Add("sum", 0).value(), 200 * 28);
}

TEST_F(StoreTest, SaysThatItsServerIsGone) {
  const auto store = Connect();
  ASSERT_TRUE(store->Set("key", "value").ok());
  auto get = std::async(std::launch::async, [&] { return store->Get("never", seconds(60)); });
  std::this_thread::sleep_for(milliseconds(50));
  const uint16_t port = server_->port();
  server_.reset();
  const absl::Status status = get.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr(absl::StrCat("127.0.0.1:", port)));
  EXPECT_EQ(store->Set("key", "value").code(), absl::StatusCode::kUnavailable);
}

TEST_F(StoreTest, ClientsMayConnectBeforeTheServerIsUp) {
  const uint16_t port = server_->port();
  server_.reset();
  auto connect = std::async(std::launch::async, [&] {
    return ConnectStore(*client_switchboard_, {"localhost", port}, seconds(20));
  });
  std::this_thread::sleep_for(milliseconds(100));
  StoreServer::Options options = Serving(*switchboard_);
  options.port = port;
  server_ = StoreServer::Start(*switchboard_, options).value();
  EXPECT_TRUE(connect.get().value()->Set("key", "value").ok());
}

TEST_F(StoreTest, GivesUpOnAServerThatNeverComes) {
  const uint16_t port = server_->port();
  server_.reset();
  const absl::Status status =
      ConnectStore(*client_switchboard_, {"127.0.0.1", port}, milliseconds(200)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), AllOf(HasSubstr(absl::StrCat("127.0.0.1:", port)), HasSubstr("MASTER_ADDR")));
}

TEST_F(StoreTest, GivesUpOnANameThatDoesNotResolve) {
  const absl::Status status =
      ConnectStore(*client_switchboard_, {"no-such-host.invalid", 1}, milliseconds(300)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("no-such-host.invalid"));
}

TEST_F(StoreTest, RefusesAnotherSecretAndOtherSettings) {
  const auto stranger = Start(Rank(1, "another"));
  EXPECT_EQ(ConnectStore(*stranger, {"127.0.0.1", server_->port()}, seconds(5)).status().code(),
            absl::StatusCode::kPermissionDenied);
  net::Switchboard::Options options = Rank(1);
  options.identity.settings = "timeout=1";
  const auto other = Start(options);
  const absl::Status status = ConnectStore(*other, {"127.0.0.1", server_->port()}, seconds(5)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("setting timeout: rank 0 has 600, rank 1 has 1"));
}

TEST_F(StoreTest, APortInUseIsNamedWithWhatToDo) {
  StoreServer::Options options = Serving(*switchboard_);
  options.port = server_->port();
  const absl::Status status = StoreServer::Start(*switchboard_, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), AllOf(HasSubstr(absl::StrCat("127.0.0.1:", server_->port())),
                                     HasSubstr("in use"), HasSubstr("MASTER_PORT")));
}

TEST_F(StoreTest, TakesOverABoundSocketListeningOrNot) {
  for (bool listening : {false, true}) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const net::SocketAddress any = net::ToSocketAddress({"127.0.0.1", 0}).value();
    ASSERT_EQ(bind(fd, any.get(), any.bytes), 0);
    if (listening) {
      ASSERT_EQ(listen(fd, 1), 0);
    }
    const uint16_t port = net::LocalAddress(fd).port;
    StoreServer::Options options = Serving(*switchboard_);
    options.socket = fd;
    const auto server = StoreServer::Start(*switchboard_, options).value();
    EXPECT_EQ(server->port(), port);
    EXPECT_TRUE(
        ConnectStore(*client_switchboard_, {"127.0.0.1", port}, seconds(5)).value()->Set("k", "v").ok());
  }
}

TEST_F(StoreTest, ASocketOpenToStrangersNeedsASecret) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const net::SocketAddress any = net::ToSocketAddress({"0.0.0.0", 0}).value();
  ASSERT_EQ(bind(fd, any.get(), any.bytes), 0);
  StoreServer::Options options;
  options.socket = fd;
  const absl::Status status = StoreServer::Start(*switchboard_, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("LOCKSTEP_SECRET"));
}

TEST_F(StoreTest, IsReachedUnderEveryNameOfItsHost) {
  const auto open =
      StoreServer::Start(*switchboard_, {.secret = kSecret, .identity = switchboard_->identity()}).value();
  char hostname[256] = "";
  ASSERT_EQ(gethostname(hostname, sizeof hostname), 0);
  // 127.0.1.1 is what Debian's /etc/hosts gives a host for its own name.
  for (const std::string host : {"localhost", "127.0.1.1", "127.0.0.1", static_cast<const char*>(hostname)})
    EXPECT_TRUE(ConnectStore(*client_switchboard_, {host, open->port()}, seconds(10)).ok()) << host;
  // Without a secret the server is on loopback alone; its name may still stand for 127.0.1.1.
  const auto plain = Start(Rank(0, ""));
  const auto closed = StoreServer::Start(*plain, Serving(*plain)).value();
  EXPECT_TRUE(ConnectStore(*plain, {"127.0.1.1", closed->port()}, seconds(10)).ok());
}

TEST_F(StoreTest, RefusesToWaitOnTheControlThread) {
  const auto store = Connect();
  absl::Status status;
  client_switchboard_->RunSync([&] { status = store->Set("key", "value"); });
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(StoreTest, ForgetsTheWaitsOfAClientThatIsGone) {
  auto store = Connect();
  std::thread leaver([&] { (void)store->Barrier("b", 0, 2, milliseconds(50)); });
  leaver.join();
  store.reset();
  const auto other = Connect();
  EXPECT_THAT(Message(other->Barrier("b", 1, 2, milliseconds(50))), HasSubstr("1 of 2 ranks"));
}

}  // namespace
}  // namespace lockstep::bootstrap
