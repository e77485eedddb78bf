// `kubectl topology hints`: what the control plane would store for these Nodes, Services and EndpointSlices.
import { defined } from '../../../pkg/apis/values.ts';
import { type HintsReport, type ServiceHints, hintsReport } from '../../../pkg/diagnosis/models/hints.ts';
import { sortedServices } from '../../../pkg/diagnosis/models/lookup.ts';
import { renderTable } from '../../../pkg/report/text.ts';
import { flag, switchFlag, topologyCommand } from '../command.ts';
import { load, loadService } from '../session.ts';
import { OUTPUT_FLAG, inputFlags, versionFlags } from '../flags.ts';
import { print } from '../output.ts';

const zonesText = ({ zones }: ServiceHints): string =>
  Object.entries(zones)
    .map(([zone, { hinted }]) => `${zone}=${hinted}`)
    .join(' ');

const hintsText = (hints: ServiceHints['endpoints'][number]['hints']): string =>
  hints === null ? '-' : [...hints.forZones, ...hints.forNodes].join(',');

const renderNarrow = ({ services }: HintsReport): string =>
  renderTable(
    ['NAMESPACE', 'SERVICE', 'FAMILY', 'SOURCE', 'HINTED', 'ZONES', 'EVENT'],
    services.map((service) => {
      const ready = service.endpoints.filter((endpoint) => endpoint.ready);
      const hinted = ready.filter(({ hints }) => hints !== null).length;
      const { namespace, name, addressType, source, events } = service;
      const event = events[0]?.message ?? '';
      return [namespace, name, addressType, source, `${hinted}/${ready.length}`, zonesText(service), event];
    }),
  );

const renderWide = ({ services }: HintsReport): string =>
  renderTable(
    ['NAMESPACE', 'SERVICE', 'FAMILY', 'SOURCE', 'ADDRESS', 'ZONE', 'READY', 'HINTS'],
    services.flatMap(({ namespace, name, addressType, source, endpoints }) =>
      endpoints.map(({ address, zone, ready, hints }) => [
        namespace,
        name,
        addressType,
        source,
        address,
        zone === '' ? '-' : zone,
        String(ready),
        hintsText(hints),
      ]),
    ),
  );

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
    const needs = ['nodes', 'services', 'slices'] as const;
    const one = flags.service === undefined ? undefined : await loadService(flags, flags.service, needs, io);
    const { snapshot, namespace } = one ?? (await load(flags, needs, io));
    const services = one === undefined ? sortedServices(snapshot, namespace) : [one.service];
    const { webhook, kubernetesVersion: version, featureGates: gates } = flags;
    const report = hintsReport(snapshot, { webhook, ...defined({ version, gates }) }, services);
    await print(io, flags.output, report, ({ wide }) => (wide ? renderWide(report) : renderNarrow(report)));
    return 0;
  },
});
