#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace lockstep::comm {

// A set of ranks as bits: 128 bytes for a thousand ranks, merged a word at a time.
class RankSet {
 public:
  RankSet() = default;
  RankSet(std::initializer_list<int> ranks) {
    for (int rank : ranks) Add(rank);
  }
  explicit RankSet(const std::vector<int>& ranks) {
    for (int rank : ranks) Add(rank);
  }

  void Add(int rank) {
    const auto word = static_cast<size_t>(rank) / 64;
    if (word >= words_.size()) words_.resize(word + 1);
    words_[word] |= uint64_t{1} << (rank % 64);
  }
  bool Contains(int rank) const {
    const auto word = static_cast<size_t>(rank) / 64;
    return word < words_.size() && (words_[word] >> (rank % 64) & 1) != 0;
  }
  bool empty() const { return words_.empty(); }
  int size() const {
    int size = 0;
    for (uint64_t word : words_) size += std::popcount(word);
    return size;
  }
  // Adds `other`; returns what was not in here before.
  RankSet Merge(const RankSet& other) {
    RankSet fresh = other;
    fresh.Remove(*this);
    if (fresh.empty()) return fresh;
    words_.resize(std::max(words_.size(), other.words_.size()));
    for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
    return fresh;
  }
  void Remove(const RankSet& other) {
    for (size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i) words_[i] &= ~other.words_[i];
    Trim();
  }
  bool ContainsAll(const RankSet& other) const {
    RankSet rest = other;
    rest.Remove(*this);
    return rest.empty();
  }
  std::vector<int> ToVector() const {
    std::vector<int> ranks;
    for (size_t i = 0; i < words_.size(); ++i)
      for (uint64_t word = words_[i]; word != 0; word &= word - 1)
        ranks.push_back(static_cast<int>(i) * 64 + std::countr_zero(word));
    return ranks;
  }

  // The last word is not 0, so that equal sets have equal words.
  const std::vector<uint64_t>& words() const { return words_; }
  void SetWords(std::vector<uint64_t> words) {
    words_ = std::move(words);
    Trim();
  }
  friend bool operator==(const RankSet&, const RankSet&) = default;
  friend auto operator<=>(const RankSet&, const RankSet&) = default;

 private:
  void Trim() {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
  }
  std::vector<uint64_t> words_;
};

}  // namespace lockstep::comm
