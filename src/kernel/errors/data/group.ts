/**
 * R: read, correct, then retry. B: back off and retry. C: check the credential. P: check the policy.
 * F: check who pays.
 */
export type ActionClass = 'R' | 'B' | 'C' | 'P' | 'F';

export interface FaultGroup {
  readonly actionClass: ActionClass;
  readonly status: number;
  /** Repeating the request unchanged might succeed and does no harm. */
  readonly retryable: boolean;
  readonly messages: Readonly<Record<string, string>>;
}

/** Codes for which a client can repeat the request after waiting. */
export const retryableFaults = <const M extends Record<string, string>>(
  actionClass: ActionClass,
  status: number,
  messages: M,
) => ({ actionClass, status, retryable: true, messages }) as const;

/** Codes for which repeating the request fails again or is dangerous. */
export const finalFaults = <const M extends Record<string, string>>(
  actionClass: ActionClass,
  status: number,
  messages: M,
) => ({ actionClass, status, retryable: false, messages }) as const;
