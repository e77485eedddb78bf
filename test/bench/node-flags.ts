// The flags that the webhook is measured with: those that the chart starts it with.

/** A small young generation keeps the process small under many small reviews (3 endpoints: 115 MB instead of 150 MB). */
export const NODE_FLAGS: readonly string[] = ['--max-semi-space-size=8'];
