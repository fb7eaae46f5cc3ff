// Tests the engine's host with pretended GPUs: changes by the host between calls, and the end of an engine.
#include "base/error_names.h"
#include "support/pretend_gpu.h"
#include "support/session.h"

using namespace tsl;

TEST_CASE("after the host had control, the GPU is made current again", "[devices]") {
  class CountingGpu : public PretendGpu {
   public:
    CountingGpu(Device gpu, exec::Backend& host, int& activated)
        : PretendGpu(gpu, host, false), activated_(activated) {}
    void activate() override { ++activated_; }

   private:
    int& activated_;
  };
  int activated = 0;
  EngineOptions options;
  options.device = "cuda";
  options.open_backend = [&](Device gpu, exec::Backend& host) {
    return std::make_unique<CountingGpu>(gpu, host, activated);
  };
  options.log_topics = "recompiles";
  Session session(options);
  session.eval("zeros([2]) + zeros([2])");
  CHECK(activated == 0);
  session.eval("zeros([2]) + zeros([2])");  // this might be another thread
  CHECK(activated == 1);
  session.eval("print(1); zeros([2]) + zeros([2])");  // what writes might use another engine
  CHECK(activated == 2);
  session.eval("zeros([2]); print(1); zeros([2])");
  CHECK(activated == 4);
  session.eval("let t = zeros([2]); map(fn(x) = x + t, [t, t, t])");  // calls from within give nobody control
  CHECK(activated == 5);
  session.engine.log = [](std::string_view) { fail(ErrorName::cannot_write_file, "nowhere to write"); };
  session.error(
      "zeros([2])\n@compile\nfn f(x) = x + 1.0\ntry { f(zeros([2])) } catch e { nil }");  // logs, and fails at that
  CHECK(activated == 6);
  session.eval("zeros([2])");
  CHECK(activated == 7);
}

TEST_CASE("an engine whose GPU has failed for good ends all the same") {
  class BrokenGpu : public PretendGpu {
   public:
    BrokenGpu(Device gpu, exec::Backend& host) : PretendGpu(gpu, host, false) {}
    void activate() override { fail(ErrorName::device_failed, "the GPU fell off the bus"); }
  };
  EngineOptions options;
  options.device = "cuda";
  options.open_backend = [](Device gpu, exec::Backend& host) { return std::make_unique<BrokenGpu>(gpu, host); };
  Session session(options);
  session.eval("zeros([2])");
  CHECK(session.error_text("zeros([2])") == "device: the GPU fell off the bus");
}
