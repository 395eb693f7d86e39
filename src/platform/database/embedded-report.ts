import type { Logger } from '../logging/logger';
import type { SupervisorEvent } from './embedded-postgres';

/** Counts since the start: unexpected ends, failed starts, and restarts of the server. */
export type EmbeddedEvents = Readonly<Record<Exclude<SupervisorEvent['kind'], 'given-up'>, number>>;

export function createEventCounter(logger?: Logger): {
  readonly events: EmbeddedEvents;
  readonly report: (event: SupervisorEvent) => void;
} {
  const events = { ended: 0, retry: 0, restarted: 0 };
  const report = (event: SupervisorEvent): void => {
    if (event.kind !== 'given-up') events[event.kind] += 1;
    if (logger !== undefined) logEventTo(logger)(event);
  };
  return { events, report };
}

const logEventTo =
  (logger: Logger) =>
  (event: SupervisorEvent): void => {
    switch (event.kind) {
      case 'ended':
        return logger.error('the embedded PostgreSQL ended unasked; it is started again');
      case 'retry':
        return logger.error('the embedded PostgreSQL does not start', {
          attempt: event.attempt,
          error: event.error,
        });
      case 'restarted':
        return logger.warn('the embedded PostgreSQL runs again', {
          attempt: event.attempt,
          milliseconds: event.milliseconds,
        });
      case 'given-up':
        return logger.fatal('the embedded PostgreSQL cannot be started again', { attempt: event.attempt });
    }
  };
