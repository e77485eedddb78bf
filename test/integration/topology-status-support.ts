// A sandbox for each test of `kubectl topology status`, with Nodes, a namespace, and an admission server that really answers.
import { after, afterEach, before, beforeEach } from 'mocha';
import { COMMANDS, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { DEPLOYMENTS, FLOW_POLICIES } from '../../pkg/apis/resources.ts';
import type { StatusReport } from '../../pkg/diagnosis/status/status.ts';
import { serviceNames } from '../../pkg/webhook/certificates/secrets.ts';
import { type AdmissionFixture, startAdmission } from '../fixtures/admission-server.ts';
import { kubeProxy, service, slice } from '../fixtures/core.ts';
import { installation, installationDefaults, installedNodes, namespaceObject } from '../fixtures/installation.ts';
import type { InstallationOptions } from '../fixtures/installation.ts';
import { type TemporaryFolder, temporaryFolder } from '../fixtures/temporary-folder.ts';
import { type Ran, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

export const DAY_MS = 86_400_000;
const { namespace: OWN } = installationDefaults;

export interface StatusWorld {
  folder: TemporaryFolder;
  admission: AdmissionFixture;
  sandbox: Sandbox;
  /** Flags by which the sandbox is reached. */
  access: readonly string[];
  /** Milliseconds since the epoch; installations are fresh at that time. */
  now: number;
  install(options?: Partial<InstallationOptions>): void;
  /** A Service of ours and its slice, which admission hints. */
  openShop(): Promise<void>;
  run(...flags: string[]): Promise<Ran>;
  status(...flags: string[]): Promise<StatusReport>;
}

export interface StatusWorldOptions {
  /** Where API servers look for the webhook; default: where it is. */
  readonly webhookPort?: number;
}

/** To be called within a describe. */
export const useStatusWorld = ({ webhookPort }: StatusWorldOptions = {}): StatusWorld => {
  const world = {
    install: (options = {}) =>
      world.sandbox.seed(installation({ now: world.now, caBundle: world.admission.ca, ...options })),
    async openShop() {
      const labels = { [LABEL_STRATEGY]: 'same-zone' };
      world.sandbox.seed([service({ metadata: { name: 'web', namespace: 'shop', labels } })]);
      await world.sandbox.apply(slice({ service: 'web', metadata: { namespace: 'shop', labels } }));
    },
    run: (...flags) => runTopology(['status', ...world.access, ...flags], { now: world.now }),
    status: (...flags) => topologyJson<StatusReport>(['status', ...world.access, ...flags], { now: world.now }),
  } as StatusWorld;

  before(async () => {
    world.folder = temporaryFolder();
    world.admission = await startAdmission({
      names: serviceNames(COMMANDS.endpointSliceWebhook, OWN),
      lifetimeMs: 30 * DAY_MS,
    });
  });
  after(() => world.admission.stop());
  beforeEach(async () => {
    world.now = Date.now();
    world.sandbox = await startSandbox({
      kubernetesVersion: 'v1.33.2',
      endpointSliceController: false,
      resources: [DEPLOYMENTS, FLOW_POLICIES],
      resolveService: () => ({ host: '127.0.0.1', port: webhookPort ?? world.admission.server.port }),
    });
    world.sandbox.seed([...installedNodes(), kubeProxy('v1.33.2'), namespaceObject('shop')]);
    world.access = ['--kubeconfig', world.folder.write('kubeconfig', world.sandbox.kubeconfig('reader'))];
  });
  afterEach(() => world.sandbox.stop());
  return world;
};

export const reasonsOf = ({ findings }: StatusReport): string[] => findings.map(({ reason }) => reason);
