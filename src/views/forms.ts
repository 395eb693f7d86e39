import type { FieldAttributes } from './field-bounds';

/** The fields of the form that an address takes; null for an address that declares none. */
type DeclaredFields = (action: string) => ReadonlyMap<string, FieldAttributes> | null;

export interface Banner {
  readonly text: string;
  readonly code: string;
}

/** It is shown again on its own page. Its text stands above it, before what belongs to no field. */
export interface RefusedForm extends Banner {
  /** The form was sent to this path, without its query. */
  readonly path: string;
  readonly posted: Readonly<Record<string, unknown>>;
  /** The reasons have the names of fields; one without a field in the form is told above it. */
  readonly errors: ReadonlyMap<string, string>;
  /** A concurrent edit: fields show the stored values, and this tells the typed ones. */
  readonly typed?: (value: string) => string;
}

/** A page tells its forms this beside their models. */
export interface FormsContext {
  /** Its address, to which a refused form returns. */
  readonly page: string;
  readonly declaredAt: DeclaredFields;
  readonly refused?: RefusedForm;
  /** It stands on top of the page. */
  readonly notice?: Banner;
}

export type Scalar = string | number | boolean | null | undefined;
export type Pair = readonly [name: string, value: Scalar];

export interface Option {
  readonly value: string;
  readonly label?: string;
  readonly selected?: boolean;
}

/** A control shows this in place of its model's value. */
interface Kept {
  readonly value?: string;
  readonly checked?: boolean;
  readonly options?: readonly Option[];
  /** It tells what was typed, where the control shows something else. */
  readonly typed?: string;
  readonly isChanged?: boolean;
}

/** Every form that changes something says on which page it stands. */
export const formPageField = '_page';

/** A hidden field that makes a form sent twice act once: it is kept, so that a second try is the same form. */
const formTokenField = 'token';
/** They differ with each showing, so they do not tell a form from others of its address. */
const madeAnew = new Set(['version', formTokenField]);
/** Text typed into them never comes back. */
const unkept = new Set(['password', 'file']);

export const textOf = (value: Scalar): string => String(value ?? '');
const textsOf = (value: unknown): string[] =>
  [value].flat().filter((one): one is string => typeof one === 'string');

/** A form while it is printed. */
export class PrintedForm {
  private readonly seen = new Map<string, number>();
  private readonly told = new Set<string>();

  constructor(
    readonly declared: ReadonlyMap<string, FieldAttributes> | null = null,
    private readonly refused?: RefusedForm,
  ) {}

  errorOf(name: string): string | undefined {
    return this.refused?.errors.get(name);
  }

  /** It is told once, at the first control of its name. */
  takeError(name: string): string | undefined {
    if (this.told.has(name)) return undefined;
    this.told.add(name);
    return this.errorOf(name);
  }

  /** The banner above the form has the reason for the refusal, and all that none of its controls told. */
  banner(): Banner | null {
    if (this.refused === undefined) return null;
    const { text, code, errors } = this.refused;
    const others = [...errors].filter(([name]) => !this.told.has(name)).map(([, untold]) => untold);
    return { text: [text, ...others].join(' '), code };
  }

  carried([name, value]: Pair): string {
    const isKept = name === formTokenField && this.errorOf(name) === undefined;
    return (isKept ? textsOf(this.refused?.posted[name])[0] : undefined) ?? textOf(value);
  }

  isTicked(name: string, value: string): Kept {
    if (this.refused === undefined || this.refused.typed !== undefined) return {};
    return { checked: textsOf(this.refused.posted[name]).includes(value) };
  }

  typedInto(name: string, type: string, stored: string, options: readonly Option[]): Kept {
    // Fields that a form repeats are told apart by their order.
    const place = this.seen.get(name) ?? 0;
    this.seen.set(name, place + 1);
    const value = textsOf(this.refused?.posted[name])[place];
    if (value === undefined || value === stored) return {};
    const isChanged = true;
    if (unkept.has(type)) return { isChanged };
    const option = options.find((one) => one.value === value);
    if (this.refused?.typed !== undefined)
      return { isChanged, typed: this.refused.typed(option?.label ?? value) };
    if (type !== 'select') return { isChanged, value };
    // A choice that is not offered any more leaves the list as it was.
    if (option === undefined) return { isChanged };
    return { isChanged, options: options.map((one) => ({ ...one, selected: one === option })) };
  }
}

/** The forms of a page while it is printed. */
export class PageForms {
  /** The first field that is invalid has the focus. */
  hasFocus = false;
  /** So many things to be looked at were printed; a part that folds one of them away is open. */
  shown = 0;
  private readonly named = new Map<unknown, PrintedForm>();
  private isPlaced = false;

  constructor(readonly context: FormsContext | undefined) {}

  begin(action: string, id: unknown, carried: readonly Pair[]): PrintedForm {
    const refused = this.isRefused(action, carried) ? this.context?.refused : undefined;
    if (refused !== undefined) {
      this.isPlaced = true;
      this.shown += 1;
    }
    const form = new PrintedForm(this.context?.declaredAt(action), refused);
    this.named.set(id, form);
    return form;
  }

  withId(id: string): PrintedForm | undefined {
    return this.named.get(id);
  }

  /** It stands on top of the page: what is said of the address, or of a form that is not there any more. */
  notice(): Banner | null {
    const { refused, notice = null } = this.context ?? {};
    if (notice !== null || this.isPlaced) return notice;
    this.isPlaced = true;
    return new PrintedForm(null, refused).banner();
  }

  /** Several forms may lead to one address, one a row: what they carry tells them apart. */
  private isRefused(action: string, carried: readonly Pair[]): boolean {
    const refused = this.context?.refused;
    if (refused === undefined || this.isPlaced || action.split(/[?#]/)[0] !== refused.path) return false;
    return carried.every(
      ([name, value]) => madeAnew.has(name) || textsOf(refused.posted[name])[0] === textOf(value),
    );
  }
}
