// Where Node.js keeps what it compiled: code that was compiled once is not compiled again in the many processes that tests and checks start.
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../.cache/compiled', import.meta.url));

/** Part of an environment; empty while coverage is measured, which is less exact with it. */
export const compiledOnce = (): { readonly NODE_COMPILE_CACHE?: string } =>
  process.env['NODE_V8_COVERAGE'] === undefined ? { NODE_COMPILE_CACHE: FOLDER } : {};
