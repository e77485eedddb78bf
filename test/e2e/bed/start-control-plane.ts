// The smallest bed: etcd, kube-apiserver and kube-controller-manager, for programs that need no nodes.
import { type ExposeOptions, exposeProgram } from './access.ts';
import { startBed } from './index.ts';
import { controlPlaneAddresses, createBridge, createNamespace, removeBridge } from './machine.ts';
import { type BedRecord, isolatedNamespace } from './state.ts';

export interface ControlPlaneNamespace {
  readonly name: string;
  /** Takes what the bed put into it out of a namespace that belongs to the caller; the bed's own goes with its record. */
  release(): Promise<void>;
}

/** Creates the namespace unless `existing` names one, and the bridge inside. */
export const prepareControlPlaneNamespace = async (
  record: BedRecord,
  existing: string | undefined,
): Promise<ControlPlaneNamespace> => {
  const name = existing ?? `topology-${record.id}-control-plane`;
  if (existing === undefined) {
    record.addNamespace(name);
    await createNamespace(name);
  }
  await createBridge(name, controlPlaneAddresses);
  return {
    name,
    release: async () => {
      if (existing !== undefined) await removeBridge(name);
    },
  };
};

interface ControlPlaneOnlyOptions {
  /** A folder of hack/kubernetes. Default `1.36`. */
  readonly version?: string;
  /** Ends a start that still waits. */
  readonly signal?: AbortSignal;
}

interface RunningControlPlane {
  /** Network namespace in which the API server can be reached. */
  readonly namespace: string;
  /** Words to put before a command so that it runs in that namespace. */
  readonly enter: readonly [string, ...string[]];
  /** IPv4 address of the control plane in that namespace: what a slice has to name to reach a program there. */
  readonly address: string;
  /** Path of kubectl of the same version. */
  readonly kubectl: string;
  /** Writes a kubeconfig with a client certificate for this user and returns its path. */
  kubeconfigFor(user: string, groups?: readonly string[]): Promise<string>;
  /** Makes a program in that namespace reachable through a Service, see `exposeProgram`. */
  expose(options: ExposeOptions): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a control plane: in the caller's namespace where `runIsolated` started the caller, else in a new one. */
export const startControlPlane = async (options: ControlPlaneOnlyOptions = {}): Promise<RunningControlPlane> => {
  const namespace = isolatedNamespace();
  const bed = await startBed({ ...options, ...(namespace === undefined ? {} : { namespace }) });
  return {
    namespace: bed.namespace,
    enter: bed.enter,
    address: controlPlaneAddresses.ipv4,
    kubectl: bed.binaries('kubectl'),
    kubeconfigFor: (user, groups = []) => bed.kubeconfig({ user, groups }),
    expose: (exposed) => exposeProgram(bed.api, exposed),
    stop: async () => void (await bed.stop()),
  };
};
