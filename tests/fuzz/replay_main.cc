// Runs a fuzz target without libFuzzer: every file of the folders given, each file damaged in many ways, and
// random bytes. The inputs depend on the run's number alone, so that a failure repeats.
//
//     frame_fuzz [--runs N] [FOLDER...]

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kLargestRandomInput = 4096;

std::vector<Bytes> ReadCorpus(const std::vector<std::string>& folders) {
  std::vector<Bytes> corpus;
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  return corpus;
}

// A seed with a few bytes changed, cut short or repeated; random bytes when there is no seed, or now and
// then.
Bytes MakeInput(const std::vector<Bytes>& corpus, uint64_t run) {
  std::mt19937_64 random(run);
  if (corpus.empty() || random() % 8 == 0) {
    Bytes bytes(random() % kLargestRandomInput);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    return bytes;
  }
  Bytes bytes = corpus[random() % corpus.size()];
  if (bytes.empty()) return bytes;
  for (uint64_t changes = random() % 5; changes > 0; --changes) {
    uint8_t& byte = bytes[random() % bytes.size()];
    switch (random() % 4) {
      case 0:
        byte ^= static_cast<uint8_t>(1u << random() % 8);
        break;
      case 1:
        byte = 0xff;
        break;
      case 2:
        byte = 0;
        break;
      default:
        byte = static_cast<uint8_t>(random());
    }
  }
  if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
  if (random() % 16 == 0) {
    const Bytes tail = corpus[random() % corpus.size()];
    bytes.insert(bytes.end(), tail.begin(), tail.end());
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t runs = 20000;
  std::vector<std::string> folders;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      runs = std::strtoull(argv[++i], nullptr, 10);
    } else {
      folders.emplace_back(argv[i]);
    }
  }
  const std::vector<Bytes> corpus = ReadCorpus(folders);
  LLVMFuzzerTestOneInput(nullptr, 0);
  for (const Bytes& seed : corpus) LLVMFuzzerTestOneInput(seed.data(), seed.size());
  for (uint64_t run = 0; run < runs; ++run) {
    const Bytes input = MakeInput(corpus, run);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu seeds and %llu made inputs\n", corpus.size(), static_cast<unsigned long long>(runs));
  return 0;
}
