#include "src/collectives/tree.h"

namespace lockstep::collectives {

TreePlace BinomialTree(int rank, int world_size, int root) {
  const int relative = (rank - root + world_size) % world_size;
  const auto absolute = [&](int r) { return (r + root) % world_size; };
  TreePlace place;
  for (int reach = 1; reach < world_size; reach *= 2) ++place.most_children;
  int bit = 1;
  while (bit < world_size && (relative & bit) == 0) bit *= 2;
  if (relative != 0) place.parent = absolute(relative - bit);
  for (bit /= 2; bit > 0; bit /= 2)
    if (relative + bit < world_size) place.children.push_back(absolute(relative + bit));
  return place;
}

TreePlace Chain(int rank, int world_size, int root) {
  const int relative = (rank - root + world_size) % world_size;
  TreePlace place;
  place.most_children = 1;
  if (relative > 0) place.parent = (rank + world_size - 1) % world_size;
  if (relative + 1 < world_size) place.children.push_back((rank + 1) % world_size);
  return place;
}

}  // namespace lockstep::collectives
