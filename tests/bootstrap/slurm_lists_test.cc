#include "src/bootstrap/slurm_lists.h"

#include <gtest/gtest.h>

namespace lockstep::bootstrap {
namespace {

TEST(SlurmListsTest, FindsTheFirstHost) {
  EXPECT_EQ(FirstSlurmHost("n[01-04,07],m2").value(), "n01");
  EXPECT_EQ(FirstSlurmHost("n[07,01-04]").value(), "n07");
  EXPECT_EQ(FirstSlurmHost("m2,n[01-04]").value(), "m2");
  EXPECT_EQ(FirstSlurmHost("gpu-a-3").value(), "gpu-a-3");
  EXPECT_EQ(FirstSlurmHost("r[1-2]n[3,5]-ib").value(), "r1n3-ib");
}

TEST(SlurmListsTest, RejectsWhatIsNoNodeList) {
  for (const char* list : {"", ",n1", "n[01", "n01]", "n[]", "n[-3]", "[,1]"})
    EXPECT_EQ(FirstSlurmHost(list).status().code(), absl::StatusCode::kInvalidArgument) << list;
}

TEST(SlurmListsTest, CountsTheTasksOfANode) {
  EXPECT_EQ(SlurmTasksOnNode("4(x2),3", 0).value(), 4);
  EXPECT_EQ(SlurmTasksOnNode("4(x2),3", 1).value(), 4);
  EXPECT_EQ(SlurmTasksOnNode("4(x2),3", 2).value(), 3);
  EXPECT_EQ(SlurmTasksOnNode("8", 0).value(), 8);
  for (const char* list : {"", "x", "4(x2", "4(x)", "0", "4(x2),3"})
    EXPECT_EQ(SlurmTasksOnNode(list, 3).status().code(), absl::StatusCode::kInvalidArgument) << list;
}

}  // namespace
}  // namespace lockstep::bootstrap
