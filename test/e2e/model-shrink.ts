// Makes a case on which model and reality disagree as small as it can be.
import type { ServiceCase, SourceCase } from './model-cases.ts';

const without = <T>(list: readonly T[], index: number): T[] => list.filter((_, other) => other !== index);

const halves = <T>(list: readonly T[]): T[][] =>
  list.length < 4 ? [] : [list.slice(0, list.length / 2), list.slice(list.length / 2)];

const smallerSources = (source: SourceCase): SourceCase[] => {
  if (source.kind === 'selector') {
    const pods = [...halves(source.pods), ...source.pods.map((_, index) => without(source.pods, index))];
    return [
      ...pods.map((fewer) => ({ ...source, pods: fewer })),
      ...(source.publishNotReady ? [{ ...source, publishNotReady: false }] : []),
    ];
  }
  const { slices } = source;
  const replaced = (index: number, slice: (typeof slices)[number]) =>
    slices.map((other, position) => (position === index ? slice : other));
  return [
    ...(slices.length > 1 ? slices.map((_, index) => ({ ...source, slices: without(slices, index) })) : []),
    ...slices.flatMap((slice, index) =>
      slice.map((_, position) => ({ ...source, slices: replaced(index, without(slice, position)) })),
    ),
  ];
};

/** Every Service that is one step smaller or plainer, the greatest steps first. */
export const smallerServices = (service: ServiceCase): ServiceCase[] => [
  ...smallerSources(service.source).map((source) => ({ ...service, source })),
  ...(Object.keys(service.annotations).length > 0 ? [{ ...service, annotations: {} }] : []),
  ...(service.trafficDistribution === undefined ? [] : [{ ...service, trafficDistribution: undefined }]),
  ...(service.internalTrafficPolicy === 'Local' ? [{ ...service, internalTrafficPolicy: 'Cluster' as const }] : []),
  ...(service.externalTrafficPolicy === undefined ? [] : [{ ...service, externalTrafficPolicy: undefined }]),
  ...(service.dualStack ? [{ ...service, dualStack: false }] : []),
];

/**
 * Goes on with the first smaller case that still fails until there is none. All candidates of a round are tried at once:
 * on a live cluster a round costs the same for one as for thirty.
 *
 * @param failing answers which of the cases fail, in their order.
 */
export const shrink = async <T>(
  start: T,
  smaller: (of: T) => readonly T[],
  failing: (cases: readonly T[]) => Promise<readonly boolean[]>,
  maxRounds = 40,
): Promise<T> => {
  let smallest = start;
  for (let round = 0; round < maxRounds; round++) {
    const candidates = smaller(smallest);
    if (candidates.length === 0) return smallest;
    const verdicts = await failing(candidates);
    const next = candidates.find((_, index) => verdicts[index] === true);
    if (next === undefined) return smallest;
    smallest = next;
  }
  return smallest;
};
