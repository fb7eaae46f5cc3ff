// A game loop: the program keeps time and the world, a script decides what happens in each tick, and may not take long.
//
//     game [ticks]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <tsl/tsl.hpp>

namespace {

struct Ship {
  double x = 0, speed = 1;
};

constexpr const char* kScript = R"(
var hits = 0
fn tick(time) {
  for ship in ships() {
    if abs(position(ship)) > 10.0 { turn(ship) ; hits += 1 }
  }
  if time == 40 { while true {} }
  return hits
}
)";

void add_functions(tsl::Engine& engine, std::vector<Ship>& ships) {
  engine.type<Ship>("Ship").value();
  engine
      .def("ships()",
           [&engine, &ships] {  // which stay the world's
             std::vector<tsl::Value> values;
             for (Ship& ship : ships) values.push_back(engine.refer(ship).value());
             return values;
           })
      .value();
  engine.def("position(ship: Ship)", [](const Ship* ship) { return ship->x; }).value();
  engine.def("turn(ship: Ship)", [](Ship* ship) { ship->speed = -ship->speed; }).value();
}

}  // namespace

int main(int count, char** arguments) {
  const int ticks = count > 1 ? std::atoi(arguments[1]) : 60;
  std::vector<Ship> ships = {{0, 1}, {5, 2}};
  auto engine = tsl::Engine::create({.step_limit = 10'000}).value();
  add_functions(engine, ships);
  engine.run(kScript, "game").value();
  const tsl::Value tick = engine.get("tick").value();
  int late = 0;
  double hits = 0;
  for (int time = 0; time < ticks; ++time) {
    for (Ship& ship : ships) ship.x += ship.speed;
    const auto done = engine.call<double>(tick, time);
    if (done) hits = *done;
    else if (done.error().kind == TSL_LIMIT) ++late;  // the world goes on
    else std::fputs(done.error().text.c_str(), stderr);
  }
  std::printf("%d ticks, %d of them ended, %.0f hits, ships at %.0f and %.0f\n", ticks, late, hits, ships[0].x,
              ships[1].x);
  return 0;
}
