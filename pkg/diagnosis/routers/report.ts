// Who routes, as every report has it: Nodes that are alike in one group, and the whole in three stable fields.
import { nameOf } from '../../apis/object.ts';
import type { Behaviour, Certainty, Evidence, RouterAnswer, RouterName, RouterNode, Routers } from './types.ts';
import { byText } from '../../apis/order.ts';

/** Nodes whose Services are load-balanced alike. */
export interface RouterGroup {
  readonly router: RouterName;
  readonly title: string;
  /** Null where no image names it. */
  readonly version: string | null;
  readonly certainty: Certainty;
  readonly why: string;
  /** Of the first Node. */
  readonly evidence: readonly Evidence[];
  readonly behaviour: Behaviour;
  readonly notes: readonly string[];
  readonly nodes: number;
  /** The first of them in name order. */
  readonly examples: readonly string[];
}

export interface RoutersReport {
  /** `mixed` where Nodes differ; `unknown` also where there is no Node. */
  readonly router: RouterName | 'mixed';
  /** The least of all groups. */
  readonly certainty: Certainty;
  /** Of every group. */
  readonly evidence: readonly Evidence[];
  /** Most Nodes first. */
  readonly routers: readonly RouterGroup[];
}

const EXAMPLES = 3;
const RANK = { seen: 0, assumed: 1, unknown: 2 } as const satisfies Record<Certainty, number>;

export const leastCertain = (certainties: readonly Certainty[]): Certainty =>
  certainties.reduce((worst, next) => (RANK[next] > RANK[worst] ? next : worst), 'seen');

const groupOf = (nodes: readonly RouterNode[], answer: RouterAnswer): RouterGroup => {
  const { router, title, version, certainty, why, evidence, behaviour, notes } = answer;
  const examples = nodes.map(nameOf).sort(byText).slice(0, EXAMPLES);
  return { router, title, version, certainty, why, evidence, behaviour, notes, nodes: nodes.length, examples };
};

export const routersReport = (nodes: readonly RouterNode[], routers: Routers): RoutersReport => {
  const sorted = [...nodes].sort((a, b) => byText(nameOf(a), nameOf(b)));
  const groups = [...Map.groupBy(sorted, (node) => routers.keyOf(node)).values()]
    .flatMap((own) => (own[0] === undefined ? [] : [groupOf(own, routers.of(own[0]))]))
    .sort((a, b) => b.nodes - a.nodes || byText(a.title, b.title));
  const names = new Set(groups.map(({ router }) => router));
  const [only = 'unknown'] = names;
  return {
    router: names.size > 1 ? 'mixed' : only,
    certainty: groups.length === 0 ? 'unknown' : leastCertain(groups.map(({ certainty }) => certainty)),
    evidence: groups.flatMap(({ evidence }) => evidence),
    routers: groups,
  };
};
