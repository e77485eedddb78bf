// The picture of the README: what the commands do among the parts of Kubernetes, from a setting to a connection.
import { COMMANDS } from '../../pkg/apis/names.ts';
import { at, drawArrow, drawBox, drawKey, drawPicture } from './boxes.ts';
import type { LabelledBox } from './boxes.ts';
import type { Generator } from './types.ts';

const COLUMNS = [110, 360, 610, 860] as const;
const ROWS = [86, 196, 306] as const;
const SIZE = { width: 194, height: 52 };
const [WIDTH, HEIGHT] = [970, 346];

const box = (column: 0 | 1 | 2 | 3, row: 0 | 1 | 2, kind: string, name: string, caption: string): LabelledBox => ({
  ...SIZE,
  x: COLUMNS[column],
  y: ROWS[row],
  kind,
  name,
  caption,
});

const settings = box(0, 0, 'others', 'Seed, Garden, Shoot', 'or a label on the Service');
const reconciler = box(1, 0, 'first', COMMANDS.settingsReconciler, 'decides, writes, repairs');
const service = box(2, 0, 'others', 'Service, Etcd', 'annotation, label or field');
const controller = box(3, 0, 'others', 'EndpointSlice controller', 'of Kubernetes');
const load = box(0, 1, 'others', 'Load of the Pods', 'metrics API, Prometheus');
const flow = box(1, 1, 'first', COMMANDS.flowController, 'plans what spills');
const slice = box(2, 1, 'others', 'EndpointSlice', 'endpoints and their hints');
const webhook = box(3, 1, 'first', COMMANDS.endpointSliceWebhook, 'adds the hints');
const people = box(0, 2, 'others', 'you', 'why does traffic cross?');
const cli = box(1, 2, 'first', 'kubectl topology', 'explains, simulates, audits');
const proxy = box(2, 2, 'others', 'kube-proxy', 'on every Node');
const pods = box(3, 2, 'others', 'Pods', 'of the client’s zone');

/** Straight to a neighbour, with words beside the line. */
const arrow = (from: LabelledBox, to: LabelledBox, words = '', more = ''): string[] => {
  const [right, down] = [Math.sign(to.x - from.x), Math.sign(to.y - from.y)];
  const start = { x: from.x + (right * SIZE.width) / 2, y: from.y + (down * SIZE.height) / 2 };
  const end = { x: to.x - right * (SIZE.width / 2 + 7), y: to.y - down * (SIZE.height / 2 + 7) };
  const label = { x: (start.x + end.x) / 2 + Math.abs(down) * 4, y: (start.y + end.y) / 2 + (down === 0 ? -8 : 4) };
  const side = down === 0 ? '' : ' style="text-anchor: start"';
  const drawn = drawArrow(`M${at(start.x)},${at(start.y)} L${at(end.x)},${at(end.y)}`, more);
  return words === ''
    ? [drawn]
    : [drawn, `<text class="small" x="${at(label.x)}" y="${at(label.y)}"${side}>${words}</text>`];
};

export const partsFigure: Generator = {
  path: 'docs/concepts/parts.svg',
  render: () =>
    drawPicture('From a setting to a connection: what each command does among the parts of Kubernetes', WIDTH, HEIGHT, [
      drawKey('first', 20, 'this project'),
      drawKey('others', 150, 'Gardener, Kubernetes, yours'),
      ...arrow(settings, reconciler),
      ...arrow(reconciler, service, 'sets'),
      ...arrow(service, controller),
      ...arrow(controller, webhook, 'its write', ''),
      ...arrow(webhook, slice, 'hints'),
      ...arrow(load, flow),
      ...arrow(flow, slice, 'hints'),
      ...arrow(slice, proxy, 'watched by'),
      ...arrow(proxy, pods, 'to'),
      ...arrow(people, cli, '', ' asks'),
      ...arrow(cli, proxy, '', ' asks'),
      ...[settings, reconciler, service, controller, load, flow, slice, webhook, people, cli, proxy, pods].map(drawBox),
    ]),
};
