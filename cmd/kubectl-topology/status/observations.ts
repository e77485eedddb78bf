// SPDX-License-Identifier: Apache-2.0
// What a bundle keeps beside the objects: when they were read, and what was found out by asking.
import { defined } from '../../../pkg/apis/defined.ts';
import type { Fields } from '../../../pkg/apis/fields.ts';
import {
  asFields,
  FieldError,
  listAt,
  objectAt,
  textAt,
  textIn,
  wholeAt,
} from '../../../pkg/diagnosis/project/fields.ts';
import type {
  CertificateFacts,
  Observations,
  ProbeResult,
  ServingCertificate,
  StatusEvidence,
} from '../../../pkg/diagnosis/status/evidence.ts';
import { STATUS_API_VERSION } from '../../../pkg/diagnosis/status/status.ts';
import { OBSERVATIONS_KIND } from '../input/kinds.ts';

/** An object, so that every command passes it over that reads the bundle's files. */
export const observationsObject = (evidence: StatusEvidence): object => {
  const { now, serverVersion, serving, probes, unseen } = evidence;
  return { apiVersion: STATUS_API_VERSION, kind: OBSERVATIONS_KIND, now, serverVersion, serving, probes, unseen };
};

const certificateOf = (fields: Fields): CertificateFacts => ({
  notAfter: wholeAt(fields, 'notAfter') ?? 0,
  fingerprint: textIn(fields, 'fingerprint'),
});

const servingOf = (item: unknown): ServingCertificate => {
  const fields = asFields(item);
  return {
    namespace: textIn(fields, 'namespace'),
    from: textIn(fields, 'from'),
    why: textIn(fields, 'why'),
    ...defined({ certificate: objectAt(fields, 'certificate', certificateOf) }),
  };
};

const OUTCOMES: readonly ProbeResult['outcome'][] = ['Hinted', 'NotHinted', 'Refused', 'Unknown'];

const probeOf = (item: unknown): ProbeResult => {
  const fields = asFields(item);
  const outcome = OUTCOMES.find((each) => each === fields['outcome']);
  if (outcome === undefined) throw new FieldError(['outcome'], OUTCOMES.join(' or '), fields['outcome']);
  return {
    carrier: fields['carrier'] === 'policy' ? 'policy' : 'webhook',
    namespace: textIn(fields, 'namespace'),
    outcome,
    message: textIn(fields, 'message'),
    ...defined({ milliseconds: wholeAt(fields, 'milliseconds') }),
  };
};

/** @throws FieldError where a field is not what a bundle has there. */
export const readObservations = (object: Fields): Observations => ({
  now: wholeAt(object, 'now') ?? 0,
  serving: listAt(object, 'serving', servingOf) ?? [],
  probes: listAt(object, 'probes', probeOf) ?? [],
  unseen:
    listAt(object, 'unseen', (item) => {
      const fields = asFields(item);
      return { what: textIn(fields, 'what'), why: textIn(fields, 'why') };
    }) ?? [],
  ...defined({ serverVersion: textAt(object, 'serverVersion') }),
});
