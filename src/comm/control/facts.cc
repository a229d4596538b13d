#include "src/comm/control/facts.h"

#include <vector>

#include "src/net/little_endian.h"

namespace lockstep::comm {
namespace {

class Writer {
 public:
  template <typename T>
  void Number(T value) {
    char bytes[sizeof(T)];
    net::StoreLittleEndian(value, bytes);
    bytes_.append(bytes, sizeof bytes);
  }
  void Count(size_t count) { Number(static_cast<uint32_t>(count)); }
  void Text(const std::string& text) {
    const size_t size = std::min(text.size(), kLongestText);
    Count(size);
    bytes_.append(text, 0, size);
  }
  void Ranks(const RankSet& ranks) {
    Count(ranks.words().size());
    for (uint64_t word : ranks.words()) Number(word);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Everything read after a failure is 0 or empty.
class Reader {
 public:
  Reader(const std::string& bytes, int world_size) : bytes_(bytes), world_size_(world_size) {}

  template <typename T>
  T Number() {
    if (!ok_ || bytes_.size() - at_ < sizeof(T)) return Fail();
    at_ += sizeof(T);
    return net::LoadLittleEndian<T>(bytes_.data() + at_ - sizeof(T));
  }
  template <typename T>
  T Below(uint64_t bound) {
    const T value = Number<T>();
    return static_cast<uint64_t>(value) < bound ? value : static_cast<T>(Fail());
  }
  // Of entries that take at least a byte each.
  uint32_t Count() { return Below<uint32_t>(bytes_.size() - at_ + 1); }
  std::string Text() {
    const uint32_t size = Below<uint32_t>(kLongestText + 1);
    if (!ok_ || bytes_.size() - at_ < size) return Fail(), std::string();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  int Rank() { return static_cast<int>(Below<uint32_t>(static_cast<uint64_t>(world_size_))); }
  RankSet Ranks() {
    const auto most = static_cast<uint64_t>(world_size_ + 63) / 64;
    std::vector<uint64_t> words(Below<uint32_t>(most + 1));
    for (uint64_t& word : words) word = Number<uint64_t>();
    const bool beyond =
        words.size() == most && most > 0 && world_size_ % 64 != 0 && words.back() >> (world_size_ % 64) != 0;
    if (!ok_ || beyond || (!words.empty() && words.back() == 0)) return Fail(), RankSet();
    RankSet ranks;
    ranks.SetWords(std::move(words));
    return ranks;
  }
  // Keys come in order, each once.
  template <typename Map>
  auto* Add(Map* map, typename Map::key_type key) {
    if (!map->empty() && !(map->rbegin()->first < key)) Fail();
    return &(*map)[std::move(key)];
  }
  uint8_t Fail() {
    ok_ = false;
    return 0;
  }
  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == bytes_.size(); }

 private:
  const std::string& bytes_;
  const int world_size_;
  size_t at_ = 0;
  bool ok_ = true;
};

void ReadLost(Reader& in, Facts* facts) {
  for (uint32_t i = in.Count(); in.ok() && i > 0; --i) {
    const int rank = in.Rank();
    LostRank* lost = in.Add(&facts->lost, rank);
    lost->rank = rank;
    lost->kind = static_cast<LostRank::Kind>(in.Below<uint8_t>(3));
    lost->detail = in.Text();
  }
}

void ReadCalls(Reader& in, Facts* facts) {
  for (uint32_t i = in.Count(); in.ok() && i > 0; --i) {
    const auto communicator = in.Number<uint64_t>();
    Facts::Calls* calls = in.Add(&facts->calls, {communicator, in.Number<uint64_t>()});
    for (uint32_t j = in.Count(); in.ok() && j > 0; --j) {
      const absl::StatusOr<collectives::Descriptor> call = collectives::DecodeDescriptor(in.Text());
      const RankSet ranks = in.Ranks();
      if (!in.ok() || !call.ok()) return static_cast<void>(in.Fail());
      *in.Add(calls, *call) = ranks;
    }
  }
}

void ReadPoison(Reader& in, Facts* facts) {
  for (uint32_t i = in.Count(); in.ok() && i > 0; --i) {
    PoisonFact* poison = in.Add(&facts->poison, in.Number<uint64_t>());
    poison->sequence = in.Number<uint64_t>();
    poison->origin = in.Rank();
    poison->code = 1 + in.Below<uint8_t>(16);
    poison->message = in.Text();
    poison->lost = in.Ranks();
  }
}

void ReadAgreements(Reader& in, Facts* facts) {
  for (uint32_t i = in.Count(); in.ok() && i > 0; --i) {
    const auto communicator = in.Number<uint64_t>();
    Facts::Steps* steps = in.Add(&facts->agreements, {communicator, in.Number<uint32_t>()});
    for (uint32_t j = in.Count(); in.ok() && j > 0; --j) {
      AgreementStep step;
      step.dead = in.Ranks();
      step.phase = static_cast<AgreementStep::Phase>(in.Below<uint8_t>(2));
      step.value = in.Ranks();
      step.value_round = static_cast<int32_t>(in.Below<uint32_t>(uint64_t{1} << 31)) - 1;
      const RankSet ranks = in.Ranks();
      if (in.ok()) *in.Add(steps, std::move(step)) = ranks;
    }
  }
}

}  // namespace

Facts Facts::Merge(const Facts& other) {
  Facts fresh;
  for (const auto& [rank, fact] : other.lost) {
    const auto [mine, added] = lost.emplace(rank, fact);
    if (!added && !bootstrap::IsStronger(fact, mine->second)) continue;
    mine->second = fact;
    fresh.lost.emplace(rank, fact);
  }
  for (const auto& [key, others] : other.calls)
    for (const auto& [call, ranks] : others)
      if (RankSet added = calls[key][call].Merge(ranks); !added.empty())
        fresh.calls[key][call] = std::move(added);
  for (const auto& [communicator, fact] : other.poison) {
    const auto [mine, added] = poison.emplace(communicator, fact);
    if (!added && !(fact < mine->second)) continue;
    mine->second = fact;
    fresh.poison[communicator] = fact;
  }
  for (const auto& [key, others] : other.agreements)
    for (const auto& [step, ranks] : others)
      if (RankSet added = agreements[key][step].Merge(ranks); !added.empty())
        fresh.agreements[key][step] = std::move(added);
  return fresh;
}

std::string EncodeFacts(const Facts& facts) {
  Writer out;
  out.Count(facts.lost.size());
  for (const auto& [rank, lost] : facts.lost) {
    out.Number(static_cast<uint32_t>(rank));
    out.Number(static_cast<uint8_t>(lost.kind));
    out.Text(lost.detail);
  }
  out.Count(facts.calls.size());
  for (const auto& [key, calls] : facts.calls) {
    out.Number(key.first);
    out.Number(key.second);
    out.Count(calls.size());
    for (const auto& [call, ranks] : calls) {
      out.Text(collectives::EncodeDescriptor(call));
      out.Ranks(ranks);
    }
  }
  out.Count(facts.poison.size());
  for (const auto& [communicator, poison] : facts.poison) {
    out.Number(communicator);
    out.Number(poison.sequence);
    out.Number(static_cast<uint32_t>(poison.origin));
    out.Number(static_cast<uint8_t>(poison.code - 1));
    out.Text(poison.message);
    out.Ranks(poison.lost);
  }
  out.Count(facts.agreements.size());
  for (const auto& [key, steps] : facts.agreements) {
    out.Number(key.first);
    out.Number(key.second);
    out.Count(steps.size());
    for (const auto& [step, ranks] : steps) {
      out.Ranks(step.dead);
      out.Number(static_cast<uint8_t>(step.phase));
      out.Ranks(step.value);
      out.Number(static_cast<uint32_t>(step.value_round + 1));
      out.Ranks(ranks);
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
