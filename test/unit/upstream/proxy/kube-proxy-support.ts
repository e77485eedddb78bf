// Nodes and endpoints for the tests of kube-proxy's choice.
import type { Endpoint } from '../../../../pkg/apis/core.ts';
import { kubeProxyRoute } from '../../../../pkg/upstream/proxy/kube-proxy.ts';
import type { ProxyEndpoint, RouteInput } from '../../../../pkg/upstream/proxy/endpoints.ts';
import { aService, aSlice, at, minor, nodeOf } from '../support.ts';

export const own = (zone: string, index: number) => at(zone, index, { hints: [zone] });

export const HINTED = [own('a', 1), own('b', 2), own('c', 3)];

export const LEAVING = { ready: false, serving: true, terminating: true };

export const last = (list: readonly ProxyEndpoint[] | null): number[] | null =>
  list === null ? null : list.map(({ address }) => Number(address.split('.')[3]));

export const route = (endpoints: readonly Endpoint[], overrides: Partial<RouteInput> = {}) =>
  kubeProxyRoute({
    node: nodeOf('node-a', 'a'),
    service: aService(),
    slices: [aSlice(endpoints)],
    version: minor(36),
    ...overrides,
  });
