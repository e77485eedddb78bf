// The page and the figure about the closed loop on real traffic, from the last kept long run of the e2e suite.
import { describeMachine } from '../../test/bench/table.ts';
import {
  describeChanges,
  describeRun,
  formatRun,
  formatSummary,
  hotZone,
  LONG,
  REACTED,
  REACTING,
} from '../../test/e2e/closed-loop-results.ts';
import type { ClosedLoopResults, ScenarioRun } from '../../test/e2e/closed-loop-results.ts';
import { closedLoopFigure } from './closed-loop-figure.ts';
import { readResults } from './results.ts';
import type { Generator } from './types.ts';

const read = (): ClosedLoopResults => readResults('e2e', 'closed-loop');

const shown = ({ runs }: ClosedLoopResults): ScenarioRun => {
  const run = runs.find(({ scenario }) => scenario === hotZone(LONG).name);
  if (run === undefined) throw new Error('test/e2e/results/closed-loop.json has no run of a hot zone');
  return run;
};

const introduction = ({ pod, podsPerZone }: ClosedLoopResults): string => `# The closed loop on real traffic

Four Services, alike but for what they ask for, in a real cluster of three zones: real etcd, kube-apiserver and kube-controller-manager, a real
kube-proxy on every node, the real \`endpointslice-webhook\` and \`flow-controller\`. Every Service has ${podsPerZone} Pods in each zone. A Pod serves
${pod.requestsPerSecond} requests a second, one after the other; ${pod.places} more may wait, and the next is refused. Clients in every zone send all four
Services the same requests at the same time, at a fixed rate whether they are answered or not, and open a connection for each.

| Service | asks for | |
|---|---|---|
| spread | nothing | every client uses every endpoint |
| auto | \`service.kubernetes.io/topology-mode: Auto\` | hints by the EndpointSlice controller, from the nodes' CPUs |
| same-zone | label \`topology.extensions.gardener.cloud/strategy: same-zone\` | hints by the webhook |
| load-aware | \`service.kubernetes.io/topology-mode: topology.extensions.gardener.cloud/load-aware\` | hints by the flow controller, from metrics |

![Load, traffic between zones, errors and latency over time: the closed loop spills what zone a cannot serve, and returns](closed-loop-on-real-traffic.svg)
`;

const NOTES = `## How it is measured

- \`make soak SUITES=closed-loop\` runs it and keeps the results, \`make generate\` writes this page; \`make e2e SUITES=closed-loop\` runs a
  short form. Both fail where the closed loop has more than a fraction of the errors and of the overload of same-zone, crosses zones nearly as
  much as spread, or does not return.
- A Pod's work is waiting, so that the machine has room for everything; a run fails when more than 80 % of the machine is busy.
- The flow controller gets what a Pod has served, in cores (one core: the requests a second that a Pod can serve): from a metrics API behind the real
  aggregator, or from a real Prometheus by a query of the FlowPolicy. It knows nothing of the clients.
- The FlowPolicy says what a Pod can serve and where load comes from; everything else is the default. Prometheus scrapes every second and is
  asked as often; the metrics API has a sample every 15 s, over 15 s, that is known 15 s after its end.
- *errors*: requests refused by a full queue, or without an answer within 1.5 s. *cross-zone*: of the requests that reached an endpoint.
  *overloaded*: the time in which an endpoint refused requests or had half of its places taken, summed over endpoints. *p50 / p99*: of answered
  requests, connecting included.
- A dead zone's Pods do not answer, and packets to them are lost; three seconds later the Pods and the Node are NotReady. Its users come back
  through another zone.
- Where connections stay, runs differ: two lost 1.3 % and 3.7 % while the loop reacted. Clients open the connections of a surge at once, and how many of
  them before the hints change is chance; these stay for 20 seconds.
`;

const titleOf = ({ title, metrics }: ScenarioRun): string =>
  `${title.charAt(0).toUpperCase()}${title.slice(1)}${metrics === 'Prometheus' ? ', metrics from Prometheus' : ''}`;

const page = (results: ClosedLoopResults): string =>
  [
    introduction(results),
    ...results.runs.map(
      (run) => `## ${titleOf(run)}\n\n${describeRun(run)} ${describeChanges(run)}\n\n${formatRun(run)}\n`,
    ),
    NOTES,
    `${describeMachine(results.environment)} Kubernetes ${results.kubernetes}.`,
  ].join('\n');

export const closedLoopPage: Generator = {
  path: 'docs/development/closed-loop-on-real-traffic.md',
  render: () => page(read()),
};

export const closedLoopSvg: Generator = {
  path: 'docs/development/closed-loop-on-real-traffic.svg',
  render: () => {
    const results = read();
    return closedLoopFigure(shown(results), [REACTING, REACTED], results.podsPerZone * results.pod.requestsPerSecond);
  },
};

/** What the page about the closed loop says of it. */
export const closedLoopSummary: Generator = {
  path: 'docs/concepts/closed-loop.md',
  section: 'real traffic',
  render: () => formatSummary(read().runs),
};
