// Where all clients that are seen reach the Pods another way than by the cluster IP: what decides for them, and what to set there.
import type { Facts } from './facts.ts';
import { type Cause, cause } from './reasons.ts';

type Way = Partial<Pick<Facts['bypasses'][number], 'client' | 'all' | 'possible' | 'unsure' | 'byHints' | 'keeps'>>;

/** What all clients that are seen go through in place of the cluster IP; of several one that does not keep to zones. */
export const wayOf = <W extends Way>(around: readonly W[]): W | undefined => {
  const sure = around.filter(({ possible, unsure, byHints }) => !(possible || unsure || byHints));
  const ways = sure.filter(({ client, all }) => all && client !== 'headless');
  return ways.find(({ keeps }) => !keeps) ?? ways[0];
};

/** One that is there, and does not keep to zones. */
export const isStray = ({ possible, unsure, byHints, keeps }: Way) => !(possible || unsure || byHints || keeps);

/** All clients that are seen keep to their zone by what they go through. */
export const isKeptAround = ({ around }: { readonly around: readonly Way[] }): boolean =>
  wayOf(around)?.keeps === true && !around.some(isStray);

/** The way of all, where no setting of the Service decides for it: no hint counts, whatever is asked for. */
export const wayPast = ({ bypasses }: Pick<Facts, 'bypasses'>) => {
  const way = wayOf(bypasses);
  return way?.through || way?.asks !== undefined ? undefined : way;
};

/** What keeps to zones by itself needs nothing, what fails is a cause already, and what the Service has to ask first needs no more. */
export const aroundCauses = ({ bypasses, callers }: Facts, wanted: boolean): Cause[] => {
  // Where its flags are not to be set there is nothing to do.
  const isOfServer = bypasses.every(({ client, setting }) => client === 'kube-apiserver' && setting !== '');
  const all = wayOf(bypasses) ?? (isOfServer && !wanted && callers.length === 0 ? bypasses[0] : undefined);
  const way = all ?? bypasses.find((own) => own.firstContact && isStray(own));
  if (way === undefined || way.keeps || way.fails || (way.asks !== undefined && !wanted)) return [];
  const { client, evidence, decides, setting } = way;
  const go = all ? 'All clients that are seen go through' : 'After the first contact clients go on to';
  const goes = `${go} ${client} (${evidence.object}): ${decides}.`;
  return [cause('used', 'ClusterIPNotUsed', goes, setting === '' ? undefined : `For ${client}: ${setting}.`)];
};
