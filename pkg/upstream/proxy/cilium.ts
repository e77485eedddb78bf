// SPDX-License-Identifier: Apache-2.0
// Cilium in place of kube-proxy: hints count only where its service topology is on and the Service asks for it.
import { annotationAdmitsHints } from '../annotation.ts';
import { zoneOf } from '../names.ts';
import { compareVersions, NEWEST_KNOWN_VERSION } from '../../routing/version.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { alternativeRoute } from './alternative.ts';
import type { Route, RouteInput } from './types.ts';
import { filterByZone } from './zone-filter.ts';
import type { PartialHints } from './zone-filter.ts';

export interface CiliumOptions {
  /** `loadBalancer.serviceTopology`; default false, as Cilium's own. */
  readonly serviceTopology?: boolean;
  /** Cilium's version; up to 1.18 it knows `PreferClose` only. Default: newer than that. */
  readonly ciliumVersion?: KubernetesVersion;
  /** Releases differ; default `ignore`, as its service cache does. */
  readonly partialHints?: PartialHints;
}

const LAST_WITH_PREFER_CLOSE_ONLY = { major: 1, minor: 18 };
const DISTRIBUTIONS: ReadonlySet<string> = new Set(['PreferClose', 'PreferSameZone', 'PreferSameNode']);

const isOptedIn = ({ service }: RouteInput, version: KubernetesVersion | undefined): boolean => {
  // Cilium reads the annotation as kube-proxy has since 1.27, whatever the cluster's version.
  if (annotationAdmitsHints(service, NEWEST_KNOWN_VERSION)) return true;
  const value = service.spec?.trafficDistribution ?? '';
  const old = version !== undefined && compareVersions(version, LAST_WITH_PREFER_CLOSE_ONLY) <= 0;
  return old ? value === 'PreferClose' : DISTRIBUTIONS.has(value);
};

/** Node hints and feature gates mean nothing to Cilium; `externalTrafficPolicy: Local` switches its filter off. */
export const ciliumRoute = (input: RouteInput, options: CiliumOptions = {}): Route => {
  const { serviceTopology = false, ciliumVersion, partialHints = 'ignore' } = options;
  return alternativeRoute(input, {
    terminatingFallback: true,
    choose: (ready) => {
      const all = { list: ready, filtered: false } as const;
      if (!serviceTopology) return { ...all, reason: 'CiliumServiceTopologyOff' };
      if (!isOptedIn(input, ciliumVersion)) return { ...all, reason: 'CiliumNotOptedIn' };
      if (input.service.spec?.externalTrafficPolicy === 'Local') {
        return { ...all, reason: 'CiliumExternalTrafficPolicyLocal' };
      }
      return filterByZone(ready, zoneOf(input.node), partialHints);
    },
  });
};
