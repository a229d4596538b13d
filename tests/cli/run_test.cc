#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/cli/program.h"

namespace lockstep::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::vector<std::string> Shell(int ranks, const std::string& script, std::vector<std::string> flags = {}) {
  std::vector<std::string> arguments = {"run", "-n", absl::StrCat(ranks)};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  for (const char* word : {"--", "sh", "-c"}) arguments.push_back(word);
  arguments.push_back(script);
  return arguments;
}

// The number behind `word` in the output: "child 4711".
pid_t PidAfter(const std::string& text, const std::string& word) {
  const size_t at = text.find(word);
  return at == std::string::npos ? -1 : static_cast<pid_t>(std::stoi(text.substr(at + word.size())));
}

TEST(RunTest, TellsEachRankWhoItIs) {
  Program run(
      Shell(3, "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR $LOCKSTEP_RESTART_COUNT"));
  EXPECT_EQ(run.Wait(), 0) << run.err();
  EXPECT_THAT(Lines(run.out()), UnorderedElementsAre("[0] 0/3 0/3 127.0.0.1 0", "[1] 1/3 1/3 127.0.0.1 0",
                                                     "[2] 2/3 2/3 127.0.0.1 0"));
}

TEST(RunTest, SharesOnePortAndOneSecretThatNoPrintedEnvironmentShows) {
  Program run(Shell(2, "echo \"$MASTER_PORT $(cat $LOCKSTEP_SECRET_FILE)\""), {"LOCKSTEP_SECRET="});
  EXPECT_EQ(run.Wait(), 0) << run.err();
  const std::vector<std::string> lines = Lines(run.out());
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].substr(4), lines[1].substr(4));
  const std::string secret = lines[0].substr(lines[0].rfind(' ') + 1);
  EXPECT_THAT(secret, SizeIs(64));
  Program printed(Shell(1, "env"), {"LOCKSTEP_SECRET="});
  EXPECT_EQ(printed.Wait(), 0);
  EXPECT_THAT(printed.out(), Not(HasSubstr(secret)));
}

TEST(RunTest, KeepsASecretOfTheUsers) {
  Program run(Shell(1, "echo $LOCKSTEP_SECRET,$LOCKSTEP_SECRET_FILE"), {"LOCKSTEP_SECRET=mine"});
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(run.out(), "[0] mine,\n");
}

TEST(RunTest, HandsRankZeroTheBoundSocketOfTheStore) {
  Program run(Shell(2, "readlink /proc/self/fd/${LOCKSTEP_STORE_SOCKET:-none}; true"));
  EXPECT_EQ(run.Wait(), 0);
  const std::vector<std::string> lines = Lines(run.out());
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("[0] socket:["));
}

TEST(RunTest, SharesTheCoresUnlessToldOtherwise) {
  Program many(Shell(64, "echo $OMP_NUM_THREADS"), {"OMP_NUM_THREADS="});
  EXPECT_EQ(many.Wait(), 0);
  EXPECT_THAT(Lines(many.out()), AllOf(SizeIs(64), Contains(testing::MatchesRegex("\\[7\\] [1-9][0-9]*"))));
  Program told(Shell(1, "echo $OMP_NUM_THREADS"), {"OMP_NUM_THREADS=7"});
  EXPECT_EQ(told.Wait(), 0);
  EXPECT_EQ(told.out(), "[0] 7\n");
}

TEST(RunTest, AddsVariablesToEveryRank) {
  Program run(Shell(2, "echo $A $B", {"--env", "A=1", "--env", "B=x=y"}));
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(Lines(run.out()), UnorderedElementsAre("[0] 1 x=y", "[1] 1 x=y"));
}

TEST(RunTest, KeepsStandardErrorApartAndEndsThePartialLastLine) {
  Program run(Shell(1, "printf out; printf err >&2"));
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(run.out(), "[0] out\n");
  EXPECT_EQ(run.err(), "[0] err\n");
}

TEST(RunTest, NeverBreaksALineHoweverLongAndHoweverItIsWritten) {
  // Each rank writes lines of one letter, in pieces that end anywhere.
  Program run(
      Shell(3,
            "letter=$(echo a b c | cut -d' ' -f$((RANK + 1)));"
            "for i in 1 2 3 4 5; do head -c 700001 /dev/zero | tr '\\0' $letter; sleep 0.01; echo; done"));
  EXPECT_EQ(run.Wait(), 0);
  const std::vector<std::string> lines = Lines(run.out());
  EXPECT_THAT(lines, SizeIs(15));
  for (const std::string& line : lines) {
    ASSERT_THAT(line, SizeIs(4 + 700001));
    const char letter = static_cast<char>('a' + (line[1] - '0'));
    EXPECT_EQ(line.find_first_not_of(letter, 4), std::string::npos);
  }
}

