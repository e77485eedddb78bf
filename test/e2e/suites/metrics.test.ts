// Shows that the default source of load reads a metrics API through the real aggregator, as RBAC lets it.
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import { createClient } from '../../../pkg/kubernetes/client.ts';
import { systemClock } from '../../../pkg/kubernetes/wait.ts';
import { loadKubeConfig } from '../../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createResourceMetrics } from '../../../pkg/metrics/resource-metrics.ts';
import type { LoadFailure, LoadReading } from '../../../pkg/metrics/types.ts';
import { loadFailure, loadQuery } from '../../fixtures/load-readings.ts';
import { useBed } from '../bed/index.ts';
import { run, waitFor } from '../bed/machine.ts';
import { type MetricsApi, type PodReading, startMetricsApi } from '../metrics-api.ts';

const NAMESPACE = 'shop';
const USER = 'system:serviceaccount:topology-routing:flow-controller';
const never = new AbortController().signal;

const now = (): number => Date.now() / 1_000;

/** Waits until a reading fails for this reason: the aggregator learns of changes a moment later. */
const failsWith = async (reason: LoadFailure, read: () => Promise<LoadReading>): Promise<void> => {
  await waitFor(
    `a reading that fails with ${reason}`,
    async () => (await loadFailure(read())).reason,
    (seen) => seen === reason,
  );
};

describe('metrics', () => {
  const bed = useBed();

  let metrics: MetricsApi;
  const clients: Client[] = [];

  const clientOf = async (user: string): Promise<Client> => {
    const config = loadKubeConfig({ kubeconfig: await bed().kubeconfig({ user }) });
    const client = createClient({ config, userAgent: 'metrics-suite/1.0' });
    clients.push(client);
    return client;
  };
  /** A source that remembers nothing of readings before. */
  const open = async (user = USER) => createResourceMetrics({ client: await clientOf(user), clock: systemClock });
  const reading = (
    pod: string,
    app: string,
    cores: PodReading['cores'],
    more: Partial<PodReading> = {},
  ): PodReading => ({
    namespace: NAMESPACE,
    pod,
    labels: { app },
    cores,
    sampledAt: Math.floor(now()) - 5,
    window: 15.091,
    ...more,
  });

  before('is registered, and the flow-controller may list Pods of it', async () => {
    await bed().api.create('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
    await bed().api.create('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      metadata: { name: 'read-pod-metrics' },
      rules: [{ apiGroups: ['metrics.k8s.io'], resources: ['pods'], verbs: ['get', 'list'] }],
    });
    await bed().api.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'read-pod-metrics' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'read-pod-metrics' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }],
    });
    metrics = await startMetricsApi(bed());
  });
  afterEach(async () => {
    metrics.forget();
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });
  after(() => metrics?.stop());

  it("are a Service's Pods, asked for by its selector and as the flow-controller", async () => {
    const sampledAt = Math.floor(now()) - 5;
    metrics.set(reading('web-0', 'web', { main: 0.25, sidecar: 0.123456789 }, { sampledAt }));
    metrics.set(reading('web-1', 'web', 1.5, { sampledAt, window: 62.5 }), reading('db-0', 'db', 7));
    const selector = { matchLabels: { app: 'web' } };
    const source = await open();
    expect(await source.read(loadQuery(['web-0', 'web-1'], { selector }), never)).to.deep.equal({
      kind: 'pods',
      samples: [
        { pod: 'web-0', load: 0.373456789, sampledAt, window: 15.091 },
        { pod: 'web-1', load: 1.5, sampledAt, window: 62.5 },
      ],
      problems: [],
    });
    const { url, user } = metrics.requests.at(-1)!;
    expect(user).to.equal(USER);
    expect(new URL(url, 'https://x').searchParams.get('labelSelector')).to.equal('app=web');
  });

  it('are what kubectl top shows', async () => {
    metrics.set(reading('web-0', 'web', 0.25), reading('web-1', 'web', 1.5));
    const { samples } = await (await open()).read(loadQuery(['web-0', 'web-1']), never);
    const kubeconfig = await bed().kubeconfig({ user: USER });
    const top = await run(bed().binaries('kubectl'), [
      'top',
      'pods',
      '--no-headers',
      `--kubeconfig=${kubeconfig}`,
      `--namespace=${NAMESPACE}`,
    ]);
    const shown = top
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/).slice(0, 2));
    expect(samples.map((sample) => [Reflect.get(sample, 'pod'), `${sample.load * 1_000}m`])).to.deep.equal(shown);
  });

  it('are Forbidden to who has no right to them', async () => {
    const { reason, message } = await loadFailure((await open('somebody')).read(loadQuery(['web-0']), never));
    expect(reason).to.equal('Forbidden');
    expect(message).to.include('User "somebody" cannot list resource "pods" in API group "metrics.k8s.io"');
  });

  it('are NotInstalled where they are not registered, and there again afterwards', async () => {
    const source = await open();
    await metrics.unregister();
    await failsWith('NotInstalled', () => source.read(loadQuery(['web-0']), never));
    await metrics.register();
    metrics.set(reading('web-0', 'web', 1));
    expect((await source.read(loadQuery(['web-0']), never)).samples).to.have.length(1);
  });

  it('are NotInstalled where the registration has no backend', async () => {
    await metrics.stop();
    const source = await open();
    await failsWith('NotInstalled', () => source.read(loadQuery(['web-0']), never));
  });
});
