// `kubectl topology hints`: what the control plane would store for these Nodes, Services and EndpointSlices.
import { defined } from '../../../pkg/apis/values.ts';
import { type HintsReport, type ServiceHints, hintsReport } from '../../../pkg/diagnosis/models/hints.ts';
import { sortedServices } from '../../../pkg/diagnosis/models/lookup.ts';
import { OBJECTS } from '../../../pkg/diagnosis/snapshot.ts';
import { type Column, tableOf } from '../../../pkg/report/text.ts';
import { flag, switchFlag, topologyCommand } from '../command.ts';
import { load, loadService } from '../session.ts';
import { OUTPUT_FLAG, inputFlags, versionFlags } from '../flags.ts';
import { print } from '../output.ts';

const zonesText = ({ zones }: ServiceHints): string =>
  Array.from(Object.entries(zones), ([zone, { hinted }]) => `${zone}=${hinted}`).join(' ');

const hintedText = ({ endpoints }: ServiceHints): string => {
  const ready = endpoints.filter((endpoint) => endpoint.ready);
  return `${ready.filter(({ hints }) => hints !== null).length}/${ready.length}`;
};

const NAMES: readonly Column<ServiceHints>[] = [
  ['NAMESPACE', ({ namespace }) => namespace],
  ['SERVICE', ({ name }) => name],
  ['FAMILY', ({ addressType }) => addressType],
  ['SOURCE', ({ source }) => source],
];
const NARROW: readonly Column<ServiceHints>[] = [
  ...NAMES,
  ['HINTED', hintedText],
  ['ZONES', zonesText],
  ['EVENT', ({ events }) => events[0]?.message ?? ''],
];
const WIDE: readonly Column<ServiceHints & { readonly endpoint: ServiceHints['endpoints'][number] }>[] = [
  ...NAMES,
  ['ADDRESS', ({ endpoint }) => endpoint.address],
  ['ZONE', ({ endpoint }) => endpoint.zone || '-'],
  ['READY', ({ endpoint }) => String(endpoint.ready)],
  ['HINTS', ({ endpoint: { hints } }) => (hints === null ? '-' : [...hints.forZones, ...hints.forNodes].join(','))],
];

const renderHints = ({ services }: HintsReport, wide: boolean): string => {
  const endpoints = services.flatMap((service) => service.endpoints.map((endpoint) => ({ ...service, endpoint })));
  return wide ? tableOf(WIDE, endpoints) : tableOf(NARROW, services);
};

export const hints = topologyCommand({
  name: 'hints',
  hidden: true,
  summary: 'What the control plane stores as hints for these Nodes, Services and EndpointSlices',
  examples: [
    ['All Services of a file, as JSON', 'hints -f cluster.yaml -o json'],
    ['What would Kubernetes 1.30 do?', 'hints -f cluster.yaml --kubernetes-version 1.30'],
  ],
  flags: {
    ...inputFlags(),
    ...OUTPUT_FLAG,
    ...versionFlags('the control plane'),
    service: flag('--service <name>', 'only this Service: NAME or NAMESPACE/NAME'),
    webhook: switchFlag('--no-webhook', 'as if the webhook of this extension did not serve slices'),
  },
  async run(io, flags) {
    const one = flags.service === undefined ? undefined : await loadService(flags, flags.service, OBJECTS, io);
    const { snapshot, namespace } = one ?? (await load(flags, OBJECTS, io));
    const services = one === undefined ? sortedServices(snapshot, namespace) : [one.service];
    const { webhook, kubernetesVersion: version, featureGates: gates } = flags;
    const report = hintsReport(snapshot, { webhook, ...defined({ version, gates }) }, services);
    await print(io, flags.output, report, ({ wide }) => renderHints(report, wide));
    return 0;
  },
});
