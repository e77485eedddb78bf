// The input space of googleinterns/k8s-topology-simulator, the evaluation behind KEP-2004, in its own order.

/** Nodes and endpoints of three zones. */
export interface Case {
  readonly nodes: readonly [number, number, number];
  readonly endpoints: readonly [number, number, number];
}

/** One choice of nodes with all choices of endpoints. */
export interface Section {
  readonly nodes: readonly [number, number, number];
  /** Numbers of endpoints to choose from, ascending: three of them, in ascending order, may be equal. */
  readonly choices: readonly number[];
  /** Index of its first case in the whole grid. */
  readonly first: number;
  readonly cases: number;
}

const range = (from: number, to: number, step: number): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);

const SMALL = range(0, 100, 1);
const LARGE = range(100, 1000, 7);

/** Choices of three out of n with repetition. */
const triples = (choices: number): number => (choices * (choices + 1) * (choices + 2)) / 6;

/** 220 sections of 1 to 10 nodes a zone with 0 to 100 endpoints (but not none at all), then one of 30 nodes with 100 to 1,000. */
export const sections = (): Section[] => {
  const found: Section[] = [];
  let first = 0;
  const add = (nodes: Section['nodes'], choices: readonly number[]): void => {
    const cases = triples(choices.length) - (choices[0] === 0 ? 1 : 0);
    found.push({ nodes, choices, first, cases });
    first += cases;
  };
  for (let a = 1; a <= 10; a += 1) {
    for (let b = a; b <= 10; b += 1) for (let c = b; c <= 10; c += 1) add([a, b, c], SMALL);
  }
  add([30, 30, 30], LARGE);
  return found;
};

/** The cases of a section whose index in the whole grid is a multiple of `every`. */
export function* casesOf({ nodes, choices, first }: Section, every: number): Generator<Case> {
  let wait = (every - (first % every)) % every;
  for (let a = 0; a < choices.length; a += 1) {
    for (let b = a; b < choices.length; b += 1) {
      for (let c = b; c < choices.length; c += 1) {
        const most = choices[c] ?? 0;
        if (most === 0) continue;
        if (wait === 0) yield { nodes, endpoints: [choices[a] ?? 0, choices[b] ?? 0, most] };
        wait = wait === 0 ? every - 1 : wait - 1;
      }
    }
  }
}
