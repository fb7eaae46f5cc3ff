#include "cli/program.h"

int main(int argc, char** argv) { return tsl::run_program(argc, argv); }
