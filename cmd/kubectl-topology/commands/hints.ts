// `kubectl topology hints`: what the control plane would store for these Nodes, Services and EndpointSlices.
import { defined } from '../../../pkg/apis/values.ts';
import { type HintsReport, type ServiceHints, hintsReport } from '../../../pkg/diagnosis/models/hints.ts';
import { serviceRefOf, sortedServices } from '../../../pkg/diagnosis/models/lookup.ts';
import { renderTable } from '../../../pkg/report/text.ts';
import { topologyCommand } from '../io.ts';
import { findService, inNamespaceOf, load } from '../session.ts';
import { addInputFlags, addOutputFlag, addVersionFlags } from '../flags.ts';
import type { InputFlags, OutputFlags, VersionFlags } from '../flags.ts';
import { print } from '../output.ts';

interface Flags extends InputFlags, VersionFlags, OutputFlags {
  service?: string;
  /** `--no-webhook` makes it false. */
  webhook: boolean;
}

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

export const hints = topologyCommand<Flags>({
  name: 'hints',
  hidden: true,
  summary: 'What the control plane stores as hints for these Nodes, Services and EndpointSlices',
  examples: [
    ['All Services of a file, as JSON', 'hints -f cluster.yaml -o json'],
    ['What would Kubernetes 1.30 do?', 'hints -f cluster.yaml --kubernetes-version 1.30'],
  ],
  define(command) {
    addVersionFlags(addOutputFlag(addInputFlags(command)), 'the control plane');
    command
      .option('--service <name>', 'only this Service: NAME or NAMESPACE/NAME')
      .option('--no-webhook', 'as if the webhook of this extension did not serve slices');
  },
  async run(io, flags) {
    const loaded = await load(
      flags.service === undefined ? flags : inNamespaceOf(flags, flags.service),
      ['nodes', 'services', 'slices'],
      io,
    );
    const { snapshot, namespace } = loaded;
    const chosen =
      flags.service === undefined
        ? sortedServices(snapshot).filter(
            (item) => namespace === undefined || serviceRefOf(item).namespace === namespace,
          )
        : [findService(loaded, flags.service)];
    const report = hintsReport(
      snapshot,
      {
        webhook: flags.webhook,
        ...defined({ version: flags.kubernetesVersion, gates: flags.featureGates }),
      },
      chosen,
    );
    await print(io, flags.output, report, (wide) => (wide ? renderWide(report) : renderNarrow(report)));
    return 0;
  },
});
