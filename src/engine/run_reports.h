// What is written about an engine's run after it: EngineOptions::reports.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "report/recording.h"

namespace tsl {

class Engine;
struct EngineOptions;

/// Lets the engine that is made of `options` record what its reports need, and makes what must be there before a
/// program runs, so that a folder that cannot be used costs no run. Throws Failure (io).
void prepare_reports(EngineOptions& options);
/// Makes sure that a file can be written after the run, and leaves it as it is until then. Throws Failure (io).
void require_writable(const std::string& path);

/// Writes the reports on the engine's profile, if it has one: `show` receives the tables. Throws Failure (io).
/// `width`: of the tables, in columns; 0: any.
void write_profiles(Engine& engine, const std::string& title, bool color, size_t width,
                    const std::function<void(std::string_view)>& show);
/// Writes the dump, if there is to be one. Throws Failure (io).
void write_dump(Engine& engine);
/// Returns what was recorded, with what compiled code depends on and what was counted.
report::Recording finished_recording(Engine& engine);

}  // namespace tsl
