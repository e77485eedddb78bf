// What the configuration of an Extension changes in the selection of one Service, and holds while it is wrong. Pure.
import { defined } from '../../apis/defined.ts';
import { ANNOTATION_APPLIED } from '../../apis/names.ts';
import type { Strategy } from '../../apis/names.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { PROVIDER_CONFIG_FIELD } from '../../apis/routing-config.ts';
import type { RoutingConfig, ServiceSelection } from '../../apis/routing-config.ts';
import { matchesSelector } from '../../routing/label-selector.ts';
import type { Selection } from '../catalogue.ts';
import type { RoutingDecision } from '../types.ts';
import { describeProblems } from './assess.ts';
import type { Governing } from './types.ts';

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

const fieldOf = (list: 'services' | 'exclude', index: number): string => `${PROVIDER_CONFIG_FIELD}.${list}[${index}]`;

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
