// `kubectl topology traffic`: what goes from zone to zone, as the traffic-meters measure it; live with --watch.
import { trafficDocument } from '../../../pkg/diagnosis/measured.ts';
import { renderTraffic, trafficLine } from '../../../pkg/report/measured.ts';
import type { Measured } from '../../../pkg/traffic/measured.ts';
import { type FlagsOf, flag, switchFlag, topologyCommand } from '../command.ts';
import { type ExitCode, type Io, UsageError } from '../io.ts';
import { checkInputFlags, parseServiceName } from '../session.ts';
import { type InputFlags, OUTPUT_FLAG, inputFlags } from '../flags.ts';
import { type LiveTraffic, SOURCE_FLAGS, secondsFlag, withTraffic } from '../measured-flags.ts';
import { print, styleOf } from '../output.ts';

const FLAGS = {
  ...inputFlags(true),
  ...OUTPUT_FLAG,
  ...SOURCE_FLAGS,
  watch: switchFlag('-w, --watch', 'keep reading: each reading covers the time since the one before'),
  interval: flag('--interval <duration>', 'time between two readings (default: 2s; with Prometheus 15s)', secondsFlag),
  for: flag('--for <duration>', 'stop after this time; only with --watch', secondsFlag),
};

type Flags = FlagsOf<typeof FLAGS>;

/** What is asked about, in words and as a test of a Service. @throws UsageError for a name without namespace. */
const chosenBy = ({ namespace }: InputFlags, text: string | undefined) => {
  if (text !== undefined) {
    const named = parseServiceName(text, namespace);
    if (named.namespace === undefined) throw new UsageError(`name the namespace of "${text}": NAMESPACE/NAME, or -n`);
    const key = `${named.namespace}/${named.name}`;
    return { of: `Service ${key}`, has: (service: string) => service === key };
  }
  if (namespace === undefined) return { of: 'the cluster', has: () => true };
  const has = (service: string): boolean => service.startsWith(`${namespace}/`);
  return { of: `the Services of namespace ${namespace}`, has };
};

type Chosen = ReturnType<typeof chosenBy>;

const only = (measured: Measured, { has }: Chosen): Measured => ({
  ...measured,
  flows: measured.flows.filter(({ service }) => has(service)),
});

/** One reading on a screen that was emptied, or as one line for whatever reads lines. */
const showLive = (measured: Measured, { of }: Chosen, { output }: Flags, io: Io): void => {
  if (output === 'json') io.out.write(`${JSON.stringify(trafficDocument(measured))}\n`);
  else if (io.out.terminal) {
    io.out.control('clear screen');
    io.out.write(renderTraffic(measured, of, styleOf(io, output)));
    io.out.write(`\n${new Date(io.now()).toISOString()}: watching; Ctrl-C ends\n`);
  } else io.out.write(trafficLine(measured, io.now()));
};

const watch = async (live: LiveTraffic, chosen: Chosen, flags: Flags, io: Io): Promise<void> => {
  const { sleep, systemClock } = await import('../../../pkg/kubernetes/wait.ts');
  const limit = flags.for === undefined ? [] : [AbortSignal.timeout(flags.for * 1_000)];
  const signal = AbortSignal.any([io.signal, ...limit]);
  const pauseMs = flags.interval === undefined ? live.intervalMs : flags.interval * 1_000;
  try {
    await live.next(signal);
    for (;;) {
      await sleep(systemClock, pauseMs, signal);
      showLive(only(await live.next(signal), chosen), chosen, flags, io);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

const checkFlags = (flags: Flags): void => {
  checkInputFlags(flags);
  const { watch: goesOn = false, filename, interval, for: time, output } = flags;
  if (goesOn && filename !== undefined) throw new UsageError('--watch follows a cluster: leave out --filename');
  if (!goesOn && (interval ?? time) !== undefined) throw new UsageError('--interval and --for go with --watch');
  if (goesOn && output === 'yaml') throw new UsageError('--watch prints tables, lines or JSON: leave out -o yaml');
};

export const traffic = topologyCommand({
  name: 'traffic',
  summary: 'Bytes and connections from zone to zone, as the traffic-meters measure them; live with --watch',
  examples: [
    ['The whole cluster, averages since the meters began', 'traffic'],
    ['One Service, live', 'traffic web -n shop --watch'],
    ['From a Prometheus that scrapes the meters', 'traffic --prometheus monitoring/prometheus:9090 --window 30m'],
    ['For a later audit', 'traffic -o json > traffic.json   # audit --measured -f cluster.json -f traffic.json'],
  ],
  argument: ['[service]', 'NAME (with -n) or NAMESPACE/NAME'],
  flags: FLAGS,
  async run(io, flags, name) {
    checkFlags(flags);
    const chosen = chosenBy(flags, name);
    return withTraffic<ExitCode>(flags, io, async (live) => {
      if (flags.watch === true) await watch(live, chosen, flags, io);
      else {
        const measured = only(await live.next(io.signal), chosen);
        await print(io, flags.output, trafficDocument(measured), (style) => renderTraffic(measured, chosen.of, style));
      }
      return 0;
    });
  },
});
