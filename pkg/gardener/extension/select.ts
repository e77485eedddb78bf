// Which Extension's configuration applies where, what it changes for one Service, and what it holds while it is wrong.
import { byText, defined, keyOf } from '../../apis/values.ts';
import { EXTENSION_CLASSES, type Extension, type ExtensionClass } from '../../apis/gardener.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { ANNOTATION_APPLIED, EXTENSION_TYPE, type Strategy } from '../../apis/names.ts';
import {
  PROVIDER_CONFIG_FIELD,
  type RoutingConfig,
  type RoutingConfigProblem,
  type RoutingConfigReading,
  type ServiceSelection,
} from '../../apis/routing-config.ts';
import { matchesSelector } from '../../routing/types.ts';
import { type Selection, entryOfService } from '../catalogue.ts';
import type { RoutingDecision, Scope } from '../types.ts';

const fieldOf = (list: 'services' | 'exclude', index: number): string => `${PROVIDER_CONFIG_FIELD}.${list}[${index}]`;

/** A Shoot's owner writes the configuration of class shoot: it never reaches beyond the namespace that it stands in. */
const namespaceProblems = (config: RoutingConfig, extensionClass: ExtensionClass): RoutingConfigProblem[] => {
  if (extensionClass !== 'shoot') return [];
  const message = "must be left out: class shoot applies to the Services of the Shoot's own namespace.";
  return (['services', 'exclude'] as const).flatMap((list) =>
    config[list].flatMap(({ namespace }, index) =>
      namespace === undefined ? [] : [{ field: `${fieldOf(list, index)}.namespace`, message }],
    ),
  );
};

/** Nothing but routing by zone can be asked for a Service that only etcd-druid writes. */
const etcdProblems = ({ services }: RoutingConfig, scope: Scope | undefined): RoutingConfigProblem[] =>
  services.flatMap(({ name, strategy }, index) => {
    const entry = scope === undefined || name === undefined ? undefined : entryOfService(scope, name);
    if (strategy === undefined || entry?.source.kind !== 'Etcd') return [];
    const message = `must be left out: only etcd-druid writes Service ${entry.service}, and it cannot have a strategy.`;
    return [{ field: `${fieldOf('services', index)}.strategy`, message }];
  });

/** The reading as it is, or what is wrong with it in an Extension of this class. */
export const assessReading = (reading: RoutingConfigReading, extensionClass: ExtensionClass): RoutingConfigReading => {
  if (reading.kind !== 'valid') return reading;
  const problems = [
    ...namespaceProblems(reading.config, extensionClass),
    ...etcdProblems(reading.config, extensionClass === 'seed' ? undefined : extensionClass),
  ];
  return problems.length === 0 ? reading : { kind: 'invalid', problems };
};

/** One sentence for people: object, fields, what is wrong with each. */
export const describeProblems = (name: string, problems: readonly RoutingConfigProblem[]): string =>
  `Extension ${name}: ${problems.map(({ field, message }) => `${field} ${message.replace(/\.$/, '')}`).join('; ')}`;

/** An Extension with its providerConfig read: once for each change, not once for each decision. */
export interface ReadExtension extends Extension {
  /** Missing: of another type, nothing of it is read. */
  reading?: RoutingConfigReading;
}

/** The Extension whose configuration counts for a namespace. */
export interface Governing {
  /** `namespace/name`, for messages. */
  readonly name: string;
  readonly class: ExtensionClass;
  readonly reading: RoutingConfigReading;
}

/** The selection of one object with what the configuration says about it. */
export interface ConfiguredSelection {
  readonly selection: Selection;
  /** Asked for by the configuration; what the Service itself asks for goes before. */
  readonly strategy?: Strategy;
}

const fits = ({ name, selector, namespace }: ServiceSelection, { metadata = {} }: KubernetesObject): boolean => {
  if (namespace !== undefined && namespace !== metadata.namespace) return false;
  if (name !== undefined) return name === metadata.name;
  return selector !== undefined && matchesSelector(selector, metadata.labels ?? {});
};

