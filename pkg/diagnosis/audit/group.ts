// Which Services of an audit to look at first: what fails, then what costs; what routing by zone cannot save is listed separately.
import type { CauseReason } from '../explain/types.ts';
import type { AuditGroup, ServiceAudit } from './types.ts';

/** Connections fail, whatever the Service asks for. */
const BROKEN: ReadonlySet<CauseReason> = new Set<CauseReason>([
  'NoBackendForZone',
  'UnreadyForZone',
  'NoReadyEndpoints',
  'NoEndpoints',
]);
/** No proxy routes it, or clients choose by themselves. */
const UNROUTED: ReadonlySet<CauseReason> = new Set<CauseReason>(['Headless', 'ExternalName', 'NotProxied']);

export const AUDIT_GROUPS = [
  'Fails',
  'Costs',
  'NotSavable',
  'NotKnown',
  'Kept',
] as const satisfies readonly AuditGroup[];

/** Its slices are written by the API servers themselves, without zones, and no hint can stand on them. */
const isApiServer = ({ namespace, name }: Pick<ServiceAudit, 'namespace' | 'name'>): boolean =>
  namespace === 'default' && name === 'kubernetes';

type Grouped = Pick<
  ServiceAudit,
  'namespace' | 'name' | 'cause' | 'alsoFound' | 'bypasses' | 'endpoints' | 'verdict' | 'saving' | 'crossZoneShare'
>;

const NOTHING = 0.000_5;

export const auditGroup = (service: Grouped): AuditGroup => {
  const { cause, alsoFound, bypasses, endpoints, verdict, saving, crossZoneShare } = service;
  const reasons = cause === null ? [] : [cause.reason, ...alsoFound];
  if (reasons.some((reason) => BROKEN.has(reason))) return 'Fails';
  if (reasons.includes('Evacuated') && verdict !== 'Ineffective') return 'NotSavable';
  if (isApiServer(service) || bypasses.length > 0 || reasons.some((reason) => UNROUTED.has(reason))) {
    return 'NotSavable';
  }
  if (crossZoneShare === null && (verdict === 'Unknown' || reasons.includes('NoNodes'))) return 'NotKnown';
  if ((crossZoneShare ?? 0) <= NOTHING) return verdict === 'Ineffective' ? 'Fails' : 'Kept';
  if (endpoints === 1) return 'NotSavable';
  if (verdict === 'Ineffective') return 'Fails';
  return saving !== null && saving.routing + saving.endpoints <= NOTHING ? 'NotSavable' : 'Costs';
};

const RANK: Readonly<Record<AuditGroup, number>> = { Fails: 0, Costs: 1, NotSavable: 2, NotKnown: 3, Kept: 4 };

export const byGroup = (a: { readonly group: AuditGroup }, b: { readonly group: AuditGroup }): number =>
  RANK[a.group] - RANK[b.group];
