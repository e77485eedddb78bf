// Installations of the chart: which components each has, how they run, who leads, and who answers admission.
import { type Lease, isEndpointReady, zonesOfNodes } from '../../apis/core.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { ANNOTATION_INSTALLATION, COMMANDS, HEARTBEAT_LEASE } from '../../apis/names.ts';
import { byText, nameOf, sumOf } from '../../apis/values.ts';
import { serviceKeyOfRef, slicesByService } from '../models/lookup.ts';
import { fieldsIn, listIn, textIn, wholeIn } from '../project/fields.ts';
import { type ClusterSnapshot, type WebhookSummary, itemsOf } from '../snapshot.ts';
import { type StatusEvidence, identityOf, isUnseen, registrationsOf } from './evidence.ts';

/** Renewals may be late by as much as a busy API server takes, and clocks differ. */
const GRACE_SECONDS = 15;
/** Holders renew every few seconds, whatever else the Lease says. */
const DEFAULT_DURATION_SECONDS = 15;
/** Heartbeats are renewed only as often as the Lease lasts: one may be missed. */
const HEARTBEAT_FACTOR = 2;
const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

/** Where the configuration does not say: the Lease through which the component has one leader. */
const DEFAULT_LEASES: Readonly<Record<string, string>> = {
  [COMMANDS.settingsReconciler]: `${COMMANDS.settingsReconciler}-leader-election`,
  [COMMANDS.flowController]: COMMANDS.flowController,
};

/** Leases that the components of a namespace go by; `leader`: the one of its replicas that works, `claim`: the one of several installations that changes slices. */
export const leaseUsesOf = (configs: StatusEvidence['configs'], own: string) => {
  const said = configs
    .filter(({ namespace }) => namespace === own)
    .flatMap(({ component, config }) => {
      const sections = [
        ['leader', fieldsIn(config, 'leaderElection')],
        ['claim', fieldsIn(config, 'installation.claim')],
      ] as const;
      return sections.flatMap(([purpose, { name, namespace = own }]) =>
        typeof name === 'string' && typeof namespace === 'string' ? [{ component, purpose, namespace, name }] : [],
      );
    });
  const leaders = new Set(said.flatMap(({ purpose, component }) => (purpose === 'leader' ? [component] : [])));
  const defaults = Object.entries(DEFAULT_LEASES)
    .filter(([component]) => !leaders.has(component))
    .map(([component, name]) => ({ component, purpose: 'leader' as const, namespace: own, name }));
  return [...said, ...defaults];
};

type LeaseUse = ReturnType<typeof leaseUsesOf>[number];

const leaseStatus = ({ metadata, spec }: Lease, use: LeaseUse | undefined, now: number) => {
  const { namespace = '', name = '', annotations = {} } = metadata ?? {};
  const { holderIdentity: holder = '', leaseDurationSeconds: lasts = DEFAULT_DURATION_SECONDS } = spec ?? {};
  const purpose = name === HEARTBEAT_LEASE ? 'heartbeat' : (use?.purpose ?? 'other');
  const renewedAt = Date.parse(spec?.renewTime ?? '');
  const age = Number.isNaN(renewedAt) ? null : Math.max(0, Math.round((now - renewedAt) / SECOND_MS));
  const patience = lasts * (purpose === 'heartbeat' ? HEARTBEAT_FACTOR : 1) + GRACE_SECONDS;
  return {
    namespace,
    name,
    /** What it is for: `claim` is the one of several installations that changes slices. */
    purpose,
    component: use?.purpose === 'leader' ? use.component : '',
    /** Namespace of the installation that holds it, where several share it; empty where it does not say. */
    installation: annotations[ANNOTATION_INSTALLATION] ?? '',
    state: holder === '' || age === null ? 'Released' : age > patience ? 'Stale' : 'Held',
    holder,
    /** Since the last renewal; null where there was none. */
    ageSeconds: age,
  } as const;
};

