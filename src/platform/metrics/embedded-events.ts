/** Shown by the process that owns the embedded database; with several processes, by their supervisor. */
export const EMBEDDED_EVENTS = {
  name: 'gateway_embedded_database_events_total',
  help: 'What became of the embedded PostgreSQL: it `ended` unasked, did not start at a `retry`, was `restarted`.',
} as const;
