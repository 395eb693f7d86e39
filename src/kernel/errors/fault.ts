import { type CatalogueEntry, catalogue, type ErrorCode } from './catalogue';

export interface FaultInit {
  /** A more specific text in place of the catalogue's. */
  message?: string;
  param?: string;
  /** Machine-readable details; `supplier` holds a supplier's own wording, `errors` validation issues. */
  details?: Record<string, unknown>;
  retryAfterSeconds?: number;
  resetsAt?: Date;
  status?: number;
  /** The code for records and metrics if it differs from the code that is sent. */
  outcome?: string;
  /** The vendor's own code, which clients recognise, in place of the catalogue's. */
  sentCode?: string;
  cause?: unknown;
}

/** The only expected exception: a code of the catalogue with the details of this occurrence. */
export class Fault extends Error {
  readonly code: ErrorCode;
  readonly entry: CatalogueEntry;
  readonly options: Readonly<FaultInit>;

  constructor(code: ErrorCode, options: FaultInit = {}) {
    const entry = catalogue.get(code);
    if (!entry) throw new RangeError(`not a code of the catalogue: ${String(code)}`);
    // A client error is not a bug: its stack is never read, and capturing it costs more than everything else.
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

export const fault = (code: ErrorCode, options?: FaultInit): Fault => new Fault(code, options);

export interface ValidationIssue {
  /** Location of the issue: `['query', 'days']`, `['body', 'items', 0, 'name']`. */
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** `validation_error` with its issues; the first one names the parameter. */
export function validationFault(issues: ValidationIssue[], options: FaultInit = {}): Fault {
  const path = issues[0]?.loc.slice(1) ?? [];
  return fault('validation_error', {
    ...(path.length > 0 ? { param: path.join('.') } : {}),
    ...options,
    details: { ...options.details, errors: issues },
  });
}

/** `missing_fields` with the names of the absent fields. */
export function missingFields(fields: Readonly<Record<string, unknown>>): Fault {
  const required = Object.keys(fields).filter((name) => fields[name] === undefined);
  return fault('missing_fields', { details: { required } });
}

export type ParameterLocation = 'path' | 'query' | 'body';

const parameterCodes: ReadonlySet<ErrorCode> = new Set([
  'validation_error',
  'invalid_request',
  'invalid_json',
  'missing_fields',
  'unsupported_parameter',
]);

/** Returns the parameters that a fault names; null if the fault concerns something else. */
function parametersOf({ code, options }: Fault): readonly string[] | null {
  if (!parameterCodes.has(code) || options.status !== undefined) return null;
  if (options.param !== undefined) return [options.param];
  const required = (options.details?.['required'] ?? []) as readonly string[];
  const names = required.filter((name) => /^\w+$/.test(name));
  return names.length === 0 && code === 'invalid_request' ? null : names;
}

export const isParameterFault = (problem: Fault): boolean => parametersOf(problem) !== null;

const issueTypes: Partial<Record<ErrorCode, string>> = {
  missing_fields: 'missing',
  unsupported_parameter: 'whitelistValidation',
  invalid_json: 'json',
};

/**
 * Converts a fault of parameters to the portal's form: one code, and a location per parameter. Services know parameters
 * only by name, and the API keeps their codes.
 */
export function toValidationFault(problem: Fault, locationOf: (name: string) => ParameterLocation): Fault {
  const { code, options, humanMessage } = problem;
  const names = parametersOf(problem);
  const errors = options.details?.['errors'];
  if (names === null || (Array.isArray(errors) && errors.length > 0)) return problem;
  const type = issueTypes[code] ?? 'value_error';
  const issues = names.map((name): ValidationIssue => {
    const [first = name, ...rest] = name.split('.');
    const deeper = rest.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    return { loc: [locationOf(first), first, ...deeper], msg: humanMessage, type };
  });
  const bodyIssue: ValidationIssue = { loc: ['body'], msg: humanMessage, type };
  return validationFault(issues.length > 0 ? issues : [bodyIssue], { ...options, message: humanMessage });
}
