// Applies JSON merge patches (RFC 7386) and writes the result down as the JSON Patch (RFC 6902) that admission answers with.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import { isFields } from '../../apis/fields.ts';

/** A merge patch of an object: null removes, objects merge, everything else replaces. */
export type MergePatch = Readonly<Record<string, unknown>>;

/** The target with the patch applied; neither is changed. */
export const applyMergePatch = (target: unknown, patch: MergePatch): Record<string, unknown> => {
  const result = new Map(isFields(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, isFields(value) ? applyMergePatch(result.get(key), value) : value);
  }
  return Object.fromEntries(result);
};

/** RFC 6901: `~` and `/` stand for something else in a pointer. */
const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * The operations that do to `target` what the merge patch says, and apply to it: a parent that is missing is added with
 * all of its new content, a member that is missing is not removed. None where nothing would change.
 */
export const jsonPatchOf = (target: unknown, patch: MergePatch, pointer = ''): JsonPatchOperation[] => {
  const current = isFields(target) ? target : {};
  return Object.entries(patch).flatMap(([key, value]): JsonPatchOperation[] => {
    const path = `${pointer}/${escaped(key)}`;
    const before = Object.hasOwn(current, key) ? current[key] : undefined;
    if (value === null) return before === undefined ? [] : [{ op: 'remove', path }];
    if (!isFields(value)) return before === value ? [] : [{ op: 'add', path, value }];
    if (isFields(before)) return jsonPatchOf(before, value, path);
    const added = applyMergePatch({}, value);
    return before === undefined && Object.keys(added).length === 0 ? [] : [{ op: 'add', path, value: added }];
  });
};
