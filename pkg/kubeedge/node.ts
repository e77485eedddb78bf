// Reduces a Node to what decisions about its zone read: labels, our record, and who wrote the two labels that matter.
import type { Node } from '../apis/core.ts';
import { defined } from '../apis/defined.ts';
import type { KubernetesObject, ObjectMeta } from '../apis/meta.ts';
import { ANNOTATION_GROUP_ZONE, LABEL_BELONGING_TO, LABEL_ZONE } from '../apis/names.ts';

export interface GroupNode extends KubernetesObject {
  /** All labels, since a group may select by any of them; of the annotations only our record. */
  readonly metadata: ObjectMeta;
  /** Field managers that own the zone label; empty where the server lists none. */
  readonly zoneManagers: readonly string[];
  /** Field managers that own the label with which KubeEdge marks members. */
  readonly memberManagers: readonly string[];
}

type Fields = Record<string, unknown>;

const inner = (fields: unknown, key: string): unknown =>
  typeof fields === 'object' && fields !== null && Object.hasOwn(fields, key) ? (fields as Fields)[key] : undefined;

const ownsLabel = (entry: unknown, label: string): boolean =>
  inner(inner(inner(inner(entry, 'fieldsV1'), 'f:metadata'), 'f:labels'), `f:${label}`) !== undefined;

/** Names of the field managers that own a label, from `metadata.managedFields`. */
export const managersOf = (managedFields: readonly unknown[] | undefined, label: string): string[] =>
  (managedFields ?? []).flatMap((entry) => {
    const manager = inner(entry, 'manager');
    return typeof manager === 'string' && ownsLabel(entry, label) ? [manager] : [];
  });

export const projectGroupNode = ({ metadata = {} }: Node): GroupNode => {
  const { name, uid, resourceVersion, labels, annotations, managedFields } = metadata;
  const record = annotations?.[ANNOTATION_GROUP_ZONE];
  return {
    metadata: {
      ...defined({ name, uid, resourceVersion }),
      labels: { ...labels },
      annotations: record === undefined ? {} : { [ANNOTATION_GROUP_ZONE]: record },
    },
    zoneManagers: managersOf(managedFields, LABEL_ZONE),
    memberManagers: managersOf(managedFields, LABEL_BELONGING_TO),
  };
};

/** The Node's zone; undefined without a label, or with an empty one. */
export const zoneLabelOf = ({ metadata }: KubernetesObject): string | undefined =>
  metadata?.labels?.[LABEL_ZONE] || undefined;
