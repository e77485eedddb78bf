// The bundle by itself: copied away from the sources, owned by another user, and allowed to read nothing but itself and what it
// is told to read. Node.js' permission model is the witness: whatever else is opened ends the process.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, cpSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import { makeBundle } from '../../hack/bundle.ts';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/load.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_CONSIDER } from '../../pkg/apis/names.ts';
import { call, operationsOf, review } from '../fixtures/admission.ts';
import { type Heard, hear } from '../fixtures/command-process.ts';
import { endpoint, node, slice } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { type TestPki, createTestPki } from '../fixtures/pki.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { clusterFile } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { flowNode, flowPod, flowService, NAMESPACE } from './flow-support.ts';

const root = resolve(import.meta.dirname, '../..');
/** Of the image. */
const NOBODY = 65_532;
const isRoot = process.getuid?.() === 0;
const CONTROLLERS = [
  { name: 'settings-reconciler', kind: 'SettingsReconcilerConfiguration', more: 'modes: {cluster: {}}\n' },
  { name: 'flow-controller', kind: 'FlowControllerConfiguration', more: '' },
];
const COMMANDS = [
  'endpointslice-webhook',
  'flow-controller',
  'kubectl-topology',
  'settings-reconciler',
  'traffic-meter',
];
const WRITTEN = 'PATCH endpointslices 200';
/** For a process that starts on a busy machine. */
const PATIENCE_MS = 60_000;
const ANY_PORT = ['--bind-address', '127.0.0.1', '--health-port', '0', '--metrics-port', '0'];

interface Running extends Heard {
  stop(): void;
}

/** Read-only for all, so that a user that is not its owner can read it and nobody but root change it. */
const seal = (path: string): void => {
  const directory = statSync(path).isDirectory();
  chmodSync(path, directory ? 0o555 : 0o444);
  if (directory) for (const name of readdirSync(path)) seal(join(path, name));
};

