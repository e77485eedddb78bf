// A real Kubernetes for tests on one machine: control plane, nodes as network namespaces, Pods that answer.
import { cpSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before } from 'mocha';
import { type Pki, type UserOptions, type Users, createPki, createUsers, mastersGroup } from './access.ts';
import { type ConnectOptions, type Traffic, connectTo, startAgent } from './agent-client.ts';
import { type Api, createApi } from './api.ts';
import { type Binaries, defaultVersion, ensureBinaries, missingRequirements } from './binaries.ts';
import { type Component, type ComponentOptions, createComponent } from './component.ts';
import { type ControlPlane, auditLogOf, defaultControllers, describeControlPlane } from './control-plane.ts';
import { controlPlaneAddresses, endRepeated, enterPrefix, waitFor } from './machine.ts';
import { type BedContext, type BedNode, type NodeOptions, logOf, startNode } from './node.ts';
import { type BedPod, type BedService, type PodOptions, type ServiceOptions, createService, startPod } from './pod.ts';
import { type ControlPlaneNamespace, prepareControlPlaneNamespace } from './start-control-plane.ts';
import { type BedRecord, createRecord, isolatedNamespace, namespaceVariable, reapBeds } from './state.ts';

export type { BedNode, BedPod, BedService, Traffic };

interface BedOptions {
  /** Version of the control plane, a folder of hack/kubernetes. Default `1.36`. */
  readonly version?: string;
  /** An existing network namespace to use for the control plane, usually the caller's own. Default: a new one. */
  readonly namespace?: string;
  /** Controllers of kube-controller-manager. Default: see `defaultControllers`. */
  readonly controllers?: readonly string[];
  /** Flags to add to kube-apiserver, e.g. `--feature-gates=…`. Default: none. */
  readonly apiServerFlags?: readonly string[];
  /** Flags to add to kube-controller-manager, e.g. `--max-endpoints-per-slice=1000`. Default: none. */
  readonly controllerManagerFlags?: readonly string[];
  /** Users whose reads are in the audit log as well, beside everybody's writes. Default: nobody. */
  readonly auditReadsOf?: readonly string[];
  /** Where beds keep their folders; the clean-up looks there only. Default: one folder of the temporary directory. */
  readonly root?: string;
  /** Ends a start that still waits. */
  readonly signal?: AbortSignal;
}

interface StopOptions {
  /** Copies the logs to a folder that stays, and returns it. Default false. */
  readonly keepLogs?: boolean;
}

type ProgramOptions = Pick<ComponentOptions, 'name' | 'command' | 'environment'>;

/** A running bed. Whoever started it has to stop it; what a crash leaves, the next start on this machine removes. */
export interface Bed {
  /** Unique on this machine. */
  readonly id: string;
  /** Folder of everything the bed writes. */
  readonly directory: string;
  /** Network namespace of the control plane: processes that talk to the API run in there. */
  readonly namespace: string;
  /** Programs of the control plane, for faults. */
  readonly controlPlane: ControlPlane;
  readonly pki: Pki;
  /** Programs of the bed's version, e.g. kubectl. */
  readonly binaries: Binaries;
  /** The API as an administrator, from any namespace. */
  readonly api: Api;
  /** One JSON event per line for every write that the API server took. */
  readonly auditLog: string;
  /** Words to put before a command so that it runs in the control plane's namespace. */
  readonly enter: readonly [string, ...string[]];
  /** Writes a kubeconfig for a user with a client certificate of its own and returns its path. */
  kubeconfig(user: UserOptions): Promise<string>;
  /** Describes a program in the control plane's namespace, for commands under test; nothing runs before `start`. */
  program(options: ProgramOptions): Component;
  node(options: NodeOptions): Promise<BedNode>;
  pod(options: PodOptions): Promise<BedPod>;
  service(options: ServiceOptions): Promise<BedService>;
  /** Opens connections from a node to a Service and counts where they arrive. */
  connect(options: ConnectOptions): Promise<Traffic>;
  /** Waits until the API server answers `/readyz`, after a fault. */
  ready(signal?: AbortSignal): Promise<void>;
  /** Replaces API server and controller manager by those of another version on the same data, and waits until they are ready. */
  changeVersion(version: string): Promise<void>;
  /** Ends everything the bed started. Returns the folder of the logs where they are kept. */
  stop(options?: StopOptions): Promise<string | undefined>;
}

const keepLogs = ({ id, directory }: BedRecord): string => {
  const kept = join(tmpdir(), 'topology-routing-bed-logs', id);
  cpSync(join(directory, 'logs'), kept, { recursive: true });
  return kept;
};

const waitUntilReady = (api: Api, { apiServer, etcd }: ControlPlane, signal?: AbortSignal): Promise<unknown> =>
  waitFor(
    'API server ready',
    async () => {
      await api.text('/readyz');
      return api.get('/api/v1/namespaces/default');
    },
    () => true,
    { assert: () => [etcd, apiServer].forEach((program) => program.assertRunning()), ...(signal && { signal }) },
  );

/**
 * Starts a control plane and returns when it is ready, about four seconds after the binaries are there.
 * Removes the beds of killed owners first.
 *
 * @throws Error naming what is missing on this machine, or with the end of the log of the program that failed.
 */
export const startBed = async (options: BedOptions = {}): Promise<Bed> => {
  const { version = defaultVersion, root, signal } = options;
  const missing = await missingRequirements(version);
  if (missing.length > 0) throw new Error(`a bed cannot start here; missing: ${missing.join('; ')}`);
  const binaries = await ensureBinaries(version, { ...(signal && { signal }) });
  await reapBeds(root);

  const record = createRecord(root);
  let namespace: ControlPlaneNamespace | undefined;
  try {
    namespace = await prepareControlPlaneNamespace(record, options.namespace);
    return await assemble({ options, record, binaries, namespace });
  } catch (error) {
    await record.destroy();
    await namespace?.release();
    throw error;
  }
};

