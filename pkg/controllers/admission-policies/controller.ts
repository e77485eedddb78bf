// SPDX-License-Identifier: Apache-2.0
// The controller of the admission backend: policies as cached, the flow controller's Lease, probes and writers.
import type { EndpointSlice } from '../../apis/core.ts';
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import { COMMANDS } from '../../apis/names.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import { chooseCarrier } from './choose.ts';
import type { Choice } from './choose.ts';
import { carrierActs } from './probe.ts';
import { showAdmission } from './metrics.ts';
import { createAdmissionPoliciesReconciler } from './reconciler.ts';
import { createSliceSizes } from './slice-sizes.ts';
import { createPolicyStore } from './store.ts';
import { createPolicyWriter } from './writer.ts';
import type { AdmissionPoliciesOptions } from '../../hints/policy/index.ts';
import { plannerUsersOf } from '../../hints/planner-users.ts';
import { excludedNamespacesOf } from '../../hints/served-namespaces.ts';
import { createClusterLock, soleInstallation } from '../../installation/cluster-lock.ts';
import type { ClusterLock } from '../../installation/cluster-lock.ts';
import { createInstallationOwner } from '../../installation/owner.ts';
import type { InstallationOwner } from '../../installation/owner.ts';
import type { LeaseWatch } from '../../kubernetes/lease-liveness.ts';
import type { Cache } from '../../kubernetes/cache.ts';
import type { OpenCache } from '../../kubernetes/caches.ts';
import type { ControllerSpec, Task } from '../../kubernetes/manager.ts';
import type { Client, Clock, EventRecorder } from '../../kubernetes/types.ts';
import { signals } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/types.ts';
import { serviceAccountUser } from '../../installation/service-account.ts';

/** Of a session: what says which installation this is. */
export interface Installed {
  readonly config: Pick<
    SettingsReconcilerConfiguration,
    'admission' | 'flowController' | 'installation' | 'keep' | 'policies'
  >;
  /** Own namespace. */
  readonly namespace: string;
}

/** What the policies of this installation are made of, while another one may be the one that plans (empty: none says so). */
export const policiesOptions = (
  { config, namespace }: Installed,
  planning = '',
): Omit<AdmissionPoliciesOptions, 'plannerAlive'> => {
  const { name, includedNamespaces, excludedNamespaces, user } = config.policies;
  const { users } = config.flowController;
  return {
    name,
    excludedNamespaces: excludedNamespacesOf(namespace, { included: includedNamespaces, excluded: excludedNamespaces }),
    flowControllerUsers: plannerUsersOf({ configured: users, ownNamespace: namespace, planning }),
    settingsReconcilerUser: user ?? serviceAccountUser(namespace, COMMANDS.settingsReconciler),
    keepSettings: config.keep !== 'off',
    routingLabel: config.installation.routingLabel,
  };
};

/** The Lease whose age says whether plans may be kept. */
export const plannerLeaseOf = ({ config, namespace }: Installed): Required<ObjectRef> => {
  const { lease } = config.flowController;
  return { namespace: lease.namespace ?? namespace, name: lease.name };
};

export interface AdmissionOptions extends Installed {
  readonly client: Client;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** In [0, 1): spreads retries. */
  random: () => number;
  readonly logger: Logger;
  /** Opens the caches of policies. */
  readonly cache: OpenCache;
  readonly cached: Pick<Cache<EndpointSlice>, 'list'>;
  readonly planner: Pick<LeaseWatch, 'alive' | 'known' | 'installation' | 'onChange' | 'run'>;
}

/** Keeps the admission backend in place: the webhook, or policies of the API server. */
export interface Admission extends ControllerSpec {
  /** Whether slices are this installation's to change. */
  isHeld(): boolean;
  /** For every replica: asks which policies the API server serves. */
  readonly discover: Task;
  /** Slices of the namespaces that admission serves, as cached. */
  slices(): EndpointSlice[];
}

const installationOwnerOf = ({ config, client, namespace, logger }: AdmissionOptions): InstallationOwner =>
  createInstallationOwner({ client, namespace, clusterRole: config.installation.clusterRole, logger });

/** The webhook of this installation holds the same lock; this process takes it for the policies. */
const lockOf = (options: AdmissionOptions, owner: InstallationOwner, able: () => boolean): ClusterLock => {
  const { config, client, namespace, clock, random, logger } = options;
  const { claim } = config.installation;
  if (claim === undefined) return soleInstallation();
  return createClusterLock({ client, lease: claim, installation: namespace, owner, able, clock, random, logger });
};

/** All work is one key. */
const KEY = 'policies';

export const createAdmission = (options: AdmissionOptions): Admission => {
  const { config, client, cache, cached, planner, namespace, clock, logger, events, metrics } = options;
  const policies = policiesOptions(options);
  const slices = () =>
    cached.list().filter(({ metadata }) => !policies.excludedNamespaces.includes(metadata?.namespace ?? ''));
  const store = createPolicyStore({ client, cache, name: policies.name, namespace, clock, logger });
  const largestSlice = createSliceSizes({ slices, clock });
  const choose = (): Choice | undefined => {
    const { ready, served = false, readable } = store;
    const { admission } = config;
    return ready ? chooseCarrier({ admission, served, readable, largestSlice: largestSlice() }) : undefined;
  };
  const owner = installationOwnerOf(options);
  const lock = lockOf(options, owner, () => choose()?.carrier === 'policy');
  const reconciler = createAdmissionPoliciesReconciler({
    admission: config.admission,
    policies: () => policiesOptions(options, planner.installation()),
    claim: lock,
    choose,
    owner,
    namespace,
    store,
    writer: createPolicyWriter({ client, clock, logger }),
    planner,
    acts: (tried, signal) => carrierActs(tried, { client, subjects: slices, logger }, signal),
    clock,
    events,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace },
    logger,
  });
  showAdmission(metrics, { planner, backends: reconciler.backends });
  return {
    watches: [
      signals((enqueue) => {
        const look = (): void => enqueue(KEY);
        look();
        for (const source of [store, planner, lock]) source.onChange(look);
      }),
    ],
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
    isHeld: () => lock.known() && lock.held(),
    slices,
    discover: (signal) => store.run(signal),
    // Whether this process can change slices at all is part of the choice.
    follows: [planner, { run: (signal) => store.settled(signal).then(() => lock.run(signal)) }],
  };
};