describe('the bundle', function () {
  this.timeout(180_000);
  useRealNetwork();
  const folder = temporaryFolder();
  let program: string;
  let pki: TestPki;
  let sandbox: Sandbox;
  const running = new Set<ChildProcess>();

  before(async () => {
    chmodSync(folder.path, 0o755);
    await makeBundle(folder.at('app'));
    seal(folder.at('app'));
    program = process.execPath;
    if (isRoot) {
      // The one that runs this may be in a folder of root's own.
      program = folder.at('node');
      cpSync(process.execPath, program);
      chmodSync(program, 0o755);
    }
    pki = createTestPki();
    sandbox = await startSandbox();
    sandbox.seed([node({ zone: 'a' }), node({ zone: 'b' })]);
  });
  afterEach(() => {
    for (const child of running) child.kill('SIGKILL');
  });
  after(() => sandbox.stop());

  /** `reads`: what it may read beside the bundle; `more`: what else Node.js is told. */
  const start = (args: readonly string[], reads: readonly string[] = [], more: readonly string[] = []): Running => {
    const allowed = [`${folder.at('app')}/`, ...reads].map((path) => `--allow-fs-read=${path}`);
    const child = spawn(program, ['--permission', ...allowed, ...more, folder.at('app/launch.js'), ...args], {
      cwd: '/',
      env: { POD_NAMESPACE: 'own' },
      ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
    });
    running.add(child);
    child.once('close', () => running.delete(child));
    return { ...hear(child), stop: () => void child.kill('SIGTERM') };
  };

  /** A file that every user may read. */
  const shared = (name: string, content: string): string => {
    const path = folder.write(name, content);
    chmodSync(path, 0o644);
    return path;
  };

  describe('its launcher', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const answers = [
      ['help', ['--help'], 0, /^Usage: COMMAND/, /^$/],
      ['its version', ['--version'], 0, new RegExp(`^${version}\n$`), /^$/],
      ['a missing command', [], 2, /^$/, /^error: no command named\n\nUsage/],
      ['an unknown command', ['nope'], 2, /^$/, /^error: unknown command "nope"/],
      ['a name of every object', ['toString'], 2, /^$/, /unknown command "toString"/],
    ] as const;
    for (const [name, args, code, stdout, stderr] of answers) {
      it(`answers ${name}`, async () => {
        const ended = await start(args).ended;
        expect(ended).to.include({ code });
        expect(ended.stdout).to.match(stdout);
        expect(ended.stderr).to.match(stderr);
      });
    }

    it('knows every command of the project', async () => {
      const { stdout } = await start(['--help']).ended;
      const commands = readdirSync(join(root, 'cmd')).filter((name) => name !== 'shared');
      expect(commands.sort()).to.deep.equal(COMMANDS);
      for (const command of commands) expect(stdout).to.contain(command);
    });
  });

  it('lets the webhook serve a review over TLS, report health, and end on SIGTERM', async () => {
    const { cert, key } = pki.issue('webhook');
    const certificates = [shared('certs/tls.crt', cert), shared('certs/tls.key', key)];
    const header = `apiVersion: ${CONFIG_API_VERSION}\nkind: EndpointSliceWebhookConfiguration\n`;
    const config = shared('webhook.yaml', `${header}server: { drainSeconds: 0 }\n`);
    const args = ['--config', config, '--kubernetes-version', '1.36', '--cert-dir', folder.at('certs')];
    const webhook = start(
      ['endpointslice-webhook', ...args, ...ANY_PORT, '--port', '0'],
      [folder.at('certs'), ...certificates, config],
    );
    const serving = /serving on port (\d+), health on port (\d+)/;
    await eventually(() => serving.test(webhook.output()) || webhook.output(), PATIENCE_MS);
    const [port = 0, health = 0] = (serving.exec(webhook.output()) ?? []).slice(1).map(Number);
    const object = slice({ metadata: { labels: { [LABEL_CONSIDER]: 'true' } }, endpoints: [endpoint({ zone: 'a' })] });
    const reply = await call({ port, ca: pki.ca, body: JSON.stringify(review(object)) });
    expect(operationsOf(reply.text)).to.have.lengthOf(1);
    expect((await fetch(`http://127.0.0.1:${health}/readyz`)).status).to.equal(200);
    webhook.stop();
    expect((await webhook.ended).code).to.equal(0);
  });

  for (const { name, kind, more } of CONTROLLERS) {
    it(`lets the ${name} lead on a cluster, and end on SIGTERM`, async () => {
      const config = shared(`${name}.yaml`, `apiVersion: ${CONFIG_API_VERSION}\nkind: ${kind}\n${more}`);
      const kubeconfig = shared(`${name}.kubeconfig`, sandbox.kubeconfig(`system:serviceaccount:own:${name}`));
      const files = ['--config', config, '--kubeconfig', kubeconfig];
      const controller = start([name, ...files, ...ANY_PORT], [config, kubeconfig]);
      const health = /health on port (\d+)/;
      await eventually(() => health.test(controller.output()) || controller.output(), PATIENCE_MS);
      const url = `http://127.0.0.1:${health.exec(controller.output())?.[1]}/readyz`;
      let status = 0;
      const ask = (): void =>
        void fetch(url)
          .then((answer) => (status = answer.status))
          .catch(() => (status = 0));
      await eventually(() => {
        ask();
        return status === 200 || controller.output();
      }, PATIENCE_MS);
      controller.stop();
      expect((await controller.ended).code, controller.output()).to.equal(0);
    });
  }

  it('lets the flow-controller plan in a thread of its own, which is started from the same file', async () => {
    const services = ['a', 'b'].map((zone) => flowPod(`web-${zone}`, zone));
    const annotations = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/proportional` };
    sandbox.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }]);
    for (const object of [flowNode('a'), flowNode('b'), ...services, flowService({ annotations })])
      await sandbox.apply(object);
    const text = `apiVersion: ${CONFIG_API_VERSION}\nkind: FlowControllerConfiguration\nleaderElection: {enabled: false}\n`;
    const config = shared('planning.yaml', text);
    const kubeconfig = shared('planning.kubeconfig', sandbox.kubeconfig('system:serviceaccount:own:flow-controller'));
    const args = ['--config', config, '--kubeconfig', kubeconfig, ...ANY_PORT];
    const controller = start(['flow-controller', ...args], [config, kubeconfig], ['--allow-worker']);
    // Without admission the EndpointSlice controller takes the hints off again: that they were written is what counts.
    const written = (): boolean =>
      sandbox.requests.some(({ method, resource, status }) => `${method} ${resource} ${status}` === WRITTEN);
    await eventually(() => written() || controller.output(), PATIENCE_MS);
    controller.stop();
    expect((await controller.ended).code, controller.output()).to.equal(0);
  });

  it('lets kubectl topology explain a file', async () => {
    const file = shared('cluster.yaml', readFileSync(clusterFile('effective'), 'utf8'));
    const { code, stdout, stderr } = await start(['kubectl-topology', 'audit', '-f', file], [file]).ended;
    expect(stderr).to.equal('');
    expect(code).to.equal(0);
    expect(stdout).to.contain('NAMESPACE');
  });

  it('is stopped by the witness when it reads what is not configured', async () => {
    const config = shared('hidden.yaml', '');
    const { code, stdout, stderr } = await start(['settings-reconciler', '--config', config]).ended;
    expect(code).not.to.equal(0);
    expect(stdout + stderr).to.match(/ERR_ACCESS_DENIED|Access to this API has been restricted/);
  });

  describe('what is said of its content', () => {
    interface Bill {
      components: { 'bom-ref': string; name: string; group?: string; version: string; purl: string }[];
      dependencies: { ref: string; dependsOn: string[] }[];
    }
    const read = (file: string): string => readFileSync(folder.at(`app/${file}`), 'utf8');
    const bill = (): Bill => JSON.parse(read('sbom.cdx.json')) as Bill;

    it('is complete: each package with version, licence, hash and package URL, as the lock file has them', () => {
      const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
        packages: Record<string, { version?: string; dev?: boolean }>;
      };
      const { components } = bill();
      expect(components).to.have.length.above(20);
      for (const { 'bom-ref': ref, version, ...component } of components) {
        expect(component, ref).to.include.keys('licenses', 'hashes', 'purl');
        expect(lock.packages[ref], ref).to.include({ version });
        expect(lock.packages[ref]?.dev, `${ref} is for development`).to.equal(undefined);
      }
    });

    it('follows the schema of CycloneDX where it can go wrong: names, enumerations, references', () => {
      const hashes = { type: 'array', items: { properties: { content: { pattern: '^[0-9a-f]{128}$' } } } };
      const component = {
        required: ['type', 'name', 'version', 'bom-ref', 'purl'],
        properties: {
          type: { enum: ['library'] },
          scope: { enum: ['required'] },
          purl: { pattern: String.raw`^pkg:npm/(%40[a-z0-9.-]+/)?[\w.-]+@\d+\.\d+\.\d+` },
          hashes,
          licenses: { type: 'array', minItems: 1 },
        },
      };
      const schema = {
        required: ['bomFormat', 'specVersion', 'version', 'serialNumber', 'metadata', 'components', 'dependencies'],
        properties: {
          bomFormat: { const: 'CycloneDX' },
          specVersion: { const: '1.6' },
          serialNumber: { pattern: '^urn:uuid:[0-9a-f-]{36}$' },
          components: { type: 'array', items: component },
        },
      };
      const validate = new Ajv({ strict: false, allErrors: true }).compile(schema);
      validate(bill());
      expect(validate.errors ?? []).to.deep.equal([]);
      const { components, dependencies } = bill();
      const refs = components.map((item) => item['bom-ref']);
      expect(new Set(refs).size).to.equal(refs.length);
      const own = dependencies[0]?.ref ?? '';
      for (const { ref, dependsOn } of dependencies) expect([own, ...refs]).to.include.members([ref, ...dependsOn]);
      expect(dependencies).to.have.lengthOf(refs.length + 1);
    });

    it('is the same when it is made again', async () => {
      await makeBundle(folder.at('again'));
      const files = (name: string): string[] => readdirSync(folder.at(name), { recursive: true }).map(String).sort();
      expect(files('again')).to.deep.equal(files('app'));
      const contentOf = (name: string, file: string): string => readFileSync(folder.at(join(name, file)), 'utf8');
      for (const file of files('app').filter((name) => name !== 'chunks'))
        expect(contentOf('again', file) === contentOf('app', file), file).to.equal(true);
    });
  });
});
