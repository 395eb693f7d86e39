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
  /** The vendor's own code, which clients recognise, in place of the catalogue's. */
  sentCode?: string;
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
  /** It says where: `['query', 'days']`, `['body', 'items', 0, 'name']`. */
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

/** `missing_fields` with the names of those fields that were left out. */
export function missingFields(fields: Readonly<Record<string, unknown>>): Fault {
  const required = Object.keys(fields).filter((name) => fields[name] === undefined);
  return fault('missing_fields', { details: { required } });
}

export type Place = 'path' | 'query' | 'body';

const ofParameters: ReadonlySet<ErrorCode> = new Set([
  'validation_error',
  'invalid_request',
  'invalid_json',
  'missing_fields',
  'unsupported_parameter',
]);

/** The parameters that a fault names; null for a fault of something else. */
function parametersOf({ code, options }: Fault): readonly string[] | null {
  if (!ofParameters.has(code) || options.status !== undefined) return null;
  if (options.param !== undefined) return [options.param];
  const required = (options.details?.['required'] ?? []) as readonly string[];
  const names = required.filter((name) => /^\w+$/.test(name));
  return names.length === 0 && code === 'invalid_request' ? null : names;
}

export const isOfParameters = (problem: Fault): boolean => parametersOf(problem) !== null;

const issueTypes: Partial<Record<ErrorCode, string>> = {
  missing_fields: 'missing',
  unsupported_parameter: 'whitelistValidation',
  invalid_json: 'json',
};

/**
 * A fault of parameters as the portal tells of it: one code, and the place of each. Services know a parameter by its
 * name alone, and the programming interface answers their faults with their own codes.
 */
export function asValidation(problem: Fault, placeOf: (name: string) => Place): Fault {
  const { code, options, humanMessage } = problem;
  const names = parametersOf(problem);
  const errors = options.details?.['errors'];
  if (names === null || (Array.isArray(errors) && errors.length > 0)) return problem;
  const type = issueTypes[code] ?? 'value_error';
  const issues = names.map((name): ValidationIssue => {
    const [first = name, ...rest] = name.split('.');
    const deeper = rest.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    return { loc: [placeOf(first), first, ...deeper], msg: humanMessage, type };
  });
  const whole: ValidationIssue = { loc: ['body'], msg: humanMessage, type };
  return validationFault(issues.length > 0 ? issues : [whole], { ...options, message: humanMessage });
}
