// Gathers objects of any kind, one by one, into what a status is judged by.
// Deployments, Pods and Leases of an installation reduced to what a status says of them.
// Registrations, configuration, Extensions and events reduced to what a status says of them.
import { type Fields, defined, isFields } from '../../apis/values.ts';
import { ANNOTATION_INSTALLATION, COMMANDS, EXTENSION_NAME, EXTENSION_TYPE, GROUP } from '../../apis/names.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { webhooksOf } from '../project/routers.ts';
import { createCollector } from '../project/collect.ts';
import {
  DEFAULT_NAMESPACE,
  asFields,
  asText,
  fieldsAt,
  listAt,
  metadataOf,
  objectAt,
  stringsAt,
  textAt,
  wholeAt,
} from '../project/fields.ts';
import type { CollectionName } from '../snapshot.ts';
import type {
  ComponentPod,
  ConfigFacts,
  DeployedComponent,
  ExtensionFacts,
  KeepingFacts,
  LeaseFacts,
  LeaseUse,
  NamespaceFacts,
  RegistrationEntry,
  StatusObjects,
  Termination,
  WarningEvent,
} from './evidence.ts';

export const LABEL_NAME = 'app.kubernetes.io/name';
const LABEL_INSTANCE = 'app.kubernetes.io/instance';
const LABEL_COMPONENT = 'app.kubernetes.io/component';
const LABEL_VERSION = 'app.kubernetes.io/version';

const itemsAt = (object: Fields, key: string): Fields[] => listAt(object, key, asFields) ?? [];

/** What labels of the chart say. */
const identityOf = (object: Fields) => {
  const { namespace = DEFAULT_NAMESPACE, name, labels = {} } = metadataOf(object, true);
  return {
    namespace,
    name,
    instance: labels[LABEL_INSTANCE] ?? '',
    component: labels[LABEL_COMPONENT] ?? name,
    version: labels[LABEL_VERSION] ?? '',
  };
};

/** Conditions of a Deployment that show trouble: it cannot make Pods, or an upgrade has come to a standstill. */
const problemsOf = (status: Fields): string[] =>
  itemsAt(status, 'conditions').flatMap((condition) => {
    const [type, state, message = ''] = [
      textAt(condition, 'type'),
      textAt(condition, 'status'),
      textAt(condition, 'message'),
    ];
    const bad = type === 'ReplicaFailure' ? state === 'True' : type === 'Progressing' && state === 'False';
    return bad ? [message] : [];
  });

const deploymentOf = (object: Fields): DeployedComponent => {
  const [spec, status] = [fieldsAt(object, 'spec'), fieldsAt(object, 'status')];
  const [container] = itemsAt(fieldsAt(fieldsAt(spec, 'template'), 'spec'), 'containers');
  return {
    ...identityOf(object),
    image: container === undefined ? '' : (textAt(container, 'image') ?? ''),
    desired: wholeAt(spec, 'replicas') ?? 1,
    ready: wholeAt(status, 'readyReplicas') ?? 0,
    updated: wholeAt(status, 'updatedReplicas') ?? 0,
    problems: problemsOf(status),
  };
};

const terminationOf = (container: Fields): Termination | undefined =>
  objectAt(container, 'lastState', (state) =>
    objectAt(state, 'terminated', (ended) => ({
      reason: textAt(ended, 'reason') ?? '',
      exitCode: wholeAt(ended, 'exitCode') ?? 0,
      finishedAt: textAt(ended, 'finishedAt') ?? '',
    })),
  );

const waitingOf = (container: Fields): string =>
  objectAt(container, 'state', (state) => objectAt(state, 'waiting', (waiting) => textAt(waiting, 'reason'))) ?? '';

const componentPodOf = (object: Fields): ComponentPod => {
  const { namespace, name, instance, component } = identityOf(object);
  const status = fieldsAt(object, 'status');
  const containers = itemsAt(status, 'containerStatuses');
  const ended = containers.map(terminationOf).filter((end) => end !== undefined);
  return {
    namespace,
    name,
    instance,
    component,
    nodeName: textAt(fieldsAt(object, 'spec'), 'nodeName') ?? '',
    ready: itemsAt(status, 'conditions').some(({ type, status: state }) => type === 'Ready' && state === 'True'),
    restarts: containers.reduce((sum, container) => sum + (wholeAt(container, 'restartCount') ?? 0), 0),
    waiting: containers.map(waitingOf).find((reason) => reason !== '' && reason !== 'ContainerCreating') ?? '',
    ...defined({ lastTermination: ended.toSorted((a, b) => b.finishedAt.localeCompare(a.finishedAt))[0] }),
  };
};

/** Holders renew every few seconds, whatever else the Lease says. */
const DEFAULT_DURATION_SECONDS = 15;

