/** A settled request as published: names are stable, and new ones can be added. */
export interface SettledRecord {
  readonly request_id: string;
  readonly created_at: string;
  /** Null if no key is known. */
  readonly key_id: number | null;
  readonly user_id: number | null;
  readonly organisation_id: number | null;
  readonly department_id: number | null;
  readonly project_id: number | null;
  readonly operation: string;
  /** As written by the caller; null if there is no such model. */
  readonly model: string | null;
  readonly served_model: string | null;
  readonly supplier: string | null;
  readonly region: string | null;
  readonly status: number;
  readonly error_code: string | null;
  readonly stream: boolean;
  readonly failover: boolean;
  /** Includes cached tokens. */
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
  /** A decimal number of dollars, exact to nine places. */
  readonly cost_usd: string;
  readonly latency_ms: number;
  readonly first_token_ms: number | null;
  readonly finish_reason: string | null;
  readonly end_user: string | null;
  readonly tags: readonly string[];
  /** Conversation as named by the caller; absent if there is none. */
  readonly session_id?: string;
  /** Set for a test from the administration: the request was settled before, and might have been delivered before. */
  readonly test?: true;
}
