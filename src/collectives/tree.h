#pragma once

#include <vector>

namespace lockstep::collectives {

// One rank's place in a tree over all ranks.
struct TreePlace {
  int parent = -1;  // -1: the root
  std::vector<int> children;
  int most_children = 0;  // of any rank
};

// Binomial tree: depth log2 P; the child with the largest subtree first. Ranks are counted from the root.
TreePlace BinomialTree(int rank, int world_size, int root);
// Every rank has one child: each link carries every byte once, and pipelining hides the depth.
TreePlace Chain(int rank, int world_size, int root);

}  // namespace lockstep::collectives
