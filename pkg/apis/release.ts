// The release that these sources are, as package.json and the chart name it: bundles carry no package.json to ask.

/** Semantic version without a leading `v`. */
export const RELEASE = '0.1.0';
