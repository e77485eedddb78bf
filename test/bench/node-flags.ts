// SPDX-License-Identifier: Apache-2.0
// The flags that the commands are measured with; the chart starts them with the same.

/**
 * Without these V8 lets the garbage of large reviews pile up: the webhook then takes 330 MB instead of 180 MB under the
 * load of 1,000 endpoints. They cost 5 to 10 % of its throughput.
 */
export const NODE_FLAGS: readonly string[] = ['--max-semi-space-size=8', '--max-old-space-size=192'];
