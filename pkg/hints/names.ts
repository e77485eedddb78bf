// The syntax that the API server demands of names in hints, so that admission never writes a slice it would refuse.
import { isNowhere } from '../apis/names.ts';

const LABEL_VALUE = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const MAX_LABEL_VALUE_LENGTH = 63;
const MAX_NODE_NAME_LENGTH = 253;

/** Most entries that the API accepts in `forZones` and in `forNodes`. */
export const MAX_HINTS = 8;

/** What a hint for a zone may say: a label value of at most 63 characters (the API also accepts the empty one, which names no zone). */
export const isZoneHint = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_LABEL_VALUE_LENGTH && LABEL_VALUE.test(value);

/** A zone in which there may be clients. */
export const isZoneName = (value: unknown): value is string => isZoneHint(value) && !isNowhere(value);

/** A DNS subdomain of at most 253 characters. */
export const isNodeName = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length <= MAX_NODE_NAME_LENGTH &&
  value.split('.').every((label) => DNS_LABEL.test(label));
