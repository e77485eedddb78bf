// SPDX-License-Identifier: Apache-2.0
// The order of names.

/** Order of names as Go sorts strings of ASCII, independent of any locale. */
export const byText = (left: string, right: string): number => {
  if (left === right) return 0;
  return left < right ? -1 : 1;
};
