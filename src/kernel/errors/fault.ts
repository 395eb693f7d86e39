import { type CatalogueEntry, catalogue, type ErrorCode } from './catalogue';

export interface FaultOptions {
  /** A more specific text in place of the catalogue's. */
  message?: string;
  /** The parameter at fault. */
  param?: string;
  /** Structured facts for programs; `supplier` holds a supplier's own wording, `errors` validation issues. */
  details?: Record<string, unknown>;
  retryAfterSeconds?: number;
  resetsAt?: Date;
  status?: number;
  /** The code for records and metrics, where it differs from the code that is sent. */
  outcome?: string;
  cause?: unknown;
}

/** The service's only expected exception: a code of the catalogue with the facts of this occurrence. */
export class Fault extends Error {
  readonly code: ErrorCode;
  readonly entry: CatalogueEntry;
  readonly options: Readonly<FaultOptions>;

  constructor(code: ErrorCode, options: FaultOptions = {}) {
    const entry = catalogue.get(code);
    if (!entry) throw new RangeError(`not a code of the catalogue: ${String(code)}`);
    // A refusal is no bug: its stack is never read, and capturing one costs more than everything else.
    const limit = Error.stackTraceLimit;
    if ((options.status ?? entry.status) < 500) Error.stackTraceLimit = 0;
    super(
      `${code} - ${options.message ?? entry.humanMessage}`,
      'cause' in options ? { cause: options.cause } : {},
    );
    Error.stackTraceLimit = limit;
    this.code = code;
    this.entry = entry;
    this.options = options;
  }

  get status(): number {
    return this.options.status ?? this.entry.status;
  }

  get outcome(): string {
    return this.options.outcome ?? this.code;
  }

  get humanMessage(): string {
    return this.options.message ?? this.entry.humanMessage;
  }
}

Object.defineProperty(Fault.prototype, 'name', { value: 'Fault', configurable: true, writable: true });

export const fault = (code: ErrorCode, options?: FaultOptions): Fault => new Fault(code, options);

export interface ValidationIssue {
  /** Where: `['query', 'days']`, `['body', 'items', 0, 'name']`. */
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** `validation_error` with its issues; the first one names the parameter. */
export function validationFault(issues: ValidationIssue[], options: FaultOptions = {}): Fault {
  const path = issues[0]?.loc.slice(1) ?? [];
  return fault('validation_error', {
    ...(path.length > 0 ? { param: path.join('.') } : {}),
    ...options,
    details: { ...options.details, errors: issues },
  });
}
