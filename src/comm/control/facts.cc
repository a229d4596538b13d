#include "src/comm/control/facts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep::comm {
namespace {

// A detail or message is cut to this; nothing a rank sends can be longer.
constexpr size_t kLongestText = 4096;
// Entries of one kind in one message.
constexpr uint64_t kMostEntries = 1 << 16;

class Writer {
 public:
  void Number(uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(value >> shift));
  }
  void Text(const std::string& text) {
    const std::string cut = text.substr(0, kLongestText);
    Number(cut.size());
    bytes_ += cut;
  }
  template <typename Ranks>
  void RankList(const Ranks& ranks) {
    Number(ranks.size());
    for (int rank : ranks) Number(static_cast<uint64_t>(rank));
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  Reader(const std::string& bytes, int world_size) : bytes_(bytes), world_size_(world_size) {}

  uint64_t Number() {
    if (bytes_.size() - at_ < 8) return Fail();
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 8)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[at_++])) << shift;
    return value;
  }
  uint64_t Below(uint64_t bound) {
    const uint64_t value = Number();
    return value < bound ? value : Fail();
  }
  std::string Text() {
    const uint64_t size = Below(kLongestText + 1);
    if (bytes_.size() - at_ < size) return Fail(), std::string();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  int Rank() { return static_cast<int>(Below(static_cast<uint64_t>(world_size_))); }
  std::vector<int> Ranks() {
    std::vector<int> ranks;
    for (uint64_t i = Below(static_cast<uint64_t>(world_size_) + 1); ok_ && i > 0; --i)
      ranks.push_back(Rank());
    if (!std::is_sorted(ranks.begin(), ranks.end())) Fail();
    return ranks;
  }
  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == bytes_.size(); }
  uint64_t Fail() {
    ok_ = false;
    return 0;
  }

 private:
  const std::string& bytes_;
  const int world_size_;
  size_t at_ = 0;
  bool ok_ = true;
};

void ReadLost(Reader& in, Facts* facts) {
  for (uint64_t i = in.Below(kMostEntries); in.ok() && i > 0; --i) {
    LostRank lost;
    lost.rank = in.Rank();
    lost.kind = static_cast<LostRank::Kind>(in.Below(3));
    lost.detail = in.Text();
    facts->lost[lost.rank] = lost;
  }
}

void ReadCalls(Reader& in, Facts* facts) {
  for (uint64_t i = in.Below(kMostEntries); in.ok() && i > 0; --i) {
    const uint64_t communicator = in.Number();
    Facts::Calls& calls = facts->calls[{communicator, in.Number()}];
    for (uint64_t j = in.Below(kMostEntries); in.ok() && j > 0; --j) {
      const absl::StatusOr<collectives::Descriptor> call = collectives::DecodeDescriptor(in.Text());
      const std::vector<int> ranks = in.Ranks();
      if (call.ok()) {
        calls[*call].insert(ranks.begin(), ranks.end());
      } else {
        in.Fail();
      }
    }
  }
}

void ReadPoison(Reader& in, Facts* facts) {
  for (uint64_t i = in.Below(kMostEntries); in.ok() && i > 0; --i) {
    PoisonFact& poison = facts->poison[in.Number()];
    poison.sequence = in.Number();
    poison.origin = in.Rank();
    poison.code = static_cast<int>(in.Below(17));
    poison.message = in.Text();
    poison.lost = in.Ranks();
  }
}

void ReadAgreements(Reader& in, Facts* facts) {
  for (uint64_t i = in.Below(kMostEntries); in.ok() && i > 0; --i) {
    const uint64_t communicator = in.Number();
    Facts::Steps& steps =
        facts->agreements[{communicator, static_cast<uint32_t>(in.Below(uint64_t{1} << 32))}];
    for (uint64_t j = in.Below(kMostEntries); in.ok() && j > 0; --j) {
      AgreementStep step;
      step.dead = in.Ranks();
      step.phase = static_cast<AgreementStep::Phase>(in.Below(2));
      step.value = in.Ranks();
      step.value_round = static_cast<int32_t>(in.Below(kMostEntries)) - 1;
      const std::vector<int> ranks = in.Ranks();
      steps[step].insert(ranks.begin(), ranks.end());
    }
  }
}

void MergeRanks(const RankSet& from, RankSet* into, RankSet* fresh) {
  for (int rank : from)
    if (into->insert(rank).second) fresh->insert(rank);
}

}  // namespace

Facts Facts::Merge(const Facts& other) {
  Facts fresh;
  for (const auto& [rank, fact] : other.lost)
    if (lost.emplace(rank, fact).second) fresh.lost.emplace(rank, fact);
  for (const auto& [key, others] : other.calls)
    for (const auto& [call, ranks] : others) {
      RankSet added;
      MergeRanks(ranks, &calls[key][call], &added);
      if (!added.empty()) fresh.calls[key][call] = std::move(added);
    }
  for (const auto& [communicator, fact] : other.poison) {
    const auto [mine, inserted] = poison.emplace(communicator, fact);
    if (!inserted && !(fact < mine->second)) continue;
    mine->second = fact;
    fresh.poison[communicator] = fact;
  }
  for (const auto& [key, others] : other.agreements)
    for (const auto& [step, ranks] : others) {
      RankSet added;
      MergeRanks(ranks, &agreements[key][step], &added);
      if (!added.empty()) fresh.agreements[key][step] = std::move(added);
    }
  return fresh;
}

std::string EncodeFacts(const Facts& facts) {
  Writer out;
  out.Number(facts.lost.size());
  for (const auto& [rank, lost] : facts.lost) {
    out.Number(static_cast<uint64_t>(rank));
    out.Number(static_cast<uint64_t>(lost.kind));
    out.Text(lost.detail);
  }
  out.Number(facts.calls.size());
  for (const auto& [key, calls] : facts.calls) {
    out.Number(key.first);
    out.Number(key.second);
    out.Number(calls.size());
    for (const auto& [call, ranks] : calls) {
      out.Text(collectives::EncodeDescriptor(call));
      out.RankList(ranks);
    }
  }
  out.Number(facts.poison.size());
  for (const auto& [communicator, poison] : facts.poison) {
    out.Number(communicator);
    out.Number(poison.sequence);
    out.Number(static_cast<uint64_t>(poison.origin));
    out.Number(static_cast<uint64_t>(poison.code));
    out.Text(poison.message);
    out.RankList(poison.lost);
  }
  out.Number(facts.agreements.size());
  for (const auto& [key, steps] : facts.agreements) {
    out.Number(key.first);
    out.Number(key.second);
    out.Number(steps.size());
    for (const auto& [step, ranks] : steps) {
      out.RankList(step.dead);
      out.Number(static_cast<uint64_t>(step.phase));
      out.RankList(step.value);
      out.Number(static_cast<uint64_t>(step.value_round + 1));
      out.RankList(ranks);
    }
  }
  return out.Take();
}

absl::StatusOr<Facts> DecodeFacts(const std::string& bytes, int world_size) {
  Reader in(bytes, world_size);
  Facts facts;
  ReadLost(in, &facts);
  ReadCalls(in, &facts);
  ReadPoison(in, &facts);
  ReadAgreements(in, &facts);
  if (!in.ok() || !in.AtEnd()) return absl::InvalidArgumentError("a control message is malformed");
  return facts;
}

}  // namespace lockstep::comm
