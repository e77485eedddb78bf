// What is wrong with an installation, the gravest first: stable code, what it says, and the remedy.
import { COMMANDS } from '../../apis/names.ts';
import { fieldsIn, listIn, pickTexts, textIn, wholeIn } from '../project/fields.ts';
import { type StatusEvidence, identityOf, isUnseen, registrationsOf, waitingOf } from './evidence.ts';
import type { ComponentStatus, InstallationStatus, WebhookStatus } from './installations.ts';

export const STATUS_REASONS = {
  ReplicasNotReady: 'See `kubectl describe` and the logs of its Pods.',
  ScaledToZero: 'Scale it up again if that was not intended.',
  ContainerNotRunning: 'See the logs of its last run: `kubectl logs --previous`.',
  VersionsDiffer: 'Let the upgrade finish, or install the chart again.',
  LeaseStale: 'See the logs of the component: it is down, hangs, or cannot reach the API server.',
  NoLeader: 'See why its Pods do not start, or whether they may write the Lease.',
  HintsNotCarried: 'Bring the flow-controller back; it plans anew at once.',
  AdmissionMissing: 'See the log of the webhook: it registers itself, unless the chart does (`registration: chart`).',
  RegistrationWithoutInstallation: 'Delete the MutatingWebhookConfiguration if that installation is gone for good.',
  AuthorityMissing: 'Check whether another writer empties the field; the webhook restores it at its next check.',
  AuthorityExpiring: 'See why the endpointslice-webhook did not rotate it (its log), or renew mounted certificates.',
  NoReadyWebhook: 'See why the Pods of the endpointslice-webhook are not ready.',
  AdmissionNotActing: 'See whether API servers reach the webhook (network policy, firewall, certificate), and its log.',
  AdmissionRefuses: 'Bring the webhook back, or set `failurePolicy: Ignore` until it is back.',
  ServicesIneffective: 'See `kubectl topology audit` for all of them, or `kubectl topology explain` for one.',
};

type StatusReason = keyof typeof STATUS_REASONS;

/** Worth a word, but nothing is broken by it. */
export const NOTES: ReadonlySet<StatusReason> = new Set(['ScaledToZero', 'ServicesIneffective']);

/** As long as admission carries plans of the flow-controller over after the last renewal. */
const DEAD_MANS_SWITCH_SECONDS = 600;
/** Days before the end. The webhook renews when ten of thirty are left, so this is no longer a matter of course. */
export const WARN_DAYS = 7;

/** One finding where `applies`, else none. */
export const when = (applies: boolean, reason: StatusReason, message: string) =>
  applies ? [{ reason, message, remedy: STATUS_REASONS[reason] }] : [];

export type StatusFinding = ReturnType<typeof when>[number];

const componentFindings = (each: ComponentStatus, namespace: string, { deployments, pods }: StatusEvidence) => {
  const { name, component, replicas } = each;
  const { desired, ready, updated } = replicas;
  const title = `Deployment ${namespace}/${name}`;
  const own = deployments.find(({ metadata }) => metadata?.namespace === namespace && metadata.name === name);
  // It cannot make Pods, or an upgrade has come to a standstill.
  const problems = listIn(own, 'status.conditions')
    .map((condition) => pickTexts(condition, 'type', 'status', 'message'))
    .filter(({ type, status }) => status === { ReplicaFailure: 'True', Progressing: 'False' }[type])
    .map(({ message }) => `; ${message}`);
  const state = `${ready} of ${desired} ready, ${updated} updated${problems.join('')}`;
  return [
    ...when(desired === 0, 'ScaledToZero', `${title}: zero replicas are desired.`),
    ...when(ready < desired || updated < desired, 'ReplicasNotReady', `${title}: ${state}.`),
    ...pods.flatMap((pod) => {
      const { name: podName, ...identity } = identityOf(pod);
      const waiting = identity.namespace === namespace && identity.component === component ? waitingOf(pod) : '';
      const containers = listIn(pod, 'status.containerStatuses');
      const last = containers.map((one) => fieldsIn(one, 'lastState.terminated')).find((one) => 'exitCode' in one);
      const ended = last && `, ended last with ${textIn(last, 'reason')} (exit code ${wholeIn(last, 'exitCode')})`;
      return when(waiting !== '', 'ContainerNotRunning', `Pod ${namespace}/${podName}: ${waiting}${ended ?? ''}.`);
    }),
  ];
};

/** Components that work through one leader; every replica of the webhook serves. */
const LED: ReadonlySet<string> = new Set([COMMANDS.settingsReconciler, COMMANDS.flowController]);

