// Flags that say which proxy routes, and with which of its options; and what a command fails on.
import { defined } from '../../pkg/apis/values.ts';
import { DIAGNOSIS_REASONS } from '../../pkg/diagnosis/explain/reasons.ts';
import { imageVersion } from '../../pkg/diagnosis/routers/kube-proxy.ts';
import type { Stated } from '../../pkg/diagnosis/routers/types.ts';
import { REASONS } from '../../pkg/upstream/reasons.ts';
import { type FlagsOf, choiceFlag, flag, switchFlag } from './command.ts';
import { expecting, reasonsFlag, type versionFlags } from './flags.ts';

const versionOf = expecting('something like 1.18 or v1.18.1', (text) => imageVersion(`:${text}`));

export const CILIUM_FLAG = {
  ciliumVersion: flag('--cilium-version <version>', 'Cilium version; 1.18 and 1.19 read PreferClose only', versionOf),
};

export const PROXY_FLAGS = {
  proxy: choiceFlag(
    '--proxy <name>',
    'data plane of every Node (default: what DaemonSets, Pods, ConfigMaps and Nodes show)',
    ['kube-proxy', 'cilium', 'linkerd'],
  ),
  ciliumServiceTopology: switchFlag(
    '--cilium-service-topology',
    'Cilium has loadBalancer.serviceTopology on; default: as in its ConfigMap, else off',
  ),
  ...CILIUM_FLAG,
  linkerdEndpointSlices: switchFlag('--no-linkerd-endpoint-slices', 'Linkerd has enableEndpointSlices=false'),
};

/** The data plane as flags state it; what they leave open is read from objects. */
export const statedBy = (flags: FlagsOf<typeof PROXY_FLAGS> & FlagsOf<ReturnType<typeof versionFlags>>): Stated => {
  const { proxy: kind, ciliumServiceTopology: serviceTopology, ciliumVersion, kubernetesVersion, featureGates } = flags;
  const cilium = defined({ serviceTopology, ciliumVersion });
  const proxy = (): Stated['proxy'] => {
    if (kind === 'cilium') return { kind, ...cilium };
    if (kind === 'linkerd') return { kind, endpointSlices: flags.linkerdEndpointSlices };
    return kind === undefined ? undefined : { kind };
  };
  return { cilium, ...defined({ proxy: proxy(), version: kubernetesVersion, gates: featureGates }) };
};

const ANY = 'any';

/** `when`: what "ineffective" means there; `more`: reasons beside those of explain. */
export const failOnFlag = (when: string, more: readonly string[] = []) =>
  flag(
    '--fail-on <what>',
    `exit code 1 on "any" cause, if ${when}, or on these reasons (comma-separated)`,
    reasonsFlag([ANY, 'ineffective', ...Object.keys(REASONS), ...Object.keys(DIAGNOSIS_REASONS), ...more], 'no reason'),
  );

export const failsOn = (failOn: readonly string[] | undefined, found: readonly string[]): boolean =>
  failOn?.some((word) => (word === ANY ? found.length > 0 : found.includes(word))) ?? false;
