import { jsonReply, type BodyReply } from './reply';

/** Reason for rejecting a request; each style formats it in its own shape. */
export interface Complaint {
  readonly message: string;
  readonly status?: number;
  readonly type?: string;
  readonly code?: string;
  readonly param?: string;
  readonly details?: unknown;
}

export type Style = 'openai' | 'messages' | 'gemini';

const messagesTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};
const geminiStates: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};
const openaiTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_exceeded',
};

function errorType(style: Style, status: number): string {
  if (style === 'messages') return messagesTypes[status] ?? 'api_error';
  return openaiTypes[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
}

export function errorBody(style: Style, complaint: Complaint): object {
  const { message, status = 400, type = errorType(style, status) } = complaint;
  if (style === 'gemini') {
    return { error: { code: status, message, status: geminiStates[status] ?? 'INTERNAL' } };
  }
  if (style === 'messages') {
    const details = complaint.details === undefined ? {} : { details: complaint.details };
    return { type: 'error', error: { type, message, ...details }, request_id: 'req_sim' };
  }
  return { error: { message, type, param: complaint.param ?? null, code: complaint.code ?? null } };
}

export function errorReply(style: Style, complaint: Complaint): BodyReply {
  return jsonReply(errorBody(style, complaint), { status: complaint.status ?? 400 });
}