const leaseOf = (object: Fields): LeaseFacts => {
  const { namespace = DEFAULT_NAMESPACE, name, annotations = {} } = metadataOf(object, true);
  const spec = fieldsAt(object, 'spec');
  const renewedAt = Date.parse(textAt(spec, 'renewTime') ?? '');
  return {
    namespace,
    name,
    holder: textAt(spec, 'holderIdentity') ?? '',
    durationSeconds: wholeAt(spec, 'leaseDurationSeconds') ?? DEFAULT_DURATION_SECONDS,
    installation: annotations[ANNOTATION_INSTALLATION] ?? '',
    ...(Number.isNaN(renewedAt) ? {} : { renewedAt }),
  };
};

/** Whether the object carries the chart's name. */
const isOfChart = (object: Fields, name: string): boolean =>
  objectAt(object, 'metadata', (metadata) => stringsAt(metadata, 'labels'))?.[LABEL_NAME] === name;

const DEFAULT_TIMEOUT_SECONDS = 10;

/** The entries of a configuration that belong to this project, by their names. */
const registrationsOf = (object: Fields): RegistrationEntry[] => {
  const timeouts = listAt(object, 'webhooks', (item) => wholeAt(asFields(item), 'timeoutSeconds')) ?? [];
  return webhooksOf(object).flatMap(({ objectSelector: _, ...webhook }, index) =>
    webhook.name.endsWith(`.${GROUP}`)
      ? [{ ...webhook, timeoutSeconds: timeouts[index] ?? DEFAULT_TIMEOUT_SECONDS }]
      : [],
  );
};

/** Reads the YAML in a ConfigMap; undefined where it is none. */
type ParseYaml = (text: string) => unknown;

/** Of a configuration, which nothing has checked: empty where it is no object. */
const sectionIn = (object: unknown, key: string): Fields => {
  const value = isFields(object) ? object[key] : undefined;
  return isFields(value) ? value : {};
};

/** The Lease that a section of the configuration names; `namespace` is where it is unless the section says so. */
const leaseUse = (named: Fields, use: Pick<LeaseUse, 'component' | 'purpose' | 'namespace'>): LeaseUse[] => {
  const { name, namespace } = named;
  if (typeof name !== 'string') return [];
  return [{ ...use, name, namespace: typeof namespace === 'string' ? namespace : use.namespace }];
};

const COMPONENTS: ReadonlySet<string> = new Set(Object.values(COMMANDS));

const KEEPING: KeepingFacts = { keep: 'auto', label: 'true' };

/** Only the settings-reconciler labels namespaces. */
const keepingOf = (component: string, config: unknown): { keeping?: KeepingFacts } => {
  if (component !== COMMANDS.settingsReconciler || !isFields(config)) return {};
  const { keep } = config;
  const { routingLabel } = sectionIn(config, 'installation');
  return {
    keeping: {
      keep: typeof keep === 'string' ? keep : KEEPING.keep,
      label: typeof routingLabel === 'string' ? routingLabel : KEEPING.label,
    },
  };
};

/** What the ConfigMap says that a status needs; undefined for all others. */
const configOf = (object: Fields, parse: ParseYaml): ConfigFacts | undefined => {
  const { namespace = DEFAULT_NAMESPACE, name } = metadataOf(object, true);
  const data = stringsAt(object, 'data') ?? {};
  if (!COMPONENTS.has(name) || !isOfChart(object, EXTENSION_NAME)) return undefined;
  const config = parse(data['config.yaml'] ?? '');
  const modes = Object.keys(sectionIn(config, 'modes')).sort();
  const claim = sectionIn(sectionIn(config, 'installation'), 'claim');
  return {
    namespace,
    name,
    ...(modes.length === 0 ? {} : { modes }),
    ...keepingOf(name, config),
    leases: [
      ...leaseUse(sectionIn(config, 'leaderElection'), { component: name, purpose: 'leader', namespace }),
      ...leaseUse(claim, { component: name, purpose: 'claim', namespace }),
    ],
  };
};

const extensionOf = (object: Fields): ExtensionFacts | undefined => {
  if (textAt(fieldsAt(object, 'spec'), 'type') !== EXTENSION_TYPE) return undefined;
  const { namespace = DEFAULT_NAMESPACE, name } = metadataOf(object, true);
  const status = fieldsAt(object, 'status');
  const conditions = (listAt(status, 'conditions', asFields) ?? []).map((condition) => ({
    type: textAt(condition, 'type') ?? '',
    status: textAt(condition, 'status') ?? '',
    reason: textAt(condition, 'reason') ?? '',
  }));
  return {
    namespace,
    name,
    lastError: textAt(fieldsAt(status, 'lastError'), 'description') ?? '',
    state: textAt(fieldsAt(status, 'lastOperation'), 'state') ?? '',
    conditions: conditions.filter(({ status: state }) => state !== 'True'),
  };
};

const namespaceOf = (object: Fields): NamespaceFacts => {
  const { name, labels = {} } = metadataOf(object, false);
  return { name, labels };
};

const OURS: ReadonlySet<string> = new Set(Object.values(COMMANDS));

