// SPDX-License-Identifier: Apache-2.0
// Packs and unpacks bundles; what somebody sent is not allowed to unpack to more than memory holds.
import { gunzipSync, gzipSync } from 'node:zlib';

/** Far more than a bundle holds. */
const MAX_UNPACKED_BYTES = 512 * 1024 * 1024;

export const gzip = (content: Buffer): Buffer => gzipSync(content, { level: 9 });

/** @throws Error where it is no gzip, or too large. */
export const gunzipBounded = (packed: Buffer, maxBytes = MAX_UNPACKED_BYTES): Buffer =>
  gunzipSync(packed, { maxOutputLength: maxBytes });
