// Gathers objects of any kind, one by one, into what a status is judged by.
import { EXTENSION_NAME } from '../../apis/names.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { createCollector } from '../project/collect.ts';
import { textAt } from '../project/fields.ts';
import { metadataOf } from '../project/metadata.ts';
import type { CollectionName } from '../snapshot.ts';
import type { StatusObjects } from './evidence.ts';
import { configOf, extensionOf, namespaceOf, registrationsOf, warningOf } from './read-admission.ts';
import type { ParseYaml } from './read-admission.ts';
import { componentPodOf, deploymentOf, isOfChart, leaseOf } from './read-workloads.ts';
import type { Fields } from '../../apis/fields.ts';
import { isFields } from '../../apis/fields.ts';

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
