// SPDX-License-Identifier: Apache-2.0
// What was thrown, in words.

/** The message of an Error; anything else that was thrown as text. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
