// SPDX-License-Identifier: Apache-2.0
// What the reconciler would do about the admission backend, for --dry-run: reads only.
import type { SettingsCaches } from '../../pkg/controllers/settings/caches.ts';
import { LEASES } from '../../pkg/apis/resources.ts';
import { chooseCarrier } from '../../pkg/controllers/admission-policies/choose.ts';
import { readPolicyObjects } from '../../pkg/controllers/admission-policies/cleanup.ts';
import { hasOwnerLabel, managedKey, managedRef, titleOf } from '../../pkg/controllers/admission-policies/objects.ts';
import { planCarrier } from '../../pkg/controllers/admission-policies/plan.ts';
import type { PlanInput } from '../../pkg/controllers/admission-policies/plan.ts';
import { createSliceSizes } from '../../pkg/controllers/admission-policies/slice-sizes.ts';
import { buildAdmissionPolicies } from '../../pkg/hints/policy/index.ts';
import { isForbidden, isNotFound } from '../../pkg/kubernetes/errors.ts';
import { holderOf, installationOf } from '../../pkg/kubernetes/lease.ts';
import type { Lease } from '../../pkg/kubernetes/lease.ts';
import { createHolderLiveness } from '../../pkg/kubernetes/lease-liveness.ts';
import { plannerLeaseOf, policiesOptions } from '../../pkg/controllers/admission-policies/controller.ts';
import type { Session } from './session.ts';

/** One object that would be written or removed. */
export interface PlannedObject {
  readonly action: 'create' | 'update' | 'delete';
  /** Kind, namespace and name. */
  readonly object: string;
}

export interface AdmissionReport {
  readonly carrier: string;
  readonly reason: string;
  readonly message: string;
  readonly objects: readonly PlannedObject[];
  /** Why nothing would be installed. */
  readonly refused: readonly string[];
}

type Reading = Pick<Session, 'config' | 'client' | 'namespace' | 'clock'>;

/** Whether a flow-controller plans, and in which installation. */
const readPlanner = async (reading: Reading, signal: AbortSignal): Promise<{ alive: boolean; planning: string }> => {
  const { client, clock } = reading;
  const { namespace, name } = plannerLeaseOf(reading);
  const liveness = createHolderLiveness({ clock });
  let planning = '';
  const selection = { namespace, fieldSelector: `metadata.name=${name}` };
  try {
    const [lease] = (await client.list<Lease>(LEASES, selection, signal)).items;
    if (lease === undefined) liveness.gone();
    else liveness.observe(lease);
    if (lease !== undefined) planning = installationOf(lease);
  } catch (error) {
    if (!isForbidden(error)) throw error;
  }
  return { alive: liveness.alive(), planning };
};

/** Whether slices are this installation's to change, or would be. */
const isClaimed = async ({ config, client, namespace }: Reading, signal: AbortSignal): Promise<boolean> => {
  const { claim } = config.installation;
  if (claim === undefined) return true;
  try {
    return ['', namespace].includes(holderOf(await client.get<Lease>(LEASES, claim, signal)));
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
};

/** Of the objects that would be created, those that another writer has already. */
const foreignOf = async (input: PlanInput, { client }: Reading, signal: AbortSignal): Promise<Set<string>> => {
  const foreign = new Set<string>();
  for (const action of planCarrier(input).actions.filter(({ kind }) => kind === 'create')) {
    try {
      if (!hasOwnerLabel(await client.get(action.resource, managedRef(action), signal)))
        foreign.add(managedKey(action));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return foreign;
};

/** The final state, as if each backend acted at once. */
export const reportAdmission = async (
  reading: Reading,
  caches: Pick<SettingsCaches, 'slices'>,
  signal: AbortSignal,
): Promise<AdmissionReport> => {
  const { config, client, namespace, clock } = reading;
  const { alive: plannerAlive, planning } = await readPlanner(reading, signal);
  const policies = policiesOptions(reading, planning);
  const { served, readable, objects } = await readPolicyObjects({ client, name: policies.name, namespace }, signal);
  const slices = () =>
    caches.slices.list().filter(({ metadata }) => !policies.excludedNamespaces.includes(metadata?.namespace ?? ''));
  const choice = chooseCarrier({
    admission: config.admission,
    served,
    readable,
    largestSlice: createSliceSizes({ slices, clock })(),
  });
  const rows = (await isClaimed(reading, signal)) ? {} : { strategies: [] };
  const input: PlanInput = {
    carrier: choice.carrier,
    wanted: buildAdmissionPolicies({ ...policies, ...rows, plannerAlive }),
    namespace,
    current: objects,
    foreign: new Set(),
    acting: { policy: true, webhook: true },
  };
  const plan = planCarrier({ ...input, foreign: await foreignOf(input, reading, signal) });
  return {
    ...choice,
    objects: plan.actions.map((action) => ({ action: action.kind, object: titleOf(action) })),
    refused: plan.refused,
  };
};
