import type { ErrorSign } from '../../src/vendors';

/** Name of the error style that reads this vendor's errors. */
export const styleOf = ({ vendor }: ErrorSign): string =>
  vendor === 'anthropic' ? 'messages-style' : vendor === 'google' ? 'gemini' : 'openai-style';

/** Builds the vendor's error body for a table row, with the matched value in its field. */
export function bodyOf(row: ErrorSign): object {
  const { vendor, by, match, status, text: message = 'The vendor says so.' } = row;
  const code = by === 'code' ? match : undefined;
  if (vendor === 'anthropic') {
    const type = code ?? (status === 429 ? 'rate_limit_error' : 'invalid_request_error');
    const details = by === 'reason' ? { details: { error_code: match } } : {};
    return { type: 'error', error: { type, message, ...details }, request_id: 'req_1' };
  }
  if (vendor === 'google') {
    const details = by === 'reason' ? [{ '@type': 'google.rpc.ErrorInfo', reason: match }] : [];
    const name =
      status === 402 ? 'RESOURCE_EXHAUSTED' : status === 403 ? 'PERMISSION_DENIED' : 'INVALID_ARGUMENT';
    return { error: { code: status, message, status: code ?? name, details } };
  }
  if (vendor === 'xai') return { code: 'The caller does not have permission', error: message };
  const type = code === 'insufficient_quota' ? code : 'invalid_request_error';
  return { error: { message, type, param: null, code: code ?? null } };
}
