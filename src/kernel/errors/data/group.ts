/**
 * R: read, correct, then retry. B: back off and retry. C: check the credential. P: check the policy.
 * F: check who pays.
 */
export type ActionClass = 'R' | 'B' | 'C' | 'P' | 'F';

export interface FaultGroup {
  readonly actionClass: ActionClass;
  readonly status: number;
  /** The same request, sent again unchanged, may succeed and does no harm. */
  readonly retryable: boolean;
  readonly messages: Readonly<Record<string, string>>;
}

/** Codes that a client may send again after waiting. */
export const passing = <const M extends Record<string, string>>(
  actionClass: ActionClass,
  status: number,
  messages: M,
) => ({ actionClass, status, retryable: true, messages }) as const;

/** Codes that stay refused, or are dangerous, when the same request is sent again. */
export const final = <const M extends Record<string, string>>(
  actionClass: ActionClass,
  status: number,
  messages: M,
) => ({ actionClass, status, retryable: false, messages }) as const;
