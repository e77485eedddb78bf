// Checks manifests without a cluster: what their Services ask for, and whether the Pods behind them can be near their clients.
import { defined } from '../../apis/defined.ts';
import { refOf } from '../../apis/object.ts';
import { byText } from '../../apis/order.ts';
import type { Service } from '../../apis/core.ts';
import { NEWEST_KNOWN_VERSION, formatVersion } from '../../routing/version.ts';
import { REASONS } from '../../upstream/index.ts';
import { counted } from '../explain/cause.ts';
import { DIAGNOSIS_REASONS } from '../explain/reasons.ts';
import { itemsOf } from '../snapshot.ts';
import type { Workload } from '../snapshot.ts';
import { CHECK_REASONS } from './reasons.ts';
import { asksForZones, saysSomething, serviceRules } from './service-rules.ts';
import type { Said } from './service-rules.ts';
import { SEVERITIES } from './types.ts';
import type { CheckOptions, CheckReport, Finding, FindingReason, Manifests } from './types.ts';
import { mostReplicas, placementRules, spreadRules } from './workload-rules.ts';

const REMEDIES: Readonly<Record<FindingReason, { readonly remedy: string }>> = {
  ...REASONS,
  ...DIAGNOSIS_REASONS,
  ...CHECK_REASONS,
};

interface Named {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** How `placeOf` of the options names an object. */
export const findingKeyOf = ({ kind, namespace, name }: Named): string => `${kind}/${namespace}/${name}`;

const isRouted = ({ spec }: Service): boolean =>
  spec?.type !== 'ExternalName' && spec?.clusterIP !== 'None' && Object.keys(spec?.selector ?? {}).length > 0;

const selects = ({ metadata, spec }: Service, { namespace, podLabels }: Workload): boolean =>
  namespace === (metadata?.namespace ?? '') &&
  Object.entries(spec?.selector ?? {}).every(([key, value]) => podLabels[key] === value);

/** Several replicas behind it, and it asks for nothing. */
const silence = (service: Service, behind: readonly { workload: Workload; replicas: number }[]): Said[] => {
  const replicas = behind.reduce((sum, each) => sum + each.replicas, 0);
  if (saysSomething(service) || replicas < 2) return [];
  if (service.spec?.internalTrafficPolicy === 'Local') return [];
  // Scraped endpoint by endpoint: its clients never pass the proxies.
  const ports = service.spec?.ports ?? [];
  const scraped = ports.length > 0 && ports.every(({ name = '' }) => /metrics|telemetry/.test(name));
  const names = behind.map(({ workload: { kind, name } }) => `${kind} ${name}`).join(', ');
  const message = `it has no trafficDistribution, and up to ${counted(replicas, 'endpoint')} behind it (${names}): clients use all zones equally`;
  return scraped
    ? [{ severity: 'note', reason: 'NotRequested', message: `${message}, unless it is only scraped` }]
    : [{ severity: 'warning', reason: 'NotRequested', message }];
};

export const check = (manifests: Manifests, options: CheckOptions = {}): CheckReport => {
  const { version = NEWEST_KNOWN_VERSION, placeOf } = options;
  const services = itemsOf(manifests.services);
  const autoscalers = itemsOf(manifests.autoscalers);
  const workloads = itemsOf(manifests.workloads).map((workload) => ({
    workload,
    replicas: mostReplicas(workload, autoscalers),
  }));
  const findings: Finding[] = [];
  const report = (object: Named, all: readonly Said[]): void => {
    const place = placeOf?.(findingKeyOf(object));
    const { kind, namespace, name } = object;
    for (const one of all) {
      const { remedy } = REMEDIES[one.reason];
      findings.push({ ...one, kind, namespace, name, remedy, ...defined({ place }) });
    }
  };
  for (const { workload, replicas } of workloads) report(workload, spreadRules(workload, replicas));
  for (const service of services) {
    const { namespace, name } = refOf(service);
    const object = { kind: 'Service', namespace, name };
    report(object, serviceRules(service, { ...options, version }));
    if (!isRouted(service)) continue;
    const behind = workloads.filter(({ workload }) => selects(service, workload));
    report(object, silence(service, behind));
    if (!asksForZones(service, version)) continue;
    for (const { workload, replicas } of behind) report(object, placementRules(workload, replicas));
  }
  const rank = ({ severity }: Finding): number => SEVERITIES.indexOf(severity);
  return {
    kubernetesVersion: formatVersion(version),
    services: services.length,
    workloads: workloads.length,
    findings: findings.sort(
      (a, b) =>
        rank(a) - rank(b) ||
        byText(a.place?.file ?? '', b.place?.file ?? '') ||
        (a.place?.line ?? 0) - (b.place?.line ?? 0) ||
        byText(findingKeyOf(a), findingKeyOf(b)),
    ),
  };
};
