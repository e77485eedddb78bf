// The demo's last act: a Service whose load is uneven, and hints that follow it.
import type { Service } from '../../pkg/apis/core.ts';
import type { FlowPolicy } from '../../pkg/apis/flow-policy.ts';
import { ANNOTATION_TOPOLOGY_MODE, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { FLOW_POLICIES, NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../fixtures/crds.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { POD_METRICS } from '../../pkg/metrics/resource-metrics.ts';
import { flow, meterPage } from '../fixtures/measured.ts';
import { runTopology } from '../fixtures/topology-command.ts';
import * as actors from './actors.ts';
import { type Load, createPlant } from './plant.ts';
import * as screen from './screen.ts';
import { HOT, HOT_ZONE, SHOP, USUAL, WEB } from './shop.ts';
import { podMetricsCrd, shopNamespace, shopPods, shopPolicy, shopService } from './shop.ts';
import type { Stage } from './stage.ts';
import type { Step } from './story.ts';
import { until } from './until.ts';

/** The loop waits for samples and dwell times of seconds; this is ten times what it needs. */
const TIMEOUT_MS = 100_000;
/** Load from which on the loop makes a new plan, as a fraction of capacity. */
const UPPER = 0.8;
/** What meters are played to have counted for so long. */
const COUNTED_SECONDS = 60;

const keepsToItsZone = ({ pods }: Load): boolean =>
  pods.length > 0 && pods.every(({ zone, forZones }) => forZones.join() === zone);

const busiest = ({ pods }: Load): number => Math.max(...pods.map(({ load }) => load));

const { percent } = screen;

const show = ({ pods, inZone }: Load): void => {
  const rows = pods.map(({ pod, zone, forZones, load }) => ({
    changed: forZones.join() !== zone,
    cells: [pod.name, zone, forZones.join(' ') || '–', percent(load)],
  }));
  screen.grid(['POD', 'ZONE', 'SERVES', 'LOAD'], rows);
  screen.fact(`${percent(inZone)} of the load stays in its zone; without hints it would be 33 %.`);
};

/** Waits until the load is as `judge` wants it; a string says what is not. */
const reachLoad = async (stage: Stage, what: string, judge: (load: Load) => true | string): Promise<Load> => {
  const { plant } = stage;
  if (plant === undefined) throw new Error('the shop has not opened');
  let load: Load = { pods: [], inZone: 0, matrix: new Map() };
  const condition = async () => {
    load = await plant.look();
    return judge(load);
  };
  await until(what, condition, TIMEOUT_MS);
  show(load);
  screen.good(what);
  return load;
};

/** What the flow controller says that it did, where a team reads it. */
const tell = async ({ cluster: { client } }: Stage, reasons: readonly string[]): Promise<void> => {
  let policy: FlowPolicy | undefined;
  await until(
    'the FlowPolicy says why',
    async () => {
      policy = await client.get<FlowPolicy>(FLOW_POLICIES, { namespace: SHOP, name: WEB });
      return reasons.includes(policy.status?.lastChanges?.[0]?.reason ?? '') || JSON.stringify(policy.status);
    },
    TIMEOUT_MS,
  );
  const { reason = '', message = '' } = policy?.status?.lastChanges?.[0] ?? {};
  screen.fact(`Its FlowPolicy says: ${reason}: ${message}`);
};

const describeLoad = (load: Load): string =>
  `busiest Pod ${percent(busiest(load))}, ${percent(load.inZone)} in its zone, ` +
  load.pods.map(({ pod, forZones }) => `${pod.name}: ${forZones.join('+')}`).join(', ');

/** What meters would count: a connection takes a hundredth of a core and is answered by 50 kB; and scrapes, which pass no Service. */
const pageOf = (from: string, row: ReadonlyMap<string, number>): string =>
  meterPage(COUNTED_SECONDS, [
    ...[...row].map(([to, cores]) => flow(`${SHOP}/${WEB}`, from, to, cores * 100 * 50_000, cores * 100)),
    flow('', from, HOT_ZONE, 200_000),
  ]);

/** What goes from zone to zone, as the command shows it. */
const measure = async ({ cluster }: Stage, load: Load): Promise<void> => {
  const { playMeter } = cluster;
  if (playMeter === undefined) return screen.fact('No traffic-meters here: these Nodes have no kernel to count in.');
  for (const [zone, row] of load.matrix) await playMeter(`node-${zone.slice(-1)}1`, pageOf(zone, row));
  const kubeconfig = await cluster.kubeconfig('visitor', ['system:masters']);
  const { out: text } = await runTopology(['traffic', '--kubeconfig', kubeconfig]);
  screen.fact('Connections are simulated, so the sandbox plays the traffic-meters: kubectl topology traffic');
  for (const line of text.trim().split('\n')) screen.fact(line === '' ? '' : `  ${line}`);
  const crossing = percent(1 - load.inZone);
  if (!new RegExp(`^${SHOP}/${WEB} .* ${crossing}$`, 'm').test(text))
    throw new Error(`the command does not say that ${crossing} of the bytes cross zones`);
};

/** Stands in for metrics-server. */
const defineMetrics = async (client: Client): Promise<void> => {
  await actors.ensure(client, CUSTOM_RESOURCE_DEFINITIONS, podMetricsCrd());
  await until('metrics of Pods are served', () =>
    client.list(POD_METRICS, { namespace: SHOP, limit: 1 }).then(
      () => true,
      (error: unknown) => String(error),
    ),
  );
};

const opened: Step = {
  title: 'A team asks for the closed loop: annotation topology-mode=topology.extensions.gardener.cloud/load-aware',
  run: async (stage) => {
    const { client } = stage.cluster;
    await defineMetrics(client);
    await actors.ensure(client, NAMESPACES, shopNamespace());
    const pods = shopPods((index) => stage.cluster.podAddress(stage.pods.length + 1 + index));
    for (const pod of pods) await actors.startPod(client, pod);
    await actors.ensure(client, FLOW_POLICIES, shopPolicy());
    await actors.ensure(client, SERVICES, shopService());
    stage.plant = createPlant(client, pods, stage.minor, USUAL);
    await reachLoad(stage, 'every Pod serves its own zone: none is busy', (load) =>
      load.pods.length === pods.length && keepsToItsZone(load) ? true : describeLoad(load),
    );
  },
};

const surge: Step = {
  title: `The clients of ${HOT_ZONE} ask for three times as much: 120 % of what the Pods of their zone can handle`,
  run: async (stage) => {
    if (stage.plant !== undefined) stage.plant.demand = HOT;
    const load = await reachLoad(stage, 'what they cannot handle goes to other zones: no Pod is overloaded', (now) =>
      busiest(now) <= UPPER ? true : describeLoad(now),
    );
    await measure(stage, load);
    await tell(stage, ['Saturated', 'Overloaded']);
  },
};

const calm: Step = {
  title: 'The load is back to what it was',
  run: async (stage) => {
    if (stage.plant !== undefined) stage.plant.demand = USUAL;
    await reachLoad(stage, 'every Pod serves its own zone again', (load) =>
      keepsToItsZone(load) ? true : describeLoad(load),
    );
    await tell(stage, ['Returned']);
  },
};

const optedOut: Step = {
  title: 'The team removes the annotation',
  run: async (stage) => {
    const ref = { namespace: SHOP, name: WEB };
    const { client } = stage.cluster;
    const without = { metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: null } } };
    await client.patch<Service>(SERVICES, ref, 'merge', without);
    await until('hints and label are gone', async () => {
      const load = await stage.plant?.look();
      const { metadata } = await client.get<Service>(SERVICES, ref);
      if (metadata?.labels?.[LABEL_STRATEGY] !== undefined) return 'the Service still has its label';
      return load?.pods.every(({ forZones }) => forZones.length === 0) ?? false;
    });
    screen.good('its hints and its label are gone');
  },
};

export const LOOP_STORY: readonly Step[] = [opened, surge, calm, optedOut];
