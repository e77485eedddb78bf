// Every metric of every command, from the definitions that the commands register: docs, dashboard, alert rules and tests go by it.
import { registerMeterMetrics } from '../../cmd/traffic-meter/metrics.ts';
import { COMMANDS, TRAFFIC_METER } from '../../pkg/apis/names.ts';
import { showEffectiveness, showUnsafeRouters } from '../../pkg/controllers/effectiveness/controller.ts';
import { showEvacuation } from '../../pkg/controllers/evacuation/controller.ts';
import { createFlowCounters, showFlow } from '../../pkg/controllers/flow/metrics.ts';
import { createRepairMetrics, showPlanner } from '../../pkg/controllers/hint-repair/controller.ts';
import { createTouchCounter, showNodeGroups } from '../../pkg/controllers/node-groups/controller.ts';
import { createWriteCounter, showSettings } from '../../pkg/controllers/settings/reporter.ts';
import {
  countFailures,
  createControllerMetrics,
  createEventMetrics,
  createMetrics,
  createProcessMetrics,
  showStaleness,
} from '../../pkg/telemetry/metrics.ts';
import type { Metrics } from '../../pkg/telemetry/metrics.ts';
import { createBudget } from '../../pkg/webhook/body.ts';
import { createAdmissionMetrics } from '../../pkg/webhook/metrics.ts';

export interface CommandMetrics {
  readonly command: string;
  /** By name. */
  readonly metrics: ReturnType<Metrics['definitions']>;
}

const none = (): [] => [];
const no = (): number => 0;

const registerController = (metrics: Metrics, command: string): void => {
  createProcessMetrics(metrics, { command, readiness: [], leads: () => false });
  createEventMetrics(metrics);
  showStaleness(metrics, none);
  createControllerMetrics(metrics);
  countFailures(metrics);
};

const REGISTER: Readonly<Record<string, (metrics: Metrics, command: string) => void>> = {
  [COMMANDS.settingsReconciler](metrics, command) {
    registerController(metrics, command);
    createWriteCounter(metrics);
    showSettings(metrics, none);
    showEffectiveness(metrics, { services: none });
    showUnsafeRouters(metrics, none);
    showEvacuation(metrics, { counts: none, overdue: () => new Map() });
    createRepairMetrics(metrics, () => false);
    showPlanner(metrics, { alive: () => true, known: () => false }, () => false);
  },
  [COMMANDS.flowController](metrics, command) {
    registerController(metrics, command);
    createFlowCounters(metrics);
    showFlow(metrics, { services: none });
    createTouchCounter(metrics);
    showNodeGroups(metrics, { current: none });
  },
  [COMMANDS.endpointSliceWebhook](metrics, command) {
    createProcessMetrics(metrics, { command, readiness: [] });
    createAdmissionMetrics({ metrics, budget: createBudget(), certificateNotAfter: no });
  },
  [TRAFFIC_METER](metrics, command) {
    createProcessMetrics(metrics, { command, readiness: [] });
    countFailures(metrics);
    registerMeterMetrics(metrics, {
      ledger: {
        series: () => [],
        direct: () => [],
        proofs: () => [],
        losses: { ends: 0, unaccounted: 0, ambiguous: 0 },
        living: () => 0,
        seesServices: () => false,
      },
      facts: () => undefined,
      listAgeSeconds: () => undefined,
      countingSeconds: () => undefined,
      overruns: no,
      longLines: no,
      unsupported: () => [],
    });
  },
};

export const metricsCatalogue = (): CommandMetrics[] =>
  Object.entries(REGISTER).map(([command, register]) => {
    const metrics = createMetrics({ defaultMetrics: false });
    register(metrics, command);
    return { command, metrics: metrics.definitions() };
  });
