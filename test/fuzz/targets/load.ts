// Answers of Prometheus and of metrics.k8s.io, over HTTP to the real sources: finite loads of the Pods asked for, or a LoadError.
import { createClient } from '../../../pkg/kubernetes/client.ts';
import { systemClock } from '../../../pkg/kubernetes/wait.ts';
import { createPrometheus } from '../../../pkg/metrics/prometheus.ts';
import { createResourceMetrics } from '../../../pkg/metrics/resource-metrics.ts';
import { LoadError, type LoadQuery, type LoadReading, type LoadSource } from '../../../pkg/metrics/types.ts';
import type { Random } from '../../e2e/chaos-faults.ts';
import { testConfig } from '../../fixtures/config-source.ts';
import { NAMESPACE, NOW, POD_METRICS_ANSWERS, PODS, PROMETHEUS_ANSWERS } from '../documents/load.ts';
import { serveAnswers } from '../answers.ts';
import { type Input, type Target, must } from '../types.ts';

/** Queries with the names put in; what is no name is refused. */
const QUERIES = ['load{namespace="$namespace"}', 'load{service=~"${service}"} # $service', "load{a='$service'}"];
const NAMES = ['web', 'web-2', 'a"} or vector(1) #'];

const query = (random: Random): LoadQuery => ({
  namespace: NAMESPACE,
  service: random.pick(NAMES),
  pods: new Set(PODS),
  promql: random.pick(QUERIES),
  maxAgeSeconds: 0,
});

const MAX_SENTENCE = 700;

const checkReading = (reading: LoadReading, { pods }: LoadQuery): void => {
  for (const sample of reading.samples) {
    const { load, sampledAt, window } = sample;
    must(Number.isFinite(load) && load >= 0 && load <= 1e15, () => `a load of ${load}`);
    must(Number.isFinite(sampledAt) && sampledAt <= NOW, () => `a sample of ${sampledAt}, it is ${NOW}`);
    must(window > 0 && window <= 3_600, () => `a window of ${window} s`);
    if ('pod' in sample) must(pods.has(sample.pod), () => `a sample of ${sample.pod}, which was not asked for`);
  }
  must(reading.problems.length <= 11, () => `${reading.problems.length} sentences`);
  const long = reading.problems.find((sentence) => sentence.length > MAX_SENTENCE);
  must(long === undefined, () => `a sentence of ${long?.length} characters: ${long?.slice(0, 200)}`);
};

const never = new AbortController().signal;
const clock = { ...systemClock, now: () => NOW * 1_000 };

export const target: Target = {
  bytes: true,
  async open() {
    const server = await serveAnswers();
    const { url } = server;
    const client = createClient({ config: testConfig(url), userAgent: 'fuzz', clock });
    const prometheus = createPrometheus({
      config: { name: 'p', type: 'Prometheus', url, timeoutSeconds: 8, cacheSeconds: 0, windowSeconds: 60 },
      clock,
      userAgent: 'fuzz',
    });
    const resourceMetrics = createResourceMetrics({ client, clock }, { name: 'r', timeoutSeconds: 8, cacheSeconds: 0 });
    const ofPrometheus = new Set(PROMETHEUS_ANSWERS.map(({ name }) => name));

    const run = async ({ text, sample, random }: Input): Promise<void> => {
      const source: LoadSource = ofPrometheus.has(sample) ? prometheus : resourceMetrics;
      const status = random.below(10) > 0 ? 200 : random.pick([400, 403, 404, 422, 302]);
      server.answer({ status: sample === 'Status' ? 403 : status, text });
      const asked = query(random);
      try {
        checkReading(await source.read(asked, never), asked);
      } catch (error) {
        if (!(error instanceof LoadError)) throw error;
        must(error.message.length < 1_000, () => `a message of ${error.message.length} characters`);
        must(!/\p{Cc}/u.test(error.message), () => `control characters in ${JSON.stringify(error.message)}`);
      }
    };
    return {
      samples: [...PROMETHEUS_ANSWERS, ...POD_METRICS_ANSWERS],
      run,
      async close() {
        await prometheus.close();
        await client.close();
        server.close();
      },
    };
  },
};
