// SPDX-License-Identifier: Apache-2.0
// Wires what decides and installs the carrier of admission: caches of policies, the flow controller's Lease, probes, writers.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import type { ObjectRef } from '../../pkg/apis/meta.ts';
import { carrierActs } from '../../pkg/controllers/admission-policies/probe.ts';
import {
  ADMISSION_POLICIES_KEY,
  createAdmissionPoliciesReconciler,
} from '../../pkg/controllers/admission-policies/reconciler.ts';
import { createSliceSizes } from '../../pkg/controllers/admission-policies/slice-sizes.ts';
import { createPolicyStore } from '../../pkg/controllers/admission-policies/store.ts';
import { createPolicyWriter } from '../../pkg/controllers/admission-policies/writer.ts';
import type { Landscape } from '../../pkg/controllers/settings/landscape.ts';
import type { CarrierFigures } from '../../pkg/controllers/settings/metrics.ts';
import type { AdmissionPoliciesOptions, Carrier } from '../../pkg/hints/policy/index.ts';
import { plannerUsersOf } from '../../pkg/hints/planner-users.ts';
import { excludedNamespacesOf } from '../../pkg/hints/served-namespaces.ts';
import { aborted } from '../../pkg/kubernetes/abortable.ts';
import { createClaim, ownClaim } from '../../pkg/kubernetes/claim.ts';
import type { Claim } from '../../pkg/kubernetes/claim.ts';
import { createInstallationOwner } from '../../pkg/kubernetes/installation-owner.ts';
import type { InstallationOwner } from '../../pkg/kubernetes/installation-owner.ts';
import { createLeaseWatch } from '../../pkg/kubernetes/lease-liveness.ts';
import type { LeaseWatch } from '../../pkg/kubernetes/lease-liveness.ts';
import type { EventRecorder, Reconciler, WorkQueue } from '../../pkg/kubernetes/types.ts';
import { serviceAccountUser } from '../shared/service-account.ts';
import type { Session } from './session.ts';

type Where = Pick<Session, 'config' | 'namespace'>;

/** What the policies of this installation are made of, while another one may be the one that plans (empty: none says so). */
export const policiesOptions = (
  { config, namespace }: Where,
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
export const plannerLeaseOf = ({ config, namespace }: Where): Required<ObjectRef> => {
  const { lease } = config.flowController;
  return { namespace: lease.namespace ?? namespace, name: lease.name };
};

export interface AdmissionOptions extends Pick<
  Session,
  'config' | 'client' | 'namespace' | 'clock' | 'random' | 'logger'
> {
  landscape: Landscape;
  events: EventRecorder;
  queue: WorkQueue;
  /** Called when the flow controller comes, or goes with its Lease. */
  onPlanner(): void;
}

export interface Admission {
  readonly reconciler: Reconciler;
  /** Whether the flow controller is alive. */
  readonly planner: Pick<LeaseWatch, 'alive' | 'known'>;
  /** Whether slices are this installation's to change. */
  claimed(): boolean;
  /** Slices of the namespaces that admission serves, as cached. */
  slices(): EndpointSlice[];
  /** Who carries; undefined until that was found out. */
  carrier(): CarrierFigures | undefined;
  /** Follows policies and Lease until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

const installationOwnerOf = ({ config, client, namespace, logger }: AdmissionOptions): InstallationOwner =>
  createInstallationOwner({ client, namespace, clusterRole: config.installation.clusterRole, logger });

/** The webhook of this installation holds the same claim; this process takes it for the policies. */
const claimOf = (options: AdmissionOptions, owner: InstallationOwner, able: () => boolean): Claim => {
  const { config, client, namespace, clock, random, logger } = options;
  const { claim } = config.installation;
  if (claim === undefined) return ownClaim();
  return createClaim({ client, lease: claim, installation: namespace, owner, able, clock, random, logger });
};

export const createAdmission = (options: AdmissionOptions): Admission => {
  const { config, client, landscape, namespace, clock, random, logger, events, queue } = options;
  const policies = policiesOptions(options);
  const slices = () =>
    landscape.slices.list().filter(({ metadata }) => !policies.excludedNamespaces.includes(metadata?.namespace ?? ''));
  const onChange = (): void => queue.add(ADMISSION_POLICIES_KEY);
  const store = createPolicyStore({
    client,
    name: policies.name,
    namespace,
    onChange,
    clock,
    random,
    logger,
  });
  const planner = createLeaseWatch({
    client,
    lease: plannerLeaseOf(options),
    clock,
    random,
    logger,
    onChange() {
      onChange();
      options.onPlanner();
    },
  });
  let chosen: Carrier | undefined;
  const choice = new AbortController();
  const owner = installationOwnerOf(options);
  const claim = claimOf(options, owner, () => chosen === 'policy');
  claim.onChange(onChange);
  const probing = {
    client,
    subjects: slices,
    logger,
  };
  let carrier: CarrierFigures | undefined;
  return {
    planner,
    slices,
    claimed: () => claim.known() && claim.held(),
    carrier: () => carrier,
    reconciler: createAdmissionPoliciesReconciler({
      admission: config.admission,
      policies: () => policiesOptions(options, planner.installation()),
      claim,
      onChoice(next) {
        chosen = next;
        choice.abort();
      },
      owner,
      namespace,
      store,
      writer: createPolicyWriter({ client, clock, logger }),
      planner,
      largestSlice: createSliceSizes({ slices, clock }),
      acts: (tried, signal) => carrierActs(tried, probing, signal),
      onCarrier: (says, awaits) => void (carrier = { carrier: says, awaits }),
      clock,
      events,
      regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace },
      logger,
    }),
    async run(signal) {
      queue.add(ADMISSION_POLICIES_KEY);
      // Whether this process can change slices at all is part of the choice.
      const claiming = aborted(AbortSignal.any([signal, choice.signal])).then(() => claim.run(signal));
      await Promise.all([store.run(signal), planner.run(signal), claiming]);
    },
  };
};
