// Which rank a process is, from the environment of each launcher.
#include <map>

#include "base/error_names.h"
#include "catch.h"
#include "world/membership.h"

using namespace tsl;
using world::Membership;

namespace {

using Variables = std::map<std::string, std::string>;

Membership place_in(const Variables& variables) {
  return world::membership_of([&](const char* name) -> const char* {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

/// Returns the message of the error that an environment gives.
std::string problem_in(const Variables& variables) {
  try {
    place_in(variables);
  } catch (const Failure& failure) {
    CHECK(failure.error().name == ErrorName::contradicting_ranks);
    return failure.error().message;
  }
  return "none";
}

}  // namespace

TEST_CASE("a process without a launcher is a world of its own") {
  const Membership place = place_in({{"HOME", "/"}});
  CHECK(place.rank == 0);
  CHECK(place.size == 1);
  CHECK(place.launcher.empty());
  CHECK(place.folder.empty());
}

TEST_CASE("each launcher's variables give the place") {
  const std::vector<std::pair<std::string, Variables>> launchers = {
      {"tsl --ranks", {{"TSL_RANK", "1"}, {"TSL_RANKS", "4"}, {"TSL_LOCAL_RANK", "1"}, {"TSL_LOCAL_RANKS", "4"}}},
      {"torchrun", {{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}}},
      {"Open MPI",
       {{"OMPI_COMM_WORLD_RANK", "1"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}},
      {"MPICH", {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "4"}}},
      {"Slurm", {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "1"}, {"SLURM_STEP_ID", "0"}}},
      {"Kubernetes", {{"JOB_COMPLETION_INDEX", "1"}, {"TSL_RANKS", "4"}, {"TSL_RENDEZVOUS", "/shared/run"}}},
  };
  for (const auto& [name, variables] : launchers) {
    INFO(name);
    const Membership place = place_in(variables);
    CHECK(place.launcher == name);
    CHECK(place.rank == 1);
    CHECK(place.size == 4);
    CHECK(place.local_rank == 1);
    CHECK_FALSE(place.folder.empty());
  }
}

TEST_CASE("what runs in a job of Slurm takes its own launcher's place, and a batch script none") {
  CHECK(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).size == 1);
  const Membership place = place_in({{"SLURM_PROCID", "0"},
                                     {"SLURM_NTASKS", "8"},
                                     {"SLURM_STEP_ID", "0"},
                                     {"RANK", "1"},
                                     {"WORLD_SIZE", "2"},
                                     {"LOCAL_WORLD_SIZE", "2"}});
  CHECK(place.launcher == "torchrun");
  CHECK(place.size == 2);
}

TEST_CASE("an environment that contradicts itself is an error") {
  CHECK(problem_in({{"RANK", "4"}, {"WORLD_SIZE", "4"}}) ==
        "the environment of torchrun contradicts itself: RANK is 4, but WORLD_SIZE is 4");
  CHECK(problem_in({{"RANK", "one"}, {"WORLD_SIZE", "4"}}) == "the environment variable RANK is no number: 'one'");
  CHECK(problem_in({{"RANK", "0"}}) == "RANK is 0, but WORLD_SIZE is not set: torchrun sets both");
  CHECK(problem_in({{"RANK", "0"}, {"WORLD_SIZE", "0"}}) ==
        "the environment of torchrun contradicts itself: WORLD_SIZE is 0");
  CHECK(problem_in({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}) ==
        "the environment of torchrun contradicts itself: RANK is -1, but WORLD_SIZE is 2");
  CHECK(problem_in({{"RANK", "0"}, {"WORLD_SIZE", "99999999999"}}) ==
        "the environment variable WORLD_SIZE is no number: '99999999999'");
  CHECK(problem_in({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}}) ==
        "the ranks of torchrun are on several hosts, and find no common folder");
}
