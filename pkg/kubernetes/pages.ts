// SPDX-License-Identifier: Apache-2.0
// Follows the continue tokens of a list, and lets the event loop breathe between two pages.
import { setImmediate } from 'node:timers/promises';
import type { KubernetesObject, ObjectList } from '../apis/meta.ts';
import type { ListOptions } from './types.ts';

/** Fetches one page. */
export type FetchPage<T extends KubernetesObject> = (
  options: ListOptions,
  signal?: AbortSignal,
) => Promise<ObjectList<T>>;

/**
 * Yields every page of a list.
 *
 * @throws ApiError 410 when the continue token expired between two pages: the list must begin anew, since the pages
 * before it belong to a version that the server no longer has.
 */
export const pagesOf = async function* <T extends KubernetesObject>(
  fetchPage: FetchPage<T>,
  options: ListOptions,
  signal?: AbortSignal,
): AsyncGenerator<ObjectList<T>, void> {
  let page = await fetchPage(options, signal);
  yield page;
  while (page.metadata.continue !== undefined && page.metadata.continue !== '') {
    // Parsing a page of 500 blocks for about 12 ms; webhook answers and lease renewals get their turn in between.
    await setImmediate();
    signal?.throwIfAborted();
    page = await fetchPage({ ...options, continue: page.metadata.continue }, signal);
    yield page;
  }
};