const componentStatus = (evidence: StatusEvidence, deployment: KubernetesObject) => {
  const { namespace, name, release, component, version } = identityOf(deployment);
  const pods = evidence.pods.filter((pod) => {
    const other = identityOf(pod);
    return other.namespace === namespace && other.release === release && other.component === component;
  });
  const nodes = new Set(pods.map((pod) => textIn(pod, 'spec.nodeName')).filter((node) => node !== ''));
  const zones = zonesOfNodes(itemsOf(evidence.snapshot.nodes).filter((node) => nodes.has(nameOf(node))));
  const containers = pods.flatMap((pod) => listIn(pod, 'status.containerStatuses'));
  const restarts = containers.map((each) => wholeIn(each, 'restartCount') ?? 0);
  return {
    name,
    component,
    version,
    image: textIn(listIn(deployment, 'spec.template.spec.containers')[0], 'image'),
    replicas: {
      desired: wholeIn(deployment, 'spec.replicas') ?? 1,
      ready: wholeIn(deployment, 'status.readyReplicas') ?? 0,
      updated: wholeIn(deployment, 'status.updatedReplicas') ?? 0,
    },
    pods: isUnseen(evidence, 'pods') ? null : { restarts: sumOf(restarts), nodes: nodes.size, zones },
  };
};

const installationStatus = (
  evidence: StatusEvidence,
  deployments: readonly KubernetesObject[],
  webhooks: readonly WebhookStatus[],
) => {
  const { namespace, release } = identityOf(deployments[0] ?? {});
  const uses = leaseUsesOf(evidence.configs, namespace);
  const useOf = ({ metadata }: Lease): LeaseUse | undefined =>
    uses.find((use) => use.namespace === metadata?.namespace && use.name === metadata.name);
  const own = evidence.configs.filter((config) => config.namespace === namespace);
  const modes = own.flatMap(({ config }) => Object.keys(fieldsIn(config, 'modes')));
  return {
    namespace,
    release,
    components: deployments
      .map((deployment) => componentStatus(evidence, deployment))
      .sort((a, b) => byText(a.component, b.component)),
    /** Modes of the settings-reconciler; null where its configuration could not be seen. */
    modes: modes.length === 0 ? null : modes.sort(byText),
    leases: evidence.leases
      .filter((lease) => lease.metadata?.namespace === namespace || useOf(lease) !== undefined)
      .map((lease) => leaseStatus(lease, useOf(lease), evidence.now))
      .sort((a, b) => byText(a.name, b.name)),
    webhooks: webhooks.filter(({ service }) => service?.namespace === namespace),
  };
};

/** By namespace and release. */
export const installationStatuses = (evidence: StatusEvidence, webhooks: readonly WebhookStatus[]) =>
  [
    ...Map.groupBy(evidence.deployments, (deployment) => {
      const { namespace, release } = identityOf(deployment);
      return `${namespace}/${release}`;
    }),
  ]
    .sort(([a], [b]) => byText(a, b))
    .map(([, deployments]) => installationStatus(evidence, deployments, webhooks));

/** Addresses may be listed in a slice each; a Pod counts once. */
const readyEndpoints = ({ slices }: ClusterSnapshot, service: NonNullable<WebhookSummary['service']>) => {
  if (slices.kind === 'unknown') return null;
  const own = slicesByService(slices.items).get(serviceKeyOfRef(service)) ?? [];
  const ready = own.flatMap(({ endpoints }) => endpoints ?? []).filter(isEndpointReady);
  return new Set(ready.map(({ addresses, targetRef }) => targetRef?.name ?? addresses.join())).size;
};

/** Entries of one configuration that are answered by the same Service. */
const webhookStatus = (entries: readonly WebhookSummary[], { snapshot, now }: StatusEvidence) => {
  const service = entries[0]?.service ?? null;
  const ends = entries.flatMap(({ caNotAfter }) => caNotAfter ?? []).sort((a, b) => a - b);
  const [first] = ends;
  return {
    configuration: entries[0]?.configuration ?? '',
    entries: entries.map(({ name, failurePolicy }) => ({ name, failurePolicy })),
    service,
    /** Ready endpoints of the Service; null where slices could not be seen, or for a URL. */
    readyEndpoints: service === null ? null : readyEndpoints(snapshot, service),
    /** Of all entries the authority that ends first, in whole days; null where an entry has none. */
    authority:
      first === undefined || ends.length < entries.length
        ? null
        : { notAfter: new Date(first).toISOString(), daysLeft: Math.floor((first - now) / DAY_MS) },
  };
};

export const webhookStatuses = (evidence: StatusEvidence) =>
  [
    ...Map.groupBy(registrationsOf(evidence.snapshot), ({ configuration, service }) =>
      [configuration, service?.namespace, service?.name].join('\n'),
    ).values(),
  ].map((entries) => webhookStatus(entries, evidence));

export type WebhookStatus = ReturnType<typeof webhookStatuses>[number];
export type InstallationStatus = ReturnType<typeof installationStatuses>[number];
export type ComponentStatus = InstallationStatus['components'][number];
export type LeaseStatus = InstallationStatus['leases'][number];
