// Whether the holder of a Lease is alive, by the age of its last renewal.
import { COMMANDS, HEARTBEAT_LEASE } from '../../apis/names.ts';
import type { ComponentPod, ConfigFacts, LeaseFacts, LeaseUse } from './evidence.ts';
import type { LeaseStatus } from './types.ts';

/** Renewals may be late by as much as a busy API server takes, and clocks differ. */
const GRACE_SECONDS = 15;
/** Heartbeats are renewed only as often as the Lease lasts: one may be missed. */
const HEARTBEAT_FACTOR = 2;
/** As long as admission carries plans of the flow-controller over after the last renewal. */
export const DEAD_MANS_SWITCH_SECONDS = 600;

const SECOND_MS = 1_000;

/** Where the configuration cannot be read: the Lease through which the component has one leader, by default. */
const DEFAULT_LEASES: Readonly<Record<string, string>> = {
  [COMMANDS.settingsReconciler]: `${COMMANDS.settingsReconciler}-leader-election`,
  [COMMANDS.flowController]: COMMANDS.flowController,
};

/** Leases that the components of a namespace go by. */
export const leaseUsesOf = (configs: readonly ConfigFacts[], namespace: string): LeaseUse[] => {
  const said = configs.filter((config) => config.namespace === namespace).flatMap(({ leases }) => leases);
  const defaults = Object.entries(DEFAULT_LEASES)
    .filter(([component]) => said.every((use) => use.component !== component || use.purpose !== 'leader'))
    .map(([component, name]): LeaseUse => ({ component, purpose: 'leader', namespace, name }));
  return [...said, ...defaults];
};

const isUseOf =
  ({ namespace, name }: LeaseFacts) =>
  (use: LeaseUse): boolean =>
    use.namespace === namespace && use.name === name;

const stateOf = (
  { holder, durationSeconds }: LeaseFacts,
  purpose: LeaseStatus['purpose'],
  age: number | null,
): LeaseStatus['state'] => {
  if (holder === '' || age === null) return 'Released';
  const patience = durationSeconds * (purpose === 'heartbeat' ? HEARTBEAT_FACTOR : 1) + GRACE_SECONDS;
  return age > patience ? 'Stale' : 'Held';
};

export interface LeaseContext {
  readonly now: number;
  readonly uses: readonly LeaseUse[];
  /** All that were seen; undefined where they could not be. */
  readonly pods: readonly ComponentPod[] | undefined;
}

export const leaseStatus = (lease: LeaseFacts, { now, uses, pods }: LeaseContext): LeaseStatus => {
  const { namespace, name, holder, installation, renewedAt } = lease;
  const use = uses.find(isUseOf(lease));
  const purpose = name === HEARTBEAT_LEASE ? 'heartbeat' : (use?.purpose ?? 'other');
  const component = use?.purpose === 'leader' ? use.component : '';
  const age = renewedAt === undefined ? null : Math.max(0, Math.round((now - renewedAt) / SECOND_MS));
  // An identity begins with the host's name, which is the Pod's; installations that were not looked for have Pods that were
  // not seen.
  const host = holder.split('_')[0] ?? '';
  const own = pods?.filter((pod) => pod.component === component) ?? [];
  const known = own.length === 0 || own.some((pod) => pod.name.startsWith(host));
  return {
    namespace,
    name,
    purpose,
    component,
    installation,
    state: stateOf(lease, purpose, age),
    holder,
    ageSeconds: age,
    holderGone: purpose === 'leader' && holder !== '' && !known,
  };
};

/** Those in the namespace of the installation, and those that it shares with others. */
export const leasesOf = (leases: readonly LeaseFacts[], namespace: string, uses: readonly LeaseUse[]): LeaseFacts[] =>
  leases.filter((lease) => lease.namespace === namespace || uses.some(isUseOf(lease)));
