import type { Role } from './navigation';

/** What the reader may see, as the pages of the host narrow it. */
export type ReaderScope =
  | { readonly kind: 'platform' }
  | { readonly kind: 'organisation'; readonly organisationId: number }
  | {
      readonly kind: 'department';
      readonly organisationId: number;
      readonly departmentId: number;
      readonly userId: number;
    }
  | { readonly kind: 'user'; readonly userId: number };

export type Language = 'en' | 'de' | 'fr' | 'it' | 'es';
export type Values = Readonly<Record<string, string | number>>;
/** The text of a key of the extension, else of the host; the key itself where there is none. */
export type Text = (key: string, values?: Values) => string;

/** The signed-in person who asks for a page, sends a form or opens a file. */
export interface Reader {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly scope: ReaderScope;
  readonly language: Language;
  readonly timeZone: string;
  readonly text: Text;
}

export type AccessDecorator = ClassDecorator & MethodDecorator;

export interface PageAccess {
  /** It is public, within the rate of public requests. */
  anyone(): AccessDecorator;
  session(): AccessDecorator;
  role(minimum: Role): AccessDecorator;
  /** A client key as `Authorization: Bearer`. */
  bearer(): AccessDecorator;
  /** The same, or as `x-api-key`. */
  eitherHeader(): AccessDecorator;
}

export interface ActionOptions {
  /** The entry `ext.<id>.<audit>` of the activity log; its text is `activity.<audit>`. Or why there is none. */
  readonly audit: string | { readonly none: string };
  readonly verb?: 'post' | 'delete';
  readonly bodyLimitBytes?: number;
}

export type PlainValue = string | number | boolean | null;

/** What the activity log says of a change, beside who made it and when. */
export interface ChangeRecord {
  readonly id?: string | number;
  readonly label?: string;
  /** By the names of fields: the old value and the new one. */
  readonly changes?: Readonly<Record<string, readonly [before: PlainValue, after: PlainValue]>>;
}

export interface Outcome {
  /** A key of the extension's messages, shown on the page that follows. */
  readonly told?: string;
  readonly values?: Values;
  readonly tone?: 'ok' | 'warn' | 'bad' | 'info';
  /** Null says that nothing changed, so that no entry is written. */
  readonly record?: ChangeRecord | null;
}

export interface FaultOptions {
  readonly message?: string;
  /** The field at fault, where the page says why. */
  readonly param?: string;
  /** The reader's text of it is `refused.<reason>` of the extension's messages. */
  readonly reason?: string;
  readonly values?: Values;
}

/** How a value of a form or a query is read. */
export interface Field<Value> {
  optional(): Field<Value | undefined>;
  /** An empty text counts as left out. */
  orBlank(): Field<Value | undefined>;
  default(usual: Exclude<Value, undefined>): Field<Exclude<Value, undefined>>;
}

export interface Fields {
  /** A text of one line, with something in it. */
  filled(most: number): Field<string>;
  /** A text of one line, which may be empty. */
  line(most: number): Field<string>;
  lines(most: number): Field<string>;
  whole(least: number, most: number): Field<number>;
  decimal(least: number, most: number): Field<number>;
  oneOf<Choice extends string>(choices: readonly Choice[]): Field<Choice>;
  matching(pattern: RegExp, expected: string): Field<string>;
  readonly truth: Field<boolean>;
  /** A day of the calendar, such as 2027-01-31. */
  readonly day: Field<string>;
}

export interface CsvTable {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>;
}

/** What a cell of a table shows, by its kind. */
export interface CellValues {
  readonly text: string;
  readonly code: string;
  readonly number: number | null;
  readonly percent: number | null;
  /** US dollars as a decimal number. */
  readonly money: string | null;
  readonly time: Date | string | null;
  readonly date: Date | string | null;
  readonly badge: { readonly tone: 'neutral' | 'ok' | 'warn' | 'bad' | 'info'; readonly label: string };
}

export type ColumnMark = 'heading' | 'minor' | 'end';

/** A column of a table; only the host reads it. */
export interface Column<Row> {
  readonly show: (row: Row) => object;
}

export interface TableInput<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  /** It stands in place of a table without rows. */
  readonly empty: { readonly title: string; readonly text: string };
}

export interface PageParts {
  /** An HTML page: its handler answers the model of a view below `views`. */
  Page(path: string, view: string, access: AccessDecorator): MethodDecorator;
  /** Its handler answers JSON. */
  Data(path: string, access: AccessDecorator): MethodDecorator;
  /** A change, sent from a page of this service or with a key. Its handler answers `done(…)` or JSON. */
  Action(path: string, access: AccessDecorator, options: ActionOptions): MethodDecorator;
  /** Its handler answers a `CsvTable`. */
  Csv(path: string, access: AccessDecorator, fileName: string): MethodDecorator;
  Redirects(from: string, to: string, access: AccessDecorator): MethodDecorator;
  readonly Access: PageAccess;
  /** An argument of a handler behind a session: the `Reader`. */
  TheReader(): ParameterDecorator;
  /** An argument of a handler behind `Access.bearer()` or `Access.eitherHeader()`: the `RequestKey` of its caller. */
  TheCaller(): ParameterDecorator;
  /** A property of a form's or query's class. */
  Takes<Value>(field: Field<Value>): PropertyDecorator;
  readonly field: Fields;
  /** The number of a row, in a path. */
  PathId(name: string): ParameterDecorator;
  PathText(name: string): ParameterDecorator;
  /** Leads people to a page of this service, and answers facts to programs. */
  done(to: string, facts: object, outcome?: Outcome): object;
  /** A refusal of the error catalogue, to be thrown: `not_found`, `conflict`, `permission_denied`, … */
  fault(code: string, options?: FaultOptions): Error;
  /** The label is a key. A heading names the row; what is minor is left out on narrow screens. */
  column<Row, Kind extends keyof CellValues>(
    label: string,
    kind: Kind,
    value: (row: Row) => CellValues[Kind],
    ...marks: readonly ColumnMark[]
  ): Column<Row>;
  /** The model of the partial `table`. */
  tableOf<Row>(rows: readonly Row[], input: TableInput<Row>, text: Text): object;
}
