// SPDX-License-Identifier: Apache-2.0
// What the models of all data planes but kube-proxy share: merging, Services that are not theirs, and the policy that keeps traffic on the node.
import { nameOf } from '../../apis/object.ts';
import type { Reason } from '../reasons.ts';
import { mergeEndpoints } from './endpoints.ts';
import type { ProxyEndpoint } from './endpoints.ts';
import { buildRoute, familyOf, portOf, whyNotProxied } from './route.ts';
import type { Route, RouteInput, TopologyMode } from './types.ts';

export interface Alternative {
  /** Terminating endpoints that still serve are used while nothing is ready. */
  readonly terminatingFallback: boolean;
  /** Chooses among ready endpoints, of which there is at least one; `all` holds those that are not ready too. */
  choose(ready: readonly ProxyEndpoint[], all: readonly ProxyEndpoint[]): Chosen;
  /** For the sentence: whose model it is. */
  readonly router?: string;
}

export interface Chosen {
  readonly list: readonly ProxyEndpoint[];
  readonly mode: TopologyMode;
  readonly reason: Reason;
}

export const alternativeRoute = (input: RouteInput, alternative: Alternative): Route => {
  const { terminatingFallback, choose, router = '' } = alternative;
  const cause = whyNotProxied(input.service);
  if (cause !== undefined) return buildRoute(input, { reason: 'NotProxied', cause });
  const nodeName = nameOf(input.node);
  const { merge = mergeEndpoints } = input;
  const endpoints = merge(input.slices, {
    port: portOf(input).name,
    family: familyOf(input),
    duplicates: { prefer: 'running' },
  });
  if (endpoints.length === 0) return buildRoute(input, { reason: 'NoEndpoints' });
  const usable = (candidates: readonly ProxyEndpoint[]): readonly ProxyEndpoint[] => {
    const ready = candidates.filter((endpoint) => endpoint.ready);
    if (ready.length > 0 || !terminatingFallback) return ready;
    return candidates.filter(({ serving, terminating }) => serving && terminating);
  };
  if (input.service.spec?.internalTrafficPolicy === 'Local') {
    const local = usable(endpoints.filter((endpoint) => nodeName !== '' && endpoint.nodeName === nodeName));
    const reason = local.length > 0 ? 'InternalTrafficPolicyLocal' : 'NoLocalEndpoints';
    return buildRoute(input, { local, reachable: local, used: local, endpoints, reason });
  }
  const candidates = usable(endpoints);
  if (!candidates.some(({ ready }) => ready)) {
    const reason = candidates.length > 0 ? 'TerminatingEndpoints' : 'NoReadyEndpoints';
    return buildRoute(input, { cluster: candidates, endpoints, reason });
  }
  const { list, mode, reason } = choose(candidates, endpoints);
  return buildRoute(input, { cluster: list, endpoints, reason, mode, cause: router });
};
