import type { Refusal } from './rule';

export const claudeRefusal = (message: string): Refusal => ({
  status: 400,
  body: { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_sim' },
});
