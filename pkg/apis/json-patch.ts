// Operations of JSON Patches (RFC 6902) that several writers need: the lock on an object, and one annotation.
import type { JsonPatchOperation } from './admission.ts';
import type { KubernetesObject } from './meta.ts';

/** A key as it stands in a JSON Pointer (RFC 6901), where `~` and `/` stand for something else. */
export const pointerKey = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** The API server refuses the patch with a conflict where the object is not the one that was read. */
export const lockOn = ({ metadata }: KubernetesObject): JsonPatchOperation => ({
  op: 'replace',
  path: '/metadata/resourceVersion',
  value: metadata?.resourceVersion ?? '',
});

/** Gives an annotation the wanted value, undefined: removes it; none where it has it. `annotated`: the object has annotations. */
export const annotationOperations = (
  key: string,
  { current, annotated }: { readonly current: unknown; readonly annotated: boolean },
  wanted: string | undefined,
): JsonPatchOperation[] => {
  const path = `/metadata/annotations/${pointerKey(key)}`;
  if (current === wanted) return [];
  if (wanted === undefined) return [{ op: 'remove', path }];
  return annotated
    ? [{ op: 'add', path, value: wanted }]
    : [{ op: 'add', path: '/metadata/annotations', value: { [key]: wanted } }];
};
