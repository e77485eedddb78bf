// The frame of every proxy model: port, policy and endpoints in, a complete route with its sentence out.
import type { Service, ServicePort } from '../../apis/core.ts';
import { nameOf } from '../../apis/object.ts';
import { zoneOfNode } from '../../apis/readings.ts';
import { formatVersion } from '../../routing/version.ts';
import { fullName, primaryFamily } from '../names.ts';
import { explained } from '../reasons.ts';
import type { Reason } from '../reasons.ts';
import type { ProxyEndpoint } from './endpoints.ts';
import { describeAnnotation } from './hint-mode.ts';
import type { Route, RouteInput, TopologyMode } from './types.ts';

/** Names of the Service's ports; a port without a name has the empty one. */
export const portNames = ({ spec }: Service): readonly string[] => (spec?.ports ?? []).map(({ name }) => name ?? '');

export const portOf = ({ service, port }: RouteInput): { name: string; port: ServicePort | undefined } => {
  const name = port ?? portNames(service)[0] ?? '';
  return { name, port: (service.spec?.ports ?? []).find((candidate) => (candidate.name ?? '') === name) };
};

export const familyOf = ({ service, family }: RouteInput): string => family ?? primaryFamily(service);

const LABEL_PROXY_NAME = 'service.kubernetes.io/service-proxy-name';

/** Why no proxy serves this Service; undefined if one does. */
export const whyNotProxied = ({ metadata, spec }: Service): string | undefined => {
  if (spec?.type === 'ExternalName') return 'it is an ExternalName';
  if (spec?.clusterIP === 'None') return 'it is headless, its clients get addresses by DNS';
  return metadata?.labels?.[LABEL_PROXY_NAME] === undefined ? undefined : 'its label names another proxy';
};

export interface Lists {
  readonly mode?: TopologyMode;
  readonly cluster?: readonly ProxyEndpoint[] | null;
  readonly local?: readonly ProxyEndpoint[] | null;
  readonly reachable?: readonly ProxyEndpoint[];
  readonly used?: readonly ProxyEndpoint[];
}

export interface Outcome extends Lists {
  readonly reason: Reason;
  /** Endpoints that were judged, for the figures of the sentence. */
  readonly endpoints?: readonly ProxyEndpoint[];
  readonly cause?: string;
}

/** Completes what a model decided. */
export const buildRoute = (input: RouteInput, outcome: Outcome): Route => {
  const { reason, endpoints = [], cause = '', mode = '', cluster = null, local = null } = outcome;
  const { reachable = cluster ?? [], used = cluster ?? [] } = outcome;
  const [node, zone, { name: port }] = [nameOf(input.node), zoneOfNode(input.node), portOf(input)];
  const ready = endpoints.filter((endpoint) => endpoint.ready);
  const facts = {
    service: fullName(input.service),
    node,
    zone,
    port: port === '' ? 'without a name' : port,
    version: formatVersion(input.version),
    value: describeAnnotation(input),
    ready: ready.length,
    unhinted: ready.filter(({ zoneHints }) => zoneHints.size === 0).length,
    used: used.length,
    cause,
  };
  return { node, zone, port, mode, cluster, local, reachable, used, ...explained(reason, facts) };
};
