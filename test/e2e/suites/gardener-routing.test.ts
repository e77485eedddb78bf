// Gardener's own routing helper as the oracle of pkg/routing: random Services, the versions that a current Gardener knows, vendors' suffixes.
// Needs no bed.
// Needs built: gardener/owner/owner
import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE, LABEL_CONSIDER } from '../../../pkg/apis/names.ts';
import { reconcileTopologyAwareRouting } from '../../../pkg/routing/index.ts';
import { builtProgram } from '../bed/binaries.ts';

const COUNT = 4_000;
/** Below 1.31 this release knows no difference any more. */
const MINORS = [31, 32, 33, 34, 35, 36];
const SUFFIXES = ['', '-gke.1036000', '+k3s1', '-eks-a5ec690', '-rc.1'];

interface Question {
  readonly service: Service;
  readonly enabled: boolean;
  readonly version: string;
}

const absent = fc.constant(undefined);
const present = (value: string | undefined): value is string => value !== undefined;
const record = (
  fields: Readonly<Record<string, readonly string[]>>,
): fc.Arbitrary<Record<string, string> | undefined> =>
  fc.option(
    fc
      .record(
        Object.fromEntries(
          Object.entries(fields).map(([key, values]) => [key, fc.oneof(absent, fc.constantFrom(...values))]),
        ),
      )
      .map((all) =>
        Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => present(entry[1]))),
      ),
    { nil: undefined },
  );

const question: fc.Arbitrary<Question> = fc
  .record({
    annotations: record({
      [ANNOTATION_TOPOLOGY_MODE]: ['auto', 'Auto', 'Disabled', 'example.com/x', ''],
      [ANNOTATION_TOPOLOGY_AWARE_HINTS]: ['auto', 'disabled'],
      'example.com/a': ['b'],
    }),
    labels: record({ [LABEL_CONSIDER]: ['true', 'false'], app: ['x'] }),
    field: fc.constantFrom(undefined, 'PreferClose', 'PreferSameZone', 'PreferSameNode', 'Nonsense'),
    enabled: fc.boolean(),
    minor: fc.constantFrom(...MINORS),
    patch: fc.integer({ min: 0, max: 30 }),
    suffix: fc.constantFrom(...SUFFIXES),
    prefix: fc.constantFrom('', 'v'),
  })
  .map(({ annotations, labels, field, enabled, minor, patch, suffix, prefix }) => ({
    enabled,
    version: `${prefix}1.${minor}.${patch}${suffix}`,
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'x', namespace: 'y', ...(annotations && { annotations }), ...(labels && { labels }) },
      spec: {
        selector: { app: 'x' },
        ports: [{ port: 443, targetPort: 443 }],
        ...(field && { trafficDistribution: field }),
      },
    },
  }));

const comparable = ({ metadata, spec }: Service): object => ({
  annotations: metadata?.annotations ?? {},
  labels: metadata?.labels ?? {},
  trafficDistribution: spec?.trafficDistribution,
  selector: spec?.selector,
  ports: spec?.ports,
});

const askAll = (questions: readonly Question[]): Service[] => {
  const input = questions.map((one) => JSON.stringify(one)).join('\n');
  const options = { input, encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
  const { stdout, stderr, status } = spawnSync(builtProgram('gardener/owner/owner'), ['routing'], options);
  expect(status, stderr).to.equal(0);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Service);
};

describe('gardener: routing helper of Gardener v1.141', () => {
  const seed = Number(process.env['E2E_SEED'] ?? Date.now() % 1_000_000);
  it(`makes of ${COUNT} random Services what this webhook makes of them (E2E_SEED=${seed})`, () => {
    const questions = fc.sample(question, { numRuns: COUNT, seed });
    const answers = askAll(questions);
    expect(answers).to.have.lengthOf(COUNT);
    for (const [index, one] of questions.entries()) {
      const ours = reconcileTopologyAwareRouting(one.service, one.enabled, one.version);
      expect(comparable(ours), JSON.stringify(one)).to.deep.equal(comparable(answers[index] ?? {}));
    }
  });
});
