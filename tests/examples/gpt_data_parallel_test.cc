// The promise of data parallelism: the number of ranks changes nothing but the rounding.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <omp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "examples/gpt/data_parallel.h"
#include "examples/gpt/options.h"
#include "examples/gpt/progress.h"
#include "examples/gpt/text.h"
#include "examples/gpt/trainer.h"
#include "gtest/gtest.h"

namespace lockstep::gpt {
namespace {

// What one training left behind.
struct Outcome {
  std::vector<double> losses;     // of every step
  std::vector<float> parameters;  // of rank 0, at the end
};

struct BoundSocket {
  int descriptor = -1;
  uint16_t port = 0;
};

BoundSocket BindLoopback() {
  BoundSocket bound{.descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(bound.descriptor, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(bound.descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
  bound.port = ntohs(address.sin_port);
  return bound;
}

class DataParallelTest : public testing::Test {
 protected:
  DataParallelTest() {
    // Words of a small vocabulary, so that there is something to learn.
    nn::Random random(3);
    std::ofstream file(text_path_);
    for (int i = 0; i < 8000; ++i) {
      const int64_t word = random.Below(20);
      file << static_cast<char>('a' + word) << static_cast<char>('a' + word * 7 % 26) << ' ';
    }
  }

  Outcome Train(int world_size) {
    Options options;
    options.data = text_path_;
    options.layers = 2;
    options.width = 48;
    options.heads = 3;
    options.context = 32;
    options.batch = 8;
    options.steps = 50;
    options.warmup = 10;
    options.log_every = 1;
    options.eval_every = 0;
    options.csv = Path("data_parallel.csv");
    const BoundSocket store = BindLoopback();
    Outcome outcome;
    // Processes, as ranks are: nothing but the communicator joins them.
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < world_size; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) {
        RunRank(options, rank, world_size, store);
        _exit(HasFailure() ? 1 : 0);
      }
      ranks.push_back(pid);
    }
    close(store.descriptor);
    for (pid_t pid : ranks) {
      int status = 0;
      EXPECT_EQ(waitpid(pid, &status, 0), pid);
      EXPECT_EQ(status, 0) << "a rank failed";
    }
    outcome.parameters = Parameters();
    outcome.losses = Losses(options.csv);
    return outcome;
  }

 private:
  static void RunRank(const Options& options, int rank, int world_size, const BoundSocket& store) {
    omp_set_num_threads(1);
    const absl::StatusOr<Text> text = Text::Load(options.data, options.context);
    ASSERT_TRUE(text.ok()) << text.status();
    CommunicatorOptions who;
    who.rank = rank;
    who.world_size = world_size;
    who.local_rank = rank;
    who.master_address = "127.0.0.1";
    who.master_port = store.port;
    if (rank == 0) who.store_socket = store.descriptor;
    absl::StatusOr<DataParallel> parallel = DataParallel::Create(who);
    ASSERT_TRUE(parallel.ok()) << parallel.status();
    Report report(false, rank == 0 ? options.csv : "");
    Trainer trainer(options, *text, *parallel, report);
    const absl::Status status = trainer.Run();
    ASSERT_TRUE(status.ok()) << status;
    const auto values = trainer.parameters().values();
    if (rank != 0) return;
    std::ofstream file(ParametersPath(), std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
  }

  static std::vector<double> Losses(const std::string& csv) {
    std::ifstream file(csv);
    std::vector<double> losses;
    std::string line, field;
    std::getline(file, line);  // names
    while (std::getline(file, line)) {
      std::stringstream fields(line);
      for (int i = 0; i < 4; ++i) std::getline(fields, field, ',');
      losses.push_back(std::stod(field));
    }
    return losses;
  }

  // Of the test's own process: cases run beside each other.
  static std::string Path(const std::string& name) {
    static const std::string prefix = testing::TempDir() + std::to_string(getpid()) + "_";
    return prefix + name;
  }

  static std::string ParametersPath() { return Path("data_parallel.parameters"); }

  static std::vector<float> Parameters() {
    std::ifstream file(ParametersPath(), std::ios::binary | std::ios::ate);
    std::vector<float> values(static_cast<size_t>(file.tellg()) / sizeof(float));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(float)));
    return values;
  }

  const std::string text_path_ = Path("data_parallel.txt");
};

TEST_F(DataParallelTest, OneRankAndTwoLearnAlike) {
  const Outcome one = Train(1), two = Train(2);
  ASSERT_EQ(one.losses.size(), 51u);  // every step, and the validation at the end
  ASSERT_EQ(two.losses.size(), one.losses.size());
  EXPECT_LT(one.losses[49], one.losses[0] - 1);
  for (size_t i = 0; i < one.losses.size(); ++i) {
    EXPECT_NEAR(two.losses[i] / one.losses[i], 1, 1e-4) << "step " << i + 1;
  }
}

TEST_F(DataParallelTest, TwoRunsOnTwoRanksGiveTheSameBits) {
  const Outcome first = Train(2), second = Train(2);
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first.parameters, second.parameters);
}

}  // namespace
}  // namespace lockstep::gpt
