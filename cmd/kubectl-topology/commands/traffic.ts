// SPDX-License-Identifier: Apache-2.0
// `kubectl topology traffic`: what goes from zone to zone, as the traffic-meters measure it; live, or as a page of a recording.
import type { Command } from 'commander';
import { trafficDocument } from '../../../pkg/diagnosis/measured/document.ts';
import type { Recorded } from '../../../pkg/report/html/traffic-page.ts';
import { renderTraffic, trafficLine } from '../../../pkg/report/traffic.ts';
import type { Measured } from '../../../pkg/traffic/measured.ts';
import { topologyCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { parseServiceName } from '../find-service.ts';
import { addInputFlags, addOutputFlag } from '../flags.ts';
import type { InputFlags, OutputFlags } from '../flags.ts';
import { wantsColor } from '../io.ts';
import type { Io } from '../io.ts';
import { KEYS_TO_END } from '../keys.ts';
import { openTraffic } from '../live-traffic.ts';
import type { LiveTraffic } from '../live-traffic.ts';
import { addSourceFlags, secondsFlag } from '../measured-flags.ts';
import type { SourceFlags } from '../measured-flags.ts';
import { writePage } from '../page.ts';
import { print } from '../print.ts';
import { checkInputFlags } from '../session.ts';

interface Flags extends InputFlags, OutputFlags, SourceFlags {
  watch?: boolean;
  /** Seconds. */
  interval?: number;
  /** Seconds. */
  for?: number;
  html?: string;
}

const define = (command: Command): void => {
  addSourceFlags(addOutputFlag(addInputFlags(command.argument('[service]', 'NAME (with -n) or NAMESPACE/NAME'), true)))
    .option('-w, --watch', 'keep reading: each reading covers the time since the one before')
    .option('--interval <duration>', 'time between two readings (default: 2s; with Prometheus 15s)', secondsFlag)
    .option('--for <duration>', 'stop after this time; only with --watch', secondsFlag)
    .option('--html <file>', 'also write one self-contained page; with --watch it shows the recorded time');
};

/** Whose traffic is looked at. */
interface Chosen {
  /** In words. */
  readonly of: string;
  readonly has: (service: string) => boolean;
}

/** @throws UsageError for a name without namespace. */
const chosenBy = ({ namespace }: InputFlags, text: string | undefined): Chosen => {
  if (text !== undefined) {
    const named = parseServiceName(text, namespace);
    if (named.namespace === undefined) throw new UsageError(`name the namespace of "${text}": NAMESPACE/NAME, or -n`);
    const key = `${named.namespace}/${named.name}`;
    return { of: `Service ${key}`, has: (service) => service === key };
  }
  if (namespace === undefined) return { of: 'the cluster', has: () => true };
  return { of: `the Services of namespace ${namespace}`, has: (service) => service.startsWith(`${namespace}/`) };
};

const only = (measured: Measured, { has }: Chosen): Measured => ({
  ...measured,
  flows: measured.flows.filter(({ service }) => has(service)),
});

const render = async (of: string, recording: readonly Recorded[]): Promise<string> =>
  (await import('../../../pkg/report/html/traffic-page.ts')).renderTrafficPage({ of, recording });

const show = async (measured: Measured, { of }: Chosen, { output, watch = false }: Flags, io: Io): Promise<void> => {
  const style = { color: wantsColor(io), columns: io.out.columns };
  if (!watch) {
    await print(io, output, trafficDocument(measured), (wide) => renderTraffic(measured, of, { ...style, wide }));
    return;
  }
  // A line for each reading, for whatever reads lines.
  if (output === 'json') io.out.write(`${JSON.stringify(trafficDocument(measured))}\n`);
  else if (io.out.terminal) {
    io.out.control('clear screen');
    io.out.write(renderTraffic(measured, of, { ...style, wide: output === 'wide' }));
    io.out.write(`\n${new Date(io.now()).toISOString()}: watching; q or Ctrl-C ends\n`);
  } else io.out.write(trafficLine(measured, io.now()));
};

/** Flows of all readings that are kept, some 150 MB; then the oldest readings go. */
const MOST_RECORDED = 500_000;
/** A page of a recording that goes on is written so often, so that it is not lost with the process. */
const WRITE_EVERY_MS = 30_000;

const watch = async (live: LiveTraffic, chosen: Chosen, flags: Flags, io: Io): Promise<void> => {
  const { sleep } = await import('../../../pkg/kubernetes/sleep.ts');
  const { systemClock } = await import('../../../pkg/kubernetes/clock.ts');
  const end = new AbortController();
  const stopKeys = io.onKey((key) => KEYS_TO_END.has(key) && end.abort(new Error('ended by key')));
  const limit = flags.for === undefined ? [] : [AbortSignal.timeout(flags.for * 1_000)];
  const signal = AbortSignal.any([io.signal, end.signal, ...limit]);
  const pauseMs = flags.interval === undefined ? live.intervalMs : flags.interval * 1_000;
  const recording: Recorded[] = [];
  let recorded = 0;
  let writtenAt = io.now();
  const take = async (): Promise<void> => {
    const measured = only(await live.next(signal), chosen);
    recording.push({ time: io.now(), measured });
    recorded += measured.flows.length;
    while (recorded > MOST_RECORDED) recorded -= recording.shift()?.measured.flows.length ?? recorded;
    await show(measured, chosen, flags, io);
    if (flags.html === undefined || io.now() - writtenAt < WRITE_EVERY_MS) return;
    writtenAt = io.now();
    await writePage(await render(chosen.of, recording), flags.html, io);
  };
  try {
    await live.next(signal);
    for (;;) {
      await sleep(systemClock, pauseMs, signal);
      await take();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stopKeys();
  }
  if (flags.html === undefined) return;
  await writePage(await render(chosen.of, recording), flags.html, io);
};

const once = async (live: LiveTraffic, chosen: Chosen, flags: Flags, io: Io): Promise<void> => {
  const measured = only(await live.next(io.signal), chosen);
  await show(measured, chosen, flags, io);
  if (flags.html === undefined) return;
  await writePage(await render(chosen.of, [{ time: io.now(), measured }]), flags.html, io);
};

const checkFlags = (flags: Flags): void => {
  checkInputFlags(flags);
  const { watch: goesOn = false, filename, interval, for: time, output } = flags;
  if (goesOn && filename !== undefined) throw new UsageError('--watch follows a cluster: leave out --filename');
  if (!goesOn && (interval !== undefined || time !== undefined))
    throw new UsageError('--interval and --for go with --watch');
  if (goesOn && output === 'yaml') throw new UsageError('--watch prints tables, lines or JSON: leave out -o yaml');
};

export const traffic = topologyCommand<Flags>({
  name: 'traffic',
  summary: 'Bytes and connections from zone to zone, as the traffic-meters measure them; live with --watch',
  examples: [
    ['The whole cluster, averages since the meters began', 'traffic'],
    ['One Service, live', 'traffic web -n shop --watch'],
    ['Ten minutes as a page with a picture over time', 'traffic --watch --for 10m --html traffic.html'],
    ['From Prometheus, in any of the known formats', 'traffic --prometheus monitoring/prometheus:9090 --window 30m'],
    [
      'Kept for an audit without a cluster',
      'traffic -o json > traffic.json   # audit --measured -f cluster.json -f traffic.json',
    ],
  ],
  define,
  async run(io, flags, [name]) {
    checkFlags(flags);
    const chosen = chosenBy(flags, name);
    const live = await openTraffic(flags, io);
    try {
      await (flags.watch === true ? watch : once)(live, chosen, flags, io);
      return 0;
    } finally {
      await live.close();
    }
  },
});
