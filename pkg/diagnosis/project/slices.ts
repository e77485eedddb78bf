// EndpointSlices reduced to what the models look at, v1 and v1beta1; names that repeat are kept once.
import type { Endpoint, EndpointHints, EndpointSlice } from '../../apis/core.ts';
import { defined } from '../../apis/defined.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { zoneIn } from '../../apis/readings.ts';
import {
  asFields,
  asText,
  booleanAt,
  FieldError,
  listAt,
  objectAt,
  requiredTextAt,
  stringsAt,
  textAt,
  wholeAt,
} from './fields.ts';
import { metadataOf } from './metadata.ts';
import type { Fields } from '../../apis/fields.ts';

const LABEL_HOSTNAME = 'kubernetes.io/hostname';
const ADDRESS_TYPES: ReadonlySet<string> = new Set(['IPv4', 'IPv6', 'FQDN']);

type Names = { name: string }[];

/** Reads slices; hold on to one reader for all of them, since it remembers the names it has seen. */
export const createSliceReader = (): ((object: Fields) => EndpointSlice) => {
  const texts = new Map<string, string>();
  const hints = new Map<string, EndpointHints>();
  const once = (text: string | undefined): string | undefined => {
    if (text === undefined) return undefined;
    const seen = texts.get(text);
    if (seen === undefined) texts.set(text, text);
    return seen ?? text;
  };

  const namesAt = (fields: Fields, key: string): Names | undefined =>
    listAt(fields, key, (item) => ({ name: textAt(asFields(item), 'name') ?? '' }));

  /** Hints repeat by zone: one object for all that are alike. */
  const hintsOf = (fields: Fields): EndpointHints => {
    const read: EndpointHints = defined({
      forZones: namesAt(fields, 'forZones'),
      forNodes: namesAt(fields, 'forNodes'),
    });
    const key = JSON.stringify(read);
    const seen = hints.get(key);
    if (seen === undefined) hints.set(key, read);
    return seen ?? read;
  };

  const endpointOf = (item: unknown): Endpoint => {
    const fields = asFields(item);
    const addresses = listAt(fields, 'addresses', asText);
    if (addresses === undefined || addresses.length === 0) {
      throw new FieldError(['addresses'], 'a list of at least one address', fields['addresses']);
    }
    // v1beta1 says zone and node in `topology`; v1 has fields and no `topology`.
    const topology = stringsAt(fields, 'topology');
    return {
      // Proxies look at no other.
      addresses: addresses.slice(0, 1),
      ...defined({
        conditions: objectAt(fields, 'conditions', (inner) =>
          defined({
            ready: booleanAt(inner, 'ready'),
            serving: booleanAt(inner, 'serving'),
            terminating: booleanAt(inner, 'terminating'),
          }),
        ),
        zone: once(zoneIn(textAt(fields, 'zone') ?? topology?.[LABEL_ZONE]) || undefined),
        nodeName: once(textAt(fields, 'nodeName') ?? topology?.[LABEL_HOSTNAME]),
        targetRef: objectAt(fields, 'targetRef', (inner) =>
          defined({ kind: once(textAt(inner, 'kind')), name: textAt(inner, 'name'), uid: textAt(inner, 'uid') }),
        ),
        hints: objectAt(fields, 'hints', hintsOf),
      }),
    };
  };

  const portOf = (item: unknown) => {
    const fields = asFields(item);
    return defined({
      name: once(textAt(fields, 'name')),
      protocol: once(textAt(fields, 'protocol')),
      port: wholeAt(fields, 'port'),
    });
  };

  return (object) => {
    const addressType = requiredTextAt(object, 'addressType');
    if (!ADDRESS_TYPES.has(addressType)) throw new FieldError(['addressType'], 'IPv4, IPv6 or FQDN', addressType);
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: metadataOf(object, true),
      addressType: once(addressType) ?? addressType,
      endpoints: listAt(object, 'endpoints', endpointOf) ?? [],
      ports: listAt(object, 'ports', portOf) ?? [],
    };
  };
};
