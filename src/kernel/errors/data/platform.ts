import { finalFaults, retryableFaults } from './group';

export const platformFaults = [
  finalFaults('R', 500, {
    exception: 'An unexpected failure stopped this request. Give support the request ID.',
  }),
  retryableFaults('B', 500, {
    internal_error:
      'Something went wrong on our side. Try again; if it persists, give support the request ID.',
    server_error: 'The server failed to handle this request. Try again in a moment.',
  }),
  retryableFaults('B', 503, {
    error_catalog_unavailable: 'The list of errors cannot be shown right now. Try again shortly.',
    live_metric_divergence_unavailable:
      'The comparison of live metrics is not available right now. Try again shortly.',
    live_metric_health_unavailable:
      'The health of the live metrics cannot be read right now. Try again shortly.',
    materializer_unavailable: 'This view is not being prepared right now. Try again shortly.',
    observer_unavailable: 'The observer of this work is not available right now. Try again shortly.',
    service_unavailable: 'The service cannot handle this request right now. Try again shortly.',
    webchat_exchange_unavailable: 'The chat cannot exchange messages right now. Try again shortly.',
  }),
] as const;
