// A real Envoy with its rule for zones beside the closed loop: who loses fewer requests, reacts sooner and crosses less.
// Needs: prometheus
// Needs built: envoy/1.40.0/envoy
// Alone: it measures what seconds lose, which others' work would be part of.
// Soak: a comparison with a rival, six minutes a run; `closed-loop`, `flow` and `traffic-source` show the same loop at work.
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { useBed } from '../bed/index.ts';
import { run } from '../bed/machine.ts';
import { play } from '../closed-loop-run.ts';
import { countersOf, createWorld, loadAware, pairsOf, POLICIES_BY_SOURCE, SHOP } from '../closed-loop-world.ts';
import { type FlowController, type Strategy, type World, startFlowController } from '../closed-loop-world.ts';
import { startWebhook } from '../commands.ts';
import {
  contestMedians,
  CONTESTS,
  ENVOYS,
  findingsOfRuns,
  formatContests,
  OURS,
  outcomeOf,
  WAYS,
} from '../envoy-results.ts';
import type { ContestRun, EnvoyResults } from '../envoy-results.ts';
import { type Envoys, ENVOY_PORT, startEnvoys, watchPlans } from '../envoy-world.ts';
import { startExporter, startPrometheus } from '../prometheus.ts';
import { isLongForm, keepResults } from '../results.ts';

const RUNS = Number(process.env['E2E_RUNS'] ?? (isLongForm ? 5 : 1));
const PROMETHEUS_PORT = 9_090;
/** Of the kernel: before all that has none. What the plant and the control plane do is little, but seconds count. */
const PRIORITY = '5';

/** Of kube-proxy. By its default, a second, a change of one way would wait for that of the other, which alone it would not. */
const MIN_SYNC = '100ms';

const STRATEGIES: readonly Strategy[] = [
  { name: ENVOYS, service: {}, hinted: false, proxyPort: ENVOY_PORT },
  ...OURS.map((name) => ({ name, service: loadAware, hinted: true })),
];

describe('a real Envoy beside the closed loop', function () {
  this.timeout(1_800_000);
  // All that the bed starts inherits it.
  before('precedence over other work of the machine', () =>
    run('chrt', ['--all-tasks', '--rr', '--pid', PRIORITY, String(process.pid)]),
  );
  const bed = useBed();
  const runs: ContestRun[] = [];
  let kubernetes = '';
  let world: World;
  let flow: FlowController;
  let envoys: Envoys;

  const startSources = async (): Promise<void> => {
    const exporter = await startExporter(() => [...countersOf(world), ...pairsOf(world)]);
    const jobs = [{ name: 'pods', targets: [exporter.target] }];
    await startPrometheus(bed(), { port: PROMETHEUS_PORT, jobs });
  };

  before('three zones with Envoys, a Service for each way, the flow controller', async () => {
    ({ gitVersion: kubernetes } = await bed().api.get<{ gitVersion: string }>('/version'));
    await bed().api.create('/api/v1/namespaces', { metadata: { name: SHOP } });
    await startWebhook(bed());
    flow = await startFlowController(bed(), `http://127.0.0.1:${PROMETHEUS_PORT}`, POLICIES_BY_SOURCE);
    world = await createWorld(bed(), STRATEGIES, MIN_SYNC);
    await startSources();
    envoys = await startEnvoys(bed(), world, ENVOYS);
  });

  for (let round = 1; round <= RUNS; round += 1)
    for (const { name, title, phases } of CONTESTS)
      it(`${name}, run ${round} of ${RUNS}: ${title}`, async () => {
        // What the controller meets when it begins is not the load of the contest before.
        await world.send(phases[0]?.demand ?? {}, 0);
        await flow.restart();
        const plansReached = watchPlans(world, OURS);
        const played = await play({ world, scenario: { phases, longLivedShare: 0 } });
        const reached = await plansReached();
        const [begin, end] = [played[0]?.from ?? 0, played.at(-1)?.to ?? 0];
        const reports = world.recorder.between(begin, end);
        const outcomes = [];
        for (const way of WAYS) {
          const plans = way === ENVOYS ? [] : await flow.changes(begin, end, way);
          outcomes.push(outcomeOf(way, played, reports, plans));
        }
        const lateMs = Math.round(Math.max(...reports.map((report) => report.lateMs)));
        const contest: ContestRun = { contest: name, outcomes, reached: [...reached], lateMs };
        runs.push(contest);
        // After each contest, so that a suite that is ended early keeps what it measured.
        const results: EnvoyResults = { kubernetes, envoy: envoys.version, contests: contestMedians(runs) };
        if (isLongForm) keepResults('envoy', results);
        const when = outcomes.map(
          ({ way, plans }) => `${way}: ${plans.map(({ at, reason }) => `${at} s ${reason}`).join(', ')}`,
        );
        console.log(
          `${formatContests(contestMedians([contest]))}\nIn all proxies: ${[...reached].join(', ')}. Plans ${when.join('; ')}. A program stood still for ${lateMs} ms.\n`,
        );
        envoys.assertRunning();
        flow.component.assertRunning();
      });

  it('by medians ours loses hardly more, reacts hardly later, and crosses less at rest and after', () => {
    console.log(`Envoy ${envoys.version}, medians of ${RUNS}:\n\n${formatContests(contestMedians(runs))}\n`);
    expect(findingsOfRuns(runs)).to.deep.equal([]);
  });
});
