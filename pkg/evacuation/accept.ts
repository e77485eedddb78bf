// Whether an evacuation can be done at all.

export interface AcceptInput {
  readonly zone: string;
  readonly percent: number;
  readonly force: boolean;
  /** Zones with Nodes. */
  readonly clientZones: readonly string[];
  /** Zones with ready endpoints. */
  readonly endpointZones: ReadonlySet<string>;
  /** Zones that other evacuations take whole. */
  readonly leftAlready: ReadonlySet<string>;
  /** Data planes that drop connections of clients whose zone no hint names. */
  readonly dropping: readonly string[];
  /** Services that would be too much for their other endpoints, in sentences, worst first. */
  readonly overloaded: readonly string[];
  /** Services that would have no endpoint left, together with the evacuations that run. */
  readonly together: readonly string[];
  /** Whether admission was seen to keep a marked slice; undefined: not yet, and it may only be late. */
  readonly admissionActs: boolean | undefined;
}

export interface Refusal {
  readonly reason:
    | 'UnknownZone'
    | 'LastZone'
    | 'RouterDropsTraffic'
    | 'TogetherNoEndpoint'
    | 'Overloaded'
    | 'AdmissionNotActing'
    | 'WaitingForAdmission'
    | 'SwitchedOff';
  readonly message: string;
}

const MANY = 3;

const first = (list: readonly string[]): string =>
  list.length > MANY ? `${list.slice(0, MANY).join('; ')}; and ${list.length - MANY} more` : list.join('; ');

const CHECKED = 'spec.force, or spec.capacityCheck: Skip, goes on all the same';

/** Undefined where nothing is against it. */
export const refusalOf = (input: AcceptInput): Refusal | undefined => {
  const { zone, clientZones, endpointZones, leftAlready, dropping } = input;
  if (!clientZones.includes(zone) && !endpointZones.has(zone))
    return {
      reason: 'UnknownZone',
      message: `no Node and no endpoint is in zone ${zone}; zones are ${clientZones.join(', ')}`,
    };
  const others = [...new Set([...clientZones, ...endpointZones])].filter(
    (one) => one !== zone && !leftAlready.has(one),
  );
  if (input.percent >= 100 && others.length === 0)
    return { reason: 'LastZone', message: `${zone} is the last zone that is not being evacuated` };
  if (dropping.length > 0 && !input.force)
    return {
      reason: 'RouterDropsTraffic',
      message: `${dropping.join(', ')} drops connections where no hint names the zone of the client; spec.force evacuates anyway`,
    };
  if (input.together.length > 0)
    return {
      reason: 'TogetherNoEndpoint',
      message: `with the evacuations that run no endpoint would be left of ${first(input.together)}; ${CHECKED}`,
    };
  if (input.overloaded.length > 0)
    return {
      reason: 'Overloaded',
      message: `too much for the endpoints that stay: ${first(input.overloaded)}; ${CHECKED}`,
    };
  if (input.admissionActs === undefined)
    return { reason: 'WaitingForAdmission', message: 'the webhook has not been observed to keep evacuated slices yet' };
  if (!input.admissionActs)
    return {
      reason: 'AdmissionNotActing',
      message:
        'no webhook keeps evacuated slices, so the EndpointSlice controller would remove the hints: check that the endpointslice-webhook runs, registers itself (registration: self) and is reached',
    };
  return undefined;
};
