// `tsl new NAME`: makes a folder with a first program, its data, its tests and a README.
#include <filesystem>
#include <iostream>

#include "base/error_names.h"
#include "cli/program.h"
#include "io/atomic_file.h"
#include "io/file_system.h"

namespace tsl {

namespace {

namespace fs = std::filesystem;

constexpr const char* kScript = R"(## Fits a line to a table of measurements: y = slope * x + offset.
import optim
from "./model.tsl" import loss, predict

let options = parse_args({steps: 300, lr: 0.1, data: "data.csv"})
let table = load(options.data)  # a record of its columns
let (x, y) = (f32(table.x), f32(table.y))

@compile
fn step(p, state) {
  let (l, g) = value_and_grad(loss)(p, x, y)
  let (next, next_state) = optim.adam(p, g, state, lr: options.lr)
  return (next, next_state, l)
}

var p = {slope: zeros([]), offset: zeros([])}
var state = optim.adam_init(p)
var l = tensor(0.0)
for i in 1..=options.steps { (p, state, l) = step(p, state) }

print(f"loss {l:.4f}")
print(f"y = {p.slope:.2f} * x + {p.offset:.2f}")
print(f"at x = 5: {predict(p, tensor(5.0)):.1f}")
)";

constexpr const char* kModel = R"(## A line, and how far it is from measurements.

## The values of the line p.slope * x + p.offset.
fn predict(p: record, x: f32[...]) = p.slope * x + p.offset

## The mean of the squared distances of the line from y.
fn loss(p: record, x: f32[n], y: f32[n]) = mean((predict(p, x) - y) ** 2)
)";

constexpr const char* kData = R"(x,y
0.0,1.1
0.5,1.9
1.0,3.1
1.5,3.9
2.0,5.0
2.5,6.1
3.0,6.9
3.5,8.1
)";

constexpr const char* kTest = R"(## Tests of the model. What follows "expect" is what the line prints.
from "./model.tsl" import loss, predict

let p = {slope: tensor(2.0), offset: tensor(1.0)}
print(predict(p, tensor([0.0, 1.0])).tolist())                 # expect: [1.0, 3.0]
print(loss(p, tensor([0.0, 1.0]), tensor([1.0, 4.0])).item())  # expect: 0.5

# The gradient points where the loss grows.
let g = grad(loss)(p, tensor([0.0, 1.0]), tensor([1.0, 4.0]))
print(g.slope.item(), g.offset.item())  # expect: -1.0 -1.0
)";

constexpr const char* kReadme = R"(
    tsl main.tsl                  # fits a line to data.csv, and prints it
    tsl main.tsl --steps 1000     # with another number of steps
    tsl test test_model.tsl       # runs the tests
    tsl -i main.tsl               # runs it, and then asks for more

| | |
|---|---|
| `main.tsl` | loads the data, trains, prints |
| `model.tsl` | the model and its loss, which the tests import, too |
| `data.csv` | measurements: columns `x` and `y` |
| `test_model.tsl` | the tests: each `# expect:` is what the line prints |

`tsl help WORD` finds functions, `tsl --check main.tsl` finds mistakes without running, `tsl doctor` tells what is installed.
)";

/// Whether a name is that of a folder that can be made anywhere.
bool is_usable(const std::string& name) {
  return !name.empty() && name.find('\0') == std::string::npos && fs::path(name).filename() != "" &&
         fs::path(name).filename() != "." && fs::path(name).filename() != "..";
}

}  // namespace

int run_new(const std::string& name) {
  try {
    if (!is_usable(name)) fail(ErrorName::cannot_write_file, "'{}' is no name of a folder", name);
    std::error_code failed;
    if (fs::exists(name, failed) && !(fs::is_directory(name, failed) && fs::is_empty(name, failed)))
      fail(ErrorName::file_in_the_way, "{} exists already: tsl new makes a new folder", name);
    make_folder(name);
    const std::string readme = "# " + fs::path(name).filename().string() + "\n" + kReadme;
    const std::pair<const char*, std::string> files[] = {{"main.tsl", kScript},
                                                         {"model.tsl", kModel},
                                                         {"data.csv", kData},
                                                         {"test_model.tsl", kTest},
                                                         {"README.md", readme}};
    for (const auto& [file, text] : files) write_text_file((fs::path(name) / file).string(), text);
    std::cout << fmt::format("made {}: main.tsl, model.tsl, data.csv, test_model.tsl and README.md\n\n", name)
              << fmt::format("  cd {}\n  tsl main.tsl\n  tsl test test_model.tsl\n", name);
    return 0;
  } catch (const Failure& failure) { return report_error(failure.error(), SourceMap(), ErrorForm()); }
}

}  // namespace tsl
