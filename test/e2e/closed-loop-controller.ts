// The real flow-controller for the closed-loop suite: its sources of load, its FlowPolicy, and the changes it reports.
import type { FlowPolicy, FlowPolicySpec } from '../../pkg/apis/flow-policy.ts';
import { flowPolicyDefinition } from '../../pkg/apis/crd.ts';
import { GROUP } from '../../pkg/apis/names.ts';
import type { Bed } from './bed/index.ts';
import type { Component } from './bed/component.ts';
import { waitFor } from './bed/wait-for.ts';
import { PROMETHEUS_SOURCE, RATE_SECONDS } from './closed-loop-metrics.ts';
import type { PlanChange } from './closed-loop-types.ts';
import { LOAD_AWARE, SHOP } from './closed-loop-world.ts';
import { describeFlowController, policyOf } from './flow-world.ts';

/** Everything else is the default. */
const POLICY: FlowPolicySpec = {
  // What a Pod serves is given in cores: one is as much as it can.
  capacity: { from: 'Value', value: '1' },
};

export interface FlowController {
  readonly component: Component;
  /**
   * Begins anew, once the plan of the run before is returned from: a run that was disturbed may leave endpoints that help other zones, and the
   * early return that the loop has once an hour is not used up.
   */
  restart(): Promise<void>;
  /** From now on the load is read in this way. */
  read(metrics: NonNullable<FlowPolicySpec['metrics']>): Promise<void>;
  /** Its changes of hints from a second to another, both since 1970. */
  changes(from: number, to: number): Promise<PlanChange[]>;
}

const POLICIES = `/apis/${GROUP}/v1alpha1/namespaces/${SHOP}/flowpolicies`;

/** The changes that a FlowPolicy lists, in seconds since `from`. */
export const changesBetween = ({ status }: FlowPolicy, from: number, to: number): PlanChange[] =>
  (status?.lastChanges ?? [])
    .map(({ time, reason }) => ({ at: Math.round(Date.parse(time) / 1000 - from), reason }))
    .filter(({ at }) => at >= 0 && at < to - from)
    .sort((left, right) => left.at - right.at);

const installFlowPolicies = async (bed: Bed): Promise<void> => {
  await bed.api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', flowPolicyDefinition());
  await waitFor(
    'FlowPolicies are served',
    () => bed.api.list(POLICIES),
    () => true,
  );
};

/** Starts it with both sources. */
export const startFlowController = async (bed: Bed, prometheusUrl: string): Promise<FlowController> => {
  await installFlowPolicies(bed);
  const common = { cacheSeconds: 0 };
  const prometheus = { name: PROMETHEUS_SOURCE, type: 'Prometheus', windowSeconds: RATE_SECONDS, ...common };
  const metricSources = [
    { name: 'metrics.k8s.io', type: 'ResourceMetrics', ...common },
    { ...prometheus, url: prometheusUrl },
  ];
  await bed.api.create(POLICIES, policyOf(SHOP, LOAD_AWARE, POLICY));
  const { controller, ready } = await describeFlowController(bed, { metricSources });
  controller.start();
  await ready();
  const path = `${POLICIES}/${LOAD_AWARE}`;
  return {
    component: controller,
    async restart() {
      await waitFor(
        'every endpoint serves its own zone',
        () => bed.api.get<FlowPolicy>(path),
        ({ status }) => status?.plan === undefined || (!status.plan.spread && status.plan.endpoints.length === 0),
        { timeoutSeconds: 420, intervalMs: 1_000, assert: () => controller.assertRunning() },
      );
      await controller.stop();
      controller.start();
      await ready();
    },
    async read(metrics) {
      // A merge patch keeps what is not named.
      await bed.api.patch(path, { spec: { metrics: { query: null, ...metrics } } });
    },
    changes: async (from, to) => changesBetween(await bed.api.get<FlowPolicy>(path), from, to),
  };
};
