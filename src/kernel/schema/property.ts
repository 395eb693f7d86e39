import type { Field } from './field';

/** A property shows in a file, in what is sent, on the page, in what is answered, or on record. */
export type Facet = 'file' | 'body' | 'page' | 'answer' | 'record';
const everywhere: readonly Facet[] = ['file', 'body', 'page', 'answer', 'record'];

/** One value of a file, as its reader hands it out: a misfit is noted there, with line and path. */
export interface FileValue {
  readonly isAbsent: boolean;
  text(): string | undefined;
  texts(): string[] | undefined;
  truth(): boolean | undefined;
  oneOf<const Choice extends string>(choices: readonly Choice[]): Choice | undefined;
  wholeNumber(least: number, most?: number): number | undefined;
  instant(): Date | undefined;
  /** It is plain data of any shape. */
  data(): unknown;
  /** The values below it; any other name is a fault. */
  fields<const Name extends string>(...names: Name[]): Record<Name, FileValue>;
  faultBelow(place: string, problem: string): undefined;
}

/** A table holds it in this shape. */
export interface ColumnShape {
  readonly type: 'text' | 'integer' | 'boolean' | 'timestamptz' | 'jsonb';
  readonly array?: boolean;
}

/** A page asks for it with this control. */
export interface ControlShape {
  readonly type: 'text' | 'select' | 'checkbox' | 'datetime-local';
  readonly choices?: readonly string[];
  readonly inputMode?: 'numeric';
}

/** The nature of a property is its kind and the places that show it. Nothing else reads or prints it. */
export interface Nature<Value> {
  readonly column: ColumnShape;
  readonly check?: ColumnCheck;
  readonly control: ControlShape;
  /** Forms and JSON read this field. */
  readonly field: Field<Value>;
  fromFile(given: FileValue): Value | undefined;
  toJson(value: Value): unknown;
  /** One text, or several by the names of its parts. */
  toText(value: Value): string | readonly (readonly [string, string])[];
  /** A control shows this text. */
  typed(value: Value): string;
}

/** A condition that its table checks: the end of its name, and what it says of the column. */
export interface ColumnCheck {
  readonly rule: string;
  sql(column: string): string;
}

interface Said {
  readonly facets: readonly Facet[];
  readonly fileName?: string;
  /** A new thing has this where nothing is said. */
  readonly usual?: unknown;
  /** The table has the same default. */
  readonly isDefault?: boolean;
  /** The word for null. */
  readonly none?: string;
  readonly isRequired?: boolean;
  readonly isExplained?: boolean;
}

/** A fact that a thing keeps, declared once: what it is, what its absence means, and where it shows. */
export class Property<Value> {
  constructor(
    private readonly nature: Nature<Value>,
    private readonly said: Said = { facets: everywhere },
  ) {}

  /** The column's default, too. */
  default(usual: Value): Property<Value> {
    return this.but({ usual, isDefault: true });
  }

  /** A file that leaves it out means this; the table has no default. */
  usual(usual: Value): Property<Value> {
    return this.but({ usual });
  }

  nullable(none: string): Property<Value | null> {
    return new Property<Value | null>(this.nature, {
      ...this.said,
      none,
      usual: null,
    });
  }

  only(...facets: readonly Facet[]): Property<Value> {
    return this.but({ facets });
  }

  notOn(...facets: readonly Facet[]): Property<Value> {
    return this.but({ facets: this.said.facets.filter((facet) => !facets.includes(facet)) });
  }

  /** A file calls it by another name. */
  inFile(fileName: string): Property<Value> {
    return this.but({ fileName });
  }

  /** A form must not leave it empty. */
  required(): Property<Value> {
    return this.but({ isRequired: true });
  }

  /** A text below its control says more. */
  explained(): Property<Value> {
    return this.but({ isExplained: true });
  }

  /** The description of the interface says it. */
  told(description: string): Property<Value> {
    return new Property({ ...this.nature, field: this.nature.field.told({ description }) }, this.said);
  }

  private but(more: Partial<Said>): Property<Value> {
    return new Property(this.nature, { ...this.said, ...more });
  }

  isOn(facet: Facet): boolean {
    return this.said.facets.includes(facet);
  }

  get fileName(): string | undefined {
    return this.said.fileName;
  }

  get isExplained(): boolean {
    return this.said.isExplained === true;
  }

  get isRequired(): boolean {
    return this.said.isRequired === true;
  }

  /** The word for null, of what may be null. */
  get none(): string | undefined {
    return this.said.none;
  }

  get isNullable(): boolean {
    return this.none !== undefined;
  }

  get usualValue(): Value | undefined {
    return this.said.usual as Value | undefined;
  }

  get control(): ControlShape {
    return this.nature.control;
  }

  get check(): ColumnCheck | undefined {
    return this.nature.check;
  }

  get column(): ColumnShape & { readonly default?: Value; readonly nullable: boolean } {
    const { isDefault, usual } = this.said;
    return {
      ...this.nature.column,
      nullable: this.isNullable,
      ...(isDefault === true ? { default: usual as Value } : {}),
    };
  }

  /** Of a body that changes a thing: what is left out stays, and null or an empty text takes back what may be none. */
  get field(): Field<Value | null | undefined> {
    const { field } = this.nature;
    if (this.isNullable) return field.orNone();
    return this.isRequired ? field.optional() : field.orBlank();
  }

  /** A form sends empty texts for what was left open. */
  get typedField(): Field<Value | undefined> {
    return this.nature.field.orBlank();
  }

  fromFile(given: FileValue): Value | undefined {
    return given.isAbsent ? undefined : this.nature.fromFile(given);
  }

  toJson(value: Value): unknown {
    return value === null ? null : this.nature.toJson(value);
  }

  /** For people, by the names of its parts; `''` is the whole. */
  texts(value: Value): readonly (readonly [string, string])[] {
    const text = value === null ? (this.said.none ?? '') : this.nature.toText(value);
    return typeof text === 'string' ? [['', text]] : text;
  }

  typed(value: Value): string {
    return value === null ? '' : this.nature.typed(value);
  }

  isUsual(value: Value): boolean {
    return this.isSame(value, this.usualValue as Value);
  }

  /** The order of a list is no difference. */
  isSame(left: Value, right: Value): boolean {
    const [one, other] = [left, right].map((value) => {
      const json = this.toJson(value);
      return JSON.stringify(Array.isArray(json) ? json.toSorted() : json);
    });
    return one === other;
  }
}
