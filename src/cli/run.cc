#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/cli/flags.h"
#include "src/cli/job_runner.h"
#include "src/cli/verbs.h"

namespace lockstep::cli {

int Run(const Arguments& arguments) {
  JobRunner::Options options;
  int max_restarts = 0;
  std::vector<std::string> variables;
  FlagTable flags(
      "lockstep run -n RANKS [flags] [--] PROGRAM [arguments]",
      "Starts PROGRAM on RANKS ranks of this host, with prefixed output, and ends them all when one fails.\n"
      "The exit status is that of the rank that failed first (128 + signal if it was killed).");
  flags.Add("-n", "RANKS", "how many ranks", &options.ranks);
  flags.Add("--max-restarts", "N", "start the whole job again after a failure, at most N times",
            &max_restarts);
  flags.Add("--grace", "SECONDS", "how long the others may live on when a rank has failed",
            &options.grace_seconds);
  flags.Add("--master-port", "PORT", "port at which the ranks meet; 0: a free one", &options.master_port);
  flags.AddList("--env", "NAME=VALUE", "a variable for every rank", &variables);
  const auto refuse = [&](const std::string& why) {
    std::fprintf(stderr, "lockstep run: %s\n%s", why.c_str(), flags.Help().c_str());
    return 2;
  };
  if (const absl::Status status = flags.Parse(arguments, &options.command, /*stop_at_positional=*/true);
      !status.ok())
    return refuse(std::string(status.message()));
  if (flags.help_asked()) {
    std::printf("%s", flags.Help().c_str());
    return 0;
  }
  if (options.command.empty()) return refuse("which program?");
  if (options.ranks < 1) return refuse(absl::StrCat("-n ", options.ranks, " makes no job"));
  if (options.master_port < 0 || options.master_port > 65535) return refuse("--master-port is not a port");
  for (const std::string& variable : variables) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0)
      return refuse(absl::StrCat("--env ", variable, " is not NAME=VALUE"));
    options.environment.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  JobRunner runner(options);
  for (int restart = 0;; ++restart) {
    const absl::StatusOr<int> ended = runner.Run(restart);
    if (!ended.ok()) {
      std::fprintf(stderr, "lockstep run: %s\n", std::string(ended.status().message()).c_str());
      return absl::IsNotFound(ended.status()) ? 127 : absl::IsPermissionDenied(ended.status()) ? 126 : 1;
    }
    if (*ended == 0 || restart >= max_restarts || runner.interrupted()) return *ended;
    std::fprintf(stderr, "lockstep run: starting the job again (%d of %d)\n", restart + 1, max_restarts);
  }
}

}  // namespace lockstep::cli
