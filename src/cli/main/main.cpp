#include "cli/main/program_entry.h"

int main(int argc, char** argv) { return tsl_program(argc, argv); }
