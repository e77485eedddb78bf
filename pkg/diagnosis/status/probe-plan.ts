// In which namespace to probe the webhook.
import { LABEL_NAMESPACE_NAME } from '../../apis/names.ts';
import { selects } from '../explain/webhook.ts';
import { serviceRefOf } from '../models/lookup.ts';
import { itemsOf } from '../snapshot.ts';
import type { StatusObjects } from './evidence.ts';
import { isManaged } from './services.ts';
import { byText } from '../../apis/order.ts';

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

/** The first namespace that the webhook serves, empty where none is known; undefined where no webhook is registered. */
export const probedNamespace = (objects: StatusObjects): string | undefined => {
  const webhooks = objects.registrations.filter(({ slices }) => slices);
  if (webhooks.length === 0) return undefined;
  const isServed = ({ labels }: { labels: Record<string, string> }): boolean =>
    webhooks.some(({ namespaceSelector }) => selects(namespaceSelector, labels));
  return candidates(objects).find(isServed)?.name ?? '';
};