const withConfig = (
  selection: Selection,
  object: KubernetesObject,
  config: RoutingConfig,
  extension: string,
): ConfiguredSelection => {
  // The owner's own no, and what is written elsewhere, no configuration can change.
  if (selection.kind === 'excluded' || selection.kind === 'writtenByDruid') return { selection };
  const excluded = config.exclude.findIndex((item) => fits(item, object));
  if (excluded >= 0) return { selection: { kind: 'excludedBy', extension, field: fieldOf('exclude', excluded) } };
  const index = config.services.findIndex((item) => fits(item, object));
  if (index < 0) return { selection };
  const { strategy } = config.services[index] ?? {};
  return {
    selection:
      selection.kind === 'none' ? { kind: 'configured', extension, field: fieldOf('services', index) } : selection,
    ...defined({ strategy }),
  };
};

/** Selects a Service with the configuration that counts in its namespace. */
export const configuredSelection = (
  selection: Selection,
  object: KubernetesObject,
  governing: Governing | undefined,
): ConfiguredSelection => {
  if (governing === undefined || governing.reading.kind === 'absent') return { selection };
  const { name, reading } = governing;
  if (reading.kind === 'valid') return withConfig(selection, object, reading.config, name);
  // What carries settings may do so by the configuration before this one: it is held as the namespace is.
  const held = selection.kind === 'none' && object.metadata?.annotations?.[ANNOTATION_APPLIED] !== undefined;
  return { selection: held ? { kind: 'configured', extension: name, field: PROVIDER_CONFIG_FIELD } : selection };
};

/** Selects an Etcd: only an exclusion by the name or labels of its client Service changes anything. */
export const configuredEtcdSelection = (
  selection: Selection,
  object: KubernetesObject,
  governing: Governing | undefined,
): Selection => {
  if (selection.kind !== 'catalogue' || governing?.reading.kind !== 'valid') return selection;
  const { namespace } = object.metadata ?? {};
  const client = { metadata: { name: selection.entry.service, ...defined({ namespace }) } };
  const index = governing.reading.config.exclude.findIndex((item) => item.name !== undefined && fits(item, client));
  return index < 0 ? selection : { kind: 'excludedBy', extension: governing.name, field: fieldOf('exclude', index) };
};

/**
 * A configuration that cannot be read says nothing about what is wanted: where routing is on, everything stays as it is
 * until it is fixed. Where it is off, off is what is wanted.
 */
export const heldByConfiguration = (decision: RoutingDecision, governing: Governing | undefined): RoutingDecision => {
  if (decision.kind !== 'enabled' || governing?.reading.kind !== 'invalid') return decision;
  const { name, reading } = governing;
  const field = reading.problems[0]?.field ?? PROVIDER_CONFIG_FIELD;
  return { kind: 'refused', reason: 'ConfigurationInvalid', message: describeProblems(name, reading.problems), field };
};

/** Unset and empty mean `shoot`, as for Gardener; undefined for a class that this release does not know. */
export const extensionClassOf = ({ spec }: Pick<Extension, 'spec'>): ExtensionClass | undefined =>
  EXTENSION_CLASSES.find((name) => name === (spec?.class || 'shoot'));

/** Whether an Extension is of our type and of one of the classes that this process answers for. */
export const isResponsible = (extension: Extension, classes: readonly ExtensionClass[]): boolean => {
  const own = extensionClassOf(extension);
  return extension.spec?.type === EXTENSION_TYPE && own !== undefined && classes.includes(own);
};

/** Leaving with its Shoot for another seed: what it asked for stays until Gardener takes the namespace down. */
const isMigrating = ({ status }: Extension): boolean => status?.lastOperation?.type === 'Migrate';

/**
 * The Extension of a class whose configuration counts; Gardener makes one for each Shoot, Seed and Garden, and of several
 * the first by name counts. One that is being deleted asks for nothing any more.
 *
 * @param extensions those of the one namespace that the class is read from.
 */
export const governingExtension = (
  extensions: readonly ReadExtension[],
  wanted: ExtensionClass,
): Governing | undefined => {
  const [first] = extensions
    .filter((extension) => isResponsible(extension, [wanted]))
    .filter((extension) => extension.metadata?.deletionTimestamp === undefined || isMigrating(extension))
    .sort((one, other) => byText(keyOf(one), keyOf(other)));
  if (first === undefined) return undefined;
  return { name: keyOf(first), class: wanted, reading: first.reading ?? { kind: 'absent' } };
};
