#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "src/base/env.h"
#include "src/cli/verbs.h"

namespace {

struct Verb {
  const char* name;
  int (*run)(const lockstep::cli::Arguments&);
  const char* help;
};
constexpr Verb kVerbs[] = {
    {"run", lockstep::cli::Run, "start a program on several ranks and watch over them"},
    {"bench", lockstep::cli::Bench, "measure a collective"},
    {"env", lockstep::cli::Env, "list the LOCKSTEP_* variables and their values"},
    {"version", lockstep::cli::ShowVersion, "print the version"},
};

void PrintUsage(FILE* out) {
  std::fprintf(out, "usage: lockstep VERB [arguments]\n\n");
  for (const Verb& verb : kVerbs) std::fprintf(out, "  %-8s %s\n", verb.name, verb.help);
  std::fprintf(out, "\nlockstep VERB --help tells more.\n");
}

// A descriptor that we open must never become standard input or output, for whoever closed those.
void OpenStandardDescriptors() {
  int fd;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= 2);
  if (fd >= 0) close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  OpenStandardDescriptors();
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help") {
    PrintUsage(stdout);
    return 0;
  }
  if (name == "--version") return lockstep::cli::ShowVersion({});
  for (const Verb& verb : kVerbs)
    if (name == verb.name) return verb.run({argv + 2, argv + argc});
  std::vector<std::string> known;
  for (const Verb& verb : kVerbs) known.push_back(verb.name);
  if (name.empty()) {
    PrintUsage(stderr);
  } else if (const auto nearest = lockstep::env::Nearest(name, known)) {
    std::fprintf(stderr, "lockstep: the verb \"%s\" is not known (did you mean %s?)\n", name.c_str(),
                 nearest->c_str());
  } else {
    std::fprintf(stderr, "lockstep: the verb \"%s\" is not known; lockstep --help lists them\n",
                 name.c_str());
  }
  return 2;
}
