#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lockstep::cli {

// The flags of one verb: parses them, explains them, and tells a slip of the finger from a value.
//
//     FlagTable flags("lockstep bench OP [flags]", "Measures one collective.");
//     flags.Add("-n", "N", "ranks", &ranks);
//     LOCKSTEP_RETURN_IF_ERROR(flags.Parse(arguments, &positional));
class FlagTable {
 public:
  FlagTable(std::string usage, std::string summary);

  // Each flag takes a value, "-n 4" or "--name=value"; what the variable holds is the default that Help()
  // shows.
  void Add(const std::string& name, const std::string& value_name, const std::string& help, int* value);
  void Add(const std::string& name, const std::string& value_name, const std::string& help, double* value);
  void Add(const std::string& name, const std::string& value_name, const std::string& help,
           std::string* value);
  // A size in bytes: "4", "64K", "1MiB".
  void AddBytes(const std::string& name, const std::string& help, int64_t* value);
  // May be given several times.
  void AddList(const std::string& name, const std::string& value_name, const std::string& help,
               std::vector<std::string>* values);
  // Takes no value.
  void AddSwitch(const std::string& name, const std::string& help, bool* value);

  // Positional arguments go to `positional`; with `stop_at_positional` the first of them, or "--", ends the
  // flags and everything from there on is positional. InvalidArgument names the flag, with the nearest known
  // one.
  absl::Status Parse(const std::vector<std::string>& arguments, std::vector<std::string>* positional,
                     bool stop_at_positional = false);
  bool help_asked() const { return help_asked_; }
  std::string Help() const;

 private:
  struct Flag {
    std::string name, value_name, help, default_text;
    std::function<absl::Status(const std::string&)> set;  // gets "" for a switch
    bool is_switch = false;
  };
  absl::Status Unknown(const std::string& name) const;

  const std::string usage_, summary_;
  std::vector<Flag> flags_;
  bool help_asked_ = false;
};

}  // namespace lockstep::cli
