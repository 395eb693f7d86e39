import type { InputField } from './field';

/** Facets in which a property appears: in a file, a request body, a page, a response, or an audit record. */
export type Facet = 'file' | 'body' | 'page' | 'answer' | 'record';
const everywhere: readonly Facet[] = ['file', 'body', 'page', 'answer', 'record'];

/** A value of a file; its reader reports an invalid value with line and path. */
export interface FileValue {
  readonly isAbsent: boolean;
  text(): string | undefined;
  texts(): string[] | undefined;
  truth(): boolean | undefined;
  oneOf<const Choice extends string>(choices: readonly Choice[]): Choice | undefined;
  wholeNumber(min: number, max?: number): number | undefined;
  instant(): Date | undefined;
  data(): unknown;
  /** Returns the nested values; any other name is reported. */
  fields<const Name extends string>(...names: Name[]): Record<Name, FileValue>;
  faultBelow(path: string, problem: string): undefined;
}

export interface ColumnShape {
  readonly type: 'text' | 'integer' | 'boolean' | 'timestamptz' | 'jsonb';
  readonly array?: boolean;
}

export interface ControlShape {
  readonly type: 'text' | 'select' | 'checkbox' | 'datetime-local';
  readonly choices?: readonly string[];
  readonly inputMode?: 'numeric';
}

/** How a kind of property is stored, read and printed; nothing else reads or prints it. */
export interface PropertyKind<Value> {
  readonly column: ColumnShape;
  readonly check?: ColumnCheck;
  readonly control: ControlShape;
  readonly field: InputField<Value>;
  fromFile(value: FileValue): Value | undefined;
  toJson(value: Value): unknown;
  /** A single text, or several keyed by part. */
  toText(value: Value): string | readonly (readonly [string, string])[];
  typed(value: Value): string;
}

/** A check constraint of the table: the suffix of its name, and its condition. */
export interface ColumnCheck {
  readonly rule: string;
  sql(column: string): string;
}

interface PropertyOptions {
  readonly facets: readonly Facet[];
  readonly fileName?: string;
  /** Default for a new object. */
  readonly defaultValue?: unknown;
  readonly isDefault?: boolean;
  readonly none?: string;
  readonly isRequired?: boolean;
  readonly isExplained?: boolean;
}

/** A stored property, declared once: its kind, its default, and where it appears. */
export class Property<Value> {
  constructor(
    private readonly kind: PropertyKind<Value>,
    private readonly options: PropertyOptions = { facets: everywhere },
  ) {}

  /** Also sets the column's default. */
  default(defaultValue: Value): Property<Value> {
    return this.withOptions({ defaultValue, isDefault: true });
  }

  /** Value of a file that omits the property; the table has no default. */
  fileDefault(fileDefault: Value): Property<Value> {
    return this.withOptions({ defaultValue: fileDefault });
  }

  nullable(none: string): Property<Value | null> {
    return new Property<Value | null>(this.kind, {
      ...this.options,
      none,
      defaultValue: null,
    });
  }

  only(...facets: readonly Facet[]): Property<Value> {
    return this.withOptions({ facets });
  }

  notOn(...facets: readonly Facet[]): Property<Value> {
    return this.withOptions({ facets: this.options.facets.filter((facet) => !facets.includes(facet)) });
  }

  inFile(fileName: string): Property<Value> {
    return this.withOptions({ fileName });
  }

  required(): Property<Value> {
    return this.withOptions({ isRequired: true });
  }

  explained(): Property<Value> {
    return this.withOptions({ isExplained: true });
  }

  describedAs(description: string): Property<Value> {
    return new Property({ ...this.kind, field: this.kind.field.withSchema({ description }) }, this.options);
  }

  private withOptions(more: Partial<PropertyOptions>): Property<Value> {
    return new Property(this.kind, { ...this.options, ...more });
  }

  isOn(facet: Facet): boolean {
    return this.options.facets.includes(facet);
  }

  get fileName(): string | undefined {
    return this.options.fileName;
  }

  get isExplained(): boolean {
    return this.options.isExplained === true;
  }

  get isRequired(): boolean {
    return this.options.isRequired === true;
  }

  /** Text shown for null; undefined if the property is not nullable. */
  get none(): string | undefined {
    return this.options.none;
  }

  get isNullable(): boolean {
    return this.none !== undefined;
  }

  get defaultValue(): Value | undefined {
    return this.options.defaultValue as Value | undefined;
  }

  get control(): ControlShape {
    return this.kind.control;
  }

  get check(): ColumnCheck | undefined {
    return this.kind.check;
  }

  get column(): ColumnShape & { readonly default?: Value; readonly nullable: boolean } {
    const { isDefault, defaultValue } = this.options;
    return {
      ...this.kind.column,
      nullable: this.isNullable,
      ...(isDefault === true ? { default: defaultValue as Value } : {}),
    };
  }

  /** In an update, an omitted field stays unchanged; null or an empty text clears a nullable one. */
  get field(): InputField<Value | null | undefined> {
    const { field } = this.kind;
    if (this.isNullable) return field.orNone();
    return this.isRequired ? field.optional() : field.orBlank();
  }

  /** Forms send empty texts for omitted values. */
  get typedField(): InputField<Value | undefined> {
    return this.kind.field.orBlank();
  }

  fromFile(value: FileValue): Value | undefined {
    return value.isAbsent ? undefined : this.kind.fromFile(value);
  }

  toJson(value: Value): unknown {
    return value === null ? null : this.kind.toJson(value);
  }

  /** Texts for users, keyed by part; `''` is the complete value. */
  texts(value: Value): readonly (readonly [string, string])[] {
    const text = value === null ? (this.options.none ?? '') : this.kind.toText(value);
    return typeof text === 'string' ? [['', text]] : text;
  }

  typed(value: Value): string {
    return value === null ? '' : this.kind.typed(value);
  }

  equalsDefault(value: Value): boolean {
    return this.isSame(value, this.defaultValue as Value);
  }

  /** The order of a list is ignored. */
  isSame(left: Value, right: Value): boolean {
    const [one, other] = [left, right].map((value) => {
      const json = this.toJson(value);
      return JSON.stringify(Array.isArray(json) ? json.toSorted() : json);
    });
    return one === other;
  }
}
