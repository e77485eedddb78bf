// Who routes, for people: a sentence for each group of Nodes, with its evidence and how sure it is.
import type { RouterGroup, RoutersReport } from '../diagnosis/routers/routers.ts';
import type { Behaviour, Certainty } from '../diagnosis/routers/types.ts';
import { type Screen, wrapText } from './text.ts';

const MARKS = { seen: '✓', assumed: '~', unknown: '?' } as const satisfies Record<Certainty, string>;

/** `kube-proxy`, `cilium, assumed`, `mixed`: for the head of a report. */
export const routerHead = ({ router, certainty }: Pick<RoutersReport, 'router' | 'certainty'>): string => {
  if (router === 'unknown') return 'router unknown';
  return `${router === 'mixed' ? 'mixed routers' : router}${certainty === 'seen' ? '' : `, ${certainty}`}`;
};

/** `✓` for what was seen, `~` for what is assumed, `?` for what is not known. */
export const certaintyMark = (certainty: Certainty, { good, strong }: Pick<Screen, 'good' | 'strong'>): string =>
  certainty === 'seen' ? good(MARKS.seen) : strong(MARKS[certainty]);

const hintsText = ({ hints, needs, unmatched, unready, safeSince }: Behaviour): string => {
  if (hints === 'none') return 'ignores hints';
  if (hints === 'unknown') return 'what it does with hints is not known';
  const follows = hints === 'zone' ? 'follows hints for zones' : 'follows hints for zones and Nodes';
  const what = needs === 'hints alone' ? '' : ` (needs ${needs})`;
  const unsafe = unmatched === 'none' ? 'none matches' : unready === 'none' ? 'only what is not ready matches' : '';
  const fixed = safeSince === null || unmatched === 'none' ? '' : ` before ${safeSince}`;
  return `${follows}${what}${unsafe === '' ? '' : `; where ${unsafe}, connections fail${fixed}`}`;
};

const groupText = (group: RouterGroup, indent: string, screen: Screen): string => {
  const { nodes, examples, title, version, certainty, why, behaviour, notes } = group;
  const which = `${examples.join(', ')}${nodes > examples.length ? ', …' : ''}`;
  const name = `${title}${version === null ? '' : ` ${version}`}`;
  const who = certainty === 'assumed' ? `assuming ${name}` : certainty === 'unknown' ? `not known (${title})` : name;
  const head = `${certaintyMark(certainty, screen)} ${nodes} Node${nodes === 1 ? '' : 's'} (${which}): ${who}; ${hintsText(behaviour)}`;
  const evidence = group.evidence.map(({ object, field, value }) => `${object} ${field}=${value}`).join('; ');
  const lines = [why, ...notes, evidence].filter((text) => text !== '');
  return `${wrapText(head, screen.width, indent)}${lines.map((line) => screen.wrap(line, `${indent}  `)).join('')}`;
};

/** One paragraph a group of Nodes. */
export const routersText = ({ routers }: RoutersReport, indent: string, screen: Screen): string => {
  const text = routers.map((group) => groupText(group, indent, screen)).join('');
  return screen.under('ROUTER', indent, text === '' ? `${indent}? no ready Node is known\n` : text);
};
