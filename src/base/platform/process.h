// What the system knows of this process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace tsl::platform {

int process_number();
int parent_number();
/// Returns the number of the user who runs this process.
uint64_t user_number();

/// Returns a text of when a process began, which tells it from later ones of its number; "" if none runs.
std::string start_of_process(int process);

/// Returns the file of the program that runs; "" if it is not known.
std::string program_path();

/// Sets a variable of the environment. No other thread may use the environment meanwhile.
void set_variable(const char* name, const std::string& value);

/// Returns random bits that were drawn for this process alone, the same at each call. They are not to be shown.
std::array<uint64_t, 2> random_of_process();

/// Returns a counter of forks: how many there were since the first call, between its process and this one.
const std::atomic<uint32_t>& fork_counter();

}  // namespace tsl::platform
