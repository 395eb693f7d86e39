import { type ErrorCode, faultGroups } from './data';
import { classActions, codeActions } from './data/actions';
import type { ActionClass, FaultGroup } from './data/group';
import { reachableCodes } from './reachable';

export type { ActionClass, ErrorCode };

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'billing_error'
  | 'permission_error'
  | 'not_found_error'
  | 'timeout_error'
  | 'conflict_error'
  | 'rate_limit_error'
  | 'api_error'
  | 'overloaded_error';

export interface CatalogueEntry {
  readonly code: ErrorCode;
  readonly actionClass: ActionClass;
  readonly status: number;
  readonly type: ErrorType;
  readonly humanMessage: string;
  readonly action: string;
  /** Repeating the request unchanged might succeed and does no harm. */
  readonly retryable: boolean;
  readonly reach: 'reachable' | 'reserved';
}

const typeOfStatus: Readonly<Record<number, ErrorType>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

/** The category follows the status, so the two can never contradict each other. */
export const errorTypeOf = (status: number): ErrorType =>
  typeOfStatus[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');

const entriesOf = ({ actionClass, status, retryable, messages }: FaultGroup): CatalogueEntry[] =>
  Object.entries(messages).map(([name, humanMessage]) => {
    // The groups are typed by their literal keys; `Object.entries` forgets them.
    const code = name as ErrorCode;
    return Object.freeze({
      code,
      actionClass,
      status,
      type: errorTypeOf(status),
      humanMessage,
      action: codeActions[code] ?? classActions[actionClass],
      retryable,
      reach: reachableCodes.has(code) ? 'reachable' : 'reserved',
    });
  });

export const catalogue: ReadonlyMap<ErrorCode, CatalogueEntry> = new Map(
  faultGroups
    .flatMap(entriesOf)
    .sort((a, b) => (a.code < b.code ? -1 : 1))
    .map((entry) => [entry.code, entry]),
);

export const isErrorCode = (value: unknown): value is ErrorCode => catalogue.has(value as ErrorCode);

export interface PublicEntry {
  code: ErrorCode;
  type: ErrorType;
  status: number;
  action_class: ActionClass;
  human_message: string;
  action: string;
  retryable: boolean;
  reach: 'reachable' | 'reserved';
}

const toPublic = (entry: CatalogueEntry): PublicEntry => ({
  code: entry.code,
  type: entry.type,
  status: entry.status,
  action_class: entry.actionClass,
  human_message: entry.humanMessage,
  action: entry.action,
  retryable: entry.retryable,
  reach: entry.reach,
});

export const publicCatalogue = (): PublicEntry[] => [...catalogue.values()].map(toPublic);

export function publicEntry(code: string): PublicEntry | undefined {
  return isErrorCode(code) ? toPublic(catalogue.get(code)!) : undefined;
}
