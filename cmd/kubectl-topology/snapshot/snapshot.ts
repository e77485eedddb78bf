// A cluster in one file: of every object what the answers need, without what looks like a secret, and what could not be read.
import { type Fields, isFields } from '../../../pkg/apis/values.ts';
import { GROUP, LABEL_SERVICE_NAME } from '../../../pkg/apis/names.ts';
import { eventOf, isAgentSet, routerConfigOf } from '../../../pkg/diagnosis/project/routers.ts';
import { metadataOf } from '../../../pkg/diagnosis/project/fields.ts';
import type { CollectionName } from '../../../pkg/diagnosis/snapshot.ts';
import { redacted } from './redact.ts';
import { SNAPSHOT_KIND } from '../input/documents.ts';

/** DaemonSets beside those of data planes that say how clients reach Services. */
const OTHER_SETS: ReadonlySet<string> = new Set(['ztunnel', 'node-local-dns']);

/** One Service and what is its own; undefined: all. */
export interface Only {
  readonly namespace: string;
  readonly name: string;
}

const isWanted = (object: Fields, only: Only | undefined): boolean => {
  const { namespace = 'default', name, labels = {} } = metadataOf(object, true);
  switch (object['kind']) {
    case 'ConfigMap':
      return routerConfigOf(object) !== undefined;
    case 'DaemonSet':
      return isAgentSet(object) || OTHER_SETS.has(name);
    case 'Event':
      return eventOf(object) !== undefined;
    case 'Service':
      return only === undefined || (namespace === only.namespace && name === only.name);
    case 'EndpointSlice':
      return only === undefined || (namespace === only.namespace && labels[LABEL_SERVICE_NAME] === only.name);
    default:
      return true;
  }
};

export interface SnapshotFile {
  keep(object: unknown): void;
  /** `read`: collections that were read as a whole; `unread`: why others were not. */
  list(facts: {
    readonly serverVersion: string;
    readonly read: readonly CollectionName[];
    readonly unread: readonly { readonly what: CollectionName; readonly why: string }[];
    /** One more object: measured traffic. */
    readonly traffic?: object;
  }): object;
}

/** Objects in the order of kind and name, each once. */
export const createSnapshotFile = (only?: Only): SnapshotFile => {
  const kept = new Map<string, Fields>();
  return {
    keep(object) {
      if (!isFields(object) || !isWanted(object, only)) return;
      const copy = redacted(object);
      if (copy === undefined) return;
      const { namespace = '', name } = metadataOf(object, false);
      kept.set(`${String(object['kind'])}/${namespace}/${name}`, copy);
    },
    list: ({ traffic, ...facts }) => ({
      apiVersion: 'v1',
      kind: 'List',
      items: [
        { apiVersion: `status.${GROUP}/v1alpha1`, kind: SNAPSHOT_KIND, metadata: { name: 'snapshot' }, ...facts },
        ...(traffic === undefined ? [] : [traffic]),
        ...[...kept].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object),
      ],
    }),
  };
};
