// Where the program begins: in the wheel, a function of the library with all code, which a small program calls.
#pragma once

/// Runs the program. Returns the exit code.
extern "C" [[gnu::visibility("default")]] int tsl_program(int argc, char** argv);