/** What a start has before the first program runs. */
interface Foundation {
  readonly options: BedOptions;
  readonly record: BedRecord;
  readonly binaries: Binaries;
  readonly namespace: ControlPlaneNamespace;
}

const assemble = async (foundation: Foundation): Promise<Bed> => {
  const { options, record, binaries, namespace } = foundation;
  const { version = defaultVersion } = options;
  mkdirSync(join(record.directory, 'logs'));
  const pki = await createPki(join(record.directory, 'pki'));
  const kubeconfig = createUsers(record.directory, pki);
  const { api, describe, controlPlane: first } = await startPrograms(foundation, pki, kubeconfig);
  let controlPlane = first;
  const context: BedContext = {
    record,
    controlPlane: namespace.name,
    api,
    kubeconfig,
    binariesOf: async (wanted, programs) => (wanted === version ? binaries : ensureBinaries(wanted, { programs })),
    defaultVersion: version,
  };
  return {
    id: record.id,
    directory: record.directory,
    namespace: namespace.name,
    get controlPlane() {
      return controlPlane;
    },
    pki,
    binaries,
    api,
    auditLog: auditLogOf(record.directory),
    enter: enterPrefix(namespace.name),
    kubeconfig,
    ...partsOf(context),
    connect: connectTo,
    ready: async (signal) => void (await waitUntilReady(api, controlPlane, signal)),
    async changeVersion(wanted) {
      const next = {
        ...describe(await context.binariesOf(wanted, ['kube-apiserver', 'kube-controller-manager'])),
        etcd: controlPlane.etcd,
      };
      // A graceful end takes as long as its slowest watch.
      await Promise.all([controlPlane.apiServer.kill(), controlPlane.controllerManager.kill()]);
      controlPlane = next;
      next.apiServer.start();
      await waitUntilReady(api, next);
      next.controllerManager.start();
    },
    async stop({ keepLogs: keep = false } = {}) {
      const kept = keep ? keepLogs(record) : undefined;
      await record.destroy();
      await namespace.release();
      return kept;
    },
  };
};

const startPrograms = async (
  { options, record, binaries, namespace }: Foundation,
  pki: Pki,
  kubeconfig: Users,
): Promise<Pick<Bed, 'api' | 'controlPlane'> & { describe: (of: Binaries) => ControlPlane }> => {
  const controllerManagerKubeconfig = await kubeconfig({ user: 'system:kube-controller-manager' });
  const describe = (of: Binaries): ControlPlane =>
    describeControlPlane({
      directory: record.directory,
      namespace: namespace.name,
      binaries: of,
      pki,
      controllerManagerKubeconfig,
      controllers: options.controllers ?? defaultControllers,
      apiServerFlags: options.apiServerFlags ?? [],
      controllerManagerFlags: options.controllerManagerFlags ?? [],
      auditReadsOf: options.auditReadsOf ?? [],
      onStart: record.addProcess,
    });
  const controlPlane = describe(binaries);
  controlPlane.etcd.start();
  controlPlane.apiServer.start();
  const api = await connectToApi(record, namespace.name, pki);
  await waitUntilReady(api, controlPlane, options.signal);
  controlPlane.controllerManager.start();
  return { api, controlPlane, describe };
};

/** A Unix socket crosses network namespaces: the owner need not live in the control plane's. */
const connectToApi = async (record: BedRecord, namespace: string, pki: Pki): Promise<Api> => {
  const relay = startAgent({ namespace, logFile: logOf({ record }, 'agent-api'), onStart: record.addProcess });
  const socketPath = join(record.directory, 'api.sock');
  await relay.perform({ task: 'relay', socketPath, address: controlPlaneAddresses.ipv4, port: 6443 });
  const client = await pki.client('bed', [mastersGroup]);
  return createApi({ socketPath, authority: pki.authority.certificate, client });
};

const partsOf = (context: BedContext): Pick<Bed, 'program' | 'node' | 'pod' | 'service'> => {
  const { record, controlPlane } = context;
  let lastNode = 0;
  let lastPod = 0;
  return {
    program: (options) =>
      createComponent({
        ...options,
        namespace: controlPlane,
        logFile: logOf(context, options.name),
        onStart: record.addProcess,
      }),
    node: (options) => startNode(context, ++lastNode, options),
    pod: (options) => startPod(context, ++lastPod, options),
    service: (options) => createService(context, options),
  };
};

/**
 * Registers the hooks; the function it returns gives the bed, inside tests and hooks that run later.
 * Programs of the bed and what is repeated beside tests end with it, clients and servers with the process of the suite.
 */
export const useBed = (options: BedOptions = {}): (() => Bed) => {
  let bed: Bed | undefined;
  let failed = false;

  before('start the bed', async () => {
    const namespace = isolatedNamespace();
    if (namespace === undefined) throw new Error(`${namespaceVariable} is not set: start suites with test/e2e/run`);
    bed = await startBed({ namespace, ...options });
  });
  afterEach('remember failures', function () {
    failed ||= this.currentTest?.state === 'failed';
  });
  after('end what goes on beside tests', endRepeated);
  after('stop the bed', async () => {
    const logs = await bed?.stop({ keepLogs: failed });
    if (logs !== undefined) console.error(`The logs of the bed's components are in ${logs}`);
  });
  return () => {
    if (!bed) throw new Error('the bed has not started');
    return bed;
  };
};
