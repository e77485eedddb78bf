// Registrations, configuration, Extensions and events reduced to what a status says of them.
import { COMMANDS, EXTENSION_NAME, EXTENSION_TYPE, GROUP } from '../../apis/names.ts';
import { webhooksOf } from '../project/admission.ts';
import { asFields, asText, fieldsAt, listAt, objectAt, stringsAt, textAt, wholeAt } from '../project/fields.ts';
import { DEFAULT_NAMESPACE, metadataOf } from '../project/metadata.ts';
import type {
  ConfigFacts,
  ExtensionFacts,
  KeepingFacts,
  LeaseUse,
  NamespaceFacts,
  RegistrationEntry,
  WarningEvent,
} from './evidence.ts';
import { isOfChart } from './read-workloads.ts';
import type { Fields } from '../../apis/fields.ts';
import { isFields } from '../../apis/fields.ts';

const DEFAULT_TIMEOUT_SECONDS = 10;

/** The entries of a configuration that belong to this project, by their names. */
export const registrationsOf = (object: Fields): RegistrationEntry[] => {
  const timeouts = listAt(object, 'webhooks', (item) => wholeAt(asFields(item), 'timeoutSeconds')) ?? [];
  return webhooksOf(object).flatMap(({ objectSelector: _, ...webhook }, index) =>
    webhook.name.endsWith(`.${GROUP}`)
      ? [{ ...webhook, timeoutSeconds: timeouts[index] ?? DEFAULT_TIMEOUT_SECONDS }]
      : [],
  );
};

/** Reads the YAML in a ConfigMap; undefined where it is none. */
export type ParseYaml = (text: string) => unknown;

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
export const configOf = (object: Fields, parse: ParseYaml): ConfigFacts | undefined => {
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

export const extensionOf = (object: Fields): ExtensionFacts | undefined => {
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

export const namespaceOf = (object: Fields): NamespaceFacts => {
  const { name, labels = {} } = metadataOf(object, false);
  return { name, labels };
};

const OURS: ReadonlySet<string> = new Set(Object.values(COMMANDS));

const isAboutOurs = (about: Fields): boolean =>
  (about['kind'] === 'Pod' || about['kind'] === 'Deployment' || about['kind'] === 'ReplicaSet') &&
  [...OURS].some((name) => asText(about['name'] ?? '').startsWith(name));

/** A Warning that one of our components wrote, or that is about its Pods; undefined for all others. */
export const warningOf = (object: Fields): WarningEvent | undefined => {
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
