// Figures as people read them: shares, counts, volumes, rates and money.

/** Below this a percentage keeps a digit after the point: 0.4 % is not nothing. */
const SMALL = 0.1;

/** `57 %`, `3.4 %`; a dash for what is not known. */
export const percentText = (fraction: number | null): string => {
  if (fraction === null) return '-';
  return `${(fraction * 100).toFixed(fraction > 0 && fraction < SMALL ? 1 : 0).replace(/\.0$/, '')} %`;
};

/** Above the fair share: `+200 %`, `0 %`. */
export const overloadText = (overload: number | null): string => {
  const text = percentText(overload === null ? null : Math.round(overload * 100) / 100);
  return overload !== null && overload * 100 >= 0.5 ? `+${text}` : text;
};

/** `1 Service`, `1,204 Services`. */
export const countText = (count: number, noun: string): string =>
  `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;

/** Above this digits are no longer counted one by one. */
const MANY = 1e15;

/** Three digits that count, `812`, `0.04`, without an exponent below `MANY`. */
export const threeDigits = (value: number): string => {
  if (!(value < MANY)) return value.toPrecision(3);
  const digits = value <= 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(value)));
  return value.toLocaleString('en-US', { maximumFractionDigits: Math.min(digits, 6) });
};

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;
const KILO = 1_000;

/** `0 B`, `1.25 MB`: powers of ten. */
export const bytesText = (bytes: number): string => {
  const power = bytes < KILO ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${threeDigits(bytes / KILO ** power)} ${UNITS[power] ?? ''}`;
};

export const rateText = (bytes: number): string => `${bytesText(bytes)}/s`;

const CENTS = 2;

export const coresText = (cores: number): string => String(Number(cores.toFixed(CENTS)));

/** Two decimals, thousands apart, the currency behind: `1,204.50 EUR`. */
export const moneyText = (amount: number, currency: string): string =>
  `${amount.toFixed(CENTS).replace(/\B(?=(?:\d{3})+\.)/g, ',')} ${currency}`;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `4 s`, `12 min`, `3 h`, `9 d`; a dash for what is not known. */
export const ageText = (seconds: number | null): string => {
  if (seconds === null) return '-';
  if (seconds < 2 * MINUTE) return `${seconds} s`;
  if (seconds < 2 * HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  return seconds < 2 * DAY ? `${Math.floor(seconds / HOUR)} h` : `${Math.floor(seconds / DAY)} d`;
};

export const spanText = (seconds: number): string => ageText(Math.max(1, Math.round(seconds)));
