// Whether the process is asked to end, as a cluster asks before it takes a machine away.
#pragma once

namespace tsl::world {

/// Lets is_ending() take SIGTERM over: for a program whose process is TSL's own.
void allow_ending();
/// Returns whether SIGTERM has come. From the first call on that signal does not end the process: whoever asks is to
/// save and end it. Always false where allow_ending() was not called.
bool is_ending();

}  // namespace tsl::world
