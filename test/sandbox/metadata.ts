// Rules for metadata that all kinds share: names, system fields, generation.
import { randomInt, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { FieldError } from './errors.ts';
import { labelsOf, nameOf, type StoredObject } from './object.ts';
import { sameContent } from './rules-slice.ts';
import type { ServedResource } from './served-resource.ts';

const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const MAX_NAME_LENGTH = 253;
const MAX_GENERATE_BASE = 58;

/** Time as metadata carries it: RFC 3339 with whole seconds. */
export const timestamp = (now: number): string => `${new Date(now).toISOString().slice(0, 19)}Z`;

export const generatedName = (prefix: string): string =>
  prefix.slice(0, MAX_GENERATE_BASE) +
  Array.from({ length: SUFFIX_LENGTH }, () => SUFFIX_ALPHABET[randomInt(SUFFIX_ALPHABET.length)]).join('');

/** What the server alone decides, as it does for a new object. */
export const fillSystemFields = (object: StoredObject, resource: ServedResource, now: number): void => {
  const { metadata } = object;
  if (nameOf(object) === '' && metadata.generateName !== undefined && metadata.generateName !== '')
    metadata.name = generatedName(metadata.generateName);
  metadata.uid = randomUUID();
  metadata.creationTimestamp = timestamp(now);
  if (resource.generation === 'none') delete metadata.generation;
  else metadata.generation = 1;
};

/** Removes what a client must not decide on create. */
export const wipeSystemFields = ({ metadata }: StoredObject): void => {
  delete metadata.uid;
  delete metadata.creationTimestamp;
  delete metadata.deletionTimestamp;
  delete metadata.generation;
  delete metadata.managedFields;
};

/** Takes over from the stored object what a client cannot change. */
export const keepSystemFields = (object: StoredObject, old: StoredObject): void => {
  const { metadata } = object;
  delete metadata.managedFields;
  for (const field of ['uid', 'creationTimestamp', 'generateName', 'resourceVersion'] as const) {
    const value = old.metadata[field];
    if (value === undefined) delete metadata[field];
    else metadata[field] = value;
  }
  if (old.metadata.deletionTimestamp === undefined) delete metadata.deletionTimestamp;
  else metadata.deletionTimestamp = old.metadata.deletionTimestamp;
  if (old.metadata.generation === undefined) delete metadata.generation;
  else metadata.generation = old.metadata.generation;
};

const dropEmpty = (
  metadata: StoredObject['metadata'],
  field: 'labels' | 'annotations' | 'finalizers' | 'ownerReferences',
): void => {
  const value = metadata[field];
  if (value === undefined) return;
  if (value === null || Object.keys(value).length === 0) delete metadata[field];
};

/** Empty maps and lists are not kept. */
export const tidyMetadata = ({ metadata }: StoredObject): void => {
  dropEmpty(metadata, 'labels');
  dropEmpty(metadata, 'annotations');
  dropEmpty(metadata, 'finalizers');
  dropEmpty(metadata, 'ownerReferences');
};

/** Raises the generation if the change is one that counts for this resource. */
export const raiseGeneration = (object: StoredObject, old: StoredObject, resource: ServedResource): void => {
  if (resource.generation === 'none') return;
  const [left, right] = resource.status ? [withoutStatus(object), withoutStatus(old)] : [object, old];
  const labels = resource.generation === 'labels' && !isDeepStrictEqual(labelsOf(object), labelsOf(old));
  if (labels || !sameContent(left, right)) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
};

const withoutStatus = ({ status: _, ...rest }: StoredObject): StoredObject => rest;

const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const DNS_1035 = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

const nameRule = ({ group, plural }: ServedResource): { pattern: RegExp; text: string } => {
  if (group === '' && plural === 'services')
    return {
      pattern: DNS_1035,
      text: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
    };
  if (group === '' && plural === 'namespaces')
    return {
      pattern: DNS_LABEL,
      text: "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
    };
  return {
    pattern: SUBDOMAIN,
    text: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  };
};

const LABEL_KEY = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
export const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

const validateLabels = (object: StoredObject): FieldError[] =>
  Object.entries(labelsOf(object)).flatMap(([key, value]): FieldError[] => {
    const field = 'metadata.labels';
    const errors: FieldError[] = [];
    if (!LABEL_KEY.test(key))
      errors.push({
        field,
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${JSON.stringify(key)}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`,
      });
    if (!LABEL_VALUE.test(value))
      errors.push({
        field,
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${JSON.stringify(value)}: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`,
      });
    return errors;
  });

const validateAnnotations = (object: StoredObject): FieldError[] => {
  const entries = Object.entries(object.metadata.annotations ?? {});
  const field = 'metadata.annotations';
  const bytes = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  const long: FieldError[] =
    bytes <= MAX_ANNOTATIONS_BYTES
      ? []
      : [
          {
            field,
            reason: 'FieldValueTooMany',
            message: `Too long: may not be more than ${MAX_ANNOTATIONS_BYTES} bytes`,
          },
        ];
  return [
    ...long,
    ...entries
      .filter(([key]) => !LABEL_KEY.test(key.toLowerCase()))
      .map(([key]): FieldError => ({
        field,
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${JSON.stringify(key)}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`,
      })),
  ];
};

export const validateMetadata = (object: StoredObject, resource: ServedResource): FieldError[] => {
  const name = nameOf(object);
  if (name === '')
    return [
      {
        field: 'metadata.name',
        reason: 'FieldValueRequired',
        message: 'Required value: name or generateName is required',
      },
    ];
  const { pattern, text } = nameRule(resource);
  const bad = !pattern.test(name) || name.length > MAX_NAME_LENGTH;
  const nameErrors: FieldError[] = bad
    ? [
        {
          field: 'metadata.name',
          reason: 'FieldValueInvalid',
          message: `Invalid value: ${JSON.stringify(name)}: ${text}`,
        },
      ]
    : [];
  return [...nameErrors, ...validateLabels(object), ...validateAnnotations(object)];
};
