// Measured traffic as one object of a file: what `traffic -o json` prints and `snapshot --measured` adds, read back by -f.
import { GROUP } from '../../apis/names.ts';
import type { Measured, MeasuredFlow } from '../../traffic/measured.ts';
import { isFields } from '../../apis/fields.ts';
import type { Fields } from '../../apis/fields.ts';
import { asFields, asText, FieldError, listAt, requiredTextAt } from '../project/fields.ts';

const KIND = 'TopologyTraffic';

export const isTraffic = (object: unknown): object is Fields => isFields(object) && object['kind'] === KIND;

export const trafficDocument = (measured: Measured): object => ({
  apiVersion: `status.${GROUP}/v1alpha1`,
  kind: KIND,
  metadata: { name: 'traffic' },
  ...measured,
});

/** No network moves as many bytes a second; sums of what is less stay finite. */
const MOST = 1e18;

const amountAt = (object: Fields, key: string): number => {
  const value = object[key];
  if (typeof value === 'number' && value >= 0 && value <= MOST) return value;
  throw new FieldError([key], 'a number from 0 to 1e18', value);
};

const textAt = (object: Fields, key: string): string => {
  const value = object[key];
  if (typeof value === 'string') return value;
  throw new FieldError([key], 'a string', value);
};

const flowOf = (item: unknown): MeasuredFlow => {
  const flow = asFields(item);
  return {
    service: textAt(flow, 'service'),
    source: textAt(flow, 'source'),
    destination: textAt(flow, 'destination'),
    connections: flow['connections'] === null ? null : amountAt(flow, 'connections'),
    requestBytes: amountAt(flow, 'requestBytes'),
    responseBytes: amountAt(flow, 'responseBytes'),
  };
};

/** Throws a FieldError with the path of the field that is wrong. */
export const parseTraffic = (object: Fields): Measured => ({
  by: requiredTextAt(object, 'by'),
  seconds: amountAt(object, 'seconds'),
  flows: listAt(object, 'flows', flowOf) ?? [],
  notes: listAt(object, 'notes', asText) ?? [],
});
