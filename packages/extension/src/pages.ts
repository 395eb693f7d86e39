import type { Role } from './navigation';

/** Scope of what the reader is allowed to see, as on the pages of the host. */
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
/** Returns the text for a key of the extension or of the host; the key itself if there is none. */
export type Text = (key: string, values?: Values) => string;

/** The signed-in user who opens a page, submits a form or downloads a file. */
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
  /** Public, within the rate limit for public requests. */
  anyone(): AccessDecorator;
  session(): AccessDecorator;
  role(minimum: Role): AccessDecorator;
  /** Requires a client key as `Authorization: Bearer`. */
  bearer(): AccessDecorator;
  /** Requires a client key as `Authorization: Bearer` or `x-api-key`. */
  eitherHeader(): AccessDecorator;
}

export interface ActionOptions {
  /** Action `ext.<id>.<audit>` of the audit log, with the text `activity.<audit>`; or the reason why none is logged. */
  readonly audit: string | { readonly none: string };
  readonly verb?: 'post' | 'delete';
  readonly bodyLimitBytes?: number;
}

export type PlainValue = string | number | boolean | null;

/** Audit log details of a change, in addition to the user and the time. */
export interface ChangeRecord {
  readonly id?: string | number;
  readonly label?: string;
  /** Old and new values by field name. */
  readonly changes?: Readonly<Record<string, readonly [before: PlainValue, after: PlainValue]>>;
}

export interface Outcome {
  /** A key of the extension's messages, shown on the next page. */
  readonly told?: string;
  readonly values?: Values;
  readonly tone?: 'ok' | 'warn' | 'bad' | 'info';
  /** Null if nothing changed, so that no entry is written. */
  readonly record?: ChangeRecord | null;
}

export interface FaultOptions {
  readonly message?: string;
  /** The invalid field, next to which the page shows the reason. */
  readonly param?: string;
  /** Selects the text `refused.<reason>` of the extension's messages. */
  readonly reason?: string;
  readonly values?: Values;
}

/** Describes how a value of a form or a query is read. */
export interface Field<Value> {
  optional(): Field<Value | undefined>;
  /** Treats an empty text as absent. */
  orBlank(): Field<Value | undefined>;
  default(usual: Exclude<Value, undefined>): Field<Exclude<Value, undefined>>;
}

export interface Fields {
  /** A non-empty text of one line. */
  filled(most: number): Field<string>;
  /** A text of one line, which can be empty. */
  line(most: number): Field<string>;
  lines(most: number): Field<string>;
  whole(least: number, most: number): Field<number>;
  decimal(least: number, most: number): Field<number>;
  oneOf<Choice extends string>(choices: readonly Choice[]): Field<Choice>;
  matching(pattern: RegExp, expected: string): Field<string>;
  readonly truth: Field<boolean>;
  /** A calendar date, such as 2027-01-31. */
  readonly day: Field<string>;
}

export interface CsvTable {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>;
}

/** Value of a table cell by kind. */
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
  /** Shown instead of a table without rows. */
  readonly empty: { readonly title: string; readonly text: string };
}

export interface PageParts {
  /** An HTML page whose handler returns the model of a view below `views`. */
  Page(path: string, view: string, access: AccessDecorator): MethodDecorator;
  /** A route whose handler returns JSON. */
  Data(path: string, access: AccessDecorator): MethodDecorator;
  /** A change submitted from a page of this service or with a key. The handler returns `done(…)` or JSON. */
  Action(path: string, access: AccessDecorator, options: ActionOptions): MethodDecorator;
  /** A route whose handler returns a `CsvTable`. */
  Csv(path: string, access: AccessDecorator, fileName: string): MethodDecorator;
  Redirects(from: string, to: string, access: AccessDecorator): MethodDecorator;
  readonly Access: PageAccess;
  /** Handler parameter behind a session: the `Reader`. */
  TheReader(): ParameterDecorator;
  /** Handler parameter behind `Access.bearer()` or `Access.eitherHeader()`: the caller's `RequestKey`. */
  TheCaller(): ParameterDecorator;
  /** A property of the class of a form or query. */
  Takes<Value>(field: Field<Value>): PropertyDecorator;
  readonly field: Fields;
  /** Path parameter with the number of a row. */
  PathId(name: string): ParameterDecorator;
  PathText(name: string): ParameterDecorator;
  /** Redirects browsers to a page of this service, and returns `facts` to API clients. */
  done(to: string, facts: object, outcome?: Outcome): object;
  /** An error of the error catalogue, to be thrown: `not_found`, `conflict`, `permission_denied`, … */
  fault(code: string, options?: FaultOptions): Error;
  /** `label` is a message key. A `heading` names the row; `minor` columns are hidden on narrow screens. */
  column<Row, Kind extends keyof CellValues>(
    label: string,
    kind: Kind,
    value: (row: Row) => CellValues[Kind],
    ...marks: readonly ColumnMark[]
  ): Column<Row>;
  /** Returns the model of the partial `table`. */
  tableOf<Row>(rows: readonly Row[], input: TableInput<Row>, text: Text): object;
}
