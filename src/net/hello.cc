#include "src/net/hello.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/net/little_endian.h"

namespace lockstep::net {
namespace {

// role u8, lane u8, stripe u8, 0 u8, rank i32, peer_rank i32, protocol u32, incarnation u64, communicator
// u64, version length u16, settings length u16; then the two strings.
constexpr size_t kRoleAt = 0, kLaneAt = 1, kStripeAt = 2, kReservedAt = 3, kRankAt = 4, kPeerRankAt = 8,
                 kProtocolAt = 12, kIncarnationAt = 16, kCommunicatorAt = 24, kVersionBytesAt = 32,
                 kSettingsBytesAt = 34, kFixedBytes = 36;
static_assert(kFixedBytes + kMaxLibraryVersionBytes + kMaxSettingsBytes <= kMaxHelloBytes);

absl::Status Malformed(const char* what) {
  return absl::InvalidArgumentError(
      absl::StrCat("malformed hello (", what, "); do all ranks use the same library?"));
}

std::map<std::string, std::string> ParseSettings(const std::string& settings) {
  std::map<std::string, std::string> values;
  for (absl::string_view entry : absl::StrSplit(settings, ';', absl::SkipEmpty())) {
    std::pair<std::string, std::string> value = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    values.insert(std::move(value));
  }
  return values;
}

// Collects what differs between two ranks.
class Differences {
 public:
  Differences(int rank, int other_rank) : rank_(rank), other_rank_(other_rank) {}

  void Compare(const std::string& what, const std::string& value, const std::string& other_value) {
    if (value == other_value) return;
    found_.push_back(absl::StrCat(what, ": rank ", rank_, " has ", Shown(value), ", rank ", other_rank_,
                                  " has ", Shown(other_value)));
  }
  const std::vector<std::string>& found() const { return found_; }

 private:
  // The other side's text goes to a terminal: no control characters.
  static std::string Shown(const std::string& value) {
    return value.empty() ? "none" : absl::CHexEscape(value);
  }

  const int rank_, other_rank_;
  std::vector<std::string> found_;
};

void CompareSettings(const std::string& settings, const std::string& other_settings,
                     Differences* differences) {
  const auto values = ParseSettings(settings);
  const auto other_values = ParseSettings(other_settings);
  std::map<std::string, std::pair<std::string, std::string>> all;
  for (const auto& [name, value] : values) all[name].first = value;
  for (const auto& [name, value] : other_values) all[name].second = value;
  for (const auto& [name, both] : all)
    differences->Compare(absl::StrCat("setting ", absl::CHexEscape(name)), both.first, both.second);
}

}  // namespace

std::string EncodeHello(const Hello& hello) {
  const std::string version = hello.library_version.substr(0, kMaxLibraryVersionBytes);
  const std::string settings = hello.settings.substr(0, kMaxSettingsBytes);
  std::string bytes(kFixedBytes, '\0');
  char* at = bytes.data();
  StoreLittleEndian(static_cast<uint8_t>(hello.role), at + kRoleAt);
  StoreLittleEndian(hello.lane, at + kLaneAt);
  StoreLittleEndian(hello.stripe, at + kStripeAt);
  StoreLittleEndian<int32_t>(hello.rank, at + kRankAt);
  StoreLittleEndian<int32_t>(hello.peer_rank, at + kPeerRankAt);
  StoreLittleEndian(hello.protocol_version, at + kProtocolAt);
  StoreLittleEndian(hello.incarnation, at + kIncarnationAt);
  StoreLittleEndian(hello.communicator, at + kCommunicatorAt);
  StoreLittleEndian(static_cast<uint16_t>(version.size()), at + kVersionBytesAt);
  StoreLittleEndian(static_cast<uint16_t>(settings.size()), at + kSettingsBytesAt);
  return bytes + version + settings;
}

absl::StatusOr<Hello> DecodeHello(const std::string& bytes) {
  if (bytes.size() < kFixedBytes || bytes.size() > kMaxHelloBytes) return Malformed("wrong length");
  const char* at = bytes.data();
  Hello hello;
  const auto role = LoadLittleEndian<uint8_t>(at + kRoleAt);
  if (role < static_cast<uint8_t>(Role::kStore) || role > static_cast<uint8_t>(Role::kData))
    return Malformed("unknown role");
  if (LoadLittleEndian<uint8_t>(at + kReservedAt) != 0) return Malformed("reserved byte set");
  hello.role = static_cast<Role>(role);
  hello.lane = LoadLittleEndian<uint8_t>(at + kLaneAt);
  hello.stripe = LoadLittleEndian<uint8_t>(at + kStripeAt);
  hello.rank = LoadLittleEndian<int32_t>(at + kRankAt);
  hello.peer_rank = LoadLittleEndian<int32_t>(at + kPeerRankAt);
  hello.protocol_version = LoadLittleEndian<uint32_t>(at + kProtocolAt);
  hello.incarnation = LoadLittleEndian<uint64_t>(at + kIncarnationAt);
  hello.communicator = LoadLittleEndian<uint64_t>(at + kCommunicatorAt);
  const size_t version_bytes = LoadLittleEndian<uint16_t>(at + kVersionBytesAt);
  const size_t settings_bytes = LoadLittleEndian<uint16_t>(at + kSettingsBytesAt);
  if (version_bytes > kMaxLibraryVersionBytes || settings_bytes > kMaxSettingsBytes ||
      bytes.size() != kFixedBytes + version_bytes + settings_bytes)
    return Malformed("lengths that do not add up");
  hello.library_version = bytes.substr(kFixedBytes, version_bytes);
  hello.settings = bytes.substr(kFixedBytes + version_bytes);
  return hello;
}

absl::Status CompareHellos(const Hello& mine, const Hello& theirs) {
  if (mine.peer_rank >= 0 && mine.peer_rank != theirs.rank)
    return absl::NotFoundError(
        absl::StrCat("rank ", mine.rank, " meant to reach rank ", mine.peer_rank, ", but rank ", theirs.rank,
                     " is at this address (addresses such as loopback are the same on every host)"));
  if (theirs.peer_rank >= 0 && theirs.peer_rank != mine.rank) return CompareHellos(theirs, mine);
  Differences differences(mine.rank, theirs.rank);
  differences.Compare("library version", mine.library_version, theirs.library_version);
  differences.Compare("protocol version", absl::StrCat(mine.protocol_version),
                      absl::StrCat(theirs.protocol_version));
  CompareSettings(mine.settings, theirs.settings, &differences);
  if (!differences.found().empty())
    return absl::FailedPreconditionError(
        absl::StrCat("ranks disagree (", absl::StrJoin(differences.found(), "; "),
                     "); start every rank with the same library and settings"));
  if (mine.incarnation != 0 && theirs.incarnation != 0 && mine.incarnation != theirs.incarnation)
    return absl::FailedPreconditionError(
        absl::StrCat("ranks of two different starts of the job (incarnation: rank ", mine.rank, " has ",
                     absl::Hex(mine.incarnation), ", rank ", theirs.rank, " has ",
                     absl::Hex(theirs.incarnation), "); end what is left of the earlier start"));
  return absl::OkStatus();
}

}  // namespace lockstep::net
