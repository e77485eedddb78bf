// SPDX-License-Identifier: Apache-2.0
// JSON for programs: two spaces of indentation and a final line break, keys in the order they were given.

export const renderJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