const isAboutOurs = (about: Fields): boolean =>
  (about['kind'] === 'Pod' || about['kind'] === 'Deployment' || about['kind'] === 'ReplicaSet') &&
  [...OURS].some((name) => asText(about['name'] ?? '').startsWith(name));

/** A Warning that one of our components wrote, or that is about its Pods; undefined for all others. */
const warningOf = (object: Fields): WarningEvent | undefined => {
  if (textAt(object, 'type') !== 'Warning') return undefined;
  const source = textAt(object, 'reportingComponent') || textAt(fieldsAt(object, 'source'), 'component') || '';
  const about = objectAt(object, 'involvedObject', (inner) => inner) ?? fieldsAt(object, 'regarding');
  if (!OURS.has(source) && !isAboutOurs(about)) return undefined;
  const series = textAt(fieldsAt(object, 'series'), 'lastObservedTime');
  const name = [textAt(about, 'namespace'), textAt(about, 'name')].filter((part) => part !== undefined && part !== '');
  return {
    namespace: metadataOf(object, true).namespace ?? DEFAULT_NAMESPACE,
    about: `${textAt(about, 'kind') ?? ''} ${name.join('/')}`,
    reason: textAt(object, 'reason') ?? '',
    message: textAt(object, 'message') ?? textAt(object, 'note') ?? '',
    source,
    count: wholeAt(fieldsAt(object, 'series'), 'count') ?? wholeAt(object, 'count') ?? 1,
    lastSeen: textAt(object, 'lastTimestamp') ?? series ?? textAt(object, 'eventTime') ?? '',
  };
};

export interface StatusCollector {
  /** Takes an object with apiVersion and kind. @throws FieldError where a field is not what the API has there. */
  add(object: unknown): void;
  /** Items taken so far, of any kind. */
  readonly count: number;
  /** Collections of the snapshot of which at least one object was taken. */
  readonly seen: ReadonlySet<CollectionName>;
  /** `missing`: why a collection is not known. */
  objects(missing: ReadonlyMap<CollectionName, string>, version?: KubernetesVersion): StatusObjects;
}

type PartName = Exclude<keyof StatusObjects, 'snapshot'>;
type Reader = (object: Fields) => unknown;

const ofChart =
  (read: Reader): Reader =>
  (object) =>
    isOfChart(object, EXTENSION_NAME) ? read(object) : undefined;

/** Which part of a status a kind fills, and how; a reader answers undefined for other projects' objects. */
const readersFor = (parse: ParseYaml): Readonly<Record<string, readonly [PartName, Reader]>> => ({
  'apps/Deployment': ['deployments', ofChart(deploymentOf)],
  '/Pod': ['pods', ofChart(componentPodOf)],
  'coordination.k8s.io/Lease': ['leases', leaseOf],
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': ['registrations', registrationsOf],
  '/ConfigMap': ['configs', (object) => configOf(object, parse)],
  'extensions.gardener.cloud/Extension': ['extensions', extensionOf],
  '/Event': ['events', warningOf],
  'events.k8s.io/Event': ['events', warningOf],
  '/Namespace': ['namespaces', namespaceOf],
});

const groupKindOf = (object: Fields): string => {
  const apiVersion = textAt(object, 'apiVersion') ?? '';
  return `${apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : ''}/${textAt(object, 'kind') ?? ''}`;
};

/** `parse` reads the YAML in ConfigMaps. */
export const createStatusCollector = (parse: ParseYaml): StatusCollector => {
  const collector = createCollector();
  const readers = readersFor(parse);
  const taken = new Map<PartName, Map<string, readonly unknown[]>>();
  return {
    add(object) {
      collector.add(object);
      if (!isFields(object)) return;
      const key = groupKindOf(object);
      const reader = Object.hasOwn(readers, key) ? readers[key] : undefined;
      if (reader === undefined) return;
      const [part, read] = reader;
      const value = read(object);
      if (value === undefined) return;
      const { namespace = '', name } = metadataOf(object, false);
      const items = taken.get(part) ?? new Map<string, readonly unknown[]>();
      items.set(`${key}/${namespace}/${name}`, Array.isArray(value) ? value : [value]);
      taken.set(part, items);
    },
    get count() {
      return collector.count;
    },
    seen: collector.seen,
    objects(missing, version) {
      const of = (part: PartName): unknown[] => [...(taken.get(part)?.values() ?? [])].flat();
      // Each reader's type is that of its part: the table above is the one place that pairs them.
      const parts = Object.fromEntries(PARTS.map((part) => [part, of(part)])) as unknown as Omit<
        StatusObjects,
        'snapshot'
      >;
      return { snapshot: collector.snapshot(missing, version), ...parts };
    },
  };
};

const PARTS: readonly PartName[] = [
  'deployments',
  'pods',
  'leases',
  'registrations',
  'configs',
  'extensions',
  'events',
  'namespaces',
];
