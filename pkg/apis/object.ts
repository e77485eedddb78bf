// How objects are named: by name, by reference and by key; what has no metadata has empty names.
import { defined } from './defined.ts';
import type { KubernetesObject, ObjectMeta, ObjectRef } from './meta.ts';

type Named = Pick<KubernetesObject, 'metadata'>;

export const nameOf = ({ metadata }: Named): string => metadata?.name ?? '';

/** Of a namespaced object. */
export const refOf = ({ metadata }: Named): Required<ObjectRef> => ({
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
});

/** Without a namespace where the object has none. */
export const scopedRefOf = ({ metadata }: Named): ObjectRef => ({
  name: metadata?.name ?? '',
  ...defined({ namespace: metadata?.namespace }),
});

/** `namespace/name`, of a namespaced object: the key of caches and queues. */
export const keyOf = ({ metadata }: Named): string => `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

/** What caches keep of every object's metadata. */
export const identityMeta = ({ name, namespace, uid, resourceVersion, deletionTimestamp }: ObjectMeta): ObjectMeta =>
  defined({ name, namespace, uid, resourceVersion, deletionTimestamp });

/** The reference that a key stands for. */
export const refOfKey = (key: string): Required<ObjectRef> => {
  const at = key.indexOf('/');
  return { namespace: key.slice(0, at), name: key.slice(at + 1) };
};
