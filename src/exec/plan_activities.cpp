#include "exec/plan_activities.h"

#include <utility>

namespace tsl::exec {

void PlanActivities::add(Timeline& timeline, const graph::Plan& plan, Device device,
                         std::vector<LoadedKernel> kernels) {
  first_ = static_cast<Timeline::Id>(timeline.size());
  serial_ = timeline.serial();
  for (LoadedKernel& kernel : kernels) {
    Activity activity;
    activity.kind = ActivityKind::kernel;
    activity.name = kernel.name;
    activity.device = device;
    activity.facts = graph::facts_of(plan, plan.launches[kernel.launch]);
    activity.plan = plan.options.name;
    activity.segment = plan.options.segment;
    activity.kernel = std::move(kernel);
    timeline.add(std::move(activity));
  }
}

}  // namespace tsl::exec
