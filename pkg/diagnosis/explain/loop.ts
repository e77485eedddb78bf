// The closed loop in an explanation: whether what crosses zones does so by its plan, and what keeps it from having one.
import type { FlowPolicyCondition } from '../../apis/flow-policy.ts';
import type { FlowLoopSummary } from '../snapshot.ts';
import { cause } from './given.ts';
import type { Facts } from './facts.ts';
import type { Cause, LoopReport, Stage } from './types.ts';

type Condition = FlowLoopSummary['conditions'][number];

const conditionIn = ({ conditions }: FlowLoopSummary, type: FlowPolicyCondition['type']): Condition | undefined =>
  conditions.find((condition) => condition.type === type);

/** In safe mode there are no hints because nothing is known, not because the load asks for it. */
const isSafeMode = (loop: FlowLoopSummary): boolean => conditionIn(loop, 'Observed')?.reason === 'MetricsLost';

/** What the FlowPolicy says, and what follows for traffic that crosses; undefined where none was seen. */
export const loopReport = ({ loop }: Pick<Facts, 'loop'>): LoopReport | undefined => {
  if (loop === undefined) return undefined;
  const inForce = loop.mode === 'Enforce' && conditionIn(loop, 'Effective')?.status === 'True' && !isSafeMode(loop);
  return { ...loop, inForce, spreadOnPurpose: inForce && loop.spread === true };
};

const MISSING_HINTS = new Set(['NoHints', 'EndpointWithoutHint', 'ZoneNotHinted']);

/** Clients of some zone cross because hints are missing: a plan would have brought them. */
const lacksHints = ({ routes, clientZones }: Facts): boolean =>
  routes.some(({ zone, reason }) => clientZones.includes(zone) && MISSING_HINTS.has(reason));

const said = ({ type, status, reason, message }: Condition): string =>
  `${type} is ${status}, ${reason}${message === '' ? '' : `: ${message}`}`.replace(/\.?$/, '.');

const changeText = ({ lastChange }: FlowLoopSummary): string =>
  lastChange === undefined
    ? ''
    : ` Last change at ${lastChange.time}, ${lastChange.reason}: ${lastChange.message.replace(/\.$/, '')}.`;

const shareText = ({ inZonePercent }: FlowLoopSummary, verb: string): string =>
  inZonePercent === undefined ? '' : ` ${inZonePercent} % of the demand ${verb} in its zone.`;

/** Reasons that other causes explain better. */
const TOLD_ELSEWHERE = new Set(['NoEndpoints', 'ObserveOnly']);

/** Why there is no plan by load; one reason for all conditions is a refusal, which is reported once. */
const observedCause = (stage: Stage, loop: FlowLoopSummary, who: string): Cause[] => {
  const observed = conditionIn(loop, 'Observed');
  if (observed === undefined || observed.status === 'True' || TOLD_ELSEWHERE.has(observed.reason)) return [];
  if (observed.reason === conditionIn(loop, 'Effective')?.reason) return [];
  return [cause(stage, 'LoadNotObserved', `${who}: ${said(observed)}`)];
};

const effectiveCause = (stage: Stage, facts: Facts, loop: FlowLoopSummary, who: string): Cause[] => {
  if (loop.mode === 'Observe') return [];
  const effective = conditionIn(loop, 'Effective');
  if (effective === undefined) return [cause(stage, 'PlanNotInForce', `${who} has no status yet.`)];
  if (effective.status !== 'True') {
    return TOLD_ELSEWHERE.has(effective.reason) ? [] : [cause(stage, 'PlanNotInForce', `${who}: ${said(effective)}`)];
  }
  // Admission keeps hints by the label only: whatever the status said once holds no more.
  if (facts.strategy !== undefined) return [];
  const evidence = `${who}: ${said(effective)} But Service ${facts.name} lacks the strategy label: is the flow-controller running?`;
  return [cause(stage, 'PlanNotInForce', evidence)];
};

const policyCauses = (facts: Facts, report: LoopReport): Cause[] => {
  const who = `FlowPolicy ${facts.name}`;
  const lacking = lacksHints(facts);
  if (report.spreadOnPurpose && lacking) {
    const evidence = `${who} plans no hints: every endpoint serves every zone.${shareText(report, 'stays')}${changeText(report)}`;
    return [cause('effective', 'PlanSpread', evidence)];
  }
  const stage: Stage = lacking ? 'given' : 'prerequisite';
  const observing = `${who} has spec.mode Observe: what it plans is not written.${shareText(report, 'would stay')}`;
  return [
    ...(report.mode === 'Observe' ? [cause(stage, 'ObserveOnly', observing)] : []),
    ...observedCause(stage, report, who),
    ...effectiveCause(stage, facts, report, who),
  ];
};

/** Causes in the loop. Those of the stage `prerequisite` explain no crossing, and are worth a look all the same. */
export const loopCauses = (facts: Facts): Cause[] => {
  const { planned, name, snapshot } = facts;
  if (planned === undefined || snapshot.flowPolicies.kind === 'unknown') return [];
  const report = loopReport(facts);
  if (report !== undefined) return policyCauses(facts, report);
  const evidence = `Service ${name} asks for the strategy ${planned.name}, and there is no FlowPolicy ${name}.`;
  return [cause(lacksHints(facts) ? 'given' : 'prerequisite', 'FlowPolicyMissing', evidence)];
};

/** A plan that is lost again for want of admission: what is wrong there is the better answer. */
const isLost = ({ loop }: Facts): boolean =>
  loop !== undefined && conditionIn(loop, 'Effective')?.reason === 'WebhookUnavailable';

/** Causes for hints that are not there, with those of the loop in their place among them. */
export const withLoop = (facts: Facts, loop: readonly Cause[], given: readonly Cause[]): Cause[] => {
  const explaining = loop.filter(({ stage }) => stage !== 'prerequisite');
  if (explaining.length === 0) return [...given];
  if (isLost(facts)) return [...given, ...explaining];
  // No hints on purpose, or none planned: admission has no hints to keep.
  if (facts.loop?.spread === true) return explaining;
  return [...explaining, ...given.filter(({ reason }) => reason !== 'WebhookSkipped')];
};
