#include "world/membership.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/error_names.h"
#include "base/platform/process.h"

namespace tsl::world {

namespace {

/// The variables of a launcher; null: it has none.
struct Launcher {
  const char* name;
  const char *rank, *size, *local_rank, *local_size;
  const char* run[2] = {};     // which tell runs apart
  const char* step = nullptr;  // set where the others are those of processes, and not of what starts them
};

// The first whose rank is set has started this process: what it runs in, such as a job of Slurm, may have started it.
// docs/parallel.md lists them. Sources: the manuals of torchrun, Open MPI 5, MPICH (Hydra), Slurm and Kubernetes.
constexpr Launcher kLaunchers[] = {
    {"tsl --ranks", "TSL_RANK", "TSL_RANKS", "TSL_LOCAL_RANK", "TSL_LOCAL_RANKS"},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", {"TORCHELASTIC_RUN_ID", "MASTER_PORT"}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"PMIX_NAMESPACE"}},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"Slurm",
     "SLURM_PROCID",
     "SLURM_NTASKS",
     "SLURM_LOCALID",
     nullptr,
     {"SLURM_JOB_ID", "SLURM_STEP_ID"},
     "SLURM_STEP_ID"},
    {"Kubernetes", "JOB_COMPLETION_INDEX", "TSL_RANKS", nullptr, nullptr},
};

/// Returns the number in a variable; none if it is not set. Throws Failure if it is no number.
std::optional<int> number_in(const Environment& environment, const char* name) {
  const char* const text = name ? environment(name) : nullptr;
  if (!text || !*text) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  if (error != std::errc() || *end != '\0')
    fail(ErrorName::contradicting_ranks, "the environment variable {} is no number: '{}'", name, text);
  return number;
}

/// Returns text that only the ranks of one run on this host have in common: what its launcher calls the run, or the
/// process that has started them and when that began.
std::string name_of_run(const Environment& environment, const Launcher& launcher) {
  std::string name;
  for (const char* const variable : launcher.run) {
    const char* const text = variable ? environment(variable) : nullptr;
    if (text && *text) name += std::string("-") + text;
  }
  const int starter = platform::parent_number();
  if (name.empty()) name = "-" + std::to_string(starter) + "-" + platform::start_of_process(starter);
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

/// Returns a folder for the ranks of this host.
std::string local_folder(const Environment& environment, const Launcher& launcher) {
  const char* const temporary = environment("TMPDIR");
  const char* const restart = environment("TORCHELASTIC_RESTART_COUNT");
  return std::string(temporary && *temporary ? temporary : "/tmp") + "/tsl-ranks-" +
         std::to_string(platform::user_number()) + name_of_run(environment, launcher) +
         (restart ? "-" + std::string(restart) : "");
}

void check(const Launcher& launcher, const Membership& place) {
  const auto refuse = [&](const std::string& why) {
    fail_with(ErrorName::contradicting_ranks,
              fmt::format("the environment of {} contradicts itself: {}", launcher.name, why),
              {fmt::format("{} and {} number the processes of one run from 0", launcher.rank, launcher.size)});
  };
  if (place.size < 1) refuse(fmt::format("{} is {}", launcher.size, place.size));
  if (place.rank < 0 || place.rank >= place.size)
    refuse(fmt::format("{} is {}, but {} is {}", launcher.rank, place.rank, launcher.size, place.size));
  if (place.local_rank < 0 || place.local_rank >= place.size)
    refuse(fmt::format("{} is {}, but {} is {}", launcher.local_rank, place.local_rank, launcher.size, place.size));
}

bool spans_hosts(const Environment& environment, const Launcher& launcher, const Membership& place) {
  if (const std::optional<int> local = number_in(environment, launcher.local_size)) return *local != place.size;
  return number_in(environment, "SLURM_NNODES").value_or(1) > 1 || std::strcmp(launcher.name, "Kubernetes") == 0;
}

}  // namespace

Membership membership_of(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.step && !environment(launcher.step)) continue;
    const std::optional<int> rank = number_in(environment, launcher.rank);
    if (!rank) continue;
    const std::optional<int> size = number_in(environment, launcher.size);
    if (!size) {
      fail(ErrorName::contradicting_ranks, "{} is {}, but {} is not set: {} sets both", launcher.rank, *rank,
           launcher.size, launcher.name);
    }
    Membership place;
    place.rank = *rank;
    place.size = *size;
    place.launcher = launcher.name;
    place.local_rank = number_in(environment, launcher.local_rank).value_or(place.rank);
    place.local_size = number_in(environment, launcher.local_size).value_or(place.size);
    check(launcher, place);
    const char* const folder = environment(kFolderVariable);
    if (!(folder && *folder) && place.size > 1 && spans_hosts(environment, launcher, place)) {
      fail_with(ErrorName::contradicting_ranks,
                fmt::format("the ranks of {} are on several hosts, and find no common folder", launcher.name),
                {fmt::format("set {} to a new folder that all hosts share", kFolderVariable)});
    }
    place.owns_folder = !(folder && *folder);
    place.folder = place.owns_folder ? local_folder(environment, launcher) : folder;
    return place;
  }
  return {};
}

}  // namespace tsl::world
