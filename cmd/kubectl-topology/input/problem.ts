// Says what is wrong with an object of a file: which object, which field, what was expected there.
import { renderPath } from '../../../pkg/apis/config/field-path.ts';
import type { FieldError } from '../../../pkg/diagnosis/project/fields.ts';
import { isFields } from '../../../pkg/apis/fields.ts';

/** Names of Kubernetes are shorter; what is longer is no name, and not repeated in full. */
const MAX_NAME = 300;

/** `Service default/web`; empty where the object does not say. */
const titleIn = (object: unknown): string => {
  if (!isFields(object) || typeof object['kind'] !== 'string') return '';
  const metadata = isFields(object['metadata']) ? object['metadata'] : {};
  const parts = [metadata['namespace'], metadata['name']].filter((part) => typeof part === 'string');
  const name = `${object['kind']} ${parts.join('/')}`.trim();
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
};

/** The object that holds the field, in lists of lists the innermost, and the rest of the path. */
const ownerOf = (object: unknown, path: FieldError['path']): { owner: unknown; rest: FieldError['path'] } => {
  const [first, index, ...rest] = path;
  if (first !== 'items' || typeof index !== 'number' || !isFields(object)) return { owner: object, rest: path };
  const items: unknown = object['items'];
  return Array.isArray(items) ? ownerOf(items[index], rest) : { owner: object, rest: path };
};

export const describeProblem = (object: unknown, error: FieldError): string => {
  const { owner, rest } = ownerOf(object, error.path);
  const where = [titleIn(owner), renderPath(rest)].filter((part) => part !== '').join(': ');
  return where === '' ? error.message : `${where}: ${error.message}`;
};
