// SPDX-License-Identifier: Apache-2.0
// Flags that say which proxy routes, and with which of its options.
import { Option } from 'commander';
import type { Command } from 'commander';
import { itemsOf } from '../../pkg/diagnosis/snapshot.ts';
import type { ClusterSnapshot } from '../../pkg/diagnosis/snapshot.ts';
import type { KubernetesVersion } from '../../pkg/routing/types.ts';
import { parseVersion } from '../../pkg/routing/version.ts';
import type { Proxy } from '../../pkg/upstream/index.ts';

export const PROXIES = ['kube-proxy', 'cilium', 'linkerd'] as const;

export interface ProxyFlags {
  proxy?: (typeof PROXIES)[number];
  ciliumServiceTopology?: boolean;
  ciliumVersion?: KubernetesVersion;
  /** `--no-linkerd-endpoint-slices` makes it false. */
  linkerdEndpointSlices: boolean;
}

export const addProxyFlags = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--proxy <name>',
        'who routes (default: Cilium where it replaces kube-proxy or answers at the socket)',
      ).choices(PROXIES),
    )
    .option(
      '--cilium-service-topology',
      'Cilium has loadBalancer.serviceTopology on; default: what its ConfigMap says, else off',
    )
    .option('--cilium-version <version>', 'version of Cilium; up to 1.18 it knows PreferClose only', parseVersion)
    .option('--no-linkerd-endpoint-slices', 'Linkerd was installed with enableEndpointSlices=false');

/** What the flags say, else what Cilium's ConfigMap in the snapshot says, else kube-proxy. */
export const proxyOf = (snapshot: ClusterSnapshot, flags: ProxyFlags): Proxy => {
  const [config] = itemsOf(snapshot.cilium);
  const routes = config?.kubeProxyReplacement === true || config?.socketLoadBalancing === true;
  const kind = flags.proxy ?? (routes ? 'cilium' : 'kube-proxy');
  if (kind === 'linkerd') return { kind, endpointSlices: flags.linkerdEndpointSlices };
  if (kind !== 'cilium') return { kind };
  return {
    kind,
    serviceTopology: flags.ciliumServiceTopology ?? config?.serviceTopology ?? false,
    ...(flags.ciliumVersion === undefined ? {} : { ciliumVersion: flags.ciliumVersion }),
  };
};