/** Of a component that is there and should run, and works through a leader. */
const leaderFindings = ({ component, replicas }: ComponentStatus, { namespace, leases }: InstallationStatus) => {
  if (!LED.has(component) || replicas.desired === 0) return [];
  const lease = leases.find((each) => each.purpose === 'leader' && each.component === component);
  if (!lease) return when(true, 'NoLeader', `${component} in namespace ${namespace}: no Lease names a leader.`);
  const title = `Lease ${lease.namespace}/${lease.name}`;
  const age = lease.ageSeconds ?? 0;
  const dropped = component === COMMANDS.flowController && age >= DEAD_MANS_SWITCH_SECONDS;
  const drops = `${title} was renewed ${age} seconds ago; after ${DEAD_MANS_SWITCH_SECONDS} seconds plans are dropped.`;
  return [
    ...when(lease.state === 'Released', 'NoLeader', `${title} has no holder.`),
    ...when(lease.state === 'Stale', 'LeaseStale', `${title}: ${lease.holder} last renewed it ${age} seconds ago.`),
    ...when(lease.state === 'Stale' && dropped, 'HintsNotCarried', drops),
  ];
};

const installationFindings = (installation: InstallationStatus, evidence: StatusEvidence): StatusFinding[] => {
  const { namespace, release, components, leases } = installation;
  const versions = components.map(({ version, image }) => version || image);
  const named = components.map(({ component }, at) => `${component} ${versions[at]}`);
  return [
    ...components.flatMap((component) => componentFindings(component, namespace, evidence)),
    ...(isUnseen(evidence, 'leases') ? [] : components.flatMap((component) => leaderFindings(component, installation))),
    // gardenlet judges the extension by its heartbeat; Leases of others are theirs.
    ...leases.flatMap(({ purpose, state, name, ageSeconds }) => {
      const age = `Lease ${namespace}/${name}: the last heartbeat is ${ageSeconds} seconds old.`;
      return when(purpose === 'heartbeat' && state === 'Stale', 'LeaseStale', age);
    }),
    ...when(new Set(versions).size > 1, 'VersionsDiffer', `Release ${namespace}/${release}: ${named.join(', ')}.`),
  ];
};

const daysText = (days: number): string =>
  days < 0 ? 'has expired' : days === 0 ? 'expires within a day' : `expires in ${days} day${days === 1 ? '' : 's'}`;

const webhookFindings = ({ configuration, authority, readyEndpoints, service }: WebhookStatus): StatusFinding[] => {
  const title = `MutatingWebhookConfiguration ${configuration}`;
  const { daysLeft = WARN_DAYS, notAfter = '' } = authority ?? {};
  const none = `Service ${service?.namespace}/${service?.name} behind ${title} has no ready endpoint.`;
  const ends = `The authority in ${title} ${daysText(daysLeft)} (${notAfter}).`;
  return [
    ...when(readyEndpoints === 0, 'NoReadyWebhook', none),
    ...when(authority === null, 'AuthorityMissing', `${title}: an entry has no certificate in its caBundle.`),
    ...when(daysLeft < WARN_DAYS, 'AuthorityExpiring', ends),
  ];
};

const admissionFindings = (installations: readonly InstallationStatus[], evidence: StatusEvidence): StatusFinding[] => {
  const isInstalled = ({ component, replicas }: ComponentStatus): boolean =>
    component === COMMANDS.endpointSliceWebhook && replicas.desired > 0;
  const missing =
    installations.some(({ components }) => components.some(isInstalled)) &&
    !registrationsOf(evidence.snapshot).some(({ slices }) => slices) &&
    !isUnseen(evidence, 'webhooks');
  return [
    ...when(missing, 'AdmissionMissing', 'No MutatingWebhookConfiguration of this extension serves EndpointSlices.'),
    ...evidence.probes.flatMap(({ namespace, outcome, message }) => {
      const where = `Slice in namespace ${namespace}`;
      return [
        ...when(outcome === 'NotHinted', 'AdmissionNotActing', `${where}: the dry run came back without hints.`),
        ...when(outcome === 'Refused', 'AdmissionRefuses', `${where}: ${message}`),
      ];
    }),
  ];
};

/** `strays`: registrations that no installation found is behind. */
export const statusFindings = (
  installations: readonly InstallationStatus[],
  strays: readonly WebhookStatus[],
  evidence: StatusEvidence,
): StatusFinding[] => [
  ...admissionFindings(installations, evidence),
  ...installations.flatMap((installation) => installationFindings(installation, evidence)),
  ...[...installations.flatMap(({ webhooks }) => webhooks), ...strays].flatMap(webhookFindings),
  ...strays.flatMap(({ configuration, service }) => {
    const by = service === null ? 'a URL' : `Service ${service.namespace}/${service.name}`;
    return when(true, 'RegistrationWithoutInstallation', `MutatingWebhookConfiguration ${configuration}: ${by}.`);
  }),
];
