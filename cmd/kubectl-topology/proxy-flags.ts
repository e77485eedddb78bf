// Flags that say which proxy routes, and with which of its options.
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { defined } from '../../pkg/apis/defined.ts';
import type { Stated } from '../../pkg/diagnosis/routers/types.ts';
import { imageVersion } from '../../pkg/diagnosis/routers/image.ts';
import type { RouterVersion } from '../../pkg/upstream/proxy/cilium.ts';
import type { VersionFlags } from './flags.ts';

export const PROXIES = ['kube-proxy', 'cilium', 'linkerd'] as const;

export interface ProxyFlags {
  proxy?: (typeof PROXIES)[number];
  ciliumServiceTopology?: boolean;
  ciliumVersion?: RouterVersion;
  /** `--no-linkerd-endpoint-slices` makes it false. */
  linkerdEndpointSlices: boolean;
}

export const ciliumVersionFlag = (text: string): RouterVersion => {
  const version = imageVersion(`:${text}`);
  if (version === undefined) throw new InvalidArgumentError('expected something like 1.18 or v1.18.1.');
  return version;
};

export const addProxyFlags = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--proxy <name>',
        'data plane of every Node (default: what DaemonSets, Pods, ConfigMaps and Nodes show)',
      ).choices(PROXIES),
    )
    .option(
      '--cilium-service-topology',
      'Cilium has loadBalancer.serviceTopology on; default: as in its ConfigMap, else off',
    )
    .option('--cilium-version <version>', 'version of Cilium; 1.18 and 1.19 read PreferClose only', ciliumVersionFlag)
    .option('--no-linkerd-endpoint-slices', 'Linkerd was installed with enableEndpointSlices=false');

/** The data plane as flags state it; what they leave open is read from objects. */
export const statedBy = (flags: ProxyFlags & VersionFlags): Stated => {
  const { proxy: kind, ciliumServiceTopology: serviceTopology, ciliumVersion, kubernetesVersion, featureGates } = flags;
  const cilium = {
    ...defined({ serviceTopology, ciliumVersion }),
  };
  const proxy = (): Pick<Stated, 'proxy'> => {
    if (kind === undefined) return {};
    if (kind === 'cilium') return { proxy: { kind, ...cilium } };
    return { proxy: kind === 'linkerd' ? { kind, endpointSlices: flags.linkerdEndpointSlices } : { kind } };
  };
  return {
    ...proxy(),
    cilium,
    ...defined({ version: kubernetesVersion, gates: featureGates }),
  };
};
