// Words and figures of a status: ages, days, versions, and the short form of an image.
import type { CertificateStatus, LeaseStatus, WebhookStatus } from '../diagnosis/status/types.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `4 s`, `12 min`, `3 h`, `9 d`; a dash for what is not known. */
export const ageText = (seconds: number | null): string => {
  if (seconds === null || Number.isNaN(seconds)) return '-';
  if (seconds < 2 * MINUTE) return `${seconds} s`;
  if (seconds < 2 * HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  return seconds < 2 * DAY ? `${Math.floor(seconds / HOUR)} h` : `${Math.floor(seconds / DAY)} d`;
};

/** What follows the repository's path: `controller:v1`, `controller@sha256:0123456789ab`. */
export const imageText = (image: string): string =>
  (image.split('/').at(-1) ?? image).replace(/@sha256:([0-9a-f]{12})[0-9a-f]*$/, '@sha256:$1');

export const daysText = ({ daysLeft, notAfter }: CertificateStatus): string =>
  daysLeft < 0
    ? `ended on ${notAfter.slice(0, 10)}`
    : `${daysLeft} ${daysLeft === 1 ? 'day' : 'days'} left (${notAfter.slice(0, 10)})`;

/** The part of a holder's identity that is the Pod's name. */
export const holderText = ({ holder, state, ageSeconds, holderGone }: LeaseStatus): string => {
  if (state === 'Released') return 'no holder';
  const pod = holder.replace(/_[0-9a-f-]{8,}$/, '');
  const gone = holderGone ? ', no such Pod' : '';
  return state === 'Stale'
    ? `${pod}, stale ${ageText(ageSeconds)}${gone}`
    : `${pod}, ${ageText(ageSeconds)} ago${gone}`;
};

/** `4 entries, Ignore, 5 s`. */
export const entriesText = ({ entries }: WebhookStatus): string => {
  const values = (of: (entry: WebhookStatus['entries'][number]) => string): string =>
    [...new Set(entries.map(of))].join('/');
  const count = `${entries.length} ${entries.length === 1 ? 'entry' : 'entries'}`;
  return `${count}, ${values(({ failurePolicy }) => failurePolicy)}, ${values(({ timeoutSeconds }) => `${timeoutSeconds} s`)}`;
};

/** `a 3, b 2`. */
export const countsText = (counts: Readonly<Record<string, number>>, empty: string): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name === '' ? empty : name} ${count}`)
    .join(', ');
