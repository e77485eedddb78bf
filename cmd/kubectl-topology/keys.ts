// SPDX-License-Identifier: Apache-2.0
// Keys that end what goes on until it is ended: q, Ctrl-C and Ctrl-D.
export const KEYS_TO_END: ReadonlySet<string> = new Set(['q', 'Q', '\u0003', '\u0004']);
