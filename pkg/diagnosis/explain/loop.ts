// What crosses zones on purpose: by the plan of the closed loop, or while a zone is evacuated; and what keeps a Service from having a plan.
import { isNowhere } from '../../apis/names.ts';
import { timeText } from '../../apis/values.ts';
import { markedSlices } from '../../evacuation/decide.ts';
import { itemsOf } from '../snapshot.ts';
import { type Facts, type LoopReport, conditionIn } from './facts.ts';
import { type Cause, cause, counted, listed } from './reasons.ts';

const MISSING_HINTS = new Set(['NoHints', 'EndpointWithoutHint', 'ZoneNotHinted']);

const said = ({ type, status, reason, message }: LoopReport['conditions'][number]): string =>
  `${type} is ${status}, ${reason}${message === '' ? '' : `: ${message}`}`.replace(/\.?$/, '.');

const shareText = ({ inZonePercent }: LoopReport, verb: string): string =>
  inZonePercent === undefined ? '' : ` ${inZonePercent} % of the demand ${verb} in its zone.`;

/** Reasons that other causes explain better. */
const TOLD_ELSEWHERE = new Set(['NoEndpoints', 'ObserveOnly']);

/** Causes in the loop. Those of the stage `prerequisite` explain no crossing, and are worth a look all the same. */
export const loopCauses = (facts: Facts): Cause[] => {
  const { planned, name, snapshot, routes, clientZones, loop: report } = facts;
  if (planned === undefined || snapshot.flowPolicies.kind === 'unknown') return [];
  // Clients of some zone cross because hints are missing: a plan would have brought them.
  const lacking = routes.some(({ zone, reason }) => clientZones.includes(zone) && MISSING_HINTS.has(reason));
  const stage = lacking ? 'given' : 'prerequisite';
  const who = `FlowPolicy ${name}`;
  if (report === undefined) {
    const evidence = `Service ${name} asks for the strategy ${planned}, and there is no ${who}.`;
    return [cause(stage, 'FlowPolicyMissing', evidence)];
  }
  if (report.spreadOnPurpose && lacking) {
    const { lastChange: { time, reason, message } = {} } = report;
    const change = message === undefined ? '' : ` Last change at ${time}, ${reason}: ${message.replace(/\.$/, '')}.`;
    const evidence = `${who} plans no hints: every endpoint serves every zone.${shareText(report, 'stays')}${change}`;
    return [cause('effective', 'PlanSpread', evidence)];
  }
  const observing = `${who} has spec.mode Observe: what it plans is not written.${shareText(report, 'would stay')}`;
  const [observed, inForce] = [conditionIn(report, 'Observed'), conditionIn(report, 'Effective')];
  const isFine = (own: typeof observed): boolean => own?.status === 'True' || TOLD_ELSEWHERE.has(own?.reason ?? '');
  // One reason for all conditions is a refusal, which is reported once.
  const unseen = isFine(observed) || observed?.reason === inForce?.reason ? undefined : observed;
  // Of hints that are gone although it was in force, what asks for them says more.
  const gone = inForce ? `${who}: ${said(inForce)}` : `${who} has no status yet.`;
  return [
    ...(report.mode === 'Observe' ? [cause(stage, 'ObserveOnly', observing)] : []),
    ...(unseen ? [cause(stage, 'LoadNotObserved', `${who}: ${said(unseen)}`)] : []),
    ...(report.mode !== 'Observe' && !isFine(inForce) ? [cause(stage, 'PlanNotInForce', gone)] : []),
  ];
};

/** Causes for hints that are not there, with those of the loop in their place among them. */
export const withLoop = ({ loop: policy }: Facts, loop: readonly Cause[], given: readonly Cause[]) => {
  const explaining = loop.filter(({ stage }) => stage !== 'prerequisite');
  if (explaining.length === 0) return given;
  // A plan that is lost again for want of admission: what is wrong there is the better answer.
  if (policy && conditionIn(policy, 'Effective')?.reason === 'WebhookUnavailable') return [...given, ...explaining];
  // No hints on purpose, or none planned: admission has no hints to keep.
  if (policy?.spread === true) return explaining;
  return [...explaining, ...given.filter(({ reason }) => reason !== 'WebhookSkipped')];
};

/** Zones that the slices of the Service are marked to leave, in name order. */
export const evacuatedZones = ({ slices }: Pick<Facts, 'slices'>): string[] => [...markedSlices(slices).keys()];

/** `until 2026-11-22T18:00:00Z (night-drill: a drill)` of each object that names one of the zones. */
const untilText = ({ snapshot }: Facts, zones: readonly string[]): string => {
  const known = itemsOf(snapshot.evacuations).filter(({ zone }) => zones.includes(zone));
  const parts = known.map(({ name, zone, until, reason }) => {
    const end = until === undefined ? '' : ` until ${timeText(until)}`;
    return `${zones.length > 1 ? zone : ''}${end} (${name}${reason === '' ? '' : `: ${reason}`})`.trimStart();
  });
  return parts.length === 0 ? '' : ` ${parts.join(', ')}`;
};

/** One cause, before all others: other findings come second to an evacuation. */
export const evacuationCauses = (facts: Facts): Cause[] => {
  const zones = evacuatedZones(facts);
  if (zones.length === 0) return [];
  const inZones = facts.endpoints.filter(({ zone }) => zones.includes(zone));
  const leaving = inZones.filter(({ forZones }) => forZones.length > 0 && forZones.every(isNowhere));
  const what =
    inZones.length === 0
      ? 'no endpoint is ready there'
      : `${leaving.length} of ${counted(inZones.length, 'ready endpoint')} there get no new connections`;
  const until = untilText(facts, zones);
  const ask = until === '' ? ' Until when and why: kubectl topology evacuations.' : '';
  return [cause('effective', 'Evacuated', `${listed(zones)} is evacuated${until}: ${what}.${ask}`)];
};
