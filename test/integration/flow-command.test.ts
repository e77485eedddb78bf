// The flow-controller as a process: flags, exit codes, cleanup, probes, metrics, and one leader of two.
import { expect } from 'chai';
import { after, before, describe, it, afterEach, beforeEach } from 'mocha';
import type { Lease } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_INSTALLATION,
  ANNOTATION_PLAN,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_STRATEGY,
} from '../../pkg/apis/names.ts';
import { LEASES } from '../../pkg/apis/resources.ts';
import { POD_METRICS } from '../../pkg/metrics/resource-metrics.ts';
import { type FlowBed, NAMESPACE, USER, flowNode, flowPod, flowService, openFlowBed } from './flow-support.ts';
import { runInProcess } from '../fixtures/command-in-process.ts';
import { startCommand } from '../fixtures/command-process.ts';
import { eventually } from './controller-bed.ts';
import { expectWell, explainsItself, openCommandFolder, refusesWrongArguments, urlsOf } from './controller-command.ts';
import type { CommandFolder } from './controller-command.ts';
import { serve } from '../../cmd/flow-controller/app.ts';
import type { Session } from '../../cmd/flow-controller/options.ts';
import { openWorker } from '../../pkg/controllers/flow/planning.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';

describe('the flow-controller command', function onSandbox() {
  const ZONES = ['a', 'b'];
  const LOAD_AWARE = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` };
  const LEASE = { namespace: 'own', name: 'flow-controller' };
  const ENV = { POD_NAMESPACE: LEASE.namespace };
  const start = (...args: string[]) => startCommand('flow-controller', args, ENV);
  const run = (...args: string[]) => runInProcess('flow-controller', args, ENV);

  const podMetrics = (name: string, cores: number): KubernetesObject =>
    ({
      apiVersion: 'metrics.k8s.io/v1beta1',
      kind: 'PodMetrics',
      metadata: { name, namespace: NAMESPACE, labels: { app: 'web' } },
      timestamp: new Date(Date.now() - 1_000).toISOString(),
      window: '15s',
      containers: [{ name: 'web', usage: { cpu: `${Math.round(cores * 1_000)}m`, memory: '1Mi' } }],
    }) as KubernetesObject;

  this.timeout(180_000);
  let bed: FlowBed;
  let folder: CommandFolder;
  const serving = ['--health-port', '0', '--metrics-port', '0', '--bind-address', '127.0.0.1'];

  before(async () => {
    bed = await openFlowBed({ resources: [POD_METRICS] });
    bed.sandbox.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: LEASE.namespace } }]);
    await bed.apply(...ZONES.map((zone) => flowNode(zone)), ...ZONES.map((zone) => flowPod(`web-${zone}`, zone)));
    await bed.apply(podMetrics('web-a', 1), podMetrics('web-b', 0.1));
    await bed.apply(flowService({ annotations: LOAD_AWARE }));
    await bed.sandbox.settled();
    folder = openCommandFolder(bed, USER, { 'config.yaml': 'kind: FlowControllerConfiguration\n' });
  });
  after(() => bed.close());

  refusesWrongArguments(start);
  explainsItself(run, '--cleanup');

  it('runs until SIGTERM with probes and metrics, one replica at a time, and --cleanup takes everything back', async () => {
    const child = start(...folder.flags, ...serving);
    const { health, metrics } = await urlsOf(child);
    await expectWell(health);
    await eventually(() => expect(bed.conditions('web')['Effective']).to.equal('True/PlanInForce'));
    await eventually(async () => {
      const text = await (await fetch(metrics)).text();
      expect(text).to.contain(
        'topology_aware_routing_flow_services{strategy="load-aware",condition="Effective",reason="PlanInForce"} 1',
      );
      expect(text).to.contain(
        'topology_aware_routing_flow_load_reads_total{source="metrics.k8s.io",outcome="success"}',
      );
    });
    const standby = start(...folder.flags, ...serving);
    await eventually(() => expect(standby.output()).to.contain('caches are filled'));
    expect(standby.output()).not.to.contain('started leading');
    child.kill('SIGTERM');
    expect((await child.ended).code, child.output()).to.equal(0);
    await eventually(() => expect(standby.output()).to.contain('started leading'));
    standby.kill('SIGTERM');
    expect((await standby.ended).code, standby.output()).to.equal(0);
    expect(bed.sandbox.get<Lease>(LEASES, LEASE)?.spec?.holderIdentity, 'released').to.be.oneOf(['', undefined]);

    const cleaned = await run(...folder.flags, '--cleanup');
    expect(cleaned.code, cleaned.stderr).to.equal(0);
    expect(cleaned.stdout).to.match(/labels from 1 Service\(s\); 1 FlowPolicy\(s\) removed/);
    await bed.sandbox.settled();
    expect(bed.service('web').metadata?.labels ?? {}).not.to.have.property(LABEL_STRATEGY);
    expect(bed.service('web').metadata?.annotations ?? {}).not.to.have.property(ANNOTATION_APPLIED);
    for (const { metadata, endpoints } of bed.slices('web')) {
      expect(metadata?.annotations ?? {}).not.to.have.property(ANNOTATION_PLAN);
      for (const { hints } of endpoints ?? []) expect(hints).to.equal(undefined);
    }
    expect(bed.policy('web')).to.equal(undefined);
    expect(bed.sandbox.get(LEASES, LEASE), 'no planner any more').to.equal(undefined);
  });

  it('--cleanup takes nothing back while another installation plans', async () => {
    const metadata = { ...LEASE, annotations: { [ANNOTATION_INSTALLATION]: 'runtime-extension-x' } };
    const spec = { holderIdentity: 'somebody', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' };
    bed.sandbox.seed([{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec } as Lease]);
    const cleaned = await run(...folder.flags, '--cleanup');
    expect(cleaned.code, cleaned.stderr).to.equal(0);
    expect(cleaned.stdout).to.equal(
      'the flow-controller of namespace runtime-extension-x plans in this cluster: nothing is removed\n',
    );
    expect(bed.sandbox.get<Lease>(LEASES, LEASE)?.spec?.holderIdentity).to.equal('somebody');
  });
});

describe('the flow-controller beside a hostile namespace', function onSandbox() {
  const ZONES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const ENDPOINTS = 320;
  const CONFIG = 'leaderElection: {leaseDurationSeconds: 60, renewDeadlineSeconds: 40, retryPeriodSeconds: 1}';

  /** Seconds of the controller's clock; a plan's deadline is ten. */
  const ROUNDS = 8;

  /** `ends`: what comes of the question in the end. */
  const PLANNERS: readonly { name: string; planner: URL; ends(bed: FlowBed): Promise<void> }[] = [
    {
      name: 'the thread that plans',
      planner: new URL('../../cmd/flow-controller/main.ts', import.meta.url),
      // In real time: the thread does not follow the clock of the test.
      ends: (bed) => eventually(() => expect(bed.policy('web')?.status?.plan, 'a plan').not.to.equal(undefined)),
    },
    {
      name: 'a thread that never answers',
      planner: new URL(
        `data:text/javascript,${encodeURIComponent(`
          import { parentPort } from 'node:worker_threads';
          parentPort.on('message', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
        `)}`,
      ),
      ends: (bed) =>
        bed.until(() => {
          const errors = bed.log.entries.map(({ fields }) => String(fields['error']));
          expect(errors.join('\n'), 'errors in the log').to.contain('planning did not end within');
        }, 1_000),
    },
  ];

  this.timeout(60_000);
  useRealNetwork();
  let bed: FlowBed;
  let stop: AbortController;
  let ended: Promise<unknown>;
  beforeEach(async () => {
    bed = await openFlowBed();
    const pods = Array.from({ length: ENDPOINTS }, (_, index) =>
      flowPod(`web-${index}`, ZONES[index % ZONES.length] ?? '', { cpu: `${100 + index}m` }),
    );
    bed.sandbox.seed([...ZONES.map((zone) => flowNode(zone)), ...pods]);
    await bed.apply(flowService({ labels: { [LABEL_STRATEGY]: 'load-aware' } }));
    await bed.sandbox.settled();
    bed.plant.demand = Object.fromEntries(ZONES.map((zone, index) => [zone, index === 0 ? 20 : 5]));
  });
  afterEach(async () => {
    stop.abort();
    await ended;
    await bed.close();
  });

  const renewals = (): number =>
    bed.sandbox.requests.filter(({ verb, resource, status }) => {
      const writes = verb === 'update' || verb === 'patch';
      return writes && resource === 'leases' && status === 200;
    }).length;
  const probe = async (): Promise<number> => {
    const port = /health on port (\d+)/.exec(bed.printed.join('\n'))?.[1];
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
    await answer.text();
    return answer.status;
  };

  for (const { name, planner, ends } of PLANNERS) {
    it(`renews its Lease and answers /healthz while ${name} has its Service`, async () => {
      stop = new AbortController();
      const openThread: Session['openThread'] = (onEnd) => openWorker(planner, onEnd);
      ended = serve({ ...(await bed.session(CONFIG)), openThread }, stop.signal);
      await eventually(() => expect(bed.sandbox.list(LEASES), 'its Lease').to.have.length(1));
      const answers: number[] = [];
      bed.sandbox.clearRequests();
      for (let round = 1; round <= ROUNDS; round += 1) {
        bed.clock.skip(1_000);
        await eventually(() => expect(renewals(), `renewals in ${round} s`).to.be.at.least(round));
        answers.push(await probe());
      }
      expect(answers).to.deep.equal(Array(ROUNDS).fill(200));
      await ends(bed);
      expect(await probe(), 'afterwards').to.equal(200);
    });
  }
});
