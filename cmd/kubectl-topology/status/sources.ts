// Which resources of a cluster a status looks at.
import { COMMANDS } from '../../../pkg/apis/names.ts';
import { CONFIG_MAPS, DEPLOYMENTS, EVENTS, EXTENSIONS, LEASES, NAMESPACES, PODS } from '../../../pkg/apis/resources.ts';
import { CHART_SELECTOR } from '../../../pkg/diagnosis/status/status.ts';
import type { CollectionName } from '../../../pkg/diagnosis/snapshot.ts';
import { SOURCES } from '../input/resources.ts';
import type { Source } from '../input/resources.ts';

/** What is read together, and what it is called where it cannot be seen. */
export interface StatusSource {
  readonly what: string;
  readonly sources: readonly Source[];
}

/** Where the installations are. */
export const DEPLOYED: Source = { resource: DEPLOYMENTS, labelSelector: CHART_SELECTOR };

/** Of each namespace with an installation. */
export const OF_INSTALLATIONS: readonly StatusSource[] = [
  { what: 'pods', sources: [{ resource: PODS, labelSelector: CHART_SELECTOR }] },
  { what: 'leases', sources: [{ resource: LEASES }] },
  {
    what: 'configmaps',
    sources: Object.values(COMMANDS).map((name) => ({
      resource: CONFIG_MAPS,
      fieldSelector: `metadata.name=${name}`,
    })),
  },
  { what: 'events', sources: [{ resource: EVENTS, fieldSelector: 'type=Warning' }] },
];

/** Parts of the snapshot that the Services are judged by. */
const COLLECTIONS: readonly CollectionName[] = [
  'nodes',
  'services',
  'slices',
  'webhooks',
  'routers',
  'flowPolicies',
  'evacuations',
];

/** Of the whole cluster. */
export const OF_CLUSTER: readonly StatusSource[] = [
  ...COLLECTIONS.map((what) => ({ what, sources: SOURCES[what] })),
  { what: 'namespaces', sources: [{ resource: NAMESPACES }] },
  { what: 'extensions', sources: [{ resource: EXTENSIONS, optional: true }] },
  {
    what: 'events',
    sources: Object.values(COMMANDS).map((name) => ({
      resource: EVENTS,
      fieldSelector: `type=Warning,source=${name}`,
    })),
  },
];

/** What is not read at all has no place among what could not be seen. */
export const NEVER_READ: readonly CollectionName[] = ['pods', 'workloads', 'autoscalers', 'events'];
