// Nodes and Services reduced to what the models look at.
import type { Node, Service, ServicePort } from '../../apis/core.ts';
import { defined } from '../../apis/defined.ts';
import type { Condition } from '../../apis/meta.ts';
import { asFields, asText, booleanAt, FieldError, listAt, objectAt, stringsAt, textAt, wholeAt } from './fields.ts';
import { metadataOf } from './metadata.ts';
import type { Fields } from '../../apis/fields.ts';

const QUANTITY = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/;

/** The decoder of the API takes numbers for quantities as well. */
const quantityAt = (object: Fields, key: string): string | undefined => {
  const value = object[key];
  if (value === undefined || value === null) return undefined;
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !QUANTITY.test(text)) {
    throw new FieldError([key], 'a quantity such as 4, 3920m or 1.5', value);
  }
  return text;
};

const conditionOf = (item: unknown): Condition => {
  const fields = asFields(item);
  return { type: textAt(fields, 'type') ?? '', status: (textAt(fields, 'status') ?? '') as Condition['status'] };
};

/** Only where Pods are kept away. */
const scheduling = (object: Fields): Pick<Node, 'spec'> => {
  const spec = objectAt(object, 'spec', (inner) => ({
    unschedulable: booleanAt(inner, 'unschedulable'),
    taints: listAt(inner, 'taints', asFields),
  }));
  const { unschedulable = false, taints = [] } = spec ?? {};
  if (!unschedulable && taints.length === 0) return {};
  return { spec: { ...(unschedulable ? { unschedulable } : {}), ...(taints.length === 0 ? {} : { taints }) } };
};

export const nodeOf = (object: Fields): Node => ({
  metadata: metadataOf(object, false),
  ...scheduling(object),
  status:
    objectAt(object, 'status', (status) =>
      defined({
        conditions: listAt(status, 'conditions', conditionOf)?.filter(({ type }) => type === 'Ready'),
        allocatable: objectAt(status, 'allocatable', (inner) => {
          const cpu = quantityAt(inner, 'cpu');
          return defined({ cpu });
        }),
        nodeInfo: objectAt(status, 'nodeInfo', (info) => defined({ kubeletVersion: textAt(info, 'kubeletVersion') })),
      }),
    ) ?? {},
});

const MAX_PORT = 65_535;

const portAt = (object: Fields, key: string): number | undefined => {
  const value = wholeAt(object, key);
  if (value !== undefined && (value < 0 || value > MAX_PORT)) {
    throw new FieldError([key], `a port from 0 to ${MAX_PORT}`, value);
  }
  return value;
};

const servicePortOf = (item: unknown): ServicePort => {
  const fields = asFields(item);
  const port = portAt(fields, 'port');
  if (port === undefined) throw new FieldError(['port'], 'a port number', undefined);
  return {
    port,
    ...defined({
      name: textAt(fields, 'name'),
      protocol: textAt(fields, 'protocol'),
      nodePort: portAt(fields, 'nodePort'),
    }),
  };
};

const textsAt = (object: Fields, key: string): string[] | undefined => listAt(object, key, asText);

const specOf = (spec: Fields): NonNullable<Service['spec']> =>
  defined({
    type: textAt(spec, 'type'),
    clusterIP: textAt(spec, 'clusterIP'),
    clusterIPs: textsAt(spec, 'clusterIPs'),
    selector: stringsAt(spec, 'selector'),
    ports: listAt(spec, 'ports', servicePortOf),
    ipFamilies: textsAt(spec, 'ipFamilies'),
    externalIPs: textsAt(spec, 'externalIPs'),
    internalTrafficPolicy: textAt(spec, 'internalTrafficPolicy'),
    externalTrafficPolicy: textAt(spec, 'externalTrafficPolicy'),
    trafficDistribution: textAt(spec, 'trafficDistribution'),
    publishNotReadyAddresses: booleanAt(spec, 'publishNotReadyAddresses'),
  });

export const serviceOf = (object: Fields): Service => {
  const ingress = objectAt(object, 'status', (status) =>
    objectAt(status, 'loadBalancer', (balancer) => listAt(balancer, 'ingress', asFields)),
  );
  return {
    metadata: metadataOf(object, true),
    spec: objectAt(object, 'spec', specOf) ?? {},
    ...(ingress === undefined ? {} : { status: { loadBalancer: { ingress } } }),
  };
};
