// The command as a process against the sandbox: it registers itself, and what is written comes back hinted.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { MutatingWebhookConfiguration } from '../../pkg/apis/admission.ts';
import type { EndpointSlice, Service } from '../../pkg/apis/core.ts';
import { LABEL_CONSIDER, LABEL_ROUTING, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { LEASES, MUTATING_WEBHOOK_CONFIGURATIONS } from '../../pkg/apis/resources.ts';
import { microTime } from '../../pkg/kubernetes/lease.ts';
import { expectAllowed } from '../fixtures/chart-rights.ts';
import { endpoint, hintSwitch, service, slice } from '../fixtures/core.ts';
import { runInProcess } from '../fixtures/command-in-process.ts';
import { eventually } from '../fixtures/eventually.ts';
import { namespaceObject } from '../fixtures/installation.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { createTestPki } from '../fixtures/pki.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

const NAME = 'gardener-extension-topology-aware-routing';
const OWN = 'garden-system';
const USER = `system:serviceaccount:${OWN}:endpointslice-webhook`;
const main = resolve(import.meta.dirname, '../../cmd/endpointslice-webhook/main.ts');
const HEADER =
  'apiVersion: config.topology.extensions.gardener.cloud/v1alpha1\nkind: EndpointSliceWebhookConfiguration\n';

interface Command {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number>;
}

const run = (args: readonly string[], nodeArgs: readonly string[] = []): Command => {
  const env = { ...process.env, POD_NAMESPACE: OWN };
  const child = spawn(process.execPath, [...nodeArgs, main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => code as number);
  return { child, output: () => output, ended };
};

const PORTS = /serving on port (\d+), health on port (\d+), metrics on port (\d+)/;
const ANY_PORT = ['--bind-address', '127.0.0.1', '--port', '0', '--health-port', '0', '--metrics-port', '0'];

const portsOf = async ({ output }: Command): Promise<number[]> => {
  await eventually(() => PORTS.test(output()) || output());
  return (PORTS.exec(output()) ?? []).slice(1).map(Number);
};

const hintsOf = (object: EndpointSlice | undefined) =>
  object?.endpoints?.map(({ hints }) => hints?.forZones?.map(({ name }) => name));

describe('endpointslice-webhook on a cluster', () => {
  useRealNetwork();
  let sandbox: Sandbox;
  const folder = temporaryFolder();
  let webhook: Command;
  let kubeconfig: string;

  const configuration = () =>
    sandbox.get<MutatingWebhookConfiguration>(MUTATING_WEBHOOK_CONFIGURATIONS, { name: NAME });
  const sliceIn = (where: string, labels: Record<string, string>, name = 'web-1') =>
    slice({ metadata: { name, namespace: where, labels } });

  before(async function () {
    this.timeout(180_000);
    sandbox = await startSandbox({ endpointSliceController: false });
    sandbox.seed([namespaceObject('shop', { [LABEL_ROUTING]: 'true' }), namespaceObject(OWN)]);
    const lease = { holderIdentity: 'one', renewTime: microTime(Date.now()), leaseDurationSeconds: 15 };
    sandbox.seed([
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'flow-controller', namespace: OWN },
        spec: lease,
      } as object,
    ]);
    kubeconfig = folder.write('kubeconfig', sandbox.kubeconfig(USER));
    // The registration names the port, so it is taken first and given again.
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    const config = folder.write(
      'config.yaml',
      `${HEADER}server: { drainSeconds: 0 }\nregistration: { address: { url: 'https://127.0.0.1:${port}' } }\n`,
    );
    webhook = run(['--config', config, '--kubeconfig', kubeconfig, ...ANY_PORT, '--port', `${port}`]);
    await portsOf(webhook);
    await eventually(() => configuration() !== undefined || webhook.output());
  });

  const certificateFolder = (): string => {
    const { cert, key } = createTestPki().issue('probe');
    folder.write('certs/tls.crt', cert);
    folder.write('certs/tls.key', key);
    return folder.at('certs');
  };

  after(async () => {
    webhook.child.kill('SIGKILL');
    await webhook.ended;
    await sandbox.stop();
    expectAllowed(USER, sandbox.requests);
  });

  it('registers itself with a certificate authority of its own', () => {
    const webhooks = configuration()?.webhooks ?? [];
    expect(webhooks).to.have.length(7);
    for (const { clientConfig } of webhooks)
      expect(Buffer.from(clientConfig.caBundle ?? '', 'base64').toString()).to.match(/^-----BEGIN CERTIFICATE-----/);
  });

  for (const labels of [{ [LABEL_STRATEGY]: 'same-zone' }, { [LABEL_CONSIDER]: 'true' }]) {
    it(`a slice labelled ${Object.keys(labels).join()} comes back hinted`, async () => {
      const stored = await sandbox.apply(sliceIn('shop', labels, `web-${Object.keys(labels)[0]?.length}`));
      expect(hintsOf(stored)).to.deep.equal([['eu-1a'], ['eu-1b'], ['eu-1c']]);
    });
  }

  it('a slice in our own namespace and in kube-system stays as it is', async () => {
    for (const where of [OWN, 'kube-system']) {
      const stored = await sandbox.apply(sliceIn(where, { [LABEL_STRATEGY]: 'same-zone' }));
      expect(hintsOf(stored)).to.deep.equal([undefined, undefined, undefined]);
    }
  });

  it('a plan survives the writes of others while its planner lives', async () => {
    const labels = { [LABEL_STRATEGY]: 'load-aware' };
    const planned = endpoint({ zone: 'eu-1b', hints: { forZones: [{ name: 'eu-1a' }, { name: 'eu-1b' }] } });
    sandbox.seed([slice({ metadata: { name: 'plan', namespace: 'shop', labels }, endpoints: [planned] })]);
    const stripped = slice({
      metadata: { name: 'plan', namespace: 'shop', labels },
      endpoints: [endpoint({ zone: 'eu-1b' }), endpoint({ zone: 'eu-1c', addresses: ['198.18.0.99'] })],
    });
    expect(hintsOf(await sandbox.apply(stripped))).to.deep.equal([['eu-1a', 'eu-1b'], ['eu-1c']]);
  });

  it('a plan does not outlive its planner: without the Lease the next write spreads', async () => {
    const labels = { [LABEL_STRATEGY]: 'proportional' };
    const planned = () =>
      slice({
        metadata: { name: 'orphan', namespace: 'shop', labels },
        endpoints: [endpoint({ zone: 'eu-1b', hints: { forZones: [{ name: 'eu-1a' }] } })],
      });
    sandbox.seed([planned()]);
    await sandbox.remove(LEASES, { namespace: OWN, name: 'flow-controller' });
    let last: unknown;
    const tryAgain = async (): Promise<boolean> => {
      last = hintsOf(await sandbox.apply(planned()));
      return JSON.stringify(last) === '[null]';
    };
    for (let turn = 0; turn < 200 && !(await tryAgain()); turn += 1);
    expect(last).to.deep.equal([undefined]);
  });

  it('the annotation becomes the label when the Service is written', async () => {
    const annotations = { 'service.kubernetes.io/topology-mode': 'topology.extensions.gardener.cloud/same-node' };
    const stored = await sandbox.apply<Service>(
      service({ metadata: { name: 'annotated', namespace: 'shop', annotations } }),
    );
    expect(stored.metadata?.labels).to.include({ [LABEL_STRATEGY]: 'same-node' });
  });

  it('settings that the owner drops come back', async () => {
    const applied = { 'topology.extensions.gardener.cloud/applied': '{"trafficDistribution":"PreferClose"}' };
    const owned = (more: object) =>
      service({ metadata: { name: 'kept', namespace: 'shop', annotations: applied }, spec: more });
    sandbox.seed([owned({ trafficDistribution: 'PreferClose' })]);
    const stored = await sandbox.apply<Service>(owned({}));
    expect(stored.spec?.trafficDistribution).to.equal('PreferClose');
  });

  it('while hints are switched off nothing is registered, and a late API server gets no patch', async function () {
    this.timeout(180_000);
    const entries = configuration();
    await sandbox.apply(hintSwitch('off'));
    await eventually(() => configuration()?.webhooks?.length === 0 || webhook.output());
    sandbox.seed([{ ...entries, metadata: { name: 'late' } }]);
    const stored = await sandbox.apply(sliceIn('shop', { [LABEL_STRATEGY]: 'same-zone' }, 'off'));
    expect(hintsOf(stored)).to.deep.equal([undefined, undefined, undefined]);
    await sandbox.remove(MUTATING_WEBHOOK_CONFIGURATIONS, { name: 'late' });
    await sandbox.apply(hintSwitch());
    await eventually(() => configuration()?.webhooks?.length === entries?.webhooks?.length || webhook.output());
    expect(hintsOf(await sandbox.apply(sliceIn('shop', { [LABEL_STRATEGY]: 'same-zone' }, 'off')))).not.to.include(
      undefined,
    );
  });

  it('repairs its registration, and writes nothing while nothing differs', async function () {
    this.timeout(180_000);
    await sandbox.remove(MUTATING_WEBHOOK_CONFIGURATIONS, { name: NAME });
    await eventually(() => configuration() !== undefined || webhook.output());
    const writes = () =>
      sandbox.requests.filter(
        ({ resource, method }) => resource === MUTATING_WEBHOOK_CONFIGURATIONS.plural && method !== 'GET',
      );
    const earlier = writes().length;
    const labels = { ...configuration()?.metadata.labels, theirs: 'x' };
    await sandbox.apply({ ...configuration(), metadata: { ...configuration()?.metadata, labels } });
    expect(configuration()?.metadata.labels).to.include({ theirs: 'x' });
    expect(writes().filter(({ user }) => user.includes('webhook')).length).to.equal(earlier);
  });

  it('ends with code 0 on SIGTERM', async () => {
    webhook.child.kill('SIGTERM');
    expect(await webhook.ended).to.equal(0);
  });

  it('--cleanup takes the registration away, and says so when there is none', async function () {
    this.timeout(180_000);
    const cleanUp = () =>
      runInProcess('endpointslice-webhook', ['--cleanup', '--kubeconfig', kubeconfig], { POD_NAMESPACE: OWN });
    const first = await cleanUp();
    expect([first.code, first.stdout], first.stderr).to.deep.equal([
      0,
      `MutatingWebhookConfiguration ${NAME} removed\n`,
    ]);
    expect(configuration()).to.equal(undefined);
    const second = await cleanUp();
    expect([second.code, second.stdout], second.stderr).to.deep.equal([
      0,
      `MutatingWebhookConfiguration ${NAME} does not exist\n`,
    ]);
  });

  it('given version and certificates it runs without a cluster and loads no client', async () => {
    const spy =
      "import { registerHooks } from 'node:module'; registerHooks({ resolve: (name, context, next) => { if (/client-node|undici/.test(name)) console.error('LOADED ' + name); return next(name, context); } });";
    const args = ['--kubernetes-version', '1.36', '--cert-dir', certificateFolder(), ...ANY_PORT];
    const command = run(args, ['--import', `data:text/javascript,${encodeURIComponent(spy)}`]);
    await portsOf(command);
    command.child.kill('SIGKILL');
    await command.ended;
    expect(command.output()).to.not.match(/LOADED|error/);
  });
});
