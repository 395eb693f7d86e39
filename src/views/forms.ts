import type { FieldAttributes } from './field-attributes';

/** Looks up the fields of the form that an address accepts; null if the address declares none. */
type DeclaredFields = (action: string) => ReadonlyMap<string, FieldAttributes> | null;

export interface Banner {
  readonly text: string;
  readonly code: string;
}

/** A rejected form, shown again on its page with a banner above it. */
export interface RefusedForm extends Banner {
  /** Path the form was submitted to, without the query. */
  readonly path: string;
  readonly posted: Readonly<Record<string, unknown>>;
  /** Messages by field name; those without a field in the form go into the banner. */
  readonly errors: ReadonlyMap<string, string>;
  /** Set after a concurrent edit: fields show the stored values, and this function describes the submitted ones. */
  readonly typed?: (value: string) => string;
}

export interface FormsContext {
  readonly page: string;
  readonly declaredAt: DeclaredFields;
  readonly refused?: RefusedForm;
  readonly notice?: Banner;
}

export type Scalar = string | number | boolean | null | undefined;
export type Pair = readonly [name: string, value: Scalar];

export interface Option {
  readonly value: string;
  readonly label?: string;
  readonly selected?: boolean;
}

/** Overrides for a control's model, taken from the submitted form. */
interface ControlState {
  readonly value?: string;
  readonly checked?: boolean;
  readonly options?: readonly Option[];
  /** The submitted value as text, if the control shows something else. */
  readonly typed?: string;
  readonly isChanged?: boolean;
}

export const formPageField = '_page';

/**
 * Idempotency token of a form. Preserved when the form is shown again, so that a retry counts as the same submission.
 */
const formTokenField = 'token';
/** Hidden fields that differ on each rendering, so they do not identify a form. */
const volatileFields = new Set(['version', formTokenField]);
/** Control types whose submitted value is never shown again. */
const unrestoredTypes = new Set(['password', 'file']);

export const textOf = (value: Scalar): string => String(value ?? '');
const textsOf = (value: unknown): string[] =>
  [value].flat().filter((one): one is string => typeof one === 'string');

export class PrintedForm {
  private readonly occurrences = new Map<string, number>();
  private readonly reported = new Set<string>();

  constructor(
    readonly declared: ReadonlyMap<string, FieldAttributes> | null = null,
    private readonly refused?: RefusedForm,
  ) {}

  errorOf(name: string): string | undefined {
    return this.refused?.errors.get(name);
  }

  /** Returns the error at the first control of the name only. */
  takeError(name: string): string | undefined {
    if (this.reported.has(name)) return undefined;
    this.reported.add(name);
    return this.errorOf(name);
  }

  /** Returns the reason for the rejection, followed by errors not shown next to a control. */
  banner(): Banner | null {
    if (this.refused === undefined) return null;
    const { text, code, errors } = this.refused;
    const otherErrors = [...errors]
      .filter(([name]) => !this.reported.has(name))
      .map(([, message]) => message);
    return { text: [text, ...otherErrors].join(' '), code };
  }

  carriedValue([name, value]: Pair): string {
    const isRestored = name === formTokenField && this.errorOf(name) === undefined;
    return (isRestored ? textsOf(this.refused?.posted[name])[0] : undefined) ?? textOf(value);
  }

  checkedState(name: string, value: string): ControlState {
    if (this.refused === undefined || this.refused.typed !== undefined) return {};
    return { checked: textsOf(this.refused.posted[name]).includes(value) };
  }

  typedState(name: string, type: string, stored: string, options: readonly Option[]): ControlState {
    // Repeated fields are matched by position.
    const position = this.occurrences.get(name) ?? 0;
    this.occurrences.set(name, position + 1);
    const value = textsOf(this.refused?.posted[name])[position];
    if (value === undefined || value === stored) return {};
    const isChanged = true;
    if (unrestoredTypes.has(type)) return { isChanged };
    const option = options.find((one) => one.value === value);
    if (this.refused?.typed !== undefined)
      return { isChanged, typed: this.refused.typed(option?.label ?? value) };
    if (type !== 'select') return { isChanged, value };
    // A choice that is no longer offered leaves the list unchanged.
    if (option === undefined) return { isChanged };
    return { isChanged, options: options.map((one) => ({ ...one, selected: one === option })) };
  }
}

export class PageForms {
  /** Set once a control has the focus; the first invalid one gets it. */
  hasFocus = false;
  /** Number of items that need attention so far; a fold that contains one is rendered open. */
  attentionCount = 0;
  private readonly formsById = new Map<unknown, PrintedForm>();
  private isRefusalShown = false;

  constructor(readonly context: FormsContext | undefined) {}

  startForm(action: string, id: unknown, carried: readonly Pair[]): PrintedForm {
    const refused = this.isRefusedForm(action, carried) ? this.context?.refused : undefined;
    if (refused !== undefined) {
      this.isRefusalShown = true;
      this.attentionCount += 1;
    }
    const form = new PrintedForm(this.context?.declaredAt(action), refused);
    this.formsById.set(id, form);
    return form;
  }

  withId(id: string): PrintedForm | undefined {
    return this.formsById.get(id);
  }

  /**
   * Returns the banner for the top of the page: the page's notice, or the errors of a form that is no longer on the
   * page.
   */
  notice(): Banner | null {
    const { refused, notice = null } = this.context ?? {};
    if (notice !== null || this.isRefusalShown) return notice;
    this.isRefusalShown = true;
    return new PrintedForm(null, refused).banner();
  }

  /** Matches the hidden values as well, because several forms, such as one per row, can have the same action. */
  private isRefusedForm(action: string, carried: readonly Pair[]): boolean {
    const refused = this.context?.refused;
    if (refused === undefined || this.isRefusalShown || action.split(/[?#]/)[0] !== refused.path)
      return false;
    return carried.every(
      ([name, value]) => volatileFields.has(name) || textsOf(refused.posted[name])[0] === textOf(value),
    );
  }
}
