import { type Camel, camelCased } from '../names';
import type { InputField } from './field';
import type { FileValue, Facet, Property } from './property';

export type Properties = Readonly<Record<string, Property<unknown>>>;

/** Values of properties, under their names in code. */
export type ValuesOf<Given extends Properties> = {
  -readonly [Name in keyof Given as Camel<Name & string>]: Given[Name] extends Property<infer Value>
    ? Value
    : never;
};

/** Body of an update, under the names of the API and forms. */
export type BodyOf<Given extends Properties> = {
  [Name in keyof Given]?: Given[Name] extends Property<infer Value> ? Value : never;
};

type FieldValues = Readonly<Record<string, unknown>>;

export interface FieldEntry {
  /** Name in columns, bodies and responses. */
  readonly name: string;
  /** Name in code. */
  readonly key: string;
  readonly fileName: string;
  readonly property: Property<unknown>;
}

/** Properties of an object, from which its table, files, bodies, responses, texts and pages are derived. */
export class Definition<Given extends Properties> {
  private readonly entries: readonly FieldEntry[];

  constructor(
    /** Key of the page texts. */
    readonly name: string,
    properties: Given,
  ) {
    this.entries = Object.entries(properties).map(([name, property]) => ({
      name,
      key: camelCased(name),
      fileName: property.fileName ?? name,
      property,
    }));
  }

  on(facet: Facet): readonly FieldEntry[] {
    return this.entries.filter(({ property }) => property.isOn(facet));
  }

  get all(): readonly FieldEntry[] {
    return this.entries;
  }

  get fileNames(): (keyof Given & string)[] {
    return this.on('file').map(({ fileName }) => fileName as keyof Given & string);
  }

  /** An omitted value takes its default, or stays undefined if there is none. */
  fromFile(file: Readonly<Record<string, FileValue>>): Partial<ValuesOf<Given>> {
    return this.buildValues(this.on('file'), ({ fileName, property }) => {
      const value = file[fileName];
      return (value === undefined ? undefined : property.fromFile(value)) ?? property.defaultValue;
    });
  }

  /** Omits values that equal their default. */
  toFile(values: ValuesOf<Given>): Record<string, unknown> {
    const entries = this.on('file').filter(
      ({ key, property }) => !property.equalsDefault((values as FieldValues)[key]),
    );
    return Object.fromEntries(
      entries.map(({ key, fileName, property }) => [fileName, property.toJson((values as FieldValues)[key])]),
    );
  }

  /** Texts for users, keyed by file names. */
  texts(values: ValuesOf<Given>): [string, string][] {
    return this.on('file').flatMap((entry) => textsOf(entry, (values as FieldValues)[entry.key]));
  }

  /** Texts of the default values, which need not be mentioned for a new object. */
  get defaultTexts(): [string, string][] {
    return this.on('file').flatMap((entry) => {
      const { defaultValue } = entry.property;
      return defaultValue === undefined ? [] : textsOf(entry, defaultValue);
    });
  }

  toJson(facet: Facet, values: ValuesOf<Given>): Record<string, unknown> {
    return Object.fromEntries(
      this.on(facet).map(({ name, key, property }) => [name, property.toJson((values as FieldValues)[key])]),
    );
  }

  get fields(): readonly (readonly [string, InputField<unknown>])[] {
    return this.on('body').map(({ name, property }) => [name, property.field]);
  }

  /** Returns the values that a body contains, converted by `read`. */
  fromBody(
    body: object,
    read: (value: unknown, entry: FieldEntry) => unknown = (value) => value,
  ): Partial<ValuesOf<Given>> {
    return this.buildValues(this.on('body'), (entry) => {
      const value = (body as FieldValues)[entry.name];
      return value === undefined ? undefined : read(value, entry);
    });
  }

  /** Selects only these properties; absent ones take their default. */
  pick(values: Partial<ValuesOf<Given>>): ValuesOf<Given> {
    const input = values as FieldValues;
    return this.buildValues(this.entries, ({ key, property }) =>
      input[key] === undefined ? property.defaultValue : input[key],
    ) as unknown as ValuesOf<Given>;
  }

  changedValues(
    facet: Facet,
    before: ValuesOf<Given>,
    updates: Partial<ValuesOf<Given>>,
  ): Partial<ValuesOf<Given>> {
    return this.buildValues(this.on(facet), ({ key, property }) => {
      const value = (updates as FieldValues)[key];
      return value === undefined || property.isSame(value, (before as FieldValues)[key]) ? undefined : value;
    });
  }

  /** SELECT list of the columns, aliased to their names in code. */
  selection(table: string): string {
    return this.entries.map(({ name, key }) => `${table}.${name} AS "${key}"`).join(', ');
  }

  private buildValues(
    entries: readonly FieldEntry[],
    valueOf: (entry: FieldEntry) => unknown,
  ): Partial<ValuesOf<Given>> {
    const values = entries.map((entry) => [entry.key, valueOf(entry)] as const);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Partial<ValuesOf<Given>>;
  }
}

function textsOf({ fileName, property }: FieldEntry, value: unknown): [string, string][] {
  return property
    .texts(value)
    .map(([part, text]) => [part === '' ? fileName : `${fileName}.${part}`, text] as [string, string]);
}

export type Defined<Of> = Of extends Definition<infer Given> ? ValuesOf<Given> : never;

export const defineFields = <Given extends Properties>(name: string, properties: Given): Definition<Given> =>
  new Definition(name, properties);
