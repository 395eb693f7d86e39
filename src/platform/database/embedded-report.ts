import type { Logger } from '../logging/logger';
import type { SupervisorEvent } from './embedded-postgres';

export const reportTo =
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
