// Finds the value of a data plane's setting for one Node, and where it stands.
import { matchesSelector } from '../../routing/label-selector.ts';
import type { Place, Setting } from './planes.ts';
import type { Evidence, RouterNode, RouterObject } from './types.ts';

export interface Found {
  /** Undefined: no object says, and nothing documents what that means. */
  readonly value: string | undefined;
  readonly evidence: readonly Evidence[];
  /** The value is taken to be its default because the object that would say otherwise is not there. */
  readonly missing?: string;
}

/** `DaemonSet kube-system/cilium`. */
export const routerObjectTitle = ({ kind, namespace, name }: RouterObject): string =>
  `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;

export const selectsNode = ({ nodes }: RouterObject, { metadata }: RouterNode): boolean =>
  nodes.length === 0 || nodes.some((selector) => matchesSelector(selector, metadata?.labels ?? {}));

/** Value of `--key=value`, `--key value` or `--key` in a command line, also one inside a shell's string. */
export const flagValue = (args: readonly string[], key: string): string | undefined => {
  const words = args.join(' ').split(/[\s"']+/);
  const at = words.findLastIndex((word) => word === `--${key}` || word.startsWith(`--${key}=`));
  if (at === -1) return undefined;
  const [, value] = /^--[^=]+=(.*)$/.exec(words[at] ?? '') ?? [];
  if (value !== undefined) return value;
  const next = words[at + 1] ?? '';
  return next === '' || next.startsWith('-') ? 'true' : next;
};

const inAgents = (
  agents: readonly RouterObject[],
  place: Extract<Place, { from: 'arg' | 'env' }>,
): Found | undefined => {
  for (const agent of agents) {
    for (const { name, args, env } of agent.containers) {
      const value = place.from === 'arg' ? flagValue(args, place.key) : env[place.key];
      if (value === undefined) continue;
      const field =
        place.from === 'arg' ? `containers[${name}].args --${place.key}` : `containers[${name}].env ${place.key}`;
      return { value, evidence: [{ object: routerObjectTitle(agent), field, value }] };
    }
  }
  return undefined;
};

const ofKind = (objects: readonly RouterObject[], { kind, name }: Extract<Place, { from: 'object' }>): RouterObject[] =>
  objects.filter((object) => object.kind === kind && name.test(object.name));

const inObjects = (
  objects: readonly RouterObject[],
  place: Extract<Place, { from: 'object' }>,
  node: RouterNode,
): Found | undefined => {
  for (const object of ofKind(objects, place)) {
    const value = object.settings[place.key];
    if (value === undefined || !selectsNode(object, node)) continue;
    return { value, evidence: [{ object: routerObjectTitle(object), field: place.key, value }] };
  }
  return undefined;
};

/** Objects that hold a default by leaving the setting out. */
const silent = (objects: readonly RouterObject[], { places }: Setting): readonly RouterObject[] =>
  places.flatMap((place) =>
    place.from === 'object' && place.kind !== 'CiliumNodeConfig' ? ofKind(objects, place) : [],
  );

const homeOf = ({ places }: Setting): string => {
  const home = places.find((place) => place.from === 'object' && place.kind !== 'CiliumNodeConfig');
  return home?.from === 'object' ? `${home.kind} ${home.name.source.replaceAll(/[^\w-]/g, '')}`.trim() : 'object';
};

export const settingValue = (
  setting: Setting,
  { node, agents, objects }: { node: RouterNode; agents: readonly RouterObject[]; objects: readonly RouterObject[] },
): Found => {
  for (const place of setting.places) {
    const found = place.from === 'object' ? inObjects(objects, place, node) : inAgents(agents, place);
    if (found !== undefined) return found;
  }
  const { absent: value } = setting;
  const homes = silent(objects, setting);
  const needsHome = setting.places.some((place) => place.from === 'object');
  if (value === undefined || (homes.length === 0 && needsHome)) {
    return { value, evidence: [], missing: homeOf(setting) };
  }
  const key = setting.places.find((place) => place.from === 'object')?.key ?? setting.places[0]?.key ?? '';
  return {
    value,
    evidence: homes
      .slice(0, 1)
      .map((object) => ({ object: routerObjectTitle(object), field: key, value: '(not set)' })),
  };
};

/**
 * Whether Pods with this label show no more than the DaemonSets that make them. So it is where there are such DaemonSets, and each
 * has a Pod of its present template on every Node that it selects: fewer Pods mean that a taint keeps them away somewhere.
 */
export const settledBy = (
  objects: readonly RouterObject[],
  nodes: readonly RouterNode[],
): ((key: string, value: string) => boolean) => {
  const sets = objects.filter(({ kind }) => kind === 'DaemonSet');
  const isSettled = (set: RouterObject): boolean =>
    set.scheduled !== undefined && set.scheduled === nodes.filter((node) => selectsNode(set, node)).length;
  return (key, value) => {
    const own = sets.filter(({ labels }) => labels[key] === value);
    return own.length > 0 && own.every(isSettled);
  };
};
