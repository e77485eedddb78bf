// The support matrix of the README: what each Kubernetes version gets, from the table that the product uses.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { domainPrefixedMode, formatVersion, routingSettings } from '../../pkg/routing/index.ts';
import { NEWEST_KNOWN_VERSION, OLDEST_SUPPORTED_VERSION } from '../../pkg/routing/index.ts';
import type { RoutingSettings } from '../../pkg/routing/index.ts';
import { LABEL_CONSIDER } from '../../pkg/apis/names.ts';
import type { MeasuredVersion } from '../../test/e2e/versions-plan.ts';
import type { Generator } from './types.ts';

/** Versions that the suite "versions" has shown to work on real programs. */
const measurements = (): MeasuredVersion[] => {
  const path = resolve(import.meta.dirname, '../../test/e2e/results/measured-versions.json');
  return JSON.parse(readFileSync(path, 'utf8')) as MeasuredVersion[];
};

/** The day, what it was measured on, and how many connections were counted, all of which stayed in their zone. */
const describeMeasured = ({ date, components, connections }: MeasuredVersion): string =>
  `measured ${date} on ${components['kube-apiserver']}: ${connections} connections`;

const describe = ({ annotations, labels, trafficDistribution }: RoutingSettings): string =>
  [
    ...Object.entries(annotations).map(([key, value]) => `annotation \`${key}: ${value}\``),
    ...(LABEL_CONSIDER in labels ? ['consider label'] : []),
    ...(trafficDistribution === undefined ? [] : [`\`trafficDistribution: ${trafficDistribution}\``]),
  ].join(', ');

const whoWritesHints = ({ labels, trafficDistribution }: RoutingSettings): string => {
  if (trafficDistribution === undefined) return '`endpointslice-webhook`';
  return LABEL_CONSIDER in labels ? 'the control plane and `endpointslice-webhook`, alike' : 'the control plane';
};

export const supportMatrix: Generator = {
  path: 'README.md',
  section: 'support matrix',
  render: () => {
    const measured = new Map(measurements().map((entry) => [entry.kubernetesVersion, entry]));
    const { major } = NEWEST_KNOWN_VERSION;
    const minors = Array.from(
      { length: NEWEST_KNOWN_VERSION.minor - OLDEST_SUPPORTED_VERSION.minor + 1 },
      (_, index) => OLDEST_SUPPORTED_VERSION.minor + index,
    );
    const rows = minors.map((minor) => {
      const version = { major, minor };
      const settings = routingSettings(version);
      const found = measured.get(formatVersion(version));
      const shown = found === undefined ? 'modelled' : describeMeasured(found);
      return `| ${formatVersion(version)} | ${describe(settings)} | ${whoWritesHints(settings)} | ${shown} |`;
    });
    return [
      '| Kubernetes | a routed Service gets | hints are written by | shown |',
      '|---|---|---|---|',
      ...rows,
      '',
      `Older versions are refused with the reason; newer ones behave as ${formatVersion(NEWEST_KNOWN_VERSION)} and are logged once.`,
      `While any Node's kubelet is 1.30 or older under a newer API server, Services also get \`topology-mode: ${domainPrefixedMode('same-zone')}\`.`,
    ].join('\n');
  },
};
