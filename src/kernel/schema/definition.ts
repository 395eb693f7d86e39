import { type Camel, camelCased } from '../names';
import type { Field } from './field';
import type { FileValue, Facet, Property } from './property';

export type Properties = Readonly<Record<string, Property<unknown>>>;

/** The properties of a thing hold these values, as code names them. */
export type ValuesOf<Given extends Properties> = {
  -readonly [Name in keyof Given as Camel<Name & string>]: Given[Name] extends Property<infer Value>
    ? Value
    : never;
};

/** The body of a change, as programs and forms name its fields. */
export type BodyOf<Given extends Properties> = {
  [Name in keyof Given]?: Given[Name] extends Property<infer Value> ? Value : never;
};

type Row = Readonly<Record<string, unknown>>;

/** A property with its names. */
export interface FieldEntry {
  /** As columns, bodies and answers call it. */
  readonly name: string;
  /** As code does. */
  readonly key: string;
  readonly fileName: string;
  readonly property: Property<unknown>;
}

/** The properties of a thing. Its table, files, bodies, answers, texts and pages follow from them. */
export class Definition<Given extends Properties> {
  private readonly entries: readonly FieldEntry[];

  constructor(
    /** Texts of pages are found by it. */
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

  /** A file uses these names. */
  get fileNames(): (keyof Given & string)[] {
    return this.on('file').map(({ fileName }) => fileName as keyof Given & string);
  }

  /** A part that a file leaves out is as usual, or not there where nothing is usual. */
  fromFile(given: Readonly<Record<string, FileValue>>): Partial<ValuesOf<Given>> {
    return this.made(this.on('file'), ({ fileName, property }) => {
      const value = given[fileName];
      return (value === undefined ? undefined : property.fromFile(value)) ?? property.usualValue;
    });
  }

  /** A file gets these, without what is as usual. */
  toFile(values: ValuesOf<Given>): Record<string, unknown> {
    const told = this.on('file').filter(({ key, property }) => !property.isUsual((values as Row)[key]));
    return Object.fromEntries(
      told.map(({ key, fileName, property }) => [fileName, property.toJson((values as Row)[key])]),
    );
  }

  /** People read these texts by the names of a file. */
  texts(values: ValuesOf<Given>): [string, string][] {
    return this.on('file').flatMap((entry) => textsOf(entry, (values as Row)[entry.key]));
  }

  /** Something new has these texts unless it is said, so they are not worth a line. */
  get usualTexts(): [string, string][] {
    return this.on('file').flatMap((entry) => {
      const { usualValue } = entry.property;
      return usualValue === undefined ? [] : textsOf(entry, usualValue);
    });
  }

  toJson(facet: Facet, values: ValuesOf<Given>): Record<string, unknown> {
    return Object.fromEntries(
      this.on(facet).map(({ name, key, property }) => [name, property.toJson((values as Row)[key])]),
    );
  }

  get fields(): readonly (readonly [string, Field<unknown>])[] {
    return this.on('body').map(({ name, property }) => [name, property.field]);
  }

  /** Of a body, what it names: as it was read, or as it is read now. */
  given(
    body: object,
    read: (value: unknown, entry: FieldEntry) => unknown = (value) => value,
  ): Partial<ValuesOf<Given>> {
    return this.made(this.on('body'), (entry) => {
      const value = (body as Row)[entry.name];
      return value === undefined ? undefined : read(value, entry);
    });
  }

  /** Of something that has more, it takes these alone; what it does not say is as usual. */
  pick(values: Partial<ValuesOf<Given>>): ValuesOf<Given> {
    const said = values as Row;
    return this.made(this.entries, ({ key, property }) =>
      said[key] === undefined ? property.usualValue : said[key],
    ) as unknown as ValuesOf<Given>;
  }

  /** Of what is said there, it leaves what is not so already. */
  changed(facet: Facet, before: ValuesOf<Given>, said: Partial<ValuesOf<Given>>): Partial<ValuesOf<Given>> {
    return this.made(this.on(facet), ({ key, property }) => {
      const value = (said as Row)[key];
      return value === undefined || property.isSame(value, (before as Row)[key]) ? undefined : value;
    });
  }

  /** The columns of a query, as code names them. */
  selection(table: string): string {
    return this.entries.map(({ name, key }) => `${table}.${name} AS "${key}"`).join(', ');
  }

  private made(
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

/** The values of what was defined. */
export type Defined<Of> = Of extends Definition<infer Given> ? ValuesOf<Given> : never;

export const defineFields = <Given extends Properties>(name: string, properties: Given): Definition<Given> =>
  new Definition(name, properties);
