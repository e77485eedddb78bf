// SPDX-License-Identifier: Apache-2.0
// Which admission backends to probe, and in which namespace each acts.
import type { LabelSelector } from '../../apis/admission.ts';
import { LABEL_NAMESPACE_NAME } from '../../apis/names.ts';
import { selects } from '../explain/webhook.ts';
import { serviceRefOf } from '../models/lookup.ts';
import { itemsOf } from '../snapshot.ts';
import type { ProbeResult, StatusObjects } from './evidence.ts';
import { isManaged } from './services.ts';
import { byText } from '../../apis/order.ts';

export interface PlannedProbe {
  readonly carrier: ProbeResult['carrier'];
  /** Undefined: none is known that the backend serves. */
  readonly namespace: string | undefined;
}

/** Known namespaces with their labels; those with managed Services first, then by name. */
const candidates = ({ namespaces, snapshot }: StatusObjects): { name: string; labels: Record<string, string> }[] => {
  const known = new Map(namespaces.map(({ name, labels }) => [name, labels]));
  const own = new Set<string>();
  for (const service of itemsOf(snapshot.services)) {
    const { namespace } = serviceRefOf(service);
    if (!known.has(namespace)) known.set(namespace, {});
    if (isManaged(service)) own.add(namespace);
  }
  return [...known]
    .map(([name, labels]) => ({ name, labels: { ...labels, [LABEL_NAMESPACE_NAME]: name } }))
    .sort((a, b) => Number(own.has(b.name)) - Number(own.has(a.name)) || byText(a.name, b.name));
};

/** The backend, where it has selectors of namespaces, and the first namespace that one of them selects. */
const planFor = (
  carrier: PlannedProbe['carrier'],
  selectors: readonly LabelSelector[],
  objects: StatusObjects,
): PlannedProbe[] => {
  if (selectors.length === 0) return [];
  const found = candidates(objects).find(({ labels }) => selectors.some((selector) => selects(selector, labels)));
  return [{ carrier, namespace: found?.name }];
};

const selectorsOf = (items: readonly { readonly namespaceSelector: LabelSelector }[]): LabelSelector[] =>
  items.map(({ namespaceSelector }) => namespaceSelector);

export const probePlan = (objects: StatusObjects): PlannedProbe[] => {
  const webhooks = objects.registrations.filter(({ slices }) => slices);
  const policies = objects.policies.filter(({ kind, name }) => kind === 'policy' && name.endsWith('.same-zone'));
  return [...planFor('webhook', selectorsOf(webhooks), objects), ...planFor('policy', selectorsOf(policies), objects)];
};
