// The metadata that a diagnosis needs.
import { defined } from '../../apis/defined.ts';
import type { ObjectMeta } from '../../apis/meta.ts';
import { objectAt, requiredTextAt, stringsAt, textAt, FieldError } from './fields.ts';
import type { Fields } from '../../apis/fields.ts';

/** Namespace of namespaced objects that name none, as kubectl reads files. */
export const DEFAULT_NAMESPACE = 'default';

type Named = ObjectMeta & { name: string };

/** `namespaced`: an absent namespace is `default`. */
export const metadataOf = (object: Fields, namespaced: boolean): Named => {
  const metadata = objectAt(object, 'metadata', (inner): Named => ({
    name: requiredTextAt(inner, 'name'),
    ...defined({
      namespace: textAt(inner, 'namespace') ?? (namespaced ? DEFAULT_NAMESPACE : undefined),
      labels: stringsAt(inner, 'labels'),
      annotations: stringsAt(inner, 'annotations'),
    }),
  }));
  if (metadata === undefined) throw new FieldError(['metadata'], 'an object with a name', undefined);
  return metadata;
};