TEST(RunTest, LosesNoLineOfManyAndKeepsTheirOrder) {
  Program run(Shell(4, "seq 1 50000"));
  EXPECT_EQ(run.Wait(), 0);
  std::map<char, int> last;
  for (const std::string& line : Lines(run.out())) {
    ASSERT_EQ(line.substr(4), absl::StrCat(++last[line[1]])) << line;
  }
  EXPECT_THAT(last, SizeIs(4));
  for (const auto& [rank, number] : last) EXPECT_EQ(number, 50000) << rank;
}

TEST(RunTest, ReportsTheRankThatFailedFirstWithItsLastLines) {
  Program run(Shell(3, "if [ $RANK = 1 ]; then echo fine; echo broken >&2; exit 3; fi; exec sleep 100",
                    {"--grace", "0.1"}));
  EXPECT_EQ(run.Wait(), 3);
  EXPECT_THAT(run.err(), AllOf(HasSubstr("failed first: it exited with 3"), HasSubstr("rank 1 (pid "),
                               HasSubstr("    broken\n"),
                               HasSubstr("then rank 0, 2 was killed by signal 15 (Terminated)")));
}

TEST(RunTest, NamesTheSignalThatKilledARank) {
  Program run(Shell(2, "if [ $RANK = 0 ]; then kill -KILL $$; fi; exec sleep 100", {"--grace", "0.1"}));
  EXPECT_EQ(run.Wait(), 128 + SIGKILL);
  EXPECT_THAT(run.err(), AllOf(HasSubstr("rank 0"), HasSubstr("killed by signal 9 (Killed)")));
}

TEST(RunTest, LetsTheOthersEndByThemselves) {
  Program run(Shell(2, "if [ $RANK = 0 ]; then exit 4; fi; sleep 0.3; echo saved", {"--grace", "60"}));
  EXPECT_EQ(run.Wait(), 4);
  EXPECT_EQ(run.out(), "[1] saved\n");
}

TEST(RunTest, KillsARankThatIgnoresItsTermination) {
  const std::string ready = testing::TempDir() + absl::StrCat("lockstep-deaf-", getpid());
  const std::string script =
      "if [ $RANK = 0 ]; then while [ ! -e $READY ]; do sleep 0.02; done; exit 5; fi;"
      "trap '' TERM; touch $READY; while :; do sleep 0.1; done";
  Program run(Shell(2, script, {"--grace", "0.1", "--env", "READY=" + ready}));
  EXPECT_EQ(run.Wait(), 5);
  EXPECT_THAT(run.err(), HasSubstr("then rank 1 was killed by signal 9"));
  unlink(ready.c_str());
}

TEST(RunTest, PassesSignalsOn) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Program run(
        Shell(2, "trap 'echo got; exit 9' INT TERM HUP; echo ready $RANK; while :; do sleep 0.05; done"));
    ASSERT_TRUE(run.WaitForOutput("ready 0") && run.WaitForOutput("ready 1"));
    run.Signal(signal);
    EXPECT_EQ(run.Wait(), 9);
    EXPECT_THAT(Lines(run.out()), AllOf(Contains("[0] got"), Contains("[1] got")));
    EXPECT_THAT(run.err(), HasSubstr(absl::StrCat("ended by signal ", signal)));
  }
}

TEST(RunTest, PassesUserSignalsOnAndGoesOn) {
  Program run(Shell(2, "trap 'echo one; exit 0' USR1; echo ready $RANK; while :; do sleep 0.05; done"));
  ASSERT_TRUE(run.WaitForOutput("ready 0") && run.WaitForOutput("ready 1"));
  run.Signal(SIGUSR1);
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(Lines(run.out()), AllOf(Contains("[0] one"), Contains("[1] one")));
}

TEST(RunTest, StartsTheJobAgain) {
  const std::string script =
      "echo $LOCKSTEP_RESTART_COUNT $(cat $LOCKSTEP_SECRET_FILE); [ $LOCKSTEP_RESTART_COUNT = 2 ] || exit 6";
  Program run(Shell(1, script, {"--max-restarts", "5"}), {"LOCKSTEP_SECRET="});
  EXPECT_EQ(run.Wait(), 0);
  const std::vector<std::string> lines = Lines(run.out());
  ASSERT_THAT(lines, SizeIs(3));
  std::set<std::string> secrets;
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i], HasSubstr(absl::StrCat("[0] ", i, " ")));
    secrets.insert(lines[i].substr(6));
  }
  EXPECT_THAT(secrets, SizeIs(3));
  EXPECT_THAT(run.err(), HasSubstr("starting the job again (2 of 5)"));
}

