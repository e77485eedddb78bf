// Counts the values and keys of JSON before JSON.parse makes objects of them: a byte of its text becomes up to thirty in memory.

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** What a byte outside a string begins: 1 and 3 always count, 2 where no other 2 stands before it, as in `true` and in numbers. */
const [NOTHING, NESTED, SCALAR, TEXT] = [0, 1, 2, 3];
const BEGINS = new Uint8Array(256).fill(SCALAR, 0x21);
for (const byte of Buffer.from(',:]}')) BEGINS[byte] = NOTHING;
for (const byte of Buffer.from('[{')) BEGINS[byte] = NESTED;
BEGINS[QUOTE] = TEXT;
/** Behind a backslash in a string; otherwise the place is what the last byte began. */
const ESCAPE = 4;

/** Bytes that are looked at before it is asked again whether the others matter. */
const STRIDE = 16_384;

/**
 * Called with each piece of a text of `length` bytes in turn: false once there are more than `limit` values and keys. A value and
 * what parts it from the next take two bytes, so a text is read only until the rest cannot hold too many: a short one not at all.
 */
export const createItemLimit = (limit: number, length: number): ((piece: Uint8Array) => boolean) => {
  let items = 0;
  let unread = length;
  let place = NOTHING;

  const read = (piece: Uint8Array, from: number, to: number): void => {
    // Local, because V8 keeps variables of a closure in memory.
    let [at, now, found] = [from, place, 0];
    while (at < to) {
      if (now >= TEXT) {
        if (now === ESCAPE) at += 1;
        now = TEXT;
        for (; at < to; at += 1) {
          const byte = piece[at];
          if (byte === QUOTE) {
            now = NOTHING;
            at += 1;
            break;
          }
          if (byte !== BACKSLASH) continue;
          at += 1;
          if (at === to) now = ESCAPE;
        }
      }
      // Without branches: what an attacker sends is read twice as fast.
      while (at < to && now < TEXT) {
        const begins = BEGINS[piece[at] as number] as number;
        found += (begins & 1) | ((begins >> 1) & ~(now >> 1));
        now = begins;
        at += 1;
      }
    }
    place = now;
    items += found;
  };

  return (piece) => {
    for (let at = 0; at < piece.length && items + (unread + 1) / 2 > limit; at += STRIDE) {
      const to = Math.min(at + STRIDE, piece.length);
      read(piece, at, to);
      unread -= to - at;
      if (items > limit) return false;
    }
    return true;
  };
};

/** Whether a whole text has `limit` values and keys at most. */
export const hasItemsWithin = (limit: number, text: Uint8Array): boolean => createItemLimit(limit, text.length)(text);
