// Lists hold objects, and the items of typed lists leave out what they are.
import { asFields, FieldError } from '../../../pkg/diagnosis/project/fields.ts';
import type { Fields } from '../../../pkg/apis/fields.ts';
import { isFields } from '../../../pkg/apis/fields.ts';
import type { Place } from '../../../pkg/diagnosis/check/types.ts';

/** Takes one object that is no list, and where its document begins; throws FieldError where it does not fit. */
export type TakeObject = (object: unknown, place?: Place) => void;

const LIST = /^(.*)List$/;

/** Kind that items of such a list have when they name none; undefined where `kind` is no list's. */
const itemKindOf = (kind: unknown): string | undefined => (typeof kind === 'string' ? LIST.exec(kind)?.[1] : undefined);

/** An item of a list, with kind and version from the list. */
const completeItem = (item: unknown, list: Fields): unknown => {
  const kind = itemKindOf(list['kind']) ?? '';
  if (!isFields(item) || kind === '' || item['kind'] !== undefined) return item;
  return { apiVersion: list['apiVersion'], kind, ...item };
};

/** Hands over an object, or each item of a list; paths of errors begin at the object given. */
export const takeAll = (object: unknown, take: TakeObject): void => {
  if (Array.isArray(object)) {
    takeAll({ kind: 'List', items: object }, take);
    return;
  }
  if (!isFields(object) || itemKindOf(object['kind']) === undefined) {
    take(object);
    return;
  }
  const items = object['items'] ?? [];
  if (!Array.isArray(items)) throw new FieldError(['items'], 'a list of objects', items);
  items.forEach((item: unknown, index) => {
    try {
      takeAll(completeItem(item, asFields(object)), take);
    } catch (error) {
      if (error instanceof FieldError)
        throw new FieldError(['items', index, ...error.path], error.expected, error.value);
      throw error;
    }
  });
};