TEST(RunTest, GivesUpAfterTheLastRestart) {
  Program run(Shell(1, "echo try; exit 6", {"--max-restarts", "2"}));
  EXPECT_EQ(run.Wait(), 6);
  EXPECT_THAT(Lines(run.out()), SizeIs(3));
}

TEST(RunTest, DoesNotRestartWhatASignalEnded) {
  Program run(Shell(1, "echo ready; exec sleep 100", {"--max-restarts", "5"}));
  ASSERT_TRUE(run.WaitForOutput("ready"));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 128 + SIGTERM);
  EXPECT_EQ(run.out(), "[0] ready\n");
}

TEST(RunTest, EndsWhatARankLeftBehind) {
  Program run(Shell(1, "sleep 100 & echo child $!"));
  EXPECT_EQ(run.Wait(), 0);
  const pid_t child = PidAfter(run.out(), "child ");
  ASSERT_GT(child, 0);
  EXPECT_TRUE(WaitUntilGone(child));
}

TEST(RunTest, TakesTheWholeJobWithItWhenItIsKilled) {
  Program run(Shell(1, "sleep 100 & echo child $!; echo rank $$; wait"));
  ASSERT_TRUE(run.WaitForOutput("rank "));
  const pid_t child = PidAfter(run.out(), "child "), rank = PidAfter(run.out(), "rank ");
  run.Signal(SIGKILL);
  EXPECT_EQ(run.Wait(), 128 + SIGKILL);
  EXPECT_TRUE(WaitUntilGone(rank));
  EXPECT_TRUE(WaitUntilGone(child));
}

// What the descriptors above standard error lead to that a child would inherit from this process.
std::set<std::string> InheritableTargets() {
  std::set<std::string> targets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    std::error_code gone;
    if (fd > 2 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0)
      targets.insert(std::filesystem::read_symlink(entry.path(), gone).string());
  }
  return targets;
}

TEST(RunTest, GivesItsDescriptorsToNobody) {
  const std::set<std::string> inherited = InheritableTargets();
  Program run(Shell(2, "[ $RANK = 0 ] || exec ls -l /proc/self/fd"));
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_THAT(run.out(), HasSubstr("memfd:lockstep-secret"));
  for (const std::string& line : Lines(run.out())) {
    const std::vector<std::string> sides = absl::StrSplit(line, " -> ");
    if (sides.size() < 2 || inherited.contains(sides[1])) continue;
    if (std::stoi(sides[0].substr(sides[0].rfind(' '))) <= 2) continue;
    for (const char* kind : {"pipe:", "socket:", "anon_inode:"})
      EXPECT_THAT(sides[1], Not(testing::StartsWith(kind))) << line;
  }
}

TEST(RunTest, SaysThatAProgramCannotBeStarted) {
  Program missing({"run", "-n", "2", "./no-such-trainer"});
  EXPECT_EQ(missing.Wait(), 127);
  EXPECT_THAT(missing.err(), HasSubstr("cannot start \"./no-such-trainer\" (No such file or directory)"));
  Program folder({"run", "-n", "2", "/usr"});
  EXPECT_EQ(folder.Wait(), 126);
  EXPECT_THAT(folder.err(), HasSubstr("cannot start \"/usr\" (Permission denied)"));
}

TEST(RunTest, NamesThePortThatIsTaken) {
  const int holder = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(holder, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(holder, 1), 0);
  ASSERT_EQ(getsockname(holder, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = absl::StrCat(ntohs(address.sin_port));
  Program run(Shell(1, "true", {"--master-port", port}));
  EXPECT_EQ(run.Wait(), 1);
  EXPECT_THAT(run.err(),
              HasSubstr(absl::StrCat("127.0.0.1:", port, " cannot be bound (Address already in use)")));
  close(holder);
}

TEST(RunTest, UnderstandsItsFlagsOrSaysWhatIsMeant) {
  Program slip({"run", "--max-restart", "3", "true"});
  EXPECT_EQ(slip.Wait(), 2);
  EXPECT_THAT(slip.err(), HasSubstr("did you mean --max-restarts?"));
  Program none({"run", "-n", "2"});
  EXPECT_EQ(none.Wait(), 2);
  EXPECT_THAT(none.err(), HasSubstr("which program?"));
  Program zero({"run", "-n", "0", "true"});
  EXPECT_EQ(zero.Wait(), 2);
  Program help({"run", "--help"});
  EXPECT_EQ(help.Wait(), 0);
  EXPECT_THAT(help.out(), AllOf(HasSubstr("usage: lockstep run"), HasSubstr("--grace")));
}

}  // namespace
}  // namespace lockstep::cli
